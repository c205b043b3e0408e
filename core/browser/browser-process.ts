/*
 * Runs a browser as a process group that can be killed as a whole, and watches its memory. The browser gets no
 * environment variables of the gateway, which contain secrets. Closed pipes count as its end, before the exit is
 * reported. Memory is summed over all its processes every 100 ms, and every 20 ms from half of the limit on, since a
 * page can allocate 2 GB a second. These reads are synchronous, because the thread pool may be blocked when memory
 * runs out, and cost about a millisecond. Only Linux shows memory; elsewhere nothing is counted.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';

/** A program that speaks the DevTools protocol over two pipes. */
export interface BrowserExecutable {
  /** Absolute. */
  path: string;
  /** Folder of shared libraries that the system lacks. Default: none. */
  libraryFolder?: string;
}

const MAX_OUTPUT_CHARACTERS = 4_000;

/** @throws Error if the program cannot be run. */
export async function startBrowserProcess(
  { path, libraryFolder }: BrowserExecutable,
  options: { arguments: readonly string[]; profile: string },
): Promise<BrowserProcess> {
  const { profile } = options;
  const child = spawn(path, options.arguments, {
    // A process group of its own can be killed as a whole, and Ctrl-C at the terminal does not reach it.
    detached: process.platform !== 'win32',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
    cwd: profile,
    env: environment(profile, libraryFolder),
  });
  const ended = collectLastWords(child);
  await once(child, 'spawn');
  return new BrowserProcess(child, ended);
}

/** A browser and all the processes it starts. */
export class BrowserProcess {
  readonly pid: number;
  /** Messages to the browser, each ended by a NUL. */
  readonly input: Writable;
  /** Messages from the browser, likewise. */
  readonly output: Readable;
  /** Resolves when the browser has ended, with the end of its standard error. Never rejects. */
  readonly ended: Promise<string>;
  readonly #child: ChildProcess;
  #alive = true;

  /** @param child A process that has started. */
  constructor(child: ChildProcess, ended: Promise<string>) {
    const { pid } = child;
    if (pid === undefined) throw new Error('the browser has no process id');
    const [, , , input, output] = child.stdio as unknown as [null, null, Readable, Writable, Readable];
    this.pid = pid;
    this.input = input;
    this.output = output;
    this.ended = ended;
    this.#child = child;
    for (const end of [input, output]) {
      end.on('error', () => {});
      // A browser that only closed its pipes would continue to run.
      end.once('close', () => void this.kill());
    }
  }

  /** False as soon as it is known to end: its pipes close when it dies, before its exit is reported. */
  get alive(): boolean {
    return this.#alive;
  }

  /** Kills the whole process group at once. Resolves when the browser has ended. Idempotent. */
  async kill(): Promise<void> {
    this.#alive = false;
    const { exitCode, signalCode } = this.#child;
    // The number of an ended group may be reused.
    if (exitCode === null && signalCode === null) killGroup(this.#child, this.pid);
    await this.ended;
  }
}

/** No environment variables of the gateway, since they contain secrets. */
function environment(profile: string, libraryFolder: string | undefined): NodeJS.ProcessEnv {
  const { PATH, LANG, TZ, SystemRoot, FONTCONFIG_FILE, FONTCONFIG_PATH } = process.env;
  return {
    PATH,
    LANG,
    TZ,
    SystemRoot,
    FONTCONFIG_FILE,
    FONTCONFIG_PATH,
    HOME: profile,
    TMPDIR: profile,
    TEMP: profile,
    TMP: profile,
    ...(libraryFolder && { LD_LIBRARY_PATH: libraryFolder }),
  };
}

function collectLastWords(child: ChildProcess): Promise<string> {
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    words = (words + chunk).slice(-MAX_OUTPUT_CHARACTERS);
  });
  return new Promise((resolve) => {
    child.once('exit', () => {
      // Its children may outlive a crashed browser, and keep the pipes open.
      if (child.pid !== undefined) killGroup(child, child.pid);
    });
    child.once('close', () => resolve(words));
    child.once('error', () => resolve(words));
  });
}

function killGroup(child: ChildProcess, pid: number): void {
  try {
    if (process.platform === 'win32') child.kill('SIGKILL');
    else process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has ended already.
  }
}

export interface MemoryWatchOptions {
  /** The browser's first process, which leads a process group of its own. */
  leader: number;
  maxBytes: number;
  /** Called once, with the memory of the processes. The watch has stopped then. */
  onExceeded(bytes: number): void;
}

export interface MemoryWatch {
  /** Current memory of the processes. */
  bytes(): number;
  stop(): void;
}

/** A page allocates up to 2 GB a second, so the interval is short once half of the limit is used. */
const CALM_MS = 100;
const SHORT_INTERVAL_MS = 20;
/** Foreign processes are checked again after this time: their id may have been reused by a browser process. */
const FORGET_MS = 1_000;
/** Memory-mapped program files. Counted for every process, they would be several times the real memory. */
const PROGRAM_BYTES = 256 * 1024 * 1024;

/**
 * Watches the resident memory of a browser and of everything it started. V8's own limit counts neither canvases nor
 * buffers, and a page's blobs are in the browser's first process. Only Linux shows this; elsewhere nothing is counted.
 */
export function watchMemory({ leader, maxBytes, onExceeded }: MemoryWatchOptions): MemoryWatch {
  const bytes = createTreeReader(leader);
  let timer: NodeJS.Timeout | undefined;
  const measure = () => {
    const held = bytes();
    if (held > maxBytes) onExceeded(held);
    else timer = setTimeout(measure, held > maxBytes / 2 ? SHORT_INTERVAL_MS : CALM_MS).unref();
  };
  timer = setTimeout(measure, 0).unref();
  return { bytes, stop: () => clearTimeout(timer) };
}

/**
 * Synchronous reads: the thread pool may be blocked just when memory runs out, and a check takes about a millisecond.
 */
function createTreeReader(leader: number): () => number {
  const processes = new Set<number>();
  const others = new Set<number>();
  let forgotten = 0;

  const isInGroup = (pid: number): boolean => {
    const stat = read(pid, 'stat');
    // The program name, in parentheses, may contain spaces.
    const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
    return Number(group) === leader || processes.has(Number(parent));
  };

  return () => {
    const running = listProcesses();
    for (const pid of processes) if (!running.has(pid)) processes.delete(pid);
    if (performance.now() - forgotten > FORGET_MS) {
      others.clear();
      forgotten = performance.now();
    }
    let bytes = 0;
    for (const pid of running) {
      if (others.has(pid)) continue;
      if (!processes.has(pid)) {
        if (!isInGroup(pid)) {
          others.add(pid);
          continue;
        }
        processes.add(pid);
      }
      bytes += residentBytes(read(pid, 'status'));
    }
    return bytes;
  };
}

function listProcesses(): Set<number> {
  try {
    return new Set(readdirSync('/proc').map(Number).filter(Number.isSafeInteger));
  } catch {
    // Not Linux.
    return new Set();
  }
}

/** Memory that the process does not share, shared memory, and mapped files other than the program's. */
function residentBytes(status: string): number {
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return of('RssAnon') + of('RssShmem') + Math.max(0, of('RssFile') - PROGRAM_BYTES);
}

/** Empty if the process has ended. */
function read(pid: number, name: 'stat' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
