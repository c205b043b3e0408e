/*
 * The words of an extracted item from its subtitles: those in a preferred language, and written ones before automatic
 * ones.
 */

import type { Gateway } from 'mediagate';
import type { ExtractResult, MediaEntry } from '../../core/contracts/index.js';
import { isGatewayError } from '../../core/runtime/index.js';
import { type LinkTranscript, wordsOf } from './transcript-fields.js';

export interface TranscriptAnswer {
  transcript: LinkTranscript | null;
  /** For `limitations`. */
  notes: readonly string[];
  /** Of the speech recognition that this request began, in millionths of the currency. Default: there was none. */
  cost?: number;
}

/** Tracks that are tried. */
const MAX_TRACKS = 3;

export interface CaptionsRequest {
  /** Preferred ones, best first. */
  languages: readonly string[];
  signal: AbortSignal;
}

/** Undefined if there are none, or the platform refuses them. @throws The signal's reason. */
export async function findCaptions(
  gateway: Pick<Gateway, 'captions'>,
  result: ExtractResult,
  { languages, signal }: CaptionsRequest,
): Promise<TranscriptAnswer | undefined> {
  for (const track of orderTracks(result, languages).slice(0, MAX_TRACKS)) {
    try {
      const cues = await gateway.captions(result, track, signal);
      if (cues.length === 0) continue;
      const language = track.language ?? null;
      const isWanted = languages.length === 0 || languages.some((one) => isSameLanguage(one, track.language));
      const source = track.auto_generated ? 'auto_captions' : 'captions';
      const notes = isWanted ? [] : [`transcript_language: ${language ?? 'unknown'}`];
      return { transcript: { source, language, ...wordsOf(cues) }, notes };
    } catch (error) {
      signal.throwIfAborted();
      if (!isGatewayError(error)) throw error;
    }
  }
  return undefined;
}

/** The answer without words. */
export function without(why: string): TranscriptAnswer {
  return { transcript: null, notes: [`transcript_unavailable: ${why}`] };
}

/** Subtitles in the order in which they serve: by language, and written ones before automatic ones. */
function orderTracks({ data }: ExtractResult, languages: readonly string[]): MediaEntry[] {
  if ('product' in data) return [];
  const { common, media } = data;
  const wanted = common.language === undefined ? languages : [...languages, common.language];
  const rank = ({ language, auto_generated: isAutomatic }: MediaEntry) => {
    const at = wanted.findIndex((one) => isSameLanguage(one, language));
    return (at < 0 ? wanted.length : at) * 2 + (isAutomatic ? 1 : 0);
  };
  const tracks = (media.entries ?? []).filter(({ kind }) => kind === 'subtitle');
  return tracks.sort((one, other) => rank(one) - rank(other));
}

/** Whether they are the same language, in any region. */
function isSameLanguage(one: string, other: string | undefined): boolean {
  const plain = (tag: string) => tag.toLowerCase().split(/[-_]/)[0];
  return other !== undefined && plain(one) === plain(other);
}
