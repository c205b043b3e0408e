import { createHmac } from 'node:crypto';
import {
  type Clock,
  type HttpClient,
  type ImageJob,
  type Images,
  isGatewayError,
  type Logger,
  leaveScope,
} from 'mediagate';
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

export interface WebhookDelivery {
  /** Begins no more tries, and gives back those that do not end within moments. Idempotent. */
  close(): Promise<void>;
}

/** Delivers what is due, whoever wrote it down, each event by one process at a time. */
export function startWebhookDelivery(options: WebhookDeliveryOptions): WebhookDelivery {
  const { webhooks, images, secrets, client, baseUrl, clock, logger, tried } = options;
  const { pausesMs = PAUSES_MS, tryMs = TRY_MS, leaseMs = LEASE_MS, roundMs = ROUND_MS } = options;
  const { mostWaiting = MOST_WAITING } = options;
  const underWay = new Set<Promise<void>>();
  const ofAccount = new Map<string, number>();
  const closing = new AbortController();
  const aborting = new AbortController();
  let isAway = false;

  /** Begins all that may be begun now. */
  async function takeDue(): Promise<void> {
    while (!closing.signal.aborted) {
      const most = MOST_TRIES - underWay.size;
      if (most === 0) return;
      const except = [...ofAccount].filter(([, count]) => count >= MOST_OF_ACCOUNT).map(([accountId]) => accountId);
      const due = await webhooks.takeDue({ most, except, leaseMs });
      if (due.length === 0) return;
      for (const one of due) begin(one);
    }
  }

  let taking: Promise<void> | undefined;
  /** Never rejects. */
  function take(): Promise<void> {
    taking ??= takeDue()
      .then(() => {
        isAway = false;
      }, reportAway)
      .finally(() => {
        taking = undefined;
      });
    return taking;
  }

  function reportAway(error: unknown): void {
    if (!isAway) logger.warn('webhooks wait for the database', { error });
    isAway = true;
  }

  function begin(one: WebhookTry): void {
    const { accountId } = one;
    ofAccount.set(accountId, (ofAccount.get(accountId) ?? 0) + 1);
    const ended = deliver(one)
      // Its lease brings it back.
      .catch(reportAway)
      .finally(() => {
        const left = (ofAccount.get(accountId) ?? 1) - 1;
        const makesRoom = left + 1 >= MOST_OF_ACCOUNT || underWay.size >= MOST_TRIES;
        if (left > 0) ofAccount.set(accountId, left);
        else ofAccount.delete(accountId);
        underWay.delete(ended);
        if (makesRoom) void take();
      });
    underWay.add(ended);
  }

  async function deliver(one: WebhookTry): Promise<void> {
    const { jobId, number: attempt } = one;
    const answer = await send(one);
    if (!answer) return webhooks.giveBack(one);
    const outcome = await settle(one, answer);
    tried?.(outcome);
    const fields = { jobId, attempt, ...answer };
    if (outcome === 'delivered') logger.debug('a webhook was delivered', fields);
    else if (outcome === 'postponed') logger.info('a webhook was not taken and is tried again', fields);
    else logger.warn(outcome === 'gone' ? 'a webhook is not wanted any more' : 'a webhook was given up', fields);
  }

  /** What came of it; undefined where this process cut it off. */
  async function send(one: WebhookTry): Promise<Answer | undefined> {
    let requestId: string | undefined;
    try {
      const [job, signing] = await Promise.all([images.find(one.jobId, one.accountId), secrets.signing(one.accountId)]);
      requestId = job.requestId ?? undefined;
      return { status: await post(one.url, job, signing), requestId };
    } catch (error) {
      if (aborting.signal.aborted) return undefined;
      if (!isGatewayError(error)) {
        logger.error('a webhook could not be sent', { jobId: one.jobId, requestId, error });
        return { code: 'internal_error', requestId };
      }
      // The database's: no fault of the receiver.
      if (error.code === 'upstream_unavailable') throw error;
      return { code: error.code, requestId };
    }
  }

  async function post(url: string, job: ImageJob, signing: readonly Uint8Array[]): Promise<number> {
    const at = clock.now();
    const body = JSON.stringify(encodeWebhookEvent(job, { baseUrl: baseUrl(), now: at }));
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'mediagate',
      ...signatureFields({ id: webhookIdOf(job), at, body, secrets: signing }),
    };
    const { signal } = aborting;
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

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await take();
      // Closing is the only way it fails.
      await clock.sleep(roundMs, closing.signal).catch(() => undefined);
    }
  }

  async function stop(): Promise<void> {
    closing.abort();
    await running;
    const tooLong = setTimeout(() => aborting.abort(), STOP_MS);
    await Promise.all(underWay);
    clearTimeout(tooLong);
  }

  // No request has begun this, whoever's it is that a try is made during.
  const running = leaveScope(run);
  let stopped: Promise<void> | undefined;
  return {
    close() {
      stopped ??= stop();
      return stopped;
    },
  };
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
