import { asArray, asString, at, findAll, type JsonRecord, parseCount } from 'mediagate/plugin';
import type { ShownCount } from './counters.js';
import {
  accessibilityLabel,
  channelAuthor,
  channelId,
  largestImage,
  type PartialAuthor,
  textOf,
  withoutMarks,
} from './values.js';

export interface Owner {
  author?: PartialAuthor;
  subscribers?: ShownCount | undefined;
  /** The other channels of a joint video. */
  collaborators?: PartialAuthor[];
}

/** Reads the line under the title with the channel, or with the channels of a joint video. */
export function parseOwner(owner: unknown): Owner {
  const name = textOf(at(owner, 'title'));
  if (name === undefined) return parseJointOwners(owner);
  const run = at(owner, 'title', 'runs', 0, 'navigationEndpoint', 'browseEndpoint');
  const endpoint = at(owner, 'navigationEndpoint', 'browseEndpoint') ?? run;
  const badges = asArray(at(owner, 'badges')) ?? [];
  const verified = badges.some((badge) =>
    asString(at(badge, 'metadataBadgeRenderer', 'style'))?.startsWith('BADGE_STYLE_TYPE_VERIFIED'),
  );
  return {
    author: channelAuthor({
      name,
      id: channelId(at(endpoint, 'browseId')),
      url: at(endpoint, 'canonicalBaseUrl'),
      avatar: largestImage(at(owner, 'thumbnail', 'thumbnails')),
      ...(verified && { verified }),
    }),
    subscribers: subscribersIn([
      textOf(at(owner, 'subscriberCountText')),
      accessibilityLabel(at(owner, 'subscriberCountText')),
      // The phone layout.
      ...splitLine(textOf(at(owner, 'expandedSubtitle'))),
      ...splitLine(textOf(at(owner, 'collapsedSubtitle'))),
    ]),
  };
}

/** Since 2025 the channels of a joint video are in a dialog, the uploader first. */
function parseJointOwners(owner: unknown): Owner {
  const list = firstIn(owner, (node) => Array.isArray(node.listItems), 2_000);
  const channels = (asArray(list?.listItems) ?? []).map((item): Owner => {
    const model = at(item, 'listItemViewModel');
    const name = textOf(at(model, 'title'));
    const endpoint = browseEndpointIn(at(model, 'title')) ?? browseEndpointIn(at(model, 'rendererContext'));
    if (!name || !endpoint) return {};
    const parts = splitLine(textOf(at(model, 'subtitle')));
    const handle = parts.find((part) => part.startsWith('@'));
    const verified = firstIn(at(model, 'title', 'attachmentRuns'), isTick) !== undefined;
    const author = channelAuthor({
      name,
      id: channelId(at(endpoint, 'browseId')),
      url: handle ? `/${handle}` : at(endpoint, 'canonicalBaseUrl'),
      avatar: largestImage(at(model, 'leadingAccessory', 'avatarViewModel', 'image', 'sources')),
      ...(verified && { verified }),
    });
    return { author, subscribers: subscribersIn(parts) };
  });
  // Only the first is the uploader, also if it cannot be read.
  const [first, ...others] = channels;
  const collaborators = others.flatMap(({ author }) => author ?? []);
  return { ...first, ...(collaborators.length > 0 && { collaborators }) };
}

function firstIn(value: unknown, test: (node: JsonRecord) => boolean, maxNodes = 500): JsonRecord | undefined {
  return findAll(value, test, { maxNodes, maxResults: 1 })[0];
}

function browseEndpointIn(value: unknown): unknown {
  return firstIn(value, (node) => channelId(at(node, 'browseEndpoint', 'browseId')) !== undefined)?.browseEndpoint;
}

function isTick(node: JsonRecord): boolean {
  return /^(?:CHECK_CIRCLE|MUSIC|AUDIO_BADGE|OFFICIAL_ARTIST)/.test(asString(node.imageName) ?? '');
}

/** The first count; a handle is none. */
function subscribersIn(texts: readonly (string | undefined)[]): ShownCount | undefined {
  for (const text of texts) {
    const count = text === undefined || text.startsWith('@') ? undefined : parseCount(text);
    if (count && text !== undefined) return { ...count, text };
  }
  return undefined;
}

/** The parts of a line such as `@handle • 1.2M subscribers`. */
function splitLine(text = ''): string[] {
  return withoutMarks(text)
    .split(/[•·]/)
    .map((part) => part.trim());
}
