import type { SoundFile, Transcript } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';

interface Timed {
  start: number;
  end: number;
}

/**
 * What a model says it heard, with times that subtitles can be made of and a length.
 * @throws GatewayError `upstream_changed` where it is no transcript.
 */
export function checkTranscript(transcript: Transcript, sound: SoundFile): Transcript & { durationSeconds: number } {
  const { text, segments, words } = transcript;
  if (typeof text !== 'string' || !Array.isArray(segments)) throw notATranscript();
  const timed = segments.map(inOrder);
  const durationSeconds = transcript.durationSeconds ?? sound.seconds ?? timed.at(-1)?.end ?? 0;
  if (!isTime(durationSeconds)) throw notATranscript();
  return { ...transcript, segments: timed, ...(words && { words: words.map(inOrder) }), durationSeconds };
}

function inOrder<Piece extends Timed>(piece: Piece): Piece {
  if (!isTime(piece.start) || !isTime(piece.end)) throw notATranscript();
  return { ...piece, end: Math.max(piece.start, piece.end) };
}

function isTime(seconds: number): boolean {
  return Number.isFinite(seconds) && seconds >= 0;
}

function notATranscript(): GatewayError {
  return new GatewayError('upstream_changed', 'The answer of the model is no transcript.');
}
