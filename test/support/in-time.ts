/** Fails a promise that takes far too long. */

import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than a wake-up takes on a busy machine, and less than a test may take. */
const TIMEOUT_MS = 30_000;

/**
 * What is to come of itself, without anybody who looks again.
 * @throws Error where nothing has come after 30 s.
 */
export async function inTime<Result>(result: Promise<Result>): Promise<Result> {
  const patience = new AbortController();
  const tooLong = sleep(TIMEOUT_MS, undefined, { signal: patience.signal }).then(() => {
    throw new Error(`nothing came within ${TIMEOUT_MS / 1000} s`);
  });
  tooLong.catch(() => undefined);
  try {
    return await Promise.race([result, tooLong]);
  } finally {
    patience.abort();
  }
}
