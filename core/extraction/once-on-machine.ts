/*
 * Work that one process of a machine does for all of them. The others wait, and get its result, or its error if that is
 * about the source; if it ends or fails otherwise, the next one does the work.
 */

import {
  type Claim,
  GatewayError,
  isDefinitiveCode,
  isGatewayError,
  isTransientCode,
  type Siblings,
  unlessAborted,
} from '../runtime/index.js';

/** The work, and how the others get its result. */
export interface WorkForAll<Result, Left> {
  /** `left` is what the others are told, once it is known. */
  work(): Promise<{ result: Result; left: Left | Promise<Left> }>;
  /** The result of another process. Undefined if it cannot be had, and then the work is done again. */
  find(left: Left): Result | undefined | Promise<Result | undefined>;
}

/** What a process leaves. An error travels as its fields. */
type Outcome<Left> = { left: Left } | { error: Omit<GatewayError, 'with'> };

/**
 * Does the work, or waits for another process of this machine that does it.
 * @param call `name` is equal in all processes.
 * @throws what the work threw here, its GatewayError elsewhere, or the reason of the signal.
 */
export async function onceOnMachine<Result, Left>(
  siblings: Siblings,
  { name, signal }: { name: string; signal: AbortSignal },
  { work, find }: WorkForAll<Result, Left>,
): Promise<Result> {
  for (;;) {
    const { release, left } = await claim(siblings, name, signal);
    if (release) return doForAll(work, release, signal);
    const outcome = left as Outcome<Left> | undefined;
    if (outcome && 'error' in outcome) {
      const { code, message, ...details } = outcome.error;
      throw new GatewayError(code, message, details);
    }
    const found = outcome && (await find(outcome.left));
    if (found !== undefined) return found;
  }
}

async function doForAll<Result, Left>(
  work: WorkForAll<Result, Left>['work'],
  release: (outcome?: Outcome<Left>) => void,
  signal: AbortSignal,
): Promise<Result> {
  try {
    const { result, left } = await work();
    void Promise.resolve(left).then(
      (known) => release({ left: known }),
      () => release(),
    );
    return result;
  } catch (error) {
    // The end of this process, or of its clients, says nothing to the others.
    const isOfSource = isGatewayError(error) && (isDefinitiveCode(error.code) || isTransientCode(error.code));
    release(isOfSource && !signal.aborted ? { error: { ...error, message: error.message } } : undefined);
    throw error;
  }
}

async function claim(siblings: Siblings, name: string, signal: AbortSignal): Promise<Claim> {
  const claimed = siblings.claim(name);
  try {
    return await unlessAborted(signal, claimed);
  } catch (error) {
    void claimed.then(({ release }) => release?.());
    throw error;
  }
}
