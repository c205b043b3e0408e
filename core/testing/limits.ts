/*
 * Time limits of the kit. A test runner only reports that a test took too long; the kit names the plugin, the check
 * and the call. Every call of a plugin's code goes through `called`, which fails if the call does not end; a call that
 * blocks the process is ended by a second thread. It also catches rejected promises and late throws that no code waits
 * for, and measures CPU time for texts that grow fourfold: linear growth passes, quadratic growth fails.
 */

import assert from 'node:assert';
import { AsyncLocalStorage } from 'node:async_hooks';
import { url as debuggerUrl } from 'node:inspector';
import { Worker } from 'node:worker_threads';
import { type Clock, endsWithin, withDeadline } from '../runtime/index.js';
import { withFastClock } from './fakes.js';

/** Milliseconds of one call on a busy machine. */
const CALL_MS = 12_000;
/** Milliseconds without a turn of the event loop. */
const BLOCKED_MS = 8_000;
/** Maximum milliseconds of "at once" on a busy machine. */
const AT_ONCE_MS = 10_000;
const PULSE_MS = 100;

/** A call of the plugin that did not end in time: no check after it is tried. */
export class HangError extends assert.AssertionError {
  constructor(message: string) {
    super({ message });
  }
}

interface Running {
  plugin: string;
  check: string;
}

const running = new AsyncLocalStorage<Running>();

/** Runs a check, so that errors of its calls name it. */
export function withinCheck<Result>(check: Running, work: () => Promise<Result>): Promise<Result> {
  return running.run(check, work);
}

/**
 * One call of the plugin's code.
 * @param what - name of the method, for the error.
 * @param limitMs - milliseconds. Default 12,000.
 * @throws HangError if it does not end; otherwise what it throws.
 */
export async function called<Result>(
  what: string,
  work: () => Result | Promise<Result>,
  limitMs = CALL_MS,
): Promise<Result> {
  // With a debugger a call takes as long as its reader.
  if (debuggerUrl() !== undefined) return work();
  const blockedBefore = beginCall();
  const error = () => {
    const isBlocked = blockedBefore !== Atomics.load(pulse, 2);
    return new HangError(
      isBlocked
        ? inCheck(`${what} kept the process busy for more than ${BLOCKED_MS / 1_000} s without a pause`)
        : inCheck(`${what} did not end within ${limitMs / 1_000} s`),
    );
  };
  try {
    // In a task of its own: what ends a call that blocks ends all that waits for it on the stack.
    const apart = async () => {
      await null;
      return work();
    };
    return await withDeadline(limitMs, apart, { error });
  } finally {
    endCall();
  }
}

function inCheck(what: string): string {
  const { plugin, check } = running.getStore() ?? {};
  return plugin === undefined ? what : `plugin "${plugin}", check "${check}": ${what}`;
}

/** The abort reason of the kit's caller. */
export const LEFT = new Error('the caller left');

/** The run of a caller who left must end at once with the reason of the signal. */
export async function endsWhenLeft<Run extends { error?: unknown }>(
  method: string,
  run: Promise<Run>,
  describe: (run: Run) => string,
): Promise<void> {
  const ended = await atOnce(run);
  const seconds = AT_ONCE_MS / 1_000;
  const ignored = `${method} ignored its abort signal: it went on for more than ${seconds} s after the caller had left`;
  assert(ended, inCheck(ignored));
  assert.equal(ended.error, LEFT, inCheck(`${method}: expected the reason of the signal, got ${describe(ended)}`));
}

/** The result of a run; undefined if it does not end at once. */
export async function atOnce<Run>(run: Promise<Run>): Promise<Run | undefined> {
  return (await endsWithin(AT_ONCE_MS, () => run)) ? run : undefined;
}

/** Milliseconds after a call in which it may still fail. */
const LATER_MS = 300;
const STRAY_EVENTS = ['unhandledRejection', 'uncaughtException'] as const;

/** Errors of work that a plugin does not wait for: rejected promises and late throws, one line each. */
export async function strayErrors(work: () => Promise<unknown>): Promise<string[]> {
  const stray: string[] = [];
  const keep = (error: unknown) => void stray.push(error instanceof Error ? error.message : String(error));
  // Those of the test runner would end the run.
  const others = STRAY_EVENTS.map((event) => [event, process.listeners(event as 'uncaughtException')] as const);
  for (const [event] of others) process.removeAllListeners(event).on(event, keep);
  try {
    await work();
    await new Promise((resolve) => setTimeout(resolve, LATER_MS));
  } finally {
    for (const [event, listeners] of others) {
      process.removeAllListeners(event);
      for (const listener of listeners) process.on(event as 'uncaughtException', listener);
    }
  }
  return stray.map((message) => inCheck(`failed after its call, and no code waits for it: ${message}`));
}

/**
 * Texts that are made to take long. An expression that begins anew at each piece of a text takes four seconds where one
 * that reads it once takes a millisecond, and blocks all other requests meanwhile. Each text is tried in sizes that grow
 * fourfold: the time may grow a little more than that, but not by the square.
 */
export interface LongText {
  /** For the report. */
  name: string;
  /** About that many characters. */
  text(size: number): string;
}

/** Characters. */
const [SMALL, MIDDLE, LARGE] = [2 ** 13, 2 ** 15, 2 ** 17] as const;
/** Allowed growth of the time for a text of four times the size: 4 is linear, 16 is quadratic. */
const MAX_GROWTH = 8;
/** Less is noise, in milliseconds of CPU. */
const NOISE_MS = 12;
const QUICK_MS = 3;
/** Maximum milliseconds of CPU for one text of any size. */
const MAX_MS = 2_500;

/** The first text whose time grows faster than its size, if there is one: the others mostly find the same fault. */
export function growthProblems(
  texts: readonly LongText[],
  read: (text: string, waiting: Clock) => Promise<unknown>,
): Promise<string[]> {
  return withFastClock(async (waiting) => {
    for (const { name, text } of texts) {
      const problem = await growthProblem((size) => read(text(size), waiting));
      if (problem) return [`${name}: ${problem}`];
    }
    return [];
  });
}

/**
 * Measures one text in growing sizes. Undefined if its time grows with its size. The largest text is left out where the
 * middle one is read within the noise: even by the cube of its size, its time would stay below the limit of the largest.
 */
async function growthProblem(run: (size: number) => Promise<unknown>): Promise<string | undefined> {
  if ((await cpuMs(() => run(MIDDLE))) < NOISE_MS) return undefined;
  let [before, size] = [await cpuMs(() => run(SMALL)), SMALL];
  // What reads so few characters at once is tried with the largest text alone.
  for (const next of before < QUICK_MS ? [LARGE] : [MIDDLE, LARGE]) {
    const most = Math.min(MAX_MS, MAX_GROWTH ** (Math.log2(next / size) / 2) * Math.max(before, NOISE_MS));
    let ms = await cpuMs(() => run(next));
    if (ms > most) {
      // Once more: a garbage collection or a first compilation is no growth.
      before = Math.max(before, await cpuMs(() => run(size)));
      ms = Math.min(ms, await cpuMs(() => run(next)));
    }
    if (ms > MAX_MS || ms > MAX_GROWTH ** (Math.log2(next / size) / 2) * Math.max(before, NOISE_MS)) {
      return `${Math.round(before)} ms for ${size} characters, and ${Math.round(ms)} ms for ${next}`;
    }
    [before, size] = [ms, next];
  }
  return undefined;
}

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000;
}

export function repeated(piece: string, size: number): string {
  return piece.repeat(Math.ceil(size / piece.length));
}

/** A counter that the main thread increases, calls that run, calls that were ended by the guard. */
const pulse = new Int32Array(new SharedArrayBuffer(12));
let guard: Worker | undefined;
let beating: NodeJS.Timeout | undefined;

/** Number of calls that the guard has ended. */
function beginCall(): number {
  if (!guard) {
    guard = new Worker(new URL('./loop-guard.js', import.meta.url), {
      workerData: { pulse, limitMs: BLOCKED_MS },
      // Flags of a test runner are not for it.
      execArgv: [],
    });
    guard.unref();
  }
  Atomics.add(pulse, 0, 1);
  if (Atomics.add(pulse, 1, 1) === 0) beating = setInterval(() => Atomics.add(pulse, 0, 1), PULSE_MS).unref();
  return Atomics.load(pulse, 2);
}

function endCall(): void {
  Atomics.add(pulse, 0, 1);
  if (Atomics.sub(pulse, 1, 1) === 1) clearInterval(beating);
}
