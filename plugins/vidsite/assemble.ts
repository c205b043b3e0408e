/*
 * Merges the parts of a video. The owner is the channel that the page shows with its subscribers; data of another
 * channel are left out. A private video is refused although other parts may be known. Zeros of hidden counters are
 * dropped.
 */

import {
  type Extraction,
  GatewayError,
  type ItemRun,
  limitationNotes,
  mergePosts,
  type PartialPost,
  type PostData,
  type PostPart,
} from 'mediagate/plugin';
import { limitationFor } from './read/outcomes.js';
import { largerFirst } from './read/values.js';

/** Methods whose refusal is the reason why a video cannot be played. */
const RESTRICTING = ['innertube_player', 'innertube_microformat', 'watch_page'];
/** Notes of a reply that has no files. */
const NOTES_WITHOUT_FILES = ['sabr_only', 'media_ciphered', 'unplayable'];
/** Methods that show the owner as the page does. */
const PAGE_METHODS = ['innertube_next', 'watch_page'];

/** @throws GatewayError `private` if a method says so: then nothing of the video is shown. */
export function assemble(run: ItemRun<PartialPost, unknown>): Omit<Extraction, 'method'> {
  refusePrivate(run);
  const parts = alignParts(run.parts);
  const data = orderPictures(mergePosts(withDefaults(parts, run.call.link.id)));
  const live = data.common.live_status;
  return {
    data,
    limitations: limitationsOf(data, run),
    audio: live !== 'live' && live !== 'upcoming' && parts.some(({ found }) => found.audio),
  };
}

function refusePrivate({ call, attempts }: ItemRun<PartialPost, unknown>): void {
  for (const [method, outcome] of call.outcomes) {
    if (method === 'oembed' || outcome.kind !== 'definitive' || outcome.code !== 'private') continue;
    throw new GatewayError('private', 'The item is private.', { reason: outcome.reason, attempts });
  }
}

/**
 * Makes parts of different methods agree: on the owner, on the largest picture as the thumbnail, on viewers only while
 * the stream runs, and on no value for hidden counters, for which some replies have 0.
 */
export function alignParts(parts: readonly PostPart[]): PostPart[] {
  const owner = shownOwner(parts);
  const pictures = parts.flatMap(({ found }) => found.media?.entries?.filter(({ kind }) => kind === 'image') ?? []);
  const largest = pictures.sort(largerFirst)[0]?.url;
  const isLive = parts.find(({ found }) => found.common?.is_live !== undefined)?.found.common?.is_live;
  const isWrong = (name: string, value: unknown) =>
    (name === 'concurrent_viewers' && !isLive) ||
    (value === 0 && parts.some(({ found }) => found.precision?.[name] === 'hidden'));
  return parts.map(({ method, found }) => {
    const isOthers = owner && (found.common?.author?.id ?? found.ids?.channel_id ?? owner) !== owner;
    const { common, metrics, ...rest } = isOthers ? withoutOwner(found) : found;
    const thumbnail = !largest || common?.thumbnail === largest ? common?.thumbnail : undefined;
    const right = Object.entries(metrics ?? {}).filter(([name, value]) => !isWrong(name, value));
    return { method, found: { ...rest, common: { ...common, thumbnail }, metrics: Object.fromEntries(right) } };
  });
}

/**
 * The channel that the page shows with its subscribers. An artist's videos may belong to a channel of the label, while
 * the page shows the artist's own: then the page decides.
 */
function shownOwner(parts: readonly PostPart[]): string | undefined {
  const shown = parts.find(
    ({ method, found }) => PAGE_METHODS.includes(method) && found.metrics?.subscriber_count !== undefined,
  );
  return shown?.found.common?.author?.id;
}

function withoutOwner(post: PartialPost): PartialPost {
  const { author: _author, ...common } = post.common ?? {};
  const { channel_id: _channel, author_id: _id, ...ids } = post.ids ?? {};
  const { subscriber_count: _subscribers, ...metrics } = post.metrics ?? {};
  return { ...post, common, ids, metrics };
}

/** Adds what follows from the ids alone: the URL of the channel, and the picture that every video has. */
function withDefaults(parts: readonly PostPart[], id: string): PostPart[] {
  const known = parts.find(({ found }) => found.common?.author?.id);
  const owner = known?.found.common?.author?.id;
  const author = owner && { id: owner, url: `https://www.youtube.com/channel/${owner}` };
  const pictured = parts.some(({ found }) => found.common?.thumbnail !== undefined);
  const thumbnail = `https://i.ytimg.com/vi/${id}/hqdefault.jpg`;
  return [
    ...parts,
    ...(known && author ? [{ method: known.method, found: { common: { author } } }] : []),
    ...(parts[0] && !pictured
      ? [{ method: parts[0].method, found: { common: { thumbnail }, media: { image_urls: [thumbnail] } } }]
      : []),
  ];
}

/** Orders the pictures of several parts, the largest first. */
function orderPictures(data: PostData): PostData {
  const sizes = new Map((data.media.entries ?? []).map((entry) => [entry.url, entry]));
  const image_urls = [...data.media.image_urls].sort((one, other) => largerFirst(sizes.get(one), sizes.get(other)));
  return { ...data, media: { ...data.media, image_urls } };
}

function limitationsOf(data: PostData, { limitations, restriction, call }: ItemRun<PartialPost, unknown>): string[] {
  const refusals = RESTRICTING.flatMap((method) => {
    const outcome = call.outcomes.get(method);
    return outcome?.kind === 'definitive' ? [limitationFor(outcome.code)] : [];
  });
  const files = (data.media.entries ?? []).filter(({ kind }) => kind !== 'image' && kind !== 'subtitle');
  const notes = [...(restriction ? [limitationFor(restriction.code)] : []), ...refusals, ...limitations];
  // One client had none of the files that another one has.
  const isOvercome = (note: string) => files.length > 0 && NOTES_WITHOUT_FILES.includes(note);
  return limitationNotes(
    { limitations: notes.filter((note) => !isOvercome(note)) },
    data,
    data.common.live_status === 'live' && 'live_now',
    files.length === 0 && 'metadata_only',
    files.some(({ bound_to }) => bound_to?.includes('ip')) && 'media_ip_bound',
  );
}
