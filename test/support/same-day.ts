/** Waits until the UTC day has room for a test. */

import { setTimeout as sleep } from 'node:timers/promises';

const DAY_MS = 24 * 3_600_000;
/** Longer than a test takes that compares days, and shorter than a test may take. */
const ROOM_MS = 90_000;

/** A hook for tests that compare days: what they do must not begin before midnight (UTC) and end after it. */
export async function untilDayHasRoom(): Promise<void> {
  const left = DAY_MS - (Date.now() % DAY_MS);
  if (left < ROOM_MS) await sleep(left);
}
