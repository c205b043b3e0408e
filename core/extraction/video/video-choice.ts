/*
 * Chooses the files of a document that make a video with picture and sound: one file that has both, one of each, or a
 * manifest. A post with several videos lists the files of one after those of the other, and files of two are never
 * joined. Live streams have no file.
 */

import type { ExtractionData, MediaEntry } from '../../contracts/index.js';
import { entriesOf } from '../media/media-links.js';
import { choosePicture, chooseSound, type VideoContainer, type VideoRequest } from './tracks.js';

/** What a video is made of. */
export type VideoChoice =
  | { kind: 'file'; file: MediaEntry }
  | { kind: 'tracks'; picture: MediaEntry; sound: MediaEntry }
  | { kind: 'manifest'; manifest: MediaEntry };

const HLS = /mpegurl/i;
const DASH = /dash\+xml/i;
/** A file of this height is preferred to a manifest, which takes more requests. */
const GOOD_HEIGHT = 720;

/** Undefined if the document has no video of this container. */
export function chooseVideo(data: ExtractionData, wanted: VideoRequest): VideoChoice | undefined {
  if ('common' in data && data.common.is_live) return undefined;
  const entries = filesOfFirst(entriesOf(data));
  const language = 'common' in data ? data.common.language : undefined;
  const sounds = entries.filter(({ kind }) => kind === 'audio');
  const silent = entries.filter(isSilent);
  const whole = entries.filter(isWhole);
  // Of a video without any sound, the picture is all there is.
  const file = choosePicture(whole.length === 0 && sounds.length === 0 ? silent : whole, wanted);
  const picture = choosePicture(silent, wanted);
  const sound = chooseSound(sounds, wanted.container, language);
  const heightOf = (entry: MediaEntry | undefined) => entry?.height ?? 0;
  if (picture && sound && (!file || isHigher(heightOf(picture), heightOf(file), wanted.maxHeight))) {
    return { kind: 'tracks', picture, sound };
  }
  const manifest = wanted.container === 'mp4' ? entries.find(isManifest) : undefined;
  const least = Math.min(GOOD_HEIGHT, wanted.maxHeight ?? GOOD_HEIGHT);
  if (manifest && (!file || (file.height !== undefined && file.height < least))) return { kind: 'manifest', manifest };
  return file && { kind: 'file', file };
}

/** Whether the first height is the better one within the limit. */
function isHigher(height: number, other: number, limit = Number.POSITIVE_INFINITY): boolean {
  if (height > limit) return other > limit && height < other;
  return other > limit || height > other;
}

/** Containers in which the video can be had, the more common one first. */
export function videoContainers(data: ExtractionData): VideoContainer[] {
  return (['mp4', 'webm'] as const).filter((container) => chooseVideo(data, { container }) !== undefined);
}

/** Address of a file with picture and sound, or with all that there is: by its media link, if it has one. */
export function wholeVideo(data: ExtractionData): string | undefined {
  const entries = entriesOf(data);
  const urls: readonly string[] = ('product' in data ? data.product.video_urls : data.media.video_urls) ?? [];
  const hasSounds = filesOfFirst(entries).some(({ kind }) => kind === 'audio');
  const isEnough = (entry: MediaEntry) => isWhole(entry) || (!hasSounds && isSilent(entry));
  const listed = urls.find((url) => entries.every((entry) => entry.url !== url || isEnough(entry)));
  const file = entries.find(({ url }) => url === listed) ?? entries.find(isEnough);
  return file?.proxy_url ?? listed ?? file?.url;
}

function isWhole({ kind, has_audio: hasAudio, has_video: hasVideo }: MediaEntry): boolean {
  return kind === 'video' && hasAudio !== false && hasVideo !== false;
}

function isSilent({ kind, has_audio: hasAudio }: MediaEntry): boolean {
  return kind === 'video' && hasAudio === false;
}

/** What kind of manifest it is; undefined for one of another kind. */
export function manifestKind({ mime = '' }: MediaEntry): 'hls' | 'dash' | undefined {
  return HLS.test(mime) ? 'hls' : DASH.test(mime) ? 'dash' : undefined;
}

function isManifest(entry: MediaEntry): boolean {
  return entry.kind === 'manifest' && manifestKind(entry) !== undefined;
}

/** The entries of the first video: a picture after it, or a file after its separate tracks, belongs to the next. */
function filesOfFirst(entries: readonly MediaEntry[]): readonly MediaEntry[] {
  const first = entries.findIndex(({ kind }) => kind === 'video' || kind === 'manifest');
  let hasTracks = false;
  const end = entries.findIndex((entry, index) => {
    if (index <= first) {
      hasTracks ||= index === first && isSilent(entry);
      return false;
    }
    if (entry.kind === 'image' || (isWhole(entry) && hasTracks)) return true;
    hasTracks ||= isSilent(entry) || entry.kind === 'audio';
    return false;
  });
  return entries.slice(Math.max(0, first), end < 0 ? undefined : end);
}
