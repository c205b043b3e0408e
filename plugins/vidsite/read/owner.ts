import { asArray, asString, at, type Common, findAll, parseCount } from 'mediagate';
import { absoluteUrl, channelId, largestImage, shownText, spokenLabel, usernameIn } from './text.js';

type Author = NonNullable<Common['author']>;

export interface OwnerReading {
  author?: Author;
  subscribers?: { value: number; exact: boolean };
  /** As the page has it. */
  subscribersText?: string;
  /** The further channels of a joint video. */
  collaborators?: Author[];
}

/** The line under the title that names the channel, or the channels of a joint video. */
export function parseOwner(owner: unknown): OwnerReading {
  const name = shownText(at(owner, 'title'));
  if (name === undefined) return parseJointOwners(owner);
  const run = at(owner, 'title', 'runs', 0, 'navigationEndpoint', 'browseEndpoint');
  const endpoint = at(owner, 'navigationEndpoint', 'browseEndpoint') ?? run;
  const texts = [
    shownText(at(owner, 'subscriberCountText')),
    spokenLabel(at(owner, 'subscriberCountText')),
    ...['expandedSubtitle', 'collapsedSubtitle'].flatMap((line) => splitLine(shownText(at(owner, line)))),
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

/** Since 2025 a joint video names its channels in a dialog, the uploader first. */
function parseJointOwners(owner: unknown): OwnerReading {
  const [list] = findAll(owner, (node) => Array.isArray(node.listItems), { maxNodes: 2_000, maxResults: 1 });
  const channels = (asArray(list?.listItems) ?? []).map((item) => {
    const model = at(item, 'listItemViewModel');
    const name = shownText(at(model, 'title'));
    const endpoint = browseEndpointIn(at(model, 'title')) ?? browseEndpointIn(at(model, 'rendererContext'));
    if (!name || !endpoint) return undefined;
    const parts = splitLine(shownText(at(model, 'subtitle')));
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
  // Only the first is the uploader: where it cannot be read, the second does not become it.
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

function subscribersIn(texts: readonly (string | undefined)[]): Pick<OwnerReading, 'subscribers' | 'subscribersText'> {
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

/** Without the invisible marks that hold pieces of different writing directions apart. */
function plain(text: string): string {
  return text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}
