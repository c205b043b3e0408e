import type { ServerResponse } from 'node:http';
import { GatewayError } from 'mediagate';
import { createShards, type Database, type Script } from '../../core/database/index.js';
import { addField } from '../http/index.js';
import { type OpenWindow, type SlotTable, type WindowKey, windowName } from './rate-limit-table.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    windows: Windows;
  }
}

/** A key's slots of one route family: each accepted request takes one, and it is free again 60 s after its acceptance. */
export type WindowFamily = 'image' | 'link_data' | 'model';

export interface SlotRequest {
  keyId: string;
  family: WindowFamily;
  /** Slots wanted at once, all or nothing. At least 1. */
  slots: number;
  /** Slots in the window: the key's requests per minute. */
  limit: number;
}

export interface SlotAnswer {
  accepted: boolean;
  limit: number;
  /** Free slots after this answer. */
  remaining: number;
  /**
   * Milliseconds until the wanted slots are free (0 where accepted). Waiting exactly this long suffices, unless others take
   * them; 60,000 where more is wanted than the limit, which no waiting helps.
   */
  retryAfterMs: number;
  /** Milliseconds until the next slot is free (0 where none is taken). */
  resetMs: number;
}

/**
 * The rolling 60 s windows, in SQL: exact over restarts and over several nodes. Both throw GatewayError
 * `upstream_unavailable` within 2.5 s where the database does not answer or too many wait for it.
 */
export interface Windows {
  take(request: SlotRequest): Promise<SlotAnswer>;
  /** As `take`, taking nothing. */
  peek(request: SlotRequest): Promise<SlotAnswer>;
}

export interface WindowsOptions {
  database: Database;
  slots: SlotTable;
}

interface Wish extends SlotRequest {
  /** False only asks. */
  take: boolean;
}

/**
 * Windows with group commit: requests that arrive while a transaction runs share the next one. An answer is given when
 * its transaction has committed, so it survives a crash of the process.
 */
export function createWindows({ database, slots }: WindowsOptions): Windows {
  function* answer(wishes: readonly Wish[]): Script<SlotAnswer[]> {
    const windows = yield* openWindows(slots, wishes);
    const answers: SlotAnswer[] = [];
    for (const wish of wishes) {
      const window = windows.of(wish);
      answers.push(wish.take && window.has(wish) ? window.take(wish) : yield* window.look(wish));
    }
    yield* windows.save();
    return answers;
  }

  // A power cut ends the requests too, and forgets the slots of the last moment with them.
  const lanes = createShards<Wish, SlotAnswer>({ database, survives: 'process-end', script: answer });

  return {
    take: (request) => lanes.submit(request.keyId, { ...request, take: true }),
    peek: (request) => lanes.submit(request.keyId, { ...request, take: false }),
  };
}

/** The windows of one transaction: locked and read together, however many ask, and written down together. */
export interface OpenWindows {
  /** One of those that were opened. */
  of(key: WindowKey): OpenWindow;
  /** Writes down what was taken of all of them; it counts when the transaction commits. */
  save(): Script<void>;
}

/** @param wanted What may be asked for later; what is not there costs nothing. */
export function* openWindows(slots: SlotTable, wanted: readonly (WindowKey | undefined)[]): Script<OpenWindows> {
  const windows = yield* slots.open(wanted.filter((key) => key !== undefined));
  return {
    of(key) {
      const window = windows.get(windowName(key));
      if (!window) throw new Error('A window is asked that was not opened.');
      return window;
    },
    save: () => slots.save(windows.values()),
  };
}

export interface RateLimitRequest {
  /** `rpm` null is unlimited, 0 refuses. */
  key: { id: string; rpm: number | null };
  family: WindowFamily;
  /** Default 1. */
  slots?: number;
}

/**
 * Takes slots of the key's rolling minute and says in header fields how the window stands. Keys without a limit have no
 * window and no such fields.
 * @throws GatewayError `rate_limit_exceeded` with the seconds to wait.
 */
export async function consumeRateLimit(
  windows: Windows,
  response: ServerResponse,
  wish: RateLimitRequest,
): Promise<void> {
  const request = slotRequest(wish);
  if (request) acceptSlot(response, request, await windows.take(request));
}

/** Undefined for keys without a limit. */
export function slotRequest({ key, family, slots = 1 }: RateLimitRequest): SlotRequest | undefined {
  return key.rpm === null ? undefined : { keyId: key.id, family, slots, limit: key.rpm };
}

/**
 * Passes an answer of the windows on to the client.
 * @throws GatewayError `rate_limit_exceeded` where it is no.
 */
export function acceptSlot(response: ServerResponse, { slots, limit }: SlotRequest, answer: SlotAnswer): void {
  setWindowHeaders(response, answer);
  if (answer.accepted) return;
  if (slots > limit) {
    // No waiting helps: without a time to come back at, and said to clients that retry by themselves.
    response.setHeader('x-should-retry', 'false');
    const message = `This needs ${slots} requests of this API key, which may make ${limit} in 60 seconds: send at most ${limit} links at once.`;
    throw new GatewayError('rate_limit_exceeded', message);
  }
  response.setHeader('retry-after-ms', String(Math.max(1, Math.ceil(answer.retryAfterMs))));
  const needed = slots > 1 ? ` It has ${answer.remaining} left, and ${slots} are needed.` : '';
  throw new GatewayError(
    'rate_limit_exceeded',
    `This API key may make ${limit === 1 ? 'one request' : `${limit} requests`} in 60 seconds.${needed}`,
    {
      retryAfterSeconds: answer.retryAfterMs / 1000,
    },
  );
}

/** As `draft-ietf-httpapi-ratelimit-headers` has it, and as clients of model vendors know it. */
function setWindowHeaders(response: ServerResponse, answer: SlotAnswer): void {
  const { accepted, limit, remaining, retryAfterMs, resetMs } = answer;
  const seconds = accepted ? Math.ceil(resetMs / 1000) : Math.max(1, Math.ceil(retryAfterMs / 1000));
  addField(response, 'RateLimit-Policy', `"rpm";q=${limit};w=60`);
  addField(response, 'RateLimit', `"rpm";r=${remaining};t=${seconds}`);
  addField(response, 'x-ratelimit-limit-requests', String(limit));
  addField(response, 'x-ratelimit-remaining-requests', String(remaining));
  addField(response, 'x-ratelimit-reset-requests', `${seconds}s`);
}
