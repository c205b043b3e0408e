/** A client that retries as the gateway asks, and counts the results. */

import { setTimeout as sleep } from 'node:timers/promises';

/** What came of requests in the end. */
export interface Tally {
  /** Answered as they should be. */
  good: number;
  /** Times that one was told to ask again later, and did. */
  askedAgain: number;
  /** Those that did not end well, and how many of each. */
  readonly failed: Map<string, number>;
  /** Milliseconds that each took from the first time it was sent, those that asked again included. */
  readonly times: number[];
}

export interface PatientRequest {
  url: string;
  init: RequestInit;
  /** Statuses that are as it should be. */
  good: readonly number[];
}

/** As often as a client asks again that was told when. */
const TRIES = 20;
const LONGEST_MS = 10_000;
const ANSWER_MS = 60_000;

export function createTally(): Tally {
  return { good: 0, askedAgain: 0, failed: new Map(), times: [] };
}

/**
 * Asks, and where the answer says when to ask again, does so then; nothing else is asked twice. Counts what came of it.
 * @returns The good answer, its body unread.
 */
export async function askPatiently({ url, init, good }: PatientRequest, tally: Tally): Promise<Response | undefined> {
  const begun = performance.now();
  for (let tries = 1; ; tries += 1) {
    let answer: Response;
    try {
      answer = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_MS) });
    } catch (error) {
      const { cause } = error as Error;
      fail(tally, `${cause instanceof Error ? cause.message : error}`);
      return undefined;
    }
    if (good.includes(answer.status)) {
      tally.good += 1;
      tally.times.push(performance.now() - begun);
      return answer;
    }
    const text = await answer.text().catch(() => '');
    const seconds = Number(answer.headers.get('retry-after') ?? Number.NaN);
    if (Number.isNaN(seconds) || tries === TRIES) {
      fail(tally, `${answer.status} ${text.slice(0, 200)}`);
      return undefined;
    }
    tally.askedAgain += 1;
    await sleep(Math.min(seconds * 1000, LONGEST_MS));
  }
}

export function fail({ failed }: Tally, reason: string): void {
  failed.set(reason, (failed.get(reason) ?? 0) + 1);
}
