/*
 * Sends a request to other models while the upstreams of its own model fail; they may belong to another provider or
 * format. Only a failure before any byte reached the client leads to the next model, and never an error that the client
 * must correct. Each model has the tries and the time budget of its own provider. Requests that continue stored
 * responses, or run in the background, have no fallback. The fallbacks of a fallback are not asked.
 */

import type { Logger, ResponsesTask, TextCall, TextReply, TextRoute, WritingRoute } from '../contracts/index.js';
import { runAsEntry } from '../observability/index.js';
import type { PluginHost, RegisteredText, Registry } from '../plugins/index.js';
import { type ErrorCode, GatewayError, isGatewayError } from '../runtime/index.js';
import { limitOutput, type ReservedTokens } from './requests.js';

/** Failures of the upstreams of a model, or of its plugin. */
const FAILURES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_rate_limited',
  'upstream_refused',
  'upstream_changed',
  'upstream_error',
  'upstream_timeout',
  'upstream_unavailable',
  'upstream_auth_error',
  'plugin_unavailable',
]);

export interface FallbackRequest {
  route: TextRoute;
  task: ResponsesTask | undefined;
  parsed: Readonly<Record<string, unknown>>;
  /** Whether the caller may use the model. Default: any. */
  allows: ((model: string) => boolean) | undefined;
}

const NONE: readonly RegisteredText[] = [];

/** The models that may answer a request in place of `found`, in their order: those that are ready and have the route. */
export function fallbacksOf(
  registry: Pick<Registry, 'textProvider' | 'resolve'>,
  { model }: RegisteredText,
  { route, task, parsed, allows }: FallbackRequest,
): readonly RegisteredText[] {
  if (!model.fallbacks || task !== undefined) return NONE;
  // What an upstream stores is there alone.
  const isBound = [parsed.previous_response_id, parsed.conversation].some((id) => id !== undefined && id !== null);
  if (isBound || parsed.background === true) return NONE;
  return model.fallbacks.flatMap((name) => {
    const found = registry.textProvider(registry.resolve(name));
    const isAble = found?.model.routes.includes(route) && (!allows || allows(found.model.id));
    return found && isAble && found.model.id !== model.id ? [found] : [];
  });
}

export interface ModelsAsked {
  host: Pick<PluginHost, 'policy'>;
  logger: Logger;
  requestId: string;
  /** The model of the request, and then its fallbacks. */
  models: readonly RegisteredText[];
  /** Default: the output is not limited. */
  reserved: ReservedTokens | undefined;
}

export interface ModelsAnswer {
  reply: TextReply;
  by: RegisteredText;
}

/**
 * Sends a request to the first model that answers.
 * @throws GatewayError of the last model that was asked.
 */
export async function askModels(
  { host, logger, requestId, models, reserved }: ModelsAsked,
  call: Omit<TextCall, 'signal'>,
  signal: AbortSignal,
): Promise<ModelsAnswer> {
  let tries = 0;
  for (const [index, by] of models.entries()) {
    const { entry, contribution, model } = by;
    const hasFallback = index < models.length - 1;
    const sent = { ...(index === 0 ? call : callOf(call, by, reserved)), hasFallback, signal };
    try {
      const reply = await runAsEntry(entry, () => contribution.send(sent));
      return { reply: { ...reply, tries: tries + (reply.tries ?? 1) }, by };
    } catch (thrown) {
      const error = host.policy(entry).failureOf('text', thrown, signal);
      tries += isGatewayError(error) ? (error.tries ?? 1) : 1;
      const isFailure = isGatewayError(error) && FAILURES.has(error.code) && !signal.aborted;
      if (!isFailure || !hasFallback) throw isGatewayError(error) ? withTries(error, tries) : error;
      const fallback = models[index + 1]?.model.id;
      logger.warn(`a model failed; its fallback ${fallback} is asked`, {
        requestId,
        model: model.id,
        code: error.code,
      });
    }
  }
  throw new GatewayError('plugin_unavailable', 'No model is left to ask.');
}

function withTries(error: GatewayError, tries: number): GatewayError {
  const { code, message, cause, ...details } = error;
  return tries > 1 ? new GatewayError(code, message, { ...details, cause, tries }) : error;
}

/** The same request for another model; its output has the limit of the reservation, in the field that the model knows. */
function callOf(
  call: Omit<TextCall, 'signal'>,
  { model }: RegisteredText,
  reserved: ReservedTokens | undefined,
): Omit<TextCall, 'signal'> {
  const { id, outputLimitField: field } = model;
  if (!reserved) return { ...call, model: id };
  const route = call.route as WritingRoute;
  return { ...call, model: id, ...limitOutput(call.body, call.parsed, { route, output: reserved.output, field }) };
}
