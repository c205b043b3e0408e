import { type MediaEntry, type PartialPost, type PostData, type PostPart } from 'mediagate';
import { limitationFor, type VideoOutcome, type VideoRun } from './read/outcomes.js';

/** Methods whose "no" tells why the item cannot be played. */
const RESTRICTING = ['innertube_player', 'innertube_microformat', 'watch_page'];

/** Leaves the thumbnail to the part that has the largest picture of all. */
export function alignThumbnail(parts: readonly PostPart[]): PostPart[] {
  const pictures = parts.flatMap(({ found }) => found.media?.entries?.filter(({ kind }) => kind === 'image') ?? []);
  const largest = pictures.sort(largerFirst)[0]?.url;
  if (!largest) return [...parts];
  return parts.map(({ method, found }) => {
    if (found.common?.thumbnail === undefined || found.common.thumbnail === largest) return { method, found };
    const { thumbnail: _smaller, ...common } = found.common;
    return { method, found: { ...found, common } };
  });
}

/** Puts the pictures of several parts in one order, the largest first. */
export function orderPictures(data: PostData): PostData {
  const sizes = new Map((data.media.entries ?? []).map((entry) => [entry.url, entry]));
  const image_urls = [...data.media.image_urls].sort((one, other) => largerFirst(sizes.get(one), sizes.get(other)));
  return { ...data, media: { ...data.media, image_urls } };
}

/** Who is watching counts only while the item runs; a reply that is a little older may still say that it does. */
export function alignViewers(parts: readonly PostPart[]): PostPart[] {
  const live = parts.find(({ found }) => found.common?.is_live !== undefined)?.found.common?.is_live;
  if (live) return [...parts];
  return parts.map(({ method, found }) => {
    if (found.metrics?.concurrent_viewers === undefined) return { method, found };
    const { concurrent_viewers: _watching, ...metrics } = found.metrics;
    return { method, found: { ...found, metrics } };
  });
}

/** Some replies hold a 0 in the place of a counter that another one says is hidden. */
export function alignHidden(parts: readonly PostPart[]): PostPart[] {
  const hidden = new Set(
    parts.flatMap(({ found }) =>
      Object.entries(found.precision ?? {}).flatMap(([metric, precision]) => (precision === 'hidden' ? [metric] : [])),
    ),
  );
  return parts.map(({ method, found }) => {
    const metrics = Object.entries(found.metrics ?? {}).filter(([name, value]) => value !== 0 || !hidden.has(name));
    return { method, found: { ...found, metrics: Object.fromEntries(metrics) } };
  });
}

function largerFirst(one: MediaEntry | undefined, other: MediaEntry | undefined): number {
  return area(other) - area(one);
}

function area(entry: MediaEntry | undefined): number {
  return (entry?.width ?? 0) * (entry?.height ?? 0);
}

/** What the caller should know about the result, stable words first. */
export function limitationsOf(
  data: PostData,
  { limitations, restriction }: VideoRun,
  outcomes: ReadonlyMap<string, VideoOutcome>,
): string[] {
  const refusals = RESTRICTING.flatMap((method) => {
    const outcome = outcomes.get(method);
    return outcome?.kind === 'definitive' ? [limitationFor(outcome.code)] : [];
  });
  const files = (data.media.entries ?? []).filter(({ kind }) => kind !== 'image' && kind !== 'subtitle');
  const precision = Object.entries(data.provenance?.precision ?? {});
  const metrics = (how: string) => precision.filter(([, one]) => one === how).map(([metric]) => metric);
  const rounded = metrics('rounded');
  const hidden = metrics('hidden').filter((metric) => !(metric in data.metrics));
  return [
    ...new Set([
      ...(restriction ? [limitationFor(restriction.code)] : []),
      ...refusals,
      ...limitations,
      ...(data.common.live_status === 'live' ? ['live_now'] : []),
      ...(files.length === 0 ? ['metadata_only'] : []),
      ...(files.some(({ bound_to }) => bound_to?.includes('ip')) ? ['media_ip_bound'] : []),
      ...(rounded.length > 0 ? [`stats_rounded: ${rounded.join(', ')}`] : []),
      ...(hidden.length > 0 ? [`stats_hidden: ${hidden.join(', ')}`] : []),
    ]),
  ];
}

/**
 * Makes the parts agree on whose the video is. An artist's videos may lie in a channel of the label's while the page shows
 * the artist's own: then the page is followed, since the subscribers it shows are those of the channel it names.
 */
export function alignOwner(parts: readonly PostPart[], pageMethods: readonly string[]): PostPart[] {
  const shown = parts.find(
    ({ method, found }) => pageMethods.includes(method) && found.metrics?.subscriber_count !== undefined,
  );
  const owner = shown?.found.common?.author?.id;
  if (!owner) return [...parts];
  return parts.map(({ method, found }) => ({ method, found: isOf(found, owner) ? found : withoutOwner(found) }));
}

function isOf(post: PartialPost, owner: string): boolean {
  const id = post.common?.author?.id ?? post.ids?.channel_id;
  return id === undefined || id === owner;
}

function withoutOwner(post: PartialPost): PartialPost {
  const { author: _author, ...common } = post.common ?? {};
  const { channel_id: _channel, author_id: _id, ...ids } = post.ids ?? {};
  const { channel_id: _owner, subscriber_count: _subscribers, ...metrics } = post.metrics ?? {};
  return { ...post, common, ids, metrics };
}
