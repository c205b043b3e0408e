/*
 * Runs one ffmpeg process to its end, with back-pressure in both directions, few environment variables, and a kill at
 * once when its signal aborts. The caller gets its error only after the process has ended, because it may remove the
 * input next. ffmpeg's messages quote the source, so only what was recognized in them leaves this file. It also has
 * scratch folders, whose remains after a crash are swept, and growing files: readers follow a file while it is
 * written, each at its own pace, and get its error if writing fails.
 */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, mkdtemp, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { countShortLived, GatewayError, isSystemError, unlessAborted } from '../runtime/index.js';

/** Environment variables that a program needs to start. Others are not passed: some are secret. */
const ENVIRONMENT = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot'];

export interface FfmpegRun {
  /** The executable. */
  path: string;
  parameters: readonly string[];
  /** Bytes for its standard input, and for the descriptors from 3 on. Default: none. */
  feeds?: readonly AsyncIterable<Uint8Array>[];
  /** Receives its output; the next chunk waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Kills it at once. */
  signal: AbortSignal;
}

type Child = ChildProcessByStdio<Writable | null, Readable, Readable>;

/** Position of the first further input among the child's descriptors. */
const FIRST_PIPE = 3;

/**
 * Runs ffmpeg to its end.
 * @throws GatewayError `audio_unavailable` if it fails, `plugin_unavailable` if it cannot be started or is killed from
 *   outside; the signal's reason; what `feeds` and `write` throw.
 */
export async function runFfmpeg({ path, parameters, feeds = [], write, signal }: FfmpegRun): Promise<ConversionReport> {
  signal.throwIfAborted();
  const child = start(path, parameters, feeds.length);
  const report = new ReportReader();
  // Without free file descriptors no process is started, yet the object can be killed: its id could be that of any
  // process, or of all.
  const kill = () => child.pid !== undefined && child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  const ended = new Promise<{ code: number | null; by: NodeJS.Signals | null }>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, by) => resolve({ code, by }));
  });
  try {
    child.stderr.on('data', (chunk: Buffer) => report.add(chunk));
    const [{ code, by }] = await Promise.all([
      ended,
      passOn(child.stdout, write),
      ...feeds.map((feed, index) => give(feed, inputOf(child, index))),
    ]);
    signal.throwIfAborted();
    if (by === 'SIGKILL' || by === 'SIGTERM') throw endedFromOutside(by);
    if (code !== 0) throw report.failure(code);
    return report.read();
  } catch (error) {
    kill();
    // The caller may remove the input next, so the process must have ended.
    const unstarted: unknown = await ended.then(
      () => undefined,
      (failure) => failure,
    );
    signal.throwIfAborted();
    throw unstarted ? notStarted(unstarted) : error;
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

/** Standard input, or a descriptor beside the usual three. */
function inputOf({ stdin, stdio }: Child, index: number): Writable {
  return (index === 0 ? stdin : stdio[index + FIRST_PIPE - 1]) as Writable;
}

function start(path: string, parameters: readonly string[], inputs: number): Child {
  const env = Object.fromEntries(ENVIRONMENT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  try {
    return spawn(path, parameters, {
      env,
      stdio: [inputs > 0 ? 'pipe' : 'ignore', 'pipe', 'pipe', ...Array(Math.max(0, inputs - 1)).fill('pipe')],
      windowsHide: true,
    }) as Child;
  } catch (error) {
    throw notStarted(error);
  }
}

async function passOn(output: Readable, write: FfmpegRun['write']): Promise<void> {
  for await (const chunk of output as AsyncIterable<Buffer>) {
    countShortLived(chunk.byteLength);
    await write(chunk);
  }
}

/** Ends with the child, however long the next chunk takes: a child that is done, or failed, reads no more. */
async function give(feed: AsyncIterable<Uint8Array>, input: Writable): Promise<void> {
  const gone = new AbortController();
  // A broken pipe: the exit code states the cause.
  const leave = () => gone.abort();
  input.on('error', leave).on('close', leave);
  const pieces = feed[Symbol.asyncIterator]();
  try {
    for (;;) {
      const { done, value } = await unlessAborted(gone.signal, pieces.next());
      if (done) break;
      if (!input.write(value)) await once(input, 'drain', { signal: gone.signal });
    }
    input.end();
  } catch (error) {
    if (!gone.signal.aborted) throw error;
    pieces.return?.().catch(() => undefined);
  }
}

/** Not an error of its input, as after a crash: memory was short, or it was killed. */
function endedFromOutside(signal: NodeJS.Signals): GatewayError {
  const cause = new Error(`ffmpeg ended with ${signal}`);
  return new GatewayError('plugin_unavailable', 'ffmpeg was stopped before it finished.', { cause });
}

function notStarted(cause: unknown): GatewayError {
  return new GatewayError('plugin_unavailable', 'ffmpeg could not be started.', { cause });
}

/** What ffmpeg reported about a source. */
export interface ConversionReport {
  /** Stated duration of the source in seconds. */
  declaredSeconds?: number;
  /** The source has video too, which may be longer than the audio. */
  hasPictures: boolean;
  /** The source was truncated. */
  cutShort: boolean;
  /** The source has audio that ffmpeg did not read: a track that begins later, or a second file after the first. */
  isPartial: boolean;
}

const MAX_MESSAGE_BYTES = 8192;
/** The third is the form of older versions: the name of the file, and the error. */
const UNREAD = /New audio stream|Error during demuxing|^(?!Error).*: Invalid argument$|[Dd]uplicated? MOOV/m;

/**
 * Parses ffmpeg's messages. They quote the source, so no message reaches a client or a log: only what was recognized.
 */
class ReportReader {
  #head = '';
  #tail = '';

  add(chunk: Buffer): void {
    const text = chunk.toString('latin1');
    this.#head += text.slice(0, Math.max(0, MAX_MESSAGE_BYTES - this.#head.length));
    this.#tail = (this.#tail + text).slice(-MAX_MESSAGE_BYTES);
  }

  read(): ConversionReport {
    const [, hours, minutes, seconds] = /^ {2}Duration: (\d+):(\d\d):(\d\d\.\d+),/m.exec(this.#head) ?? [];
    return {
      ...(seconds && { declaredSeconds: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) }),
      hasPictures: /^ {2}Stream #0:\d+.*: Video: /m.test(this.#head),
      isPartial: UNREAD.test(this.#head) || UNREAD.test(this.#tail),
      cutShort: /: partial file$|\] File ended prematurely|Truncated/m.test(this.#tail),
    };
  }

  /** The error for this exit code (null: by a signal that was not ours). */
  failure(code: number | null): GatewayError {
    const cause = new Error(`ffmpeg ended with ${code ?? 'a signal'}`);
    if (/matches no streams/.test(this.#tail)) return unavailable('The source has no audio.', cause);
    if (/not on whitelist|Decoder .* not found|Decoding requested, but no decoder/.test(this.#tail))
      return unavailable('The audio of the source is in a format that cannot be converted.', cause);
    return unavailable('The source cannot be read as audio: it is damaged or of another type.', cause);
  }
}

function unavailable(message: string, cause: Error): GatewayError {
  return new GatewayError('audio_unavailable', message, { cause, retryable: false });
}

export interface ScratchFolder {
  readonly path: string;
  remove(): Promise<void>;
}

export interface ScratchOptions {
  /** Of the names of folders. Default `mediagate-scratch-`. */
  prefix?: string;
  /** No work takes this long, so no process can be using an older folder. Default 3,600,000. */
  abandonedMs?: number;
}

/**
 * Temporary folders for work in progress.
 * @param root Created if missing; may be shared with others: their files are not touched.
 */
export class ScratchFolders {
  readonly #root: string;
  readonly #prefix: string;
  readonly #abandonedMs: number;

  constructor(root: string, { prefix = 'mediagate-scratch-', abandonedMs = 3_600_000 }: ScratchOptions = {}) {
    this.#root = root;
    this.#prefix = prefix;
    this.#abandonedMs = abandonedMs;
  }

  /** An empty folder (0700) for the caller, who removes it after the work. */
  async take(): Promise<ScratchFolder> {
    await mkdir(this.#root, { recursive: true, mode: 0o700 });
    await this.sweep();
    const folder = await mkdtemp(path.join(this.#root, this.#prefix));
    return { path: folder, remove: () => rm(folder, { recursive: true, force: true }) };
  }

  /** Removes the remains of a crash. */
  async sweep(): Promise<void> {
    for (const name of await readdir(this.#root).catch(ifMissing([]))) {
      if (!name.startsWith(this.#prefix)) continue;
      const folder = path.join(this.#root, name);
      const found = await stat(folder).catch(ifMissing(undefined));
      const own = found && (process.getuid === undefined || found.uid === process.getuid());
      if (own && Date.now() - found.mtimeMs > this.#abandonedMs) await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Another process may have removed it first. */
function ifMissing<Value>(instead: Value): (error: unknown) => Value {
  return (error) => {
    if (isSystemError(error, 'ENOENT')) return instead;
    throw error;
  };
}

const CHUNK_BYTES = 64 * 1024;

/** A file that is read while it is still being written: each reader has its own pace and blocks no other. */
export class GrowingFile {
  readonly #handle: FileHandle;
  #size = 0;
  #state: 'growing' | 'whole' | { failed: unknown } = 'growing';
  /** The writer, and readers. */
  #users = 1;
  #newest: { start: number; chunk: Uint8Array } | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** @throws Error if the file exists, or cannot be created. */
  static async create(path: string): Promise<GrowingFile> {
    return new GrowingFile(await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600));
  }

  /** Bytes so far. */
  get size(): number {
    return this.#size;
  }

  /** True once writing has ended, successfully or not. */
  get ended(): boolean {
    return this.#state !== 'growing';
  }

  /** Readers that have read everything so far receive the chunk directly. */
  async append(chunk: Uint8Array): Promise<void> {
    for (let offset = 0; offset < chunk.byteLength; ) {
      const length = chunk.byteLength - offset;
      const { bytesWritten } = await this.#handle.write(chunk, offset, length, this.#size + offset);
      offset += bytesWritten;
    }
    this.#newest = { start: this.#size, chunk };
    this.#size += chunk.byteLength;
    this.#wake();
  }

  /** The file is complete: readers end at its end. */
  finish(): void {
    this.#state = 'whole';
    this.#wake();
  }

  /** The file stays incomplete: readers get its bytes, and then this error. */
  fail(error: unknown): void {
    this.#state = { failed: error };
    this.#wake();
  }

  /**
   * Streams from the first byte to the last, waiting for bytes that are not written yet. Must be read once, to its end
   * or until `return` is called; until then the file stays open. Undefined once it is closed.
   */
  follow(): AsyncIterable<Uint8Array> | undefined {
    if (this.#users === 0) return undefined;
    this.#users += 1;
    const chunks = this.#read();
    let here = true;
    const depart = async () => {
      if (!here) return;
      here = false;
      await this.release();
    };
    return {
      [Symbol.asyncIterator]: () => ({
        async next() {
          try {
            const result = await chunks.next();
            if (result.done) await depart();
            return result;
          } catch (error) {
            await depart();
            throw error;
          }
        },
        async return() {
          // A generator that waits, or was never started, would not notice.
          await depart();
          return { done: true, value: undefined };
        },
      }),
    };
  }

  /** The writer no longer needs it; it is closed when the last reader has ended. */
  async release(): Promise<void> {
    this.#users -= 1;
    if (this.#users === 0) await this.#handle.close();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    for (let position = 0; ; ) {
      const news = this.#changed.promise;
      while (position < this.#size) {
        const chunk = await this.#chunkAt(position);
        position += chunk.byteLength;
        yield chunk;
      }
      const state = this.#state;
      if (typeof state === 'object') throw state.failed;
      if (state === 'whole' && position === this.#size) return;
      if (state === 'growing') await news;
    }
  }

  /** The newest chunk from memory, earlier bytes from the disk. */
  async #chunkAt(position: number): Promise<Uint8Array> {
    const newest = this.#newest;
    if (newest?.start === position) return newest.chunk;
    const end = newest && newest.start > position ? newest.start : this.#size;
    const length = Math.min(CHUNK_BYTES, end - position);
    const { bytesRead, buffer } = await this.#handle.read(Buffer.allocUnsafe(length), 0, length, position);
    countShortLived(bytesRead);
    if (bytesRead === 0) throw new Error('a file being written became shorter');
    return buffer.subarray(0, bytesRead);
  }
}
