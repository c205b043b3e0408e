import { type MediaEntry, type PartialPost, toIsoTime } from 'mediagate';
import type { DashReading } from './dash.js';
import { address, positive } from './values.js';

const IMAGE_TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  heic: 'image/heic',
  avif: 'image/avif',
};

/** One rendition of a picture. */
export interface Rendition {
  url: unknown;
  width?: unknown;
  height?: unknown;
}

/** When a signed address ends: `oe` is a Unix time in hexadecimal digits. */
export function expiryOf(url: string): string | undefined {
  const hex = /[?&]oe=([0-9a-f]{8})(?:&|$)/i.exec(url)?.[1];
  return hex && toIsoTime(Number.parseInt(hex, 16));
}

export function imageEntry({ url, width, height }: Rendition, label?: string): MediaEntry | undefined {
  const text = address(url);
  if (!text) return undefined;
  const extension = /\.([a-z]{3,4})(?:\?|$)/i.exec(text)?.[1]?.toLowerCase();
  return {
    url: text,
    kind: 'image',
    mime: extension && IMAGE_TYPES[extension],
    width: positive(width),
    height: positive(height),
    label,
    expires_at: expiryOf(text),
  };
}

/** A file with picture and, unless it is known to be mute, sound. */
export function videoEntry({ url, width, height }: Rendition, hasAudio: boolean | undefined): MediaEntry | undefined {
  const text = address(url);
  if (!text) return undefined;
  return {
    url: text,
    kind: 'video',
    mime: 'video/mp4',
    width: positive(width),
    height: positive(height),
    has_video: true,
    has_audio: hasAudio,
    expires_at: expiryOf(text),
  };
}

/** How far the shape of a rendition may be from the picture's own: more is a crop. */
const MAX_SHAPE_DIFFERENCE = 0.03;

/**
 * The largest rendition that shows the whole picture: lists hold square crops as well.
 * @param size - the picture's own, where it is known.
 */
export function bestImage(
  renditions: readonly Rendition[],
  size: { width?: unknown; height?: unknown } = {},
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

/** Larger first; what has no size stays where it is. */
export function largerFirst(one: MediaEntry, other: MediaEntry): number {
  return (other.width ?? 0) * (other.height ?? 0) - (one.width ?? 0) * (one.height ?? 0);
}

function areaOf({ width, height }: Omit<Rendition, 'url'>): number {
  return (positive(width) ?? 0) * (positive(height) ?? 0);
}

function shapeOf({ width, height }: Omit<Rendition, 'url'>): number | undefined {
  const across = positive(width);
  const down = positive(height);
  return across && down ? across / down : undefined;
}

/** One picture or video of a post. */
export interface MediaItem {
  isVideo: boolean;
  /** The picture, or a video's cover. */
  image?: MediaEntry;
  /** Whole files, best first. */
  files: MediaEntry[];
  dash: DashReading;
  hasAudio?: boolean;
  durationSeconds?: number;
}

interface AssembledMedia {
  media: NonNullable<PartialPost['media']>;
  audio: boolean;
  durationSeconds?: number;
}

/**
 * The media of a post: one picture for each item (a video's cover among them), one file for each video of a carousel,
 * all files of a single video.
 * @param sound - what a post of pictures plays along.
 */
export function assembleMedia(items: readonly MediaItem[], sound?: MediaEntry): AssembledMedia {
  const images = items.flatMap(({ image }) => image ?? []);
  const single = items.length === 1;
  const videos = items.flatMap((item) => {
    const playable = playableOf(item);
    return single ? playable : playable.slice(0, 1);
  });
  const music = items.some(({ isVideo }) => isVideo) ? undefined : sound;
  const audible = items.some(
    (item) => item.hasAudio !== false && (item.files.length > 0 || item.dash.sounds.length > 0),
  );
  return {
    media: {
      image_urls: urlsOf(images),
      video_urls: urlsOf(videos),
      entries: [
        ...items.flatMap(({ image, files, dash }) => [
          ...(image ? [image] : []),
          ...files,
          ...dash.videos,
          ...dash.sounds,
        ]),
        ...(music ? [music] : []),
      ],
    },
    audio: audible || music !== undefined,
    durationSeconds: single ? items[0]?.durationSeconds : undefined,
  };
}

/** Where there is no whole file, tracks without sound are better than nothing. */
function playableOf({ files, dash }: MediaItem): readonly MediaEntry[] {
  return files.length > 0 ? files : dash.videos;
}

function urlsOf(entries: readonly MediaEntry[]): string[] {
  return [...new Set(entries.map(({ url }) => url))];
}

/** Each address once; the lists name the same file under several types. */
export function distinct(entries: readonly MediaEntry[]): MediaEntry[] {
  return [...new Map(entries.map((entry) => [entry.url, entry])).values()];
}
