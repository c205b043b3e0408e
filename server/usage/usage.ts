/*
 * Runs the work of an admitted request and settles it once, whether it answers, throws or loses its client. The latency
 * counts to the answer, but the usage may come later, when the stream of the upstream has ended; closing waits for all
 * of these. A disconnect has the status 499 and keeps its request in the budget. Background work is settled at once
 * with an estimate (the whole reservation, or without one the counted input and the longest output) and corrected at
 * its end. Its whole answer waits up to 2.4 s until the estimate is stored, so that a crash cannot lose work that a
 * client knows of.
 */

import { type Clock, GatewayError } from '../../core/runtime/index.js';
import {
  type BackgroundStart,
  correctionOf,
  type ReservedTokens,
  type TextExchange,
  type TextOutcome,
  type TokenDemand,
} from '../../core/text/index.js';
import type { BudgetWants } from '../budgets/index.js';
import { errorClassFor, newRequestId, type RequestContext, toGatewayError } from '../http/index.js';
import { type ApiKeyRecord, type Grant, keyOf, payersOf, rateLimitOf } from '../keys/index.js';
import { type ConsumeRequest, sendRateLimit } from '../limits/index.js';
import { costOfBoth, type Prices, sendCost } from '../prices/index.js';
import type { Admission, Admissions } from './admissions.js';
import type { Latencies } from './latencies.js';
import { MAX_INPUT, type RequestInput, type RequestInputs } from './request-inputs.js';
import { costOfUsage, type Settlement, type UsageLog } from './usage-log.js';

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
  /** What it asks, as {@link UsageService.inputOf} read it. Default: it is not stored. */
  input?: string | undefined;
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
   * @param brokenBy Code of what broke its stream off, once the usage is known. Default: nothing did.
   */
  uses(outcome: Promise<Used>, background?: TextExchange['background'], brokenBy?: () => string | undefined): void;
  /** Resolves when background work is stored, so that no client learns of work that a crash would lose. */
  settled(): Promise<void>;
  /** Call it when the first bytes of a text answer have arrived. */
  answerBegan(): void;
  /**
   * Before a whole answer is sent: waits for its usage and sets `X-Mediagate-Cost`. No effect if there are no prices,
   * none of the model, or if the work continues in the background. Undefined without prices, so that nothing waits.
   */
  readonly sendCost?: () => Promise<void>;
}

type Used = Pick<TextOutcome, 'usage' | 'final' | 'model'>;

/** Links of one request. */
export interface LinksRequest {
  /** Template: `/v1/extract`. */
  route: string;
  /** Of each link; those of no platform are left out. */
  platforms: readonly string[];
  /** Default: none is consumed. */
  rateLimit?: ConsumeRequest;
}

/** Bytes that a media link is about to send. */
export interface BytesRequest {
  /** Template: `/v1/media/:name`. */
  route: string;
  platform: string;
  bytes: number;
}

/** @param cost Millionths of the currency. */
export type SettleLinks = (cost: number) => void;

export interface UsageServiceOptions {
  admissions: Admissions;
  clock: Clock;
  /** As the admissions have them. Default: none. */
  prices?: Prices;
  /** What requests ask, of accounts that keep it. Default: none is stored. */
  inputs?: Pick<RequestInputs, 'isStored' | 'keep'>;
  /** The id of the model with a name. Default: a name is an id. */
  resolveModel?(name: string): string;
  /** Called with the id of a model that has answered. Default: nothing is done. */
  noteAnswered?(model: string): void;
  /** Receives how long models take. Default: it is not measured. */
  latencies?: Pick<Latencies, 'note'>;
  /** Called with each settlement, for metrics. Default: nothing is done. */
  noteSettled?(settlement: Settlement): void;
}

/** Admits requests of model routes and records their usage. */
export class UsageService {
  readonly #options: UsageServiceOptions;
  /** Requests that have ended but still have a pending usage. */
  #unsettled = 0;
  #allSettled: PromiseWithResolvers<void> | undefined;

  constructor(options: UsageServiceOptions) {
    this.#options = options;
  }

  /** What a request asks, if its account keeps that: otherwise it is not read. */
  inputOf(context: RequestContext, read: () => string | undefined): string | undefined {
    return this.#options.inputs?.isStored(keyOf(context).accountId) ? read()?.slice(0, MAX_INPUT + 1) : undefined;
  }

  /** Stores soon what a request asked, if its account keeps that. */
  keepInput(input: RequestInput): void {
    this.#options.inputs?.keep(input);
  }

  /**
   * Consumes the key's rate limit, reserves budget, does the work, and settles once in every case. Sets the rate-limit
   * headers.
   * @throws GatewayError `model_not_allowed`, `rate_limit_exceeded`, `insufficient_quota`, `upstream_unavailable` if
   *   the database does not answer; what the work throws.
   */
  async admitted<Result>(
    context: RequestContext,
    request: ModelRequest,
    work: (admitted: AdmittedWork) => Promise<Result>,
  ): Promise<Result> {
    const { clock, noteAnswered, latencies } = this.#options;
    const admitted = await this.#admit(context, request);
    const sentAt = clock.monotonic();
    let thrown: unknown;
    try {
      return await work(this.#workOf(admitted));
    } catch (error) {
      thrown = error;
      throw error;
    } finally {
      const status = statusOf(context, thrown, request.outlivesClient ?? false);
      const now = clock.monotonic();
      if (status < 300) {
        const { model, firstAt, outcome } = admitted;
        noteAnswered?.(model);
        // Nothing was asked of a model that used nothing.
        if (outcome) latencies?.note(model, { totalMs: now - sentAt, ...(firstAt && { firstMs: firstAt - sentAt }) });
      }
      const latencyMs = now - context.state.startedAt;
      this.#settleAtEnd(admitted, { status, latencyMs, ...(status >= 400 && { errorCode: codeOf(status, thrown) }) });
    }
  }

  async #admit(context: RequestContext, request: ModelRequest): Promise<AdmittedRequest> {
    const { admissions, resolveModel = sameName, prices } = this.#options;
    const pricesThen = prices?.now?.();
    const { route, tokens, demand, uses, fallbacks } = request;
    const model = resolveModel(request.model);
    const key = keyOf(context);
    const { id: keyId, accountId } = key;
    const isListed = (models: readonly string[]) => models.some((each) => resolveModel(each) === model);
    const budgets = payersOf(key, { grant: grantOfRoute(route), isListed });
    checkModel(key, request.model, resolveModel);
    const rateLimit = rateLimitOf(key, 'model');
    const hasBudget = budgets.budgetId !== null || budgets.furtherBudgets !== undefined;
    const reserve = hasBudget ? { ...budgets, tokens, demand, uses, fallbacks } : undefined;
    const admission = await admissions.admit({ keyId, accountId, route, model, rateLimit, reserve });
    if (rateLimit && admission.rateLimit) sendRateLimit(context.res, rateLimit, admission.rateLimit);
    context.state.isCounted = true;
    const { balanceId: _balanceId, ...counted } = budgets;
    const paidBy = admission.paidBy === undefined ? counted : { ...counted, budgetId: admission.paidBy };
    return { context, request, keyId, accountId, model, budgets: paidBy, admission, answeredBy: model, pricesThen };
  }

  #workOf(admitted: AdmittedRequest): AdmittedWork {
    const { admissions, prices } = this.#options;
    const { context, model, admission } = admitted;
    return {
      reserved: admission.reserved,
      answerBegan: () => {
        admitted.firstAt ??= this.#options.clock.monotonic();
      },
      uses: (promised, background, check) => {
        admitted.outcome = promised;
        admitted.brokenBy = check;
        admitted.started = background?.then((start) => this.#settleStart(admitted, start));
      },
      async settled() {
        if (await admitted.started) await admissions.flushInTime();
      },
      sendCost:
        prices &&
        (async () => {
          if (!admitted.outcome || (await admitted.started)) return;
          const { usage, model: answering = model } = await admitted.outcome;
          const costOf = (by: Prices) => costOfUsage(by, answering, usage);
          sendCost(context.res, prices, costOfBoth(prices, admitted.pricesThen, costOf) ?? costOf(prices));
        }),
    };
  }

  #settleStart(admitted: AdmittedRequest, start: BackgroundStart | undefined): BackgroundStart | undefined {
    if (!start) return undefined;
    const { responseId, upstream, status, usage } = start;
    const latencyMs = this.#options.clock.monotonic() - admitted.context.state.startedAt;
    this.#settle(admitted, { status, latencyMs, usage, background: { responseId, upstream, ...admitted.budgets } });
    return start;
  }

  #settleAtEnd(admitted: AdmittedRequest, end: Pick<Settlement, 'status' | 'latencyMs' | 'errorCode'>): void {
    const { outcome, started, accountId, model } = admitted;
    if (!outcome) {
      this.#settle(admitted, end);
      return;
    }
    this.#unsettled += 1;
    const settleAll = (used: Used, start?: BackgroundStart) => {
      admitted.answeredBy = used.model ?? model;
      if (start) {
        const { responseId, upstream } = start;
        this.#options.admissions.correct(correctionOf({ responseId, owner: accountId, upstream }, used));
      } else this.#settle(admitted, { ...end, usage: used.usage });
      this.#unsettled -= 1;
      if (this.#unsettled === 0) this.#allSettled?.resolve();
    };
    if (started) Promise.all([outcome, started]).then((both) => settleAll(...both));
    else outcome.then((used) => settleAll(used));
  }

  #settle(
    { context, request, keyId, accountId, admission, answeredBy, brokenBy, pricesThen }: AdmittedRequest,
    end: Pick<Settlement, 'status' | 'latencyMs' | 'errorCode' | 'usage' | 'background'>,
  ): void {
    const { admissions, clock, noteSettled, prices } = this.#options;
    const { spendsTokens } = request;
    const cost = prices && costOfBoth(prices, pricesThen, (by) => costOfUsage(by, answeredBy, end.usage));
    const broken = brokenBy?.();
    const settlement = {
      requestId: usageLogIdOf(context),
      keyId,
      accountId,
      reservation: admission.reservation,
      route: request.route,
      model: answeredBy,
      ...end,
      ...(broken !== undefined && { errorCode: broken }),
      ...(spendsTokens !== undefined && { spendsTokens }),
      ...(cost !== undefined && { cost }),
      at: clock.now(),
    };
    noteSettled?.(settlement);
    admissions.settle(settlement);
    const { requestId, at } = settlement;
    if (request.input !== undefined) this.keepInput({ keyId, accountId, requestId, at, text: request.input });
  }

  /**
   * Consumes the key's rate limit for links and reserves their highest cost in its budgets of money. Sets the
   * rate-limit headers. Their usage is counted by the caller.
   * @returns Settles what was reserved by the real cost; only the first call counts.
   * @throws GatewayError `rate_limit_exceeded`, `insufficient_quota`, `upstream_unavailable` if the database does not
   *   answer.
   */
  async admitLinks(context: RequestContext, { route, platforms, rateLimit }: LinksRequest): Promise<SettleLinks> {
    const { admissions, prices } = this.#options;
    const key = keyOf(context);
    const { id: keyId, accountId } = key;
    const isUnpriced = (platform: string) => prices?.highestCostOf({ model: platform, links: [platform] }) === null;
    const [first = ''] = platforms;
    // The platform that a refusal names; otherwise the common one, as in the usage log.
    const common = platforms.every((platform) => platform === first) ? first : '';
    const model = platforms.find(isUnpriced) ?? common;
    const uses = { links: platforms };
    const reserve = { ...payersOf(key, { grant: 'extract' }), tokens: 0, uses };
    const admission = await admissions.admit({ keyId, accountId, route, model, rateLimit, reserve });
    if (rateLimit && admission.rateLimit) sendRateLimit(context.res, rateLimit, admission.rateLimit);
    return this.#settlesOnce(admission);
  }

  /**
   * Reserves the cost of bytes in the budgets of money of the key that a media link was made for. Their usage is counted
   * by the caller.
   * @returns As {@link admitLinks}.
   * @throws GatewayError `insufficient_quota`, `upstream_unavailable` if the database does not answer.
   */
  async admitBytes(key: ApiKeyRecord, { route, platform, bytes }: BytesRequest): Promise<SettleLinks> {
    const { admissions, prices } = this.#options;
    const { id: keyId, accountId } = key;
    const payers = payersOf(key, { grant: 'extract' });
    if (!prices?.hasBytePrice || (payers.budgetId === null && !payers.furtherBudgets)) return () => undefined;
    const reserve = { ...payers, tokens: 0, uses: { bytes } };
    return this.#settlesOnce(await admissions.admit({ keyId, accountId, route, model: platform, reserve }));
  }

  #settlesOnce({ reservation: held }: Admission): SettleLinks {
    let reservation = held;
    return (cost) => {
      if (reservation !== undefined) this.#options.admissions.release(reservation, cost);
      reservation = undefined;
    };
  }

  /** Resolves when everything that has ended is settled. */
  async close(): Promise<void> {
    if (this.#unsettled === 0) return;
    this.#allSettled ??= Promise.withResolvers();
    await this.#allSettled.promise;
  }
}

/** A request between its admission and its settlement. */
interface AdmittedRequest {
  readonly context: RequestContext;
  readonly request: ModelRequest;
  readonly keyId: string;
  readonly accountId: string;
  readonly model: string;
  readonly budgets: Pick<ApiKeyRecord, 'budgetId' | 'furtherBudgets'>;
  readonly admission: Admission;
  /** The prices at its beginning. Undefined without prices, or if they never change. */
  readonly pricesThen: Prices | undefined;
  /** The model that the usage is counted for. */
  answeredBy: string;
  outcome?: Promise<Used> | undefined;
  /** When its answer began, in monotonic milliseconds. */
  firstAt?: number;
  brokenBy?: (() => string | undefined) | undefined;
  /** Resolves with background work, once it is counted by an estimate. */
  started?: Promise<BackgroundStart | undefined> | undefined;
}

/** Models of sound are in the grant `audio`, all others in `text`. */
function grantOfRoute(route: string): Grant {
  return route.startsWith('/v1/audio/') ? 'audio' : 'text';
}

function sameName(name: string): string {
  return name;
}

/** A rule that names an alias allows its model, and all names of the model. */
export function isModelAllowed(
  { models, planModels }: Pick<ApiKeyRecord, 'models' | 'planModels'>,
  name: string,
  resolve: ResolveModel,
): boolean {
  if (models === null) return true;
  const id = resolve(name);
  const includes = (allowed: readonly string[]) => allowed.some((each) => resolve(each) === id);
  // Own models of a key count within those of its plan.
  return includes(models) && (!planModels || includes(planModels));
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

/** Lists a request of a key that failed before it was counted. */
export function logRefusal(
  usageLog: Pick<UsageLog, 'refuse'>,
  context: RequestContext,
  { route, latencyMs, at }: { route: string; latencyMs: number; at: number },
): void {
  const { key, errorCode, isCounted, imageJob } = context.state;
  // An image that failed is counted as a job.
  if (!key || errorCode === undefined || isCounted || imageJob) return;
  const { id: keyId, accountId } = key;
  const requestId = usageLogIdOf(context);
  usageLog.refuse({ keyId, accountId, route, requestId, errorCode, status: context.res.statusCode, latencyMs, at });
}

/** For the log. The client's own end of a request is no error of the table. */
function codeOf(status: number, thrown: unknown): string {
  if (status === HUNG_UP) return 'client_disconnected';
  return thrown === undefined ? `http_${status}` : toGatewayError(thrown).code;
}

/** A request id chosen by the client may repeat, and each request must be counted. */
export function usageLogIdOf({ req: request, state: { requestId } }: RequestContext): string {
  return request.headers['x-request-id'] === requestId ? `${requestId}/${newRequestId()}` : requestId;
}
