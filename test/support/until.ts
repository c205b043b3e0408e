/** Polls until there is something. */

import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than anything takes, and less than a test may take: so the test says what it waited for. */
const PATIENCE_MS = 90_000;

type Nothing = undefined | null | false | 0 | '';

/**
 * Looks, and looks again, until there is something.
 * @param pauseMs Milliseconds between two looks.
 * @throws Error with the source of `look` where there is nothing after 90 s.
 */
export async function until<Found>(
  look: () => Found | Nothing | Promise<Found | Nothing>,
  pauseMs = 5,
): Promise<Exclude<Found, Nothing>> {
  for (const began = performance.now(); performance.now() - began < PATIENCE_MS; ) {
    const found = await look();
    if (found) return found as Exclude<Found, Nothing>;
    await sleep(pauseMs);
  }
  throw new Error(`waited ${PATIENCE_MS / 1000} s in vain: ${look}`);
}
