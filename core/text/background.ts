import type { BackgroundCorrection, BackgroundResponse, BackgroundResponses, Logger } from '../contracts/index.js';
import { type DueWork, startDueWork } from '../database/index.js';
import { createThrottledWarning, isGatewayError } from '../runtime/index.js';
import type { TextExchange, TextOutcome } from './requests.js';

const ROUND_MS = 5_000;
const LAST_WAIT_MS = 300_000;
/** An upstream that has not come to an end by then is not asked again. */
const LONGEST_MS = 24 * 60 * 60 * 1000;
/** Asked for at the same time; each answer may be large. */
const AT_ONCE = 4;

export interface BackgroundLooksOptions {
  background: BackgroundResponses;
  /** Asks for a response where it is made; what it tells of usage is counted by then. Undefined where nobody here knows the model. */
  ask(response: BackgroundResponse): TextExchange | undefined;
  logger: Logger;
  /** Milliseconds between rounds, and to the second look at a response. Default 5,000. */
  roundMs?: number;
}

/**
 * Polls responses that are made in the background, each by one process at a time (`database/due-rows.ts`) and ever less often,
 * until the upstream reports what they used, or knows them no more, or a day has gone by.
 */
export function startBackgroundLooks(options: BackgroundLooksOptions): DueWork {
  const { background, ask, logger, roundMs = ROUND_MS } = options;

  async function look(response: BackgroundResponse, signal: AbortSignal): Promise<void> {
    const { id: responseId, owner, model, upstream, ageMs } = response;
    const isGone = await isUnknown(response, signal);
    if (signal.aborted || !(isGone || ageMs > LONGEST_MS)) return;
    background.correct({ responseId, owner, upstream, final: true });
    const why = isGone ? 'is not there any more' : 'has not ended for a day';
    logger.info(`a response in the background ${why}, and stays counted by an estimate`, { model });
  }

  async function isUnknown(response: BackgroundResponse, signal: AbortSignal): Promise<boolean> {
    const exchange = ask(response);
    if (!exchange) return false;
    const leave = () => exchange.leave();
    // From then on others may ask for it. Not `withDeadline`: an exchange that was left still has to end.
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

  return startDueWork<BackgroundResponse>({
    intervalMs: roundMs,
    atOnce: AT_ONCE,
    take: ({ most }) => background.takeDue(most, { firstMs: roundMs, lastMs: LAST_WAIT_MS }),
    work: look,
    report: createThrottledWarning(logger, 'responses in the background wait for the database'),
  });
}

/** What the end of an exchange tells of a response in the background. */
export function correctionOf(
  response: Pick<BackgroundCorrection, 'responseId' | 'owner' | 'upstream'>,
  { usage, final = false }: Pick<TextOutcome, 'usage' | 'final'>,
): BackgroundCorrection {
  if (!usage) return { ...response, final };
  // What is reported of something that goes on is not all of it.
  return { ...response, usage: final ? usage : { ...usage, estimated: true }, final };
}
