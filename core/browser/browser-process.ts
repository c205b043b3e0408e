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

/** A browser and all the processes it starts. */
export interface BrowserProcess {
  readonly pid: number;
  /** False from the moment it is known to end. */
  readonly alive: boolean;
  /** Messages to the browser, each ended by a NUL. */
  readonly input: Writable;
  /** Messages from the browser, likewise. */
  readonly output: Readable;
  /** Resolves when the browser is gone, with the last it wrote to its standard error. Never rejects. */
  readonly ended: Promise<string>;
  /** Ends the whole process group at once. Resolves when the browser is gone. Idempotent. */
  kill(): Promise<void>;
}

const KEPT_CHARACTERS = 4_000;

/** @throws Error where the program cannot be run. */
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
  const { pid } = child;
  if (pid === undefined) throw new Error('the browser has no process id');
  const [, , , input, output] = child.stdio as unknown as [null, null, Readable, Writable, Readable];
  // The browser closes its ends when it dies, which is seen here before it can be waited for.
  let alive = true;

  const kill = async () => {
    alive = false;
    // The number of a group that is gone may be another one's by now.
    if (child.exitCode === null && child.signalCode === null) killGroup(child, pid);
    await ended;
  };
  for (const end of [input, output]) {
    end.on('error', () => {});
    // One that only hung up would run on, with nobody to end it.
    end.once('close', () => void kill());
  }
  return {
    pid,
    get alive() {
      return alive;
    },
    input,
    output,
    ended,
    kill,
  };
}

/** Nothing of the gateway's own environment, which holds secrets. */
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
    words = (words + chunk).slice(-KEPT_CHARACTERS);
  });
  return new Promise((resolve) => {
    child.once('exit', () => {
      // Its children may outlive a browser that crashed, and keep the pipes open.
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
    // All of the group is gone already.
  }
}

export interface MemoryWatchOptions {
  /** The browser's first process, which leads a process group of its own. */
  leader: number;
  maxBytes: number;
  /** Called once, with what the processes hold. The watch has stopped then. */
  onExceeded(bytes: number): void;
}

export interface MemoryWatch {
  /** What the processes hold now. */
  bytes(): number;
  stop(): void;
}

/** A page fills up to 2 GB a second, so looks come quickly once half of the bound is in use. */
const CALM_MS = 100;
const NEAR_MS = 20;
/** Processes of others are looked at again after this time: their number may have become a browser's. */
const FORGET_MS = 1_000;
/** What the program itself maps. Counted for every process, it would be several times the memory that it takes. */
const PROGRAM_BYTES = 256 * 1024 * 1024;

/**
 * Watches the resident memory of a browser and everything it started. V8's own bound counts neither canvases nor buffers,
 * and what a page stores as blobs is held by the browser's first process. Only Linux shows this; elsewhere nothing is counted.
 */
export function watchMemory({ leader, maxBytes, onExceeded }: MemoryWatchOptions): MemoryWatch {
  const bytes = createTreeReader(leader);
  let timer: NodeJS.Timeout | undefined;
  const look = () => {
    const held = bytes();
    if (held > maxBytes) onExceeded(held);
    else timer = setTimeout(look, held > maxBytes / 2 ? NEAR_MS : CALM_MS).unref();
  };
  timer = setTimeout(look, 0).unref();
  return { bytes, stop: () => clearTimeout(timer) };
}

/** Reads without waiting: the pool of threads may be busy just when memory runs out, and a look takes about a millisecond. */
function createTreeReader(leader: number): () => number {
  const members = new Set<number>();
  const others = new Set<number>();
  let forgotten = 0;

  const isMember = (pid: number): boolean => {
    const stat = read(pid, 'stat');
    // The name of the program, in parentheses, may itself hold spaces.
    const [, parent, group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
    return Number(group) === leader || members.has(Number(parent));
  };

  return () => {
    const running = listProcesses();
    for (const pid of members) if (!running.has(pid)) members.delete(pid);
    if (performance.now() - forgotten > FORGET_MS) {
      others.clear();
      forgotten = performance.now();
    }
    let bytes = 0;
    for (const pid of running) {
      if (others.has(pid)) continue;
      if (!members.has(pid)) {
        if (!isMember(pid)) {
          others.add(pid);
          continue;
        }
        members.add(pid);
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

/** Memory that the process does not share with others, shared memory, and files beyond those of the program. */
function residentBytes(status: string): number {
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1024;
  return of('RssAnon') + of('RssShmem') + Math.max(0, of('RssFile') - PROGRAM_BYTES);
}

/** Empty where the process has ended. */
function read(pid: number, name: 'stat' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
