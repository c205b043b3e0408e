/** Polls a condition until it holds, or the test times out. */

import { setTimeout as sleep } from 'node:timers/promises';

/** Far more than anything takes, and less than a test may take: so the test says what it waited for. */
const TIMEOUT_MS = 90_000;

/** Between two looks: what comes soon is seen at once, and what takes long is not slowed down by those who look. */
const FIRST_PAUSE_MS = 5;
const LONGEST_PAUSE_MS = 50;

type Nothing = undefined | null | false | 0 | '';

/**
 * Looks, and looks again, until there is something.
 * @param pauseMs Milliseconds between two looks. Default: 5, and more and more up to 50.
 * @throws Error with the source of `look` where there is nothing after 90 s.
 */
export async function until<Found>(
  look: () => Found | Nothing | Promise<Found | Nothing>,
  pauseMs?: number,
): Promise<Exclude<Found, Nothing>> {
  let pause = pauseMs ?? FIRST_PAUSE_MS;
  for (const began = performance.now(); performance.now() - began < TIMEOUT_MS; ) {
    const found = await look();
    if (found) return found as Exclude<Found, Nothing>;
    await sleep(pause);
    if (pauseMs === undefined) pause = Math.min(pause * 1.2, LONGEST_PAUSE_MS);
  }
  throw new Error(`waited ${TIMEOUT_MS / 1000} s in vain: ${look}`);
}
