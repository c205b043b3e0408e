/*
 * Delivers webhooks of ended jobs, each at least once. An attempt has 15 s; after a
 * failure it is repeated with delays from 5 seconds to 10 hours, eight attempts in all within about 28 hours. After the
 * last one, and after the answer 410, the event is given up with a warning; the job stays readable. A process makes 64
 * attempts at a time: first one of each account, then up to 8 of one account while half of the attempts are free. Slow
 * receivers do not delay those of others. An error of the database is not the receiver's fault and repeats the attempt.
 * Requests are signed by Standard Webhooks with the account's secrets. At a shutdown, running attempts have 3 s; then
 * they are aborted and made due again, so other processes take them over at once.
 */

import { createHmac } from 'node:crypto';
import type { HttpClient, HttpRequest } from '../../core/contracts/index.js';
import { DueWork } from '../../core/database/index.js';
import { type Clock, createThrottledWarning, isGatewayError, type Logger } from '../../core/runtime/index.js';
import { type EventSources, readEvent, webhookIdOf } from './job-events.js';
import type { Webhooks, WebhookTry } from './webhook-events.js';
import type { WebhookSecrets } from './webhooks.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/**
 * Delays after the first attempt, the second, and so on; the attempt after the last delay is the last one.
 * docs/guides/webhooks.md lists them.
 */
export const PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
/** Deadline of one attempt, everything included; the lease is longer. */
export const TRY_MS = 15 * SECOND;
const LEASE_MS = MINUTE;
const POLL_MS = SECOND;
/** Concurrent attempts of this process. */
const MAX_TRIES = 64;
/** Per account; `core/database/due-rows.ts` describes how accounts share the attempts. */
const MAX_OF_ACCOUNT = 8;
/** A receiver that takes longer is slow. */
const SLOW_MS = 2 * SECOND;
/** Events of one account that may wait for another attempt, over all processes. */
const MAX_WAITING = 1_000;
/** Grace period for running attempts at shutdown; other processes take over the rest at once. */
const STOP_MS = 3 * SECOND;
const GONE = 410;

/** `delivered`; `postponed`, another attempt follows; `gone`, the receiver refused permanently; `given_up`. */
export type WebhookOutcome = 'delivered' | 'postponed' | 'gone' | 'given_up';

/** Status of the receiver, or the code of the failure. */
interface Answer {
  status?: number;
  code?: string;
  /** Id of the request that submitted the job. */
  requestId?: string;
}

export interface WebhookDeliveryOptions extends EventSources {
  webhooks: Pick<Webhooks, 'takeDue' | 'settle' | 'postpone' | 'giveBack'>;
  secrets: Pick<WebhookSecrets, 'signing'>;
  /** Guards every address, and has its own deadline. */
  client: HttpClient;
  /** Public address of this gateway, without a trailing slash. */
  baseUrl(): string;
  clock: Clock;
  logger: Logger;
  /** Called with the result of each attempt. Default: none. */
  tried?(outcome: WebhookOutcome): void;
  /** Default: the delays of docs/guides/webhooks.md. Tests set it, as the following options. */
  pausesMs?: readonly number[];
  tryMs?: number;
  leaseMs?: number;
  pollMs?: number;
  maxWaiting?: number;
}

export type WebhookDelivery = DueWork<WebhookTry>;

/**
 * Delivers due events, each by one process at a time (`core/database/due-rows.ts`). Closing starts no more attempts,
 * and releases those that do not end within moments.
 */
export function startWebhookDelivery(options: WebhookDeliveryOptions): WebhookDelivery {
  const { webhooks, secrets, client, baseUrl, clock, logger, tried } = options;
  const { pausesMs = PAUSES_MS, tryMs = TRY_MS, leaseMs = LEASE_MS, pollMs = POLL_MS } = options;
  const { maxWaiting = MAX_WAITING } = options;

  async function deliver(one: WebhookTry, signal: AbortSignal): Promise<void> {
    const { jobId, number: attempt } = one;
    const answer = await send(one, signal);
    if (!answer) return webhooks.giveBack(one);
    const outcome = await settle(one, answer);
    tried?.(outcome);
    const fields = { jobId, attempt, ...answer };
    if (outcome === 'delivered') logger.debug('a webhook was delivered', fields);
    else if (outcome === 'postponed') logger.info('a webhook was not accepted; it is retried', fields);
    else
      logger.warn(
        outcome === 'gone' ? 'a webhook endpoint is gone (410)' : 'a webhook was given up after its last retry',
        fields,
      );
  }

  /** The result; undefined if this process aborted it. */
  async function send(one: WebhookTry, signal: AbortSignal): Promise<Answer | undefined> {
    let requestId: string | undefined;
    try {
      const at = clock.now();
      const [event, signing] = await Promise.all([
        readEvent(options, one, { baseUrl: baseUrl(), now: at }),
        secrets.signing(one.accountId),
      ]);
      requestId = event.requestId;
      const signed = { id: webhookIdOf(one.jobId), at, body: event.body, secrets: signing };
      return { status: await postSigned(client, signed, { url: one.url, timeoutMs: tryMs, signal }), requestId };
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isGatewayError(error)) {
        logger.error('a webhook could not be sent', { jobId: one.jobId, requestId, error });
        return { code: 'internal_error', requestId };
      }
      // An error of the database is not the receiver's fault.
      if (error.code === 'upstream_unavailable') throw error;
      return { code: error.code, requestId };
    }
  }

  async function settle(one: WebhookTry, { status = 0 }: Answer): Promise<WebhookOutcome> {
    const isTaken = status >= 200 && status < 300;
    const isGone = status === GONE;
    const waitMs = isTaken || isGone ? undefined : pausesMs[one.number - 1];
    if (waitMs !== undefined && (await webhooks.postpone(one, { waitMs, maxWaiting }))) return 'postponed';
    await webhooks.settle(one);
    if (isTaken) return 'delivered';
    return isGone ? 'gone' : 'given_up';
  }

  const report = createThrottledWarning(logger, 'webhooks wait for the database');
  return new DueWork<WebhookTry>({
    intervalMs: pollMs,
    atOnce: MAX_TRIES,
    groups: { of: ({ accountId }) => accountId, atOnce: MAX_OF_ACCOUNT, slowMs: SLOW_MS },
    take: (request) => webhooks.takeDue({ ...request, leaseMs }),
    work: deliver,
    report,
    stopMs: STOP_MS,
  });
}

export interface Signed {
  /** Id of the event: the same for each attempt. */
  id: string;
  /** Time of the attempt, in milliseconds since 1970. */
  at: number;
  body: string;
  secrets: readonly Uint8Array[];
}

/** Headers that let a receiver verify an event: https://github.com/standard-webhooks/standard-webhooks */
function signatureFields({ id, at, body, secrets }: Signed): Record<string, string> {
  const timestamp = Math.floor(at / 1000);
  const sign = (secret: Uint8Array) =>
    `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}

/** Sends an event. The body of the answer is ignored. @returns Status of the answer. */
export async function postSigned(
  client: HttpClient,
  event: Signed,
  attempt: Pick<HttpRequest, 'url' | 'timeoutMs' | 'signal'>,
): Promise<number> {
  const { body } = event;
  const headers = { 'content-type': 'application/json', 'user-agent': 'mediagate', ...signatureFields(event) };
  const answer = await client.stream({ ...attempt, method: 'POST', headers, body });
  await answer.body[Symbol.asyncIterator]().return?.();
  return answer.status;
}
