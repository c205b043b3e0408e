/*
 * Which media files of a document are verified, and how a document shows the outcomes, which are parallel to its entries.
 */

import type { ExtractionData, MediaCheck, MediaEntry } from '../../contracts/index.js';
import { chooseSound } from '../video/tracks.js';
import { chooseVideo, type VideoChoice } from '../video/video-choice.js';
import { entriesOf, isListed } from './media-links.js';

/** Files of one document that are asked for. */
export const MAX_CHECKED = 12;

/** The files that a person would download, the video itself first. */
export function filesToCheck(data: ExtractionData): MediaEntry[] {
  const entries = entriesOf(data);
  const video = chooseVideo(data, { container: 'mp4' });
  const language = 'common' in data ? data.common.language : undefined;
  const sounds = entries.filter(({ kind }) => kind === 'audio');
  const sound = chooseSound(sounds, 'mp4', language) ?? sounds[0];
  const listed = entries.filter((entry) => isListed(data, entry));
  const chosen = [...(video ? filesOfChoice(video) : []), ...(sound ? [sound] : []), ...listed];
  return [...new Set(chosen)];
}

function filesOfChoice(choice: VideoChoice): MediaEntry[] {
  if (choice.kind === 'tracks') return [choice.picture, choice.sound];
  return [choice.kind === 'file' ? choice.file : choice.manifest];
}

/** A document with the outcomes in its entries. */
export function withChecks(data: ExtractionData, checks: readonly (MediaCheck | null)[]): ExtractionData {
  const checked = entriesOf(data).map((entry, index) => {
    const check = checks[index];
    if (!check) return entry;
    return {
      ...entry,
      ...('error' in check ? { verification_error: check.error } : { verified_at: check.verifiedAt }),
    };
  });
  if ('product' in data) return { ...data, product: { ...data.product, media: checked } };
  return { ...data, media: { ...data.media, entries: checked } };
}

/** What a person must know of the outcomes, for `limitations`. */
export function limitationsOfChecks(checks: readonly (MediaCheck | null)[], data: ExtractionData): string[] {
  const asked = checks.filter((check) => check !== null);
  const refused = asked.filter((check) => 'error' in check).length;
  const all = filesToCheck(data).length;
  return [
    ...(refused > 0 ? [`media_unverified: ${refused} of ${asked.length}`] : []),
    ...(all > asked.length ? [`media_not_all_verified: ${asked.length} of ${all}`] : []),
  ];
}
