import { open } from 'node:fs/promises';
import path from 'node:path';
import type { AudioSource, Clock, HttpClient, Storage } from '../contracts/index.js';
import type { ConversionReport, ScratchFolders } from '../media/index.js';
import {
  type Container,
  createGrowingFile,
  type Ffmpeg,
  type GrowingFile,
  MP3_BYTES_PER_SECOND,
  SNIFF_BYTES,
  sniffContainer,
} from '../media/index.js';
import { diskFailure, GatewayError } from '../runtime/index.js';
import { fetchSound } from './audio-source.js';

/** Sound of this length at most. */
const MAX_SECONDS = 3 * 3600;

export interface AudioWork {
  http: HttpClient;
  source: AudioSource;
  mediaHosts: readonly string[];
  trustedOrigins: readonly string[];
  ffmpeg: Ffmpeg;
  scratch: ScratchFolders;
  storage: Storage;
  clock: Clock;
  /** What it is stored as, and for how long. */
  fileName: string;
  lifetimeMs: number;
  signal: AbortSignal;
  /** Called with the first bytes of the MP3; from then on it can be followed. */
  onFirstBytes(growing: GrowingFile): void;
}

/**
 * One MP3, from the source to the storage: fetched into a file of ours (some containers keep their index at the end, and
 * cannot be read from a pipe), found to be sound, converted, checked, stored. Resolves with its size in bytes.
 * @throws GatewayError `audio_unavailable`, `audio_timeout`, `queue_full`, `upstream_unavailable` where the disk is full;
 *   the signal's reason.
 */
export async function makeAudio(work: AudioWork): Promise<number> {
  refuseTooLong(work.source.durationSeconds);
  const folder = await work.scratch.take();
  try {
    const input = path.join(folder.path, 'source');
    const container = await spool(input, work);
    const growing = await createGrowingFile(path.join(folder.path, 'sound.mp3'));
    try {
      // It is written to the storage while it grows, and comes into being there when it is whole.
      const stored = store(growing, work);
      // A failure to store counts when the conversion is done: those who follow that get their file all the same.
      stored.catch(() => undefined);
      try {
        await convert(input, container, growing, work);
        growing.finish();
      } catch (error) {
        growing.fail(error);
        await stored.catch(() => undefined);
        throw error;
      }
      await stored;
      return growing.size;
    } finally {
      await growing.release();
    }
  } catch (error) {
    throw diskFailure(error);
  } finally {
    await folder.remove();
  }
}

/** A file that is no container of sound is refused at its first bytes, before the rest is fetched. */
async function spool(target: string, work: AudioWork): Promise<Container> {
  const handle = await open(target, 'wx', 0o600);
  let head = Buffer.alloc(0);
  let container: Container | undefined;
  const judge = () => {
    container = sniffContainer(head);
    if (!container) {
      const message = 'What the source sent is no sound or video file.';
      throw new GatewayError('audio_unavailable', message, { retryable: false });
    }
  };
  try {
    await fetchSound({
      ...work,
      async write(chunk) {
        if (!container) {
          head = Buffer.concat([head, chunk.subarray(0, SNIFF_BYTES - head.length)]);
          if (head.length === SNIFF_BYTES) judge();
        }
        await handle.writeFile(chunk);
      },
    });
  } finally {
    await handle.close();
  }
  if (!container) judge();
  return container as Container;
}

async function convert(input: string, container: Container, growing: GrowingFile, work: AudioWork): Promise<void> {
  const { ffmpeg, signal, source, onFirstBytes } = work;
  const report = await ffmpeg.toMp3({
    input,
    container,
    maxSeconds: MAX_SECONDS + 1,
    signal,
    async write(chunk) {
      await growing.append(chunk);
      if (growing.size === chunk.byteLength) onFirstBytes(growing);
    },
  });
  const seconds = growing.size / MP3_BYTES_PER_SECOND;
  refuseTooLong(seconds);
  if (isCutShort(seconds, source.durationSeconds, report)) {
    throw new GatewayError('audio_unavailable', 'The source ends before it should.');
  }
}

async function store(growing: GrowingFile, { storage, clock, fileName, lifetimeMs }: AudioWork): Promise<void> {
  const body = growing.follow();
  if (!body) throw new Error('a file was closed before it was stored');
  const expiresAt = new Date(clock.now() + lifetimeMs);
  try {
    await storage.write({ name: fileName, contentType: 'audio/mpeg', body, expiresAt });
  } finally {
    // A storage that fails at once has not begun to read.
    await body[Symbol.asyncIterator]().return?.();
  }
}

/**
 * Platforms round lengths, and pictures may go on after the sound: a tenth less is nothing for sound alone, half for a
 * video.
 */
function isCutShort(seconds: number, promised: number | undefined, report: ConversionReport): boolean {
  const { declaredSeconds, hasPictures, cutShort } = report;
  const expected = Math.max(promised ?? 0, declaredSeconds ?? 0);
  return cutShort || seconds === 0 || seconds + 3 < expected * (hasPictures ? 0.5 : 0.9);
}

function refuseTooLong(seconds = 0): void {
  if (seconds > MAX_SECONDS) {
    const message = `The item is longer than ${MAX_SECONDS / 3600} hours.`;
    throw new GatewayError('audio_unavailable', message, { retryable: false });
  }
}
