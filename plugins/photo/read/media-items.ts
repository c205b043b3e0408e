import type { MediaEntry, PartialPost } from 'mediagate';
import type { DashReading } from './dash.js';

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

export interface AssembledMedia {
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
