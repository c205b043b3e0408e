/*
 * Media entries of posts, with size, type and expiry. Of several renditions the largest uncropped one is chosen: a
 * shape that differs by more than 3% from the original is a crop.
 */

import { absoluteUrl, asPositive, expiryOf, type MediaEntry } from 'mediagate/plugin';

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  heic: 'image/heic',
  avif: 'image/avif',
};

/** One size of an image or video. */
export interface Rendition {
  url?: unknown;
  width?: unknown;
  height?: unknown;
}

/** An absolute https URL. Old pages have http URLs; their hosts accept https. */
export function mediaUrl(value: unknown): string | undefined {
  return absoluteUrl(value)?.replace(/^http:/, 'https:');
}

export function imageEntry({ url: value, width, height }: Rendition, label?: string): MediaEntry | undefined {
  const url = mediaUrl(value);
  if (!url) return undefined;
  const extension = /\.([a-z]{3,4})(?:\?|$)/i.exec(url)?.[1]?.toLowerCase();
  return {
    url,
    kind: 'image',
    mime: extension && IMAGE_TYPES[extension],
    width: asPositive(width),
    height: asPositive(height),
    label,
    expires_at: expiryOf(url),
  };
}

/** @param hasAudio - undefined if the source does not say. */
export function videoEntry({ url: value, width, height }: Rendition, hasAudio?: boolean): MediaEntry | undefined {
  const url = mediaUrl(value);
  if (!url) return undefined;
  return {
    url,
    kind: 'video',
    mime: 'video/mp4',
    width: asPositive(width),
    height: asPositive(height),
    has_video: true,
    has_audio: hasAudio,
    expires_at: expiryOf(url),
  };
}

/** Maximum difference between the shape of a rendition and that of the image; more is a crop. */
const MAX_SHAPE_DIFFERENCE = 0.03;

/**
 * The largest rendition that shows the whole image: lists contain square crops as well.
 * @param size - that of the image, if it is known.
 */
export function bestImage(
  renditions: readonly Rendition[],
  size: Omit<Rendition, 'url'> = {},
  label?: string,
): MediaEntry | undefined {
  const shape = shapeOf(size);
  const isUncropped = (rendition: Rendition) => {
    const own = shapeOf(rendition);
    return shape !== undefined && own !== undefined && Math.abs(own / shape - 1) < MAX_SHAPE_DIFFERENCE;
  };
  const sorted = [...renditions].sort((one, other) => areaOf(other) - areaOf(one));
  for (const rendition of [...sorted.filter(isUncropped), ...sorted]) {
    const entry = imageEntry(rendition, label);
    if (entry) return entry;
  }
  return undefined;
}

/** Zero if the size is unknown. */
export function areaOf({ width, height }: Omit<Rendition, 'url'>): number {
  return (asPositive(width) ?? 0) * (asPositive(height) ?? 0);
}

function shapeOf({ width, height }: Omit<Rendition, 'url'>): number | undefined {
  const across = asPositive(width);
  const down = asPositive(height);
  return across && down ? across / down : undefined;
}

/** The media of a post as a document has them, each URL once. */
export function postMedia(
  images: readonly MediaEntry[],
  videos: readonly MediaEntry[] = [],
  entries: readonly MediaEntry[] = [...images, ...videos],
) {
  const urlsOf = (list: readonly MediaEntry[]) => [...new Set(list.map(({ url }) => url))];
  return { image_urls: urlsOf(images), video_urls: urlsOf(videos), entries: [...entries] };
}
