import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { GatewayError, unlessAborted } from '../runtime/index.js';
import { type ConversionReport, createReportReader } from './ffmpeg-report.js';

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
