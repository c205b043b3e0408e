/*
 * Runs the work of an admitted request and settles it once, whether it answers, throws or loses its client. The latency
 * counts to the answer, but the usage may come later, when the stream of the upstream has ended; closing waits for all
 * of these. A disconnect has the status 499 and keeps its request in the budget. Background work is settled with an
 * estimate at once and corrected at its end. Requests that need no log entry, such as links, are counted in memory and
 * written into the totals in one transaction after at most 2 s; a process that is killed loses the counts of these
 * seconds.
 */

import { randomUUID } from 'node:crypto';
import type { Usage } from '../../core/contracts/index.js';
import { type Database, runScript } from '../../core/database/index.js';
import { type Clock, createThrottledWarning, GatewayError, type Logger } from '../../core/runtime/index.js';
import {
  type BackgroundStart,
  correctionOf,
  type ReservedTokens,
  type TextExchange,
  type TextOutcome,
  type TokenDemand,
} from '../../core/text/index.js';
import type { BudgetWants } from '../budgets/index.js';
import { dayOf } from '../format/index.js';
import { errorClassFor, newRequestId, type RequestContext, toGatewayError } from '../http/index.js';
import { type ApiKeyRecord, keyOf } from '../keys/index.js';
import { type ConsumeRequest, consumeRequest, sendRateLimit } from '../limits/index.js';
import { type Prices, sendCost } from '../prices/index.js';
import type { Admissions } from './admissions.js';
import type { UsageOverflowTable } from './tables.js';
import {
  type CountedRequests,
  costOfUsage,
  createTotals,
  createUsageTable,
  NO_TOTAL_COUNTS,
  type RequestCounts,
  type Settlement,
  type Totals,
} from './usage-log.js';

/** Status of a request if its client disconnected before the answer. */
const HUNG_UP = 499;

export interface ModelRequest {
  /** Template: `/v1/chat/completions`. */
  route: string;
  /** Public model id. */
  model: string;
  /** Maximum tokens, estimated; reserved from the key's budget until the request has ended. */
  tokens: number;
  /** Counts what a budget that limits tokens reserves. Default: `tokens`. */
  demand?: () => Promise<TokenDemand>;
  /** Ids of models that may answer in its place: the dearest is reserved. Default: none. */
  fallbacks?: readonly string[] | undefined;
  /** The most that it uses beside counted tokens, for a budget of money. Default: `tokens` of input. */
  uses?: BudgetWants['uses'];
  /** Whether its tokens are taken from the key's budget. Default true. */
  spendsTokens?: boolean;
  /** Whether the work continues when its client disconnects. Default false. */
  outlivesClient?: boolean;
}

/** Admitted work. */
export interface AdmittedWork {
  /** What it may use of a budget that limits tokens. Default: it is not limited. */
  readonly reserved?: ReservedTokens;
  /**
   * Registers a promise of the usage; call it once and before throwing. The promise must not reject. Without a call,
   * nothing is used.
   * @param isBroken Whether its stream broke off, once the usage is known. Default: it did not.
   */
  uses(outcome: Promise<Used>, background?: TextExchange['background'], isBroken?: () => boolean): void;
  /** Resolves when background work is stored, so that no client learns of work that a crash would lose. */
  settled(): Promise<void>;
  /**
   * Before a whole answer is sent: waits for its usage and sets `X-Mediagate-Cost`. No effect if there are no prices,
   * none of the model, or if the work continues in the background. Undefined without prices, so that nothing waits.
   */
  readonly sendCost?: () => Promise<void>;
}

type Used = Pick<TextOutcome, 'usage' | 'final' | 'model'>;

/** Admits requests of model routes and records their usage. */
export interface UsageService {
  /**
   * Consumes the key's rate limit, reserves budget, does the work, and settles once in every case. Sets the rate-limit
   * headers.
   * @throws GatewayError `model_not_allowed`, `rate_limit_exceeded`, `insufficient_quota`, `upstream_unavailable` if
   *   the database does not answer; what the work throws.
   */
  admitted<Result>(
    context: RequestContext,
    request: ModelRequest,
    work: (admitted: AdmittedWork) => Promise<Result>,
  ): Promise<Result>;
  /**
   * Consumes the key's rate limit for links and reserves their highest cost in its budgets of money. Sets the
   * rate-limit headers. Their usage is counted by the caller.
   * @returns Settles what was reserved by the real cost; only the first call counts.
   * @throws GatewayError as `admitted`.
   */
  admitLinks(context: RequestContext, request: LinksRequest): Promise<SettleLinks>;
  /** Resolves when everything that has ended is settled. */
  close(): Promise<void>;
}

/** Links of one request. */
export interface LinksRequest {
  /** Template: `/v1/extract`. */
  route: string;
  /** Of each link; those of no platform are left out. */
  platforms: readonly string[];
  /** Default: none is consumed. */
  rateLimit?: ConsumeRequest;
}

/** @param cost Millionths of the currency. */
export type SettleLinks = (cost: number) => void;

export interface UsageServiceOptions {
  admissions: Admissions;
  clock: Clock;
  /** As the admissions have them. Default: none. */
  prices?: Prices;
  /** The id of the model with a name. Default: a name is an id. */
  resolveModel?(name: string): string;
  /** Called with the id of a model that has answered. Default: nothing is done. */
  noteAnswered?(model: string): void;
}

export function createUsageService({
  admissions,
  clock,
  prices,
  resolveModel = (name) => name,
  noteAnswered,
}: UsageServiceOptions): UsageService {
  /** Requests that have ended but still have a pending usage. */
  let unsettled = 0;
  let allSettled: PromiseWithResolvers<void> | undefined;

  return {
    async admitted(context, request, work) {
      const { route, tokens, demand, uses, fallbacks, spendsTokens, outlivesClient = false } = request;
      const model = resolveModel(request.model);
      const { state, res: response } = context;
      const key = keyOf(context);
      const { id: keyId, accountId, budgetId, furtherBudgets } = key;
      const budgets = furtherBudgets ? { budgetId, furtherBudgets } : { budgetId };
      checkModel(key, request.model, resolveModel);
      const rateLimit = consumeRequest({ key, family: 'model' });
      const reserve =
        budgetId === null && !furtherBudgets ? undefined : { ...budgets, tokens, demand, uses, fallbacks };
      const admission = await admissions.admit({ keyId, accountId, route, model, rateLimit, reserve });
      if (rateLimit && admission.rateLimit) sendRateLimit(response, rateLimit, admission.rateLimit);

      let outcome: Promise<Used> | undefined;
      let isBroken: (() => boolean) | undefined;
      let answeredBy = model;
      /** Resolves with background work, once it is counted by an estimate. */
      let started: Promise<BackgroundStart | undefined> | undefined;
      const settle = (
        status: number,
        latencyMs: number,
        usage: Usage | undefined,
        background?: Settlement['background'],
      ) =>
        admissions.settle({
          requestId: usageLogIdOf(context),
          keyId,
          accountId,
          reservation: admission.reservation,
          route,
          model: answeredBy,
          status,
          ...(isBroken?.() && { isBroken: true }),
          latencyMs,
          usage,
          ...(spendsTokens !== undefined && { spendsTokens }),
          at: clock.now(),
          background,
        });

      function settleStart(start: BackgroundStart | undefined): BackgroundStart | undefined {
        if (!start) return undefined;
        const { responseId, upstream, status, usage } = start;
        settle(status, clock.monotonic() - state.startedAt, usage, { responseId, upstream, ...budgets });
        return start;
      }

      let thrown: unknown;
      try {
        return await work({
          reserved: admission.reserved,
          uses(promised, background, check) {
            outcome = promised;
            isBroken = check;
            started = background?.then(settleStart);
          },
          async settled() {
            if (await started) await admissions.flushInTime();
          },
          sendCost:
            prices &&
            (async () => {
              if (!outcome || (await started)) return;
              const { usage, model: answering = model } = await outcome;
              sendCost(response, prices, costOfUsage(prices, answering, usage));
            }),
        });
      } catch (error) {
        thrown = error;
        throw error;
      } finally {
        const status = statusOf(context, thrown, outlivesClient);
        if (status < 300) noteAnswered?.(model);
        const latencyMs = clock.monotonic() - state.startedAt;
        if (outcome) {
          unsettled += 1;
          const settleAll = (used: Used, start?: BackgroundStart) => {
            answeredBy = used.model ?? model;
            if (start) {
              const { responseId, upstream } = start;
              admissions.correct(correctionOf({ responseId, owner: accountId, upstream }, used));
            } else settle(status, latencyMs, used.usage);
            unsettled -= 1;
            if (unsettled === 0) allSettled?.resolve();
          };
          if (started) Promise.all([outcome, started]).then((both) => settleAll(...both));
          else outcome.then((used) => settleAll(used));
        } else settle(status, latencyMs, undefined);
      }
    },
    async admitLinks(context, { route, platforms, rateLimit }) {
      const { id: keyId, accountId, budgetId, furtherBudgets } = keyOf(context);
      const isUnpriced = (platform: string) => prices?.highestCostOf({ model: platform, links: [platform] }) === null;
      const [first = ''] = platforms;
      // The platform that a refusal names; otherwise the common one, as in the usage log.
      const common = platforms.every((platform) => platform === first) ? first : '';
      const model = platforms.find(isUnpriced) ?? common;
      const uses = { links: platforms };
      const reserve = { budgetId, ...(furtherBudgets && { furtherBudgets }), tokens: 0, uses };
      const admission = await admissions.admit({ keyId, accountId, route, model, rateLimit, reserve });
      if (rateLimit && admission.rateLimit) sendRateLimit(context.res, rateLimit, admission.rateLimit);
      let { reservation } = admission;
      return (cost) => {
        if (reservation !== undefined) admissions.release(reservation, cost);
        reservation = undefined;
      };
    },
    async close() {
      if (unsettled === 0) return;
      allSettled ??= Promise.withResolvers();
      await allSettled.promise;
    },
  };
}

/** A rule that names an alias allows its model, and all names of the model. */
export function isModelAllowed({ models }: ApiKeyRecord, name: string, resolve: ResolveModel): boolean {
  if (models === null) return true;
  const id = resolve(name);
  return models.some((allowed) => resolve(allowed) === id);
}

/** The id of the model with a name. */
export type ResolveModel = (name: string) => string;

/** @throws GatewayError `model_not_allowed` if the key does not allow the model. */
export function checkModel(key: ApiKeyRecord, model: string, resolve: ResolveModel): void {
  if (isModelAllowed(key, model, resolve)) return;
  throw new GatewayError(
    'model_not_allowed',
    `This API key may not use the model ${model.slice(0, 100)}. GET /v1/models lists the allowed models.`,
    { param: 'model' },
  );
}

function statusOf(context: RequestContext, thrown: unknown, outlivesClient: boolean): number {
  const { res: response } = context;
  if (thrown === undefined || response.headersSent) return response.statusCode;
  if (response.destroyed && !outlivesClient) return HUNG_UP;
  return errorClassFor(toGatewayError(thrown), context.state).status;
}

/** A request id chosen by the client may repeat, and each request must be counted. */
function usageLogIdOf({ req: request, state: { requestId } }: RequestContext): string {
  return request.headers['x-request-id'] === requestId ? `${requestId}/${newRequestId()}` : requestId;
}

const INTERVAL_MS = 2_000;

interface Batch extends UsageOverflowTable {
  totals: Totals;
}

export interface ClosableRequestCounts extends RequestCounts {
  /** Writes what is counted, once. */
  close(): Promise<void>;
}

/** Counts requests in memory, and writes them into the totals. */
export function createRequestCounts(database: Database, logger: Logger): ClosableRequestCounts {
  const table = createUsageTable(database.queries);
  const warn = createThrottledWarning(logger, 'requests could not be counted; they are counted later');
  /** Not added up yet. */
  let counted: CountedRequests[] = [];
  let counting: Batch | undefined;
  /** May have been written by a commit without an answer: its id prevents counting it twice. */
  let doubted: Batch | undefined;
  let timer: NodeJS.Timeout | undefined;
  let latest = Promise.resolve();

  async function write(batch: Batch): Promise<void> {
    const { id, at } = batch;
    await database.transaction((transaction) =>
      runScript(
        transaction,
        (function* () {
          const fresh = yield* table.insertSums([{ id, at }]);
          if (fresh.length > 0) yield* table.addTotals(batch.totals);
        })(),
      ),
    );
  }

  /** Sums in memory: one total for each key, route and platform of a day, so it stays bounded during an outage. */
  function addUp(): void {
    const [first] = counted;
    if (!first) return;
    counting ??= { id: randomUUID(), at: Math.floor(first.at), totals: createTotals() };
    for (const { at, latencyMs, ...count } of counted) {
      const latencyMsSum = Math.round(latencyMs);
      counting.totals.addTotal({ ...NO_TOTAL_COUNTS, ...count, day: dayOf(at), latencyMsSum });
    }
    counted = [];
  }

  async function writeAll(): Promise<void> {
    addUp();
    try {
      if (doubted) await write(doubted);
      doubted = counting;
      counting = undefined;
      if (doubted) await write(doubted);
      doubted = undefined;
    } catch (error) {
      warn(error);
      schedule();
    }
  }

  function schedule(): void {
    timer ??= setTimeout(() => void flush(), INTERVAL_MS);
    timer.unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    latest = latest.then(writeAll);
    return latest;
  }

  return {
    count(requests) {
      counted.push(requests);
      schedule();
    },
    flushCounts: flush,
    async close() {
      await flush();
      clearTimeout(timer);
    },
  };
}
