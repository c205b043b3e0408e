import { asArray, asString, at, type Common, findAll, parseCount } from 'mediagate';
import { absoluteUrl, accessibilityLabel, channelId, largestImage, textOf, usernameIn } from './text.js';

type Author = NonNullable<Common['author']>;

export interface Owner {
  author?: Author;
  subscribers?: { value: number; exact: boolean };
  /** The text on the page. */
  subscribersText?: string;
  /** The other channels of a joint video. */
  collaborators?: Author[];
}

/** Reads the line under the title with the channel, or with the channels of a joint video. */
export function parseOwner(owner: unknown): Owner {
  const name = textOf(at(owner, 'title'));
  if (name === undefined) return parseJointOwners(owner);
  const run = at(owner, 'title', 'runs', 0, 'navigationEndpoint', 'browseEndpoint');
  const endpoint = at(owner, 'navigationEndpoint', 'browseEndpoint') ?? run;
  const texts = [
    textOf(at(owner, 'subscriberCountText')),
    accessibilityLabel(at(owner, 'subscriberCountText')),
    ...['expandedSubtitle', 'collapsedSubtitle'].flatMap((line) => splitLine(textOf(at(owner, line)))),
  ];
  return {
    author: authorOf({
      name,
      id: at(endpoint, 'browseId'),
      address: at(endpoint, 'canonicalBaseUrl'),
      avatar: largestImage(at(owner, 'thumbnail', 'thumbnails')),
      verified: isVerified(at(owner, 'badges')),
    }),
    ...subscribersIn(texts),
  };
}

/** Since 2025 the channels of a joint video are in a dialog, the uploader first. */
function parseJointOwners(owner: unknown): Owner {
  const [list] = findAll(owner, (node) => Array.isArray(node.listItems), { maxNodes: 2_000, maxResults: 1 });
  const channels = (asArray(list?.listItems) ?? []).map((item) => {
    const model = at(item, 'listItemViewModel');
    const name = textOf(at(model, 'title'));
    const endpoint = browseEndpointIn(at(model, 'title')) ?? browseEndpointIn(at(model, 'rendererContext'));
    if (!name || !endpoint) return undefined;
    const parts = splitLine(textOf(at(model, 'subtitle')));
    const handle = parts.find((part) => part.startsWith('@'));
    const author = authorOf({
      name,
      id: at(endpoint, 'browseId'),
      address: handle ? `/${handle}` : at(endpoint, 'canonicalBaseUrl'),
      avatar: largestImage(at(model, 'leadingAccessory', 'avatarViewModel', 'image', 'sources')),
      verified: findAll(at(model, 'title', 'attachmentRuns'), isTick, { maxNodes: 500, maxResults: 1 }).length > 0,
    });
    return { author, ...subscribersIn(parts) };
  });
  // Only the first is the uploader, also if it cannot be read.
  const [first, ...others] = channels;
  const collaborators = others.flatMap((channel) => channel?.author ?? []);
  return { ...first, ...(collaborators.length > 0 && { collaborators }) };
}

function browseEndpointIn(value: unknown): unknown {
  const [holder] = findAll(value, (node) => channelId(at(node, 'browseEndpoint', 'browseId')) !== undefined, {
    maxNodes: 500,
    maxResults: 1,
  });
  return holder?.browseEndpoint;
}

interface AuthorParts {
  name: string;
  id: unknown;
  address: unknown;
  avatar: string | undefined;
  verified: boolean;
}

function authorOf({ name, id, address, avatar, verified }: AuthorParts): Author {
  return {
    name,
    id: channelId(id),
    username: usernameIn(address),
    url: absoluteUrl(address),
    avatar,
    ...(verified && { verified }),
  };
}

function isVerified(badges: unknown): boolean {
  return (asArray(badges) ?? []).some((badge) =>
    asString(at(badge, 'metadataBadgeRenderer', 'style'))?.startsWith('BADGE_STYLE_TYPE_VERIFIED'),
  );
}

function isTick(node: Readonly<Record<string, unknown>>): boolean {
  return /^(?:CHECK_CIRCLE|MUSIC|AUDIO_BADGE|OFFICIAL_ARTIST)/.test(asString(node.imageName) ?? '');
}

function subscribersIn(texts: readonly (string | undefined)[]): Pick<Owner, 'subscribers' | 'subscribersText'> {
  for (const text of texts) {
    const subscribers = text === undefined || text.startsWith('@') ? undefined : parseCount(plain(text));
    if (subscribers) return { subscribers, subscribersText: text };
  }
  return {};
}

/** The parts of a line such as `@handle • 1.2M subscribers`. */
function splitLine(text = ''): string[] {
  return plain(text)
    .split(/[•·]/)
    .map((part) => part.trim());
}

/** Without the invisible marks of writing direction. */
function plain(text: string): string {
  return text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}
