/*
 * Polls background responses until their usage is final, so that work without a connected client is charged. One
 * process polls a response at a time, at growing intervals of up to 5 minutes, four polls at once. It stops after a
 * day, or when the upstream no longer knows the response; the estimated usage then stays counted. If the process that
 * started a response dies before its row is written, the response is never polled: its reservation is settled as that
 * of any request of a dead process.
 */

import type { BackgroundCorrection, BackgroundResponse, BackgroundResponses, Logger } from '../contracts/index.js';
import { DueWork } from '../database/index.js';
import { createThrottledWarning, isGatewayError } from '../runtime/index.js';
import type { TextExchange, TextOutcome } from './requests.js';

const POLL_MS = 5_000;
const LAST_WAIT_MS = 300_000;
/** An upstream response that has not ended by then is not polled again. */
const LONGEST_MS = 24 * 60 * 60 * 1000;
/** Maximum concurrent polls; each answer may be large. */
const AT_ONCE = 4;

export interface BackgroundPollOptions {
  background: BackgroundResponses;
  /** Reads a response from its upstream, which also counts its usage. Undefined if no instance here has the model. */
  ask(response: BackgroundResponse): TextExchange | undefined;
  logger: Logger;
  /** Milliseconds between polls, and until the second poll of a response. Default 5,000. */
  pollMs?: number;
}

/** Polls until the upstream reports the usage of a response, no longer knows it, or a day has passed. */
export function startBackgroundPolls(options: BackgroundPollOptions): DueWork<BackgroundResponse> {
  const { background, ask, logger, pollMs = POLL_MS } = options;

  async function poll(response: BackgroundResponse, signal: AbortSignal): Promise<void> {
    const { id: responseId, owner, model, upstream, ageMs } = response;
    const isGone = await isUnknown(response, signal);
    if (signal.aborted || !(isGone || ageMs > LONGEST_MS)) return;
    background.correct({ responseId, owner, upstream, final: true });
    const why = isGone ? 'no longer exists' : 'has not ended for a day';
    logger.info(`a background response ${why}; its estimated usage stays counted`, { model });
  }

  async function isUnknown(response: BackgroundResponse, signal: AbortSignal): Promise<boolean> {
    const exchange = ask(response);
    if (!exchange) return false;
    const leave = () => exchange.leave();
    // Then other processes may poll it. Not `withDeadline`: an abandoned exchange still has to end.
    const tooLong = setTimeout(leave, response.waitMs);
    signal.addEventListener('abort', leave);
    try {
      const { body } = await exchange.answer;
      if (!(body instanceof Uint8Array)) leave();
      await exchange.ended;
      return false;
    } catch (error) {
      return isGatewayError(error) && error.code === 'response_not_found';
    } finally {
      clearTimeout(tooLong);
      signal.removeEventListener('abort', leave);
    }
  }

  return new DueWork<BackgroundResponse>({
    intervalMs: pollMs,
    atOnce: AT_ONCE,
    take: ({ max }) => background.takeDue(max, { firstMs: pollMs, lastMs: LAST_WAIT_MS }),
    work: poll,
    report: createThrottledWarning(logger, 'background responses wait for the database'),
  });
}

/** What the end of an exchange reports about a background response. */
export function correctionOf(
  response: Pick<BackgroundCorrection, 'responseId' | 'owner' | 'upstream'>,
  { usage, final = false }: Pick<TextOutcome, 'usage' | 'final'>,
): BackgroundCorrection {
  if (!usage) return { ...response, final };
  // The usage of a response in progress is not final.
  return { ...response, usage: final ? usage : { ...usage, estimated: true }, final };
}
