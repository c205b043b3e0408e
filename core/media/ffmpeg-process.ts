import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { GatewayError, isSystemError, unlessAborted } from '../runtime/index.js';

/** What a program needs to start. Everything else in our environment is none of its business: some of it is secret. */
const ENVIRONMENT = ['PATH', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'SystemRoot'];

export interface FfmpegRun {
  /** The executable. */
  path: string;
  parameters: readonly string[];
  /** Bytes for its standard input. Default: it has none. */
  feed?: AsyncIterable<Uint8Array>;
  /** Takes what it writes; the next piece waits until it resolves. */
  write(chunk: Uint8Array): Promise<void>;
  /** Ends it at once. */
  signal: AbortSignal;
}

type Child = ChildProcessByStdio<Writable | null, Readable, Readable>;

/**
 * Runs ffmpeg to its end.
 * @throws GatewayError `audio_unavailable` where it fails, `plugin_unavailable` where it cannot be started or somebody ends
 *   it; the signal's reason; what `feed` and `write` throw.
 */
export async function runFfmpeg({ path, parameters, feed, write, signal }: FfmpegRun): Promise<ConversionReport> {
  signal.throwIfAborted();
  const child = start(path, parameters, feed !== undefined);
  const report = createReportReader();
  // Where no file descriptor is left there is no process, yet something to kill: that has the id of anybody, or of everybody.
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
      feed && child.stdin && give(feed, child.stdin),
    ]);
    signal.throwIfAborted();
    if (by === 'SIGKILL' || by === 'SIGTERM') throw endedFromOutside(by);
    if (code !== 0) throw report.failure(code);
    return report.read();
  } catch (error) {
    kill();
    // Whoever removes the input next must find nobody reading it.
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

function start(path: string, parameters: readonly string[], isFed: boolean): Child {
  const env = Object.fromEntries(ENVIRONMENT.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
  try {
    return spawn(path, parameters, {
      env,
      stdio: [isFed ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      windowsHide: true,
    }) as Child;
  } catch (error) {
    throw notStarted(error);
  }
}

async function passOn(output: Readable, write: FfmpegRun['write']): Promise<void> {
  for await (const chunk of output) await write(chunk);
}

/** Ends with the child, however long the next piece takes: one that has what it wants, or failed, takes no more. */
async function give(feed: AsyncIterable<Uint8Array>, input: Writable): Promise<void> {
  const gone = new AbortController();
  // A broken pipe: why it ended, its exit code tells.
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

/** Nothing is said against its input, as by a crash: memory was short, or somebody stopped it. */
function endedFromOutside(signal: NodeJS.Signals): GatewayError {
  const cause = new Error(`ffmpeg ended with ${signal}`);
  return new GatewayError('plugin_unavailable', 'ffmpeg was ended before it was done.', { cause });
}

function notStarted(cause: unknown): GatewayError {
  return new GatewayError('plugin_unavailable', 'ffmpeg could not be started.', { cause });
}

/** What ffmpeg told about a source while it read it. */
export interface ConversionReport {
  /** Length in seconds that the source claims to have. */
  declaredSeconds?: number;
  /** The source has pictures too, which may go on longer than the sound. */
  hasPictures: boolean;
  /** The source ended before it should have. */
  cutShort: boolean;
}

const KEPT_BYTES = 8192;

/** Reads ffmpeg's messages. They quote the source, so nothing of them reaches a client or a log: only what was recognised. */
export function createReportReader() {
  let head = '';
  let tail = '';

  return {
    add(chunk: Buffer): void {
      const text = chunk.toString('latin1');
      head += text.slice(0, Math.max(0, KEPT_BYTES - head.length));
      tail = (tail + text).slice(-KEPT_BYTES);
    },

    read(): ConversionReport {
      const [, hours, minutes, seconds] = /^ {2}Duration: (\d+):(\d\d):(\d\d\.\d+),/m.exec(head) ?? [];
      return {
        ...(seconds && { declaredSeconds: Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds) }),
        hasPictures: /^ {2}Stream #0:\d+.*: Video: /m.test(head),
        cutShort: /: partial file$|\] File ended prematurely|Truncated/m.test(tail),
      };
    },

    /** Why it ended with this code (null: by a signal that was not ours). */
    failure(code: number | null): GatewayError {
      const cause = new Error(`ffmpeg ended with ${code ?? 'a signal'}`);
      if (/matches no streams/.test(tail)) return unavailable('The source has no sound.', cause);
      if (/not on whitelist|Decoder .* not found|Decoding requested, but no decoder/.test(tail))
        return unavailable('The sound of the source is in a form that is not converted.', cause);
      return unavailable('The source cannot be read as sound: it is damaged, or not what it seems to be.', cause);
    },
  };
}

function unavailable(message: string, cause: Error): GatewayError {
  return new GatewayError('audio_unavailable', message, { cause, retryable: false });
}

/** Folders for work in progress. */
export interface ScratchFolders {
  /** An empty folder (0700) of the caller's own, who removes it when the work is done. */
  take(): Promise<ScratchFolder>;
  /** Removes what a crash has left behind. */
  sweep(): Promise<void>;
}

export interface ScratchFolder {
  readonly path: string;
  remove(): Promise<void>;
}

const PREFIX = 'mediagate-scratch-';
/** No work takes this long, so that nobody can be using an older one, in whatever process. */
const ABANDONED_MS = 3_600_000;

/** @param root Made where absent; may be shared with others, whose files stay untouched. */
export function createScratchFolders(root: string): ScratchFolders {
  async function sweep(): Promise<void> {
    for (const name of await readdir(root).catch(ifMissing([]))) {
      if (!name.startsWith(PREFIX)) continue;
      const folder = path.join(root, name);
      const found = await stat(folder).catch(ifMissing(undefined));
      const own = found && (process.getuid === undefined || found.uid === process.getuid());
      if (own && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(folder, { recursive: true, force: true });
    }
  }

  return {
    sweep,
    async take() {
      await mkdir(root, { recursive: true, mode: 0o700 });
      await sweep();
      const folder = await mkdtemp(path.join(root, PREFIX));
      return { path: folder, remove: () => rm(folder, { recursive: true, force: true }) };
    },
  };
}

/** Another process may have removed it first. */
function ifMissing<Value>(instead: Value): (error: unknown) => Value {
  return (error) => {
    if (isSystemError(error, 'ENOENT')) return instead;
    throw error;
  };
}
