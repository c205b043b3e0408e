import type { Part, PartialPost, PostData, PostPart } from 'mediagate';
import { type PostReading, type PostRun, type Readings, SOURCES } from './read/reading.js';
import { type PostIdentity, timeOfMediaId } from './shortcode.js';

/** One reading, and the method that gave it. */
interface MethodReading extends PostReading {
  method: string;
}

/** The readings of all methods, best source first. */
export function rankReadings(parts: readonly Part<Readings>[]): MethodReading[] {
  const readings = parts.flatMap(({ method, found }) => found.map((reading) => ({ ...reading, method })));
  return readings.sort((one, other) => SOURCES.indexOf(one.source) - SOURCES.indexOf(other.source));
}

/** Readings as parts of one document: the media of the one reading that shows most of it, the time from the id at last. */
export function toParts(readings: readonly MethodReading[], { mediaId }: PostIdentity): PostPart[] {
  const imageSource = richest(readings, 'image_urls');
  const videoSource = richest(readings, 'video_urls');
  const parts = readings.map((reading): PostPart => {
    const { method, post } = reading;
    return { method, found: withMedia(post, reading === imageSource, reading === videoSource) };
  });
  const [first] = readings;
  const stated = readings.some(({ post }) => post.common?.published_at);
  const published_at = stated ? undefined : timeOfMediaId(mediaId);
  if (first && published_at)
    parts.push({ method: first.method, found: { common: { published_at }, publishedAtSource: 'id' } });
  return parts;
}

/** The same picture has another address in each reply, so addresses of several cannot be united. */
function richest(readings: readonly MethodReading[], name: 'image_urls' | 'video_urls'): MethodReading | undefined {
  const amount = ({ post }: MethodReading) => post.media?.[name]?.length ?? 0;
  return readings.reduce<MethodReading | undefined>(
    (best, one) => (amount(one) > (best ? amount(best) : 0) ? one : best),
    undefined,
  );
}

function withMedia(post: PartialPost, images: boolean, videos: boolean): PartialPost {
  const { media, common } = post;
  const { thumbnail, ...others } = common ?? {};
  return {
    ...post,
    common: images ? { ...others, thumbnail } : others,
    media: {
      ...(images && { image_urls: media?.image_urls }),
      ...(videos && { video_urls: media?.video_urls }),
      entries: media?.entries?.filter(({ kind }) => (kind === 'image' ? images : videos || kind === 'audio')),
    },
  };
}

/** What the caller should know about the result, stable words first. */
export function limitationsOf(data: PostData, readings: readonly MethodReading[], run: PostRun): string[] {
  const [best] = readings;
  const metrics = Object.entries(data.provenance?.precision ?? {});
  const named = (how: string) => metrics.filter(([, one]) => one === how).map(([metric]) => metric);
  const hasVideo = readings.some((reading) => reading.hasVideo);
  const counted = Math.max(0, ...readings.map(({ itemCount = 0 }) => itemCount));
  const files = hasVideo ? data.media.video_urls : data.media.image_urls;
  const dated = readings.find(({ post }) => post.common?.published_at);
  const rounded = named('rounded');
  const hidden = named('hidden');
  return [
    ...new Set([
      ...(run.restriction ? [run.restriction.code] : []),
      ...run.limitations,
      ...(files.length === 0 ? ['metadata_only'] : []),
      ...(best && best.source !== 'data' && best.source !== 'embed_data' ? [`fallback_source: ${best.source}`] : []),
      // A link preview names the day, and no hour.
      ...(dated?.source === 'page_tags' && data.common.published_at?.endsWith('T00:00:00Z')
        ? ['published_at_day_only']
        : []),
      ...(counted > data.media.image_urls.length ? ['carousel_truncated'] : []),
      ...(rounded.length > 0 ? [`stats_rounded: ${rounded.join(', ')}`] : []),
      ...(hidden.length > 0 ? [`stats_hidden: ${hidden.join(', ')}`] : []),
    ]),
  ];
}
