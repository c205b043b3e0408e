import { readdirSync, readFileSync } from 'node:fs';

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
