/*
 * Finds the tracks of the video that a document has: its own files, or those that its manifest lists. A manifest is
 * fetched with the headers of the visit, and chosen from as the files of a document are.
 */

import type { Extraction, MediaEntry } from '../../contracts/index.js';
import { GatewayError } from '../../runtime/index.js';
import { readDash } from './dash.js';
import { type Rendition, readMaster, readSegments, type Variant } from './hls.js';
import { type FetchOptions, fetchManifest, type LoadedTracks } from './track-reader.js';
import { choosePicture, chooseSound, type Offer, type Track, unplayable, type VideoRequest } from './tracks.js';
import { chooseVideo, manifestKind } from './video-choice.js';

/** The tracks of one video, as they are listed. */
export interface FoundTracks extends LoadedTracks {
  /** Bytes of the whole video, roughly. Undefined if nothing states it. */
  bytes: number | undefined;
  /** Whether its sound is in a codec other than AAC. */
  isOtherSound: boolean;
}

export interface TracksRequest extends VideoRequest {
  extraction: Extraction;
  headers: LoadedTracks['headers'];
  fetch: FetchOptions;
}

interface Listed {
  track: Track;
  offer: Offer;
  bytes?: number | undefined;
}

/** @throws GatewayError `file_not_found` if the item has no such video, `media_unavailable`. */
export async function loadTracks(request: TracksRequest): Promise<FoundTracks> {
  const { extraction, headers } = request;
  const listed = await listTracks(request);
  const duration = secondsOf(extraction);
  const sizes = listed.map(({ bytes, offer, track }) => bytes ?? bytesOf(offer, track, duration));
  return {
    tracks: listed.map(({ track }) => track),
    headers,
    bytes: sizes.every((size) => size !== undefined) ? sizes.reduce((sum, size) => sum + size, 0) : undefined,
    isOtherSound: listed.some(({ offer }) => OTHER_SOUND.test(offer.codecs ?? '')),
  };
}

const OTHER_SOUND = /\b(?:[ae]c-3|mp3|mp4a\.40\.34|mp4a\.6[9b]|opus|flac)\b/i;

async function listTracks({ extraction, ...wanted }: TracksRequest): Promise<Listed[]> {
  const choice = chooseVideo(extraction.data, wanted);
  if (!choice) throw new GatewayError('file_not_found', `The item has no video as ${wanted.container}.`);
  const seconds = secondsOf(extraction);
  if (choice.kind === 'file') return [fileTrack(choice.file, seconds)];
  if (choice.kind === 'tracks') return [fileTrack(choice.picture, seconds), fileTrack(choice.sound, seconds)];
  const { url } = choice.manifest;
  const manifest = await fetchManifest(wanted.fetch, { url, headers: wanted.headers });
  const language = 'common' in extraction.data ? extraction.data.common.language : undefined;
  if (manifestKind(choice.manifest) === 'dash') return listDash(manifest, wanted, language);
  return listHls(manifest, wanted, language);
}

function fileTrack(entry: MediaEntry, seconds: number | undefined): Listed {
  const length = entry.duration_seconds ?? seconds ?? Number.POSITIVE_INFINITY;
  return {
    track: { isFile: true, segments: [{ url: entry.url, at: 0, seconds: length }] },
    offer: entry,
    bytes: entry.size,
  };
}

interface Manifest {
  text: string;
  url: string;
}

function listDash({ text, url }: Manifest, wanted: VideoRequest, language: string | undefined): Listed[] {
  const all = readDash(text, url);
  const ofKind = (kind: string) => all.filter(({ mime }) => mime.startsWith(kind));
  const picture = choosePicture(ofKind('video/'), wanted);
  if (!picture) throw unplayable('The manifest has no video that can be merged.');
  const sound = chooseSound(ofKind('audio/'), wanted.container, language);
  return [picture, ...(sound ? [sound] : [])].map((offer) => ({ track: offer.track(), offer }));
}

async function listHls(
  manifest: Manifest,
  wanted: VideoRequest & Pick<TracksRequest, 'fetch' | 'headers'>,
  language: string | undefined,
): Promise<Listed[]> {
  const master = readMaster(manifest.text, manifest.url);
  if (!master) return [{ track: readSegments(manifest.text, manifest.url), offer: {} }];
  const { variants, renditions } = master;
  const pictures = variants.some(({ height }) => height) ? variants.filter(({ height }) => height) : variants;
  const picture = choosePicture(pictures, wanted);
  if (!picture) throw unplayable('The playlist has no video.');
  const sound = soundOf(picture, renditions, language);
  const load = async (offer: Offer & { url: string }): Promise<Listed> => {
    const { text, url } = await fetchManifest(wanted.fetch, { url: offer.url, headers: wanted.headers });
    return { track: readSegments(text, url), offer };
  };
  // The rate of a variant includes its sound.
  const [first, ...others] = await Promise.all([load(picture), ...(sound ? [load(sound)] : [])]);
  return [first, ...others.map((one) => ({ ...one, bytes: 0 }))].filter((one) => one !== undefined);
}

function soundOf({ audioGroup }: Variant, renditions: readonly Rendition[], language: string | undefined) {
  const group = renditions.flatMap((one) => (one.group === audioGroup && one.url ? [{ ...one, url: one.url }] : []));
  const byDefault = [...group].sort((one, other) => Number(other.isDefault) - Number(one.isDefault));
  return chooseSound(byDefault, 'mp4', language);
}

function secondsOf({ data }: Extraction): number | undefined {
  return 'common' in data ? data.common.duration_seconds : undefined;
}

function bytesOf({ bitrate }: Offer, { segments }: Track, duration: number | undefined): number | undefined {
  const last = segments.at(-1);
  const seconds = last && Number.isFinite(last.seconds) ? last.at + last.seconds : duration;
  return bitrate === undefined || seconds === undefined ? undefined : Math.ceil((bitrate * seconds) / 8);
}
