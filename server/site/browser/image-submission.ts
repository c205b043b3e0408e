/*
 * Submits an image job. Each submission is a new request, but an answer that is lost is asked for again with the same
 * idempotency key, so that it makes one image.
 */

import { newIdempotencyKey, pause, playJson, RequestProblem, textAt } from './requests.js';

const TRIES = 3;
const TRY_MS = 1_000;

/** The id of the job. @throws RequestProblem */
export async function submitImage(request: Readonly<Record<string, unknown>>): Promise<string> {
  const how = { method: 'POST', json: request, idempotencyKey: newIdempotencyKey() } as const;
  for (let tries = 1; ; tries += 1) {
    try {
      return textAt(await playJson('/v1/images/jobs', how), 'id') ?? '';
    } catch (error) {
      if (!(error instanceof RequestProblem && error.status === 0) || tries === TRIES) throw error;
      await pause(TRY_MS);
    }
  }
}
