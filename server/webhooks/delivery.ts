import { createHmac } from 'node:crypto';
import { type Clock, type HttpClient, type ImageJob, type Images, isGatewayError, type Logger } from 'mediagate';
import { type DueWork, startDueWork } from '../../core/database/index.js';
import { createThrottledWarning } from '../../core/runtime/index.js';
import { isoTime } from '../format/index.js';
import { encodeImageJob, type JobAnswer } from '../images/index.js';
import type { Webhooks, WebhookTry } from './webhook-events.js';
import type { WebhookSecrets } from './webhooks.js';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** After the first try, the second, and so on; the try after the last pause is the last. README says them. */
const PAUSES_MS = [5 * SECOND, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 10 * HOUR];
/** Of one try, everything included; the lease outlasts it. */
export const TRY_MS = 15 * SECOND;
const LEASE_MS = MINUTE;
const ROUND_MS = SECOND;
/** Of this process. */
const MOST_TRIES = 64;
/** So that an account whose receivers hang holds up nobody else. */
const MOST_OF_ACCOUNT = 8;
/** Events of one account that may wait for a further try, over all processes. */
const MOST_WAITING = 1_000;
/** For tries under way when the process ends; the others are made by somebody else at once. */
const STOP_MS = 3 * SECOND;
const GONE = 410;

/** `delivered`; `postponed`, a further try follows; `gone`, the receiver wants no more of it; `given_up`. */
export type WebhookOutcome = 'delivered' | 'postponed' | 'gone' | 'given_up';

/** Of a receiver: its status, or the code of what came instead. */
interface Answer {
  status?: number;
  code?: string;
  /** Of the request that asked for the job. */
  requestId?: string;
}

export interface WebhookDeliveryOptions {
  webhooks: Webhooks;
  images: Pick<Images, 'find'>;
  secrets: Pick<WebhookSecrets, 'signing'>;
  /** Guards every address, and has a deadline of its own. */
  client: HttpClient;
  /** Public address of this gateway, without a trailing slash. */
  baseUrl(): string;
  clock: Clock;
  logger: Logger;
  /** Told what came of each try. Default: nobody is. */
  tried?(outcome: WebhookOutcome): void;
  /** Default: those of the README. Given by tests, as the following. */
  pausesMs?: readonly number[];
  tryMs?: number;
  leaseMs?: number;
  roundMs?: number;
  mostWaiting?: number;
}

export type WebhookDelivery = DueWork;

interface WebhookPost {
  job: ImageJob;
  signing: readonly Uint8Array[];
  signal: AbortSignal;
}

/**
 * Delivers the events that are due, each by one process at a time (`core/database/due-rows.ts`). Closing begins no more tries, and
 * gives back those that do not end within moments.
 */
export function startWebhookDelivery(options: WebhookDeliveryOptions): WebhookDelivery {
  const { webhooks, images, secrets, client, baseUrl, clock, logger, tried } = options;
  const { pausesMs = PAUSES_MS, tryMs = TRY_MS, leaseMs = LEASE_MS, roundMs = ROUND_MS } = options;
  const { mostWaiting = MOST_WAITING } = options;

  async function deliver(one: WebhookTry, signal: AbortSignal): Promise<void> {
    const { jobId, number: attempt } = one;
    const answer = await send(one, signal);
    if (!answer) return webhooks.giveBack(one);
    const outcome = await settle(one, answer);
    tried?.(outcome);
    const fields = { jobId, attempt, ...answer };
    if (outcome === 'delivered') logger.debug('a webhook was delivered', fields);
    else if (outcome === 'postponed') logger.info('a webhook was not taken and is tried again', fields);
    else logger.warn(outcome === 'gone' ? 'a webhook is not wanted any more' : 'a webhook was given up', fields);
  }

  /** What came of it; undefined where this process cut it off. */
  async function send(one: WebhookTry, signal: AbortSignal): Promise<Answer | undefined> {
    let requestId: string | undefined;
    try {
      const [job, signing] = await Promise.all([images.find(one.jobId, one.accountId), secrets.signing(one.accountId)]);
      requestId = job.requestId ?? undefined;
      return { status: await post(one.url, { job, signing, signal }), requestId };
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isGatewayError(error)) {
        logger.error('a webhook could not be sent', { jobId: one.jobId, requestId, error });
        return { code: 'internal_error', requestId };
      }
      // The database's: no fault of the receiver.
      if (error.code === 'upstream_unavailable') throw error;
      return { code: error.code, requestId };
    }
  }

  async function post(url: string, { job, signing, signal }: WebhookPost): Promise<number> {
    const at = clock.now();
    const body = JSON.stringify(encodeWebhookEvent(job, { baseUrl: baseUrl(), now: at }));
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'mediagate',
      ...signatureFields({ id: webhookIdOf(job), at, body, secrets: signing }),
    };
    const answer = await client.stream({ url, method: 'POST', headers, body, timeoutMs: tryMs, signal });
    // What it says beyond its status is of no interest.
    await answer.body[Symbol.asyncIterator]().return?.();
    return answer.status;
  }

  async function settle(one: WebhookTry, { status = 0 }: Answer): Promise<WebhookOutcome> {
    const isTaken = status >= 200 && status < 300;
    const isGone = status === GONE;
    const waitMs = isTaken || isGone ? undefined : pausesMs[one.number - 1];
    if (waitMs !== undefined && (await webhooks.postpone(one, { waitMs, mostWaiting }))) return 'postponed';
    await webhooks.settle(one);
    if (isTaken) return 'delivered';
    return isGone ? 'gone' : 'given_up';
  }

  const report = createThrottledWarning(logger, 'webhooks wait for the database');
  return startDueWork<WebhookTry>({
    intervalMs: roundMs,
    atOnce: MOST_TRIES,
    groups: { of: ({ accountId }) => accountId, atOnce: MOST_OF_ACCOUNT },
    take: (request) => webhooks.takeDue({ ...request, leaseMs }),
    work: deliver,
    report,
    stopMs: STOP_MS,
  });
}

export interface Signed {
  /** Of the event: the same at each try. */
  id: string;
  /** Milliseconds since 1970, of the try. */
  at: number;
  body: string;
  secrets: readonly Uint8Array[];
}

/** Header fields by which a receiver knows whose an event is: https://github.com/standard-webhooks/standard-webhooks */
export function signatureFields({ id, at, body, secrets }: Signed): Record<string, string> {
  const timestamp = Math.floor(at / 1000);
  const sign = (secret: Uint8Array) =>
    `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': secrets.map(sign).join(' '),
  };
}

/** Of the one event of a job. */
export function webhookIdOf({ id }: Pick<ImageJob, 'id'>): string {
  return `evt_${id}`;
}

/** What tells of a job that has ended: its poll form, but for pictures in base64. */
export function encodeWebhookEvent(job: ImageJob, answer: Omit<JobAnswer, 'base64'>) {
  const { data, ...form } = encodeImageJob(job, answer);
  const links = data.map((entry) =>
    Object.fromEntries(Object.entries(entry).filter(([member]) => member !== 'b64_json')),
  );
  return { type: `image.job.${job.state}`, timestamp: isoTime(job.finishedAt), data: { ...form, data: links } };
}
