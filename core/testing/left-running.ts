/*
 * Lets go of what a plugin leaves running. A plugin that ignores its signal goes on after its check, and its timers,
 * sockets, servers, threads and processes would keep the test runner open for ever. Each of them is created in the
 * context of some work; once this work has ended, none of them keeps the process alive, including those created later
 * in the same context. They are not closed, because a plugin may share a socket between checks; child processes end
 * with this one. An async hook reports them, which costs nothing while no work runs.
 */

import { AsyncLocalStorage, createHook, type HookCallbacks } from 'node:async_hooks';

/**
 * What code leaves running. A plugin that ignores its signal goes on after its check: its timers, sockets, servers,
 * threads and processes would keep the test runner open for ever. Each of them is created in the context of some work;
 * when this work has ended, none of them, and none that is created later in the same context, keeps the process alive.
 * They are not closed: code of a plugin may share a socket or a timer between checks. Processes end with this one.
 *
 * Node tells of each by an async hook, which costs nothing as long as no work runs.
 */

/** What Node calls a resource that keeps a process alive, as far as this file uses it. */
interface Resource {
  unref?(): void;
  ref?(): void;
  /** Of a pipe. */
  fd?: number;
  /** Of a process: with the number of a signal. */
  kill?(signal: number): void;
}

interface Work {
  /** Of a work that goes on. Node itself holds all that is still open. */
  open?: Set<WeakRef<Resource>>;
  /** Entries at which those that are gone are left out. */
  most: number;
}

const HOLDING = new Set([
  'Timeout',
  'Immediate',
  'TCPWRAP',
  'TCPSERVERWRAP',
  'TLSWRAP',
  'PIPEWRAP',
  'PIPESERVERWRAP',
  'UDPWRAP',
  'PROCESSWRAP',
  'WORKER',
  'MESSAGEPORT',
  'FSEVENTWRAP',
  'STATWATCHER',
]);
const SERVERS = new Set(['TCPSERVERWRAP', 'PIPESERVERWRAP']);
const LAST_STANDARD_PIPE = 2;
const FIRST_MOST = 1_024;
const SIGKILL = 9;

const works = new AsyncLocalStorage<Work>();
/** By the id that Node gives each. A connection that a server accepts is in no context. */
const worksOfServers = new Map<number, Work>();
const processes = { open: new Set<WeakRef<Resource>>(), most: FIRST_MOST };
let isWatching = false;

/** Work whose remains can be let go, by `end`. */
export interface EndedWork {
  /** Runs a part of the work. */
  run<Result>(part: () => Result): Result;
  /** Nothing of the work keeps the process alive from now on. */
  end(): void;
}

export function beginWork(): EndedWork {
  if (!isWatching) {
    createHook(WATCH).enable();
    process.on('exit', () => {
      for (const started of processes.open) started.deref()?.kill?.(SIGKILL);
    });
  }
  isWatching = true;
  const work: Work = { open: new Set(), most: FIRST_MOST };
  return {
    run: (part) => works.run(work, part),
    end() {
      const { open = [] } = work;
      work.open = undefined;
      for (const entry of open) {
        const resource = entry.deref();
        if (resource) letGo(resource);
      }
    },
  };
}

const WATCH: HookCallbacks & { trackPromises: boolean } = {
  // Versions of Node that know it are spared a call for each promise.
  trackPromises: false,
  init(id, type, trigger, resource: Resource) {
    if (!HOLDING.has(type)) return;
    const work = works.getStore() ?? worksOfServers.get(trigger);
    if (!work) return;
    if (SERVERS.has(type)) worksOfServers.set(id, work);
    if (type === 'PROCESSWRAP') note(processes, processes.open, resource);
    // It is not complete yet.
    if (!work.open) queueMicrotask(() => letGo(resource));
    else if (type !== 'Immediate') note(work, work.open, resource);
  },
};

function note(work: Work, open: Set<WeakRef<Resource>>, resource: Resource): void {
  open.add(new WeakRef(resource));
  if (open.size < work.most) return;
  for (const entry of open) if (!entry.deref()) open.delete(entry);
  work.most = Math.max(FIRST_MOST, 2 * open.size);
}

function letGo(resource: Resource): void {
  const { fd } = resource;
  if (fd !== undefined && fd >= 0 && fd <= LAST_STANDARD_PIPE) return;
  resource.unref?.();
  // Clients of HTTP do so with each request.
  resource.ref = () => resource;
}
