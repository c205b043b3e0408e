import {
  absoluteUrl,
  asArray,
  asPositive,
  asRecords,
  asString,
  at,
  type JsonRecord,
  type MediaEntry,
  type PartialPost,
} from 'mediagate/plugin';
import { canonicalUrl } from '../links.js';

/** Readers for the small values that all replies of the site have: texts, URLs, ids, channels, pictures. */

/** The text of a node: `{simpleText}`, `{runs: [{text}]}`, `{content}` or a string. Undefined if it is blank. */
export function textOf(value: unknown): string | undefined {
  const runs = asArray(at(value, 'runs'))?.map((run) => asString(at(run, 'text')) ?? '');
  const whole = asString(value) ?? asString(at(value, 'simpleText')) ?? asString(at(value, 'content'));
  const text = whole ?? runs?.join('');
  return text?.trim() ? text : undefined;
}

/** The texts in a list; undefined if there are none. */
export function textsIn(list: unknown): string[] | undefined {
  const texts = (asArray(list) ?? []).flatMap((item) => asString(item) ?? []);
  return texts.length > 0 ? texts : undefined;
}

/** The label of a node for screen readers. */
export function accessibilityLabel(value: unknown): string | undefined {
  const holders = ['accessibility', 'accessibilityData'].map((name) => at(value, name));
  const labels = holders.flatMap((holder) => [at(holder, 'accessibilityData', 'label'), at(holder, 'label')]);
  return labels.map(asString).find((label) => label !== undefined);
}

/** Without the invisible marks of writing direction. */
export function withoutMarks(text: string): string {
  return text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}

/** The absolute https URL for a URL of the site, which may lack scheme or host, or be http. */
export function siteUrl(value: unknown): string | undefined {
  return absoluteUrl(value, 'https://www.youtube.com')?.replace(/^http:/i, 'https:');
}

const CHANNEL_ID = /^UC[0-9A-Za-z_-]{22}$/;

/** The value if it is a channel id. */
export function channelId(value: unknown): string | undefined {
  const text = asString(value);
  return text && CHANNEL_ID.test(text) ? text : undefined;
}

/** The id in a `/channel/` URL. */
export function channelIdIn(url: unknown): string | undefined {
  return channelId(/\/channel\/([^/?#]+)/.exec(asString(url) ?? '')?.[1]);
}

export type PartialAuthor = NonNullable<NonNullable<PartialPost['common']>['author']>;

/** The author for a channel; `url` is the channel's URL or path. */
export function channelAuthor({ url, ...channel }: Omit<PartialAuthor, 'url'> & { url: unknown }): PartialAuthor {
  return { ...channel, username: usernameIn(url), url: siteUrl(url) };
}

/** The handle or old user name in a channel's URL; `/channel/` and `/c/` URLs have none. */
function usernameIn(url: unknown): string | undefined {
  const name = /(?:^|youtube\.com)\/(?:@|user\/)([^/?#]+)/.exec(asString(url) ?? '')?.[1];
  if (!name) return undefined;
  try {
    return decodeURIComponent(name);
  } catch {
    // A stray percent sign: the name is not encoded.
    return name;
  }
}

/** The author that a page shows: a name, the endpoint that it links to, and pictures in several sizes. */
export function shownAuthor(
  name: string,
  endpoint: unknown,
  avatars: unknown,
  { handle, verified }: { handle?: string | undefined; verified?: boolean } = {},
): PartialAuthor {
  return channelAuthor({
    name,
    id: channelId(at(endpoint, 'browseId')),
    url: handle ? `/${handle}` : at(endpoint, 'canonicalBaseUrl'),
    avatar: parseImages(avatars)[0]?.url,
    ...(verified && { verified }),
  });
}

/** The ids of a video and its channel. */
export function videoIds(id: string, channel: string | undefined): NonNullable<PartialPost['ids']> {
  return { video_id: id, canonical_url: canonicalUrl(id), channel_id: channel, author_id: channel };
}

/** The video id in a URL of a video or its picture (`/watch?v=`, `/embed/`, `/shorts/`, `/vi/`). */
export function videoIdIn(url: unknown): string | undefined {
  const pattern = /(?:[?&]v=|\/(?:embed|shorts|live|v|vi|vi_webp)\/)([0-9A-Za-z_-]{11})(?![0-9A-Za-z_-])/;
  return pattern.exec(asString(url) ?? '')?.[1];
}

/** Which video a reply is about; `unknown` if it has no id, as most refusals. */
export type Subject = 'requested' | 'other' | 'unknown';

/** The subject of a reply: every id that it states for its video must be the requested one. */
export function subjectOf(stated: readonly unknown[], id: string): Subject {
  const ids = stated.filter((value) => asString(value) !== undefined);
  if (ids.length === 0) return 'unknown';
  return ids.every((value) => value === id) ? 'requested' : 'other';
}

/** The first renderer with one of the names among the items. */
export function rendererIn(items: readonly unknown[], ...names: readonly string[]): JsonRecord | undefined {
  return asRecords(items.flatMap((item) => names.map((name) => at(item, name))))[0];
}

/** The panels of a page, which open beside or over the video. */
export function panelsOf(next: unknown): { name: string; renderer: unknown }[] {
  return (asArray(at(next, 'engagementPanels')) ?? []).map((panel) => {
    const renderer = at(panel, 'engagementPanelSectionListRenderer');
    return { name: asString(at(renderer, 'panelIdentifier')) ?? asString(at(renderer, 'targetId')) ?? '', renderer };
  });
}

/** The pictures of lists like `[{url, width, height}]`, largest first, each URL once. */
export function parseImages(...lists: readonly unknown[]): MediaEntry[] {
  const images = new Map<string, MediaEntry>();
  for (const item of lists.flatMap((list) => asArray(list) ?? [])) {
    const url = siteUrl(at(item, 'url'));
    if (!url || images.has(url)) continue;
    images.set(url, {
      url,
      kind: 'image',
      width: asPositive(at(item, 'width')),
      height: asPositive(at(item, 'height')),
    });
  }
  return [...images.values()].sort(largerFirst);
}

/** Orders pictures. One without a known size is the smallest. */
export function largerFirst(one: MediaEntry | undefined, other: MediaEntry | undefined): number {
  const area = (entry: MediaEntry | undefined) => (entry?.width ?? 0) * (entry?.height ?? 0);
  return area(other) - area(one);
}
