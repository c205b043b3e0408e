import {
  absoluteUrl,
  asPositive,
  expiryOf,
  type MediaEntry,
  type PartialPost,
  readDashManifest,
} from 'mediagate/plugin';

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
  url: unknown;
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
function areaOf({ width, height }: Omit<Rendition, 'url'>): number {
  return (asPositive(width) ?? 0) * (asPositive(height) ?? 0);
}

function shapeOf({ width, height }: Omit<Rendition, 'url'>): number | undefined {
  const across = asPositive(width);
  const down = asPositive(height);
  return across && down ? across / down : undefined;
}

/** One image or video of a post. */
export interface MediaItem {
  isVideo: boolean;
  /** The image, or the cover of a video. */
  image?: MediaEntry;
  /** Videos that may have audio, largest first. */
  files: readonly MediaEntry[];
  /** The text of a DASH manifest, which lists video and audio apart. */
  dash: unknown;
  durationSeconds?: number;
}

/** The media of a post as a document has them. */
export type PostMedia = Required<NonNullable<PartialPost['media']>> & { image_urls: string[] };

/** The media of a source that has no carousels. */
export function singleMedia(images: readonly MediaEntry[], videos: readonly MediaEntry[] = []): PostMedia {
  return { image_urls: urlsOf(images), video_urls: urlsOf(videos), entries: [...images, ...videos] };
}

/**
 * The media of a post's items: one image for each, which is the cover of a video; one file for each video of a carousel,
 * and all files of a single video.
 * @param music - what a post of images plays.
 */
export function itemMedia(
  items: readonly MediaItem[],
  music?: MediaEntry,
): { media: PostMedia; durationSeconds?: number } {
  const read = items.map((item) => ({ ...item, tracks: readTracks(item.dash) }));
  const hasVideo = items.some(({ isVideo }) => isVideo);
  const videos = read.flatMap(({ files, tracks }) => {
    // Without a file that has audio, video alone is better than nothing.
    const playable = files.length > 0 ? files : tracks.videos;
    return items.length === 1 ? playable : playable.slice(0, 1);
  });
  const entries = read.flatMap(({ image, files, tracks }) => [
    ...(image ? [image] : []),
    ...files,
    ...tracks.videos,
    ...tracks.audios,
  ]);
  const single = items.length === 1 && hasVideo ? read[0] : undefined;
  return {
    media: {
      image_urls: urlsOf(items.flatMap(({ image }) => image ?? [])),
      video_urls: urlsOf(videos),
      entries: [...entries, ...(music && !hasVideo ? [music] : [])],
    },
    durationSeconds: single?.durationSeconds ?? single?.tracks.durationSeconds,
  };
}

/** The videos of a manifest, largest first, and its audio files, smallest first. */
function readTracks(manifest: unknown) {
  const { files, durationSeconds } = readDashManifest(manifest);
  const bitrate = (entry: MediaEntry) => entry.bitrate ?? 0;
  return {
    videos: largestFirst(files.filter(({ kind }) => kind === 'video')),
    audios: files.filter(({ kind }) => kind === 'audio').sort((one, other) => bitrate(one) - bitrate(other)),
    durationSeconds,
  };
}

/** Each URL once: lists name the same file under several types. */
export function largestFirst(entries: readonly MediaEntry[]): MediaEntry[] {
  const distinct = [...new Map(entries.map((entry) => [entry.url, entry])).values()];
  return distinct.sort((one, other) => areaOf(other) - areaOf(one) || (other.bitrate ?? 0) - (one.bitrate ?? 0));
}

function urlsOf(entries: readonly MediaEntry[]): string[] {
  return [...new Set(entries.map(({ url }) => url))];
}
