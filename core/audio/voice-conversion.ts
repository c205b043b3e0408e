/*
 * Brings audio into the requested form. Uploads are written to a local file, refused at their first bytes if they are
 * no audio, and probed; the whole file is decoded only if its length must be paid. A model's audio passes unchanged if
 * it has the requested format already, gets a WAV header, or is converted by ffmpeg while it streams; without ffmpeg a
 * needed conversion is an error. Transcripts are checked for times that subtitles can use. At most three hours of
 * audio are accepted.
 */

import { once } from 'node:events';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import type { AudioInputFile, SpeechFormat, Transcript } from '../contracts/index.js';
import {
  type Container,
  type Ffmpeg,
  PCM_RATE,
  type Probe,
  type ScratchFolders,
  SNIFF_BYTES,
  sniffContainer,
  wavHeader,
} from '../media/index.js';
import { diskFailure, GatewayError, isGatewayError } from '../runtime/index.js';
import type { AudioUpload, UploadedAudio } from './audio.js';

export interface SpeechToConvert {
  body: AsyncIterable<Uint8Array>;
  from: SpeechFormat;
  to: SpeechFormat;
  /** Default: none, and only audio that needs no conversion is accepted. */
  ffmpeg?: Ffmpeg;
  /** Ends it at once. */
  signal: AbortSignal;
}

/** The audio in the requested format, as a stream. */
export async function* convertSpeech(speech: SpeechToConvert): AsyncGenerator<Uint8Array> {
  const { body, from, to } = speech;
  if (from === to && from !== 'wav') yield* body;
  else if (from === 'pcm' && to === 'wav') yield* withHeader(body);
  else if (from === 'wav' && to === 'wav') yield* plainWav(speech);
  else yield* encode(speech);
}

/** The header is sent with the first audio: before that, the call may still fail. */
async function* withHeader(samples: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let begun = false;
  for await (const chunk of samples) {
    yield begun ? chunk : Buffer.concat([wavHeader(), chunk]);
    begun = true;
  }
}

/** Passes on audio that has the right format; models have their own sample rates. */
async function* plainWav(speech: SpeechToConvert): AsyncGenerator<Uint8Array> {
  const pieces = speech.body[Symbol.asyncIterator]();
  const first = await pieces.next();
  if (first.done) return;
  const body = beginningWith(first.value, pieces);
  yield* isPlainWav(first.value) ? body : encode({ ...speech, body });
}

async function* beginningWith(first: Uint8Array, rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield first;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

async function* encode({ body, from, to, ffmpeg, signal }: SpeechToConvert): AsyncGenerator<Uint8Array> {
  if (!ffmpeg) {
    const message = `This gateway has no ffmpeg, which is needed to convert the model's ${from} to ${to}.`;
    throw new GatewayError('plugin_unavailable', message, { param: 'response_format' });
  }
  const made = new PassThrough();
  const left = new AbortController();
  const stop = () => {
    left.abort(signal.reason);
    made.destroy(signal.reason);
  };
  signal.addEventListener('abort', stop, { once: true });
  const write = async (chunk: Uint8Array) => {
    if (!made.write(chunk)) await once(made, 'drain', { signal: left.signal });
  };
  ffmpeg.convertSpeech({ source: body, from, to, write, signal: left.signal }).then(
    () => made.end(),
    (error: unknown) => made.destroy(toFailure(error)),
  );
  try {
    yield* to === 'wav' ? withHeader(made) : made;
  } finally {
    signal.removeEventListener('abort', stop);
    left.abort(new Error('the audio has no reader any more'));
  }
}

/** ffmpeg names an input file in its errors; here it is the model's audio. */
function toFailure(error: unknown): Error {
  if (isGatewayError(error) && error.code === 'audio_unavailable') {
    return new GatewayError('upstream_changed', 'The audio of the model cannot be read.', { cause: error });
  }
  return error instanceof Error ? error : new Error(String(error));
}

const MAX_SECONDS = 3 * 3600;
/** For the length of a file, including the time in the queue; three hours of audio take about twenty seconds. */
const MEASURE_MS = 120_000;
const ACCEPTED = 'flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav, webm';

interface AudioType {
  contentType: string;
  extension: string;
}

/** Accepted types, detected by content. Vendors use the extension of the file name. */
const TYPES: Readonly<Partial<Record<Container, AudioType>>> = {
  mov: { contentType: 'audio/mp4', extension: 'mp4' },
  matroska: { contentType: 'audio/webm', extension: 'webm' },
  mp3: { contentType: 'audio/mpeg', extension: 'mp3' },
  mpeg: { contentType: 'video/mpeg', extension: 'mpeg' },
  ogg: { contentType: 'audio/ogg', extension: 'ogg' },
  flac: { contentType: 'audio/flac', extension: 'flac' },
  wav: { contentType: 'audio/wav', extension: 'wav' },
};

export interface AudioUploadsOptions {
  scratch: ScratchFolders;
  /** Default: none, and files are accepted by their first bytes. */
  ffmpeg?: Ffmpeg;
}

/** Writes an upload of a client to a local file. */
export async function receiveAudio(
  upload: AudioUpload,
  { scratch, ffmpeg }: AudioUploadsOptions,
): Promise<UploadedAudio> {
  const { param, signal } = upload;
  const folder = await scratch.take().catch((error: unknown) => {
    throw diskFailure(error);
  });
  try {
    const file = path.join(folder.path, 'source');
    const { size, container } = await spool(file, upload);
    const type = TYPES[container] as AudioType;
    const seconds = await ffmpeg?.probe({ input: file, container, signal }).then(
      ({ declaredSeconds }) => declaredSeconds,
      (error: unknown) => {
        throw isGatewayError(error) && error.code === 'audio_unavailable' ? unreadable(param, error) : error;
      },
    );
    if (seconds !== undefined && seconds > MAX_SECONDS) {
      throw tooLong(param);
    }
    return {
      path: file,
      size,
      contentType: type.contentType,
      filename: `sound.${type.extension}`,
      ...(seconds !== undefined && { seconds }),
      measure: (signal) => measure({ input: file, container, signal }, param, ffmpeg),
      remove: () => folder.remove(),
    };
  } catch (error) {
    // A file that remains is swept later; the original error is more important than a failed removal.
    await folder.remove().catch(() => undefined);
    throw diskFailure(error);
  }
}

/** Decodes the whole file: its headers may state any duration. */
async function measure(probe: Probe, param: string, ffmpeg: Ffmpeg | undefined): Promise<number | undefined> {
  if (!ffmpeg) return undefined;
  const deadline = AbortSignal.timeout(MEASURE_MS);
  const signal = AbortSignal.any([probe.signal, deadline]);
  const seconds = await ffmpeg.measure({ ...probe, signal, maxSeconds: MAX_SECONDS }).catch((error: unknown) => {
    probe.signal.throwIfAborted();
    if (deadline.aborted) throw invalid(param, `The length of ${param} cannot be found within ${MEASURE_MS / 1000} s.`);
    throw isGatewayError(error) && error.code === 'audio_unavailable' ? unreadable(param, error) : error;
  });
  if (seconds > MAX_SECONDS) throw tooLong(param);
  return seconds;
}

/** A file that is no audio is refused at its first bytes, before the rest is read. */
async function spool(file: string, upload: AudioUpload): Promise<{ size: number; container: Container }> {
  const handle = await open(file, 'wx', 0o600);
  try {
    return await write(handle, upload);
  } finally {
    await handle.close();
  }
}

async function write(handle: FileHandle, { chunks, maxBytes, param, signal }: AudioUpload) {
  let head = Buffer.alloc(0);
  let container: Container | undefined;
  let size = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    size += chunk.length;
    if (size > maxBytes) {
      throw new GatewayError('request_too_large', `${param} is larger than ${maxBytes} bytes.`, { param });
    }
    if (!container) {
      head = Buffer.concat([head, chunk.subarray(0, SNIFF_BYTES - head.length)]);
      if (head.length === SNIFF_BYTES) container = judge(head, param);
    }
    await handle.writeFile(chunk);
  }
  if (size === 0) throw invalid(param, `${param} is empty: send an audio file (${ACCEPTED}).`);
  return { size, container: container ?? judge(head, param) };
}

function judge(head: Uint8Array, param: string): Container {
  const container = sniffContainer(head);
  if (container && TYPES[container]) return container;
  throw invalid(param, `${param} is not audio in an accepted format: ${ACCEPTED}.`);
}

function tooLong(param: string): GatewayError {
  return invalid(param, `${param} is longer than ${MAX_SECONDS / 3600} hours.`);
}

function unreadable(param: string, cause: GatewayError): GatewayError {
  const message = `${param} cannot be read as audio: it is damaged or has no audio track. Accepted: ${ACCEPTED}.`;
  return new GatewayError('invalid_value', message, { param, cause });
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param });
}

interface Timed {
  start: number;
  end: number;
}

/**
 * Checks a model's transcript: times that allow subtitles, and a duration.
 * @throws GatewayError `upstream_changed` if it is no transcript.
 */
export function checkTranscript(
  transcript: Transcript,
  audio: AudioInputFile,
): Transcript & { durationSeconds: number } {
  const { text, segments, words } = transcript;
  if (typeof text !== 'string' || !Array.isArray(segments)) throw notATranscript();
  const timed = segments.map(inOrder);
  const durationSeconds = transcript.durationSeconds ?? audio.seconds ?? timed.at(-1)?.end ?? 0;
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
  return new GatewayError('upstream_changed', 'The answer of the model is not a transcript.');
}

const HEAD_BYTES = 36;

/** Whether a WAV has the same header as ours: raw `pcm` samples right after it. */
export function isPlainWav(head: Uint8Array): boolean {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  return (
    bytes.length >= HEAD_BYTES &&
    bytes.toString('latin1', 0, 4) === 'RIFF' &&
    bytes.toString('latin1', 8, 16) === 'WAVEfmt ' &&
    bytes.readUInt16LE(20) === 1 &&
    bytes.readUInt16LE(22) === 1 &&
    bytes.readUInt32LE(24) === PCM_RATE &&
    bytes.readUInt16LE(34) === 16
  );
}
