import {
  type BackgroundStart,
  type Clock,
  correctionOf,
  GatewayError,
  type TextExchange,
  type TextOutcome,
  type Usage,
} from 'mediagate';
import { errorClassOf, newRequestId, type RequestContext, toGatewayError } from '../http/index.js';
import { type ApiKeyRecord, keyOf } from '../keys/index.js';
import { acceptSlot, slotRequest } from '../limits/index.js';
import type { Admissions, Settlement } from './admissions.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    usage: UsageService;
  }
}

/** Status of a request whose client hung up before there was an answer. */
const HUNG_UP = 499;

export interface ModelRequest {
  /** Template: `/v1/chat/completions`. */
  route: string;
  /** Public model id. */
  model: string;
  /** Tokens it may come to at most, estimated; held of the key's budget until it has ended. */
  tokens: number;
  /** Whether the work goes on when its client hangs up: then it ends as it would have ended otherwise. Default false. */
  outlivesClient?: boolean;
}

/** Work that was let in. */
export interface AdmittedWork {
  /** Says, once and before it may throw, where what it uses will be known; that never rejects. Never said: nothing is used. */
  uses(outcome: Promise<Used>, background?: TextExchange['background']): void;
  /** Resolves when what goes on in the background is written down, so that nobody is told of what a crash would forget. */
  kept(): Promise<void>;
}

type Used = Pick<TextOutcome, 'usage' | 'final'>;

/** Lets requests of model routes in and takes down what they used. */
export interface UsageService {
  /**
   * Takes a slot of the key's window and a reservation of its budget, does the work, and settles once, whatever happens.
   * Says in header fields how the window stands.
   * @throws GatewayError `model_not_allowed`, `rate_limit_exceeded`, `insufficient_quota`, `upstream_unavailable` where the
   * database does not answer; what the work throws.
   */
  admitted<Result>(
    context: RequestContext,
    request: ModelRequest,
    work: (admitted: AdmittedWork) => Promise<Result>,
  ): Promise<Result>;
  /** Resolves when all that has ended is settled. */
  close(): Promise<void>;
}

export interface UsageServiceOptions {
  admissions: Admissions;
  clock: Clock;
}

export function createUsageService({ admissions, clock }: UsageServiceOptions): UsageService {
  /** Requests that have ended and whose usage is still to come. */
  let unsettled = 0;
  let allSettled: PromiseWithResolvers<void> | undefined;

  return {
    async admitted(context, { route, model, tokens, outlivesClient = false }, work) {
      const { state, res: response } = context;
      const key = keyOf(context);
      const { id: keyId, accountId, budgetId } = key;
      checkModel(key, model);
      const slot = slotRequest({ key, family: 'model' });
      const reserve = budgetId === null ? undefined : { budgetId, tokens };
      const admission = await admissions.admit({ keyId, accountId, route, model, slot, reserve });
      if (slot && admission.slot) acceptSlot(response, slot, admission.slot);

      let outcome: Promise<Used> | undefined;
      /** Resolves with what goes on without the request, once it is counted by an estimate. */
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
          model,
          status,
          latencyMs,
          usage,
          at: clock.now(),
          background,
        });

      function settleStart(start: BackgroundStart | undefined): BackgroundStart | undefined {
        if (!start) return undefined;
        const { responseId, upstream, status, usage } = start;
        settle(status, clock.monotonic() - state.startedAt, usage, { responseId, upstream, budgetId });
        return start;
      }

      let thrown: unknown;
      try {
        return await work({
          uses(promised, background) {
            outcome = promised;
            started = background?.then(settleStart);
          },
          async kept() {
            if (await started) await admissions.flushInTime();
          },
        });
      } catch (error) {
        thrown = error;
        throw error;
      } finally {
        const status = statusOf(context, thrown, outlivesClient);
        const latencyMs = clock.monotonic() - state.startedAt;
        if (outcome) {
          unsettled += 1;
          const settleAll = (used: Used, start?: BackgroundStart) => {
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
    async close() {
      if (unsettled === 0) return;
      allSettled ??= Promise.withResolvers();
      await allSettled.promise;
    },
  };
}

export function isModelAllowed({ models }: ApiKeyRecord, model: string): boolean {
  return models === null || models.includes(model);
}

/** @throws GatewayError `model_not_allowed` where the key is for other models. */
export function checkModel(key: ApiKeyRecord, model: string): void {
  if (isModelAllowed(key, model)) return;
  throw new GatewayError('model_not_allowed', `This API key is not for the model ${model}.`, { param: 'model' });
}

function statusOf(context: RequestContext, thrown: unknown, outlivesClient: boolean): number {
  const { res: response } = context;
  if (thrown === undefined || response.headersSent) return response.statusCode;
  if (response.destroyed && !outlivesClient) return HUNG_UP;
  return errorClassOf(toGatewayError(thrown).code, context.state).status;
}

/** A request id that the client chose names many requests where it chooses the same one, and each is to be counted. */
function usageLogIdOf({ req: request, state: { requestId } }: RequestContext): string {
  return request.headers['x-request-id'] === requestId ? `${requestId}/${newRequestId()}` : requestId;
}
