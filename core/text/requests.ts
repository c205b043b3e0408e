/*
 * The contract of text requests (`prepare`, `send`, the exchange and its outcome), and the checks and limits of a
 * request body. It reads the maximum output from every field that some server takes as a limit, and computes what a
 * token budget must reserve. `limitOutput` writes the granted output back into the body: a smaller limit of the caller
 * stays, a larger one is lowered, also in nested options. A limit that is not a positive integer would limit nothing,
 * so it is replaced. Bodies are changed in their bytes.
 */

import type {
  ResponsesTask,
  StoredResponseAction,
  TextModel,
  TextRoute,
  Usage,
  WritingRoute,
} from '../contracts/index.js';
import { asRecord, GatewayError, type JsonRecord } from '../runtime/index.js';
import type { PromptSample } from './counting/samples.js';
import { LIMIT_CONTAINERS, LIMIT_NAMES } from './exact-fields.js';
import { type JsonValue, replaceFields } from './json.js';

export interface TextRequest {
  route: TextRoute;
  /** Set on the routes `responses` and `messages`. Default: the request is answered directly. */
  task?: ResponsesTask;
  /** The caller's JSON object, byte for byte. */
  body: Uint8Array;
  /** The same, parsed. For a body above 256 KiB or 20,000 values, fields of more than 8 KiB may be missing. */
  parsed: Readonly<Record<string, unknown>>;
  /** The text the model reads, if `parsed` lacks its long fields. Default: it is taken from `parsed`. */
  prompt?: PromptSample;
  /** Headers of the caller for the upstream, names in lower case. Default: none. */
  headers?: Readonly<Record<string, string>>;
  /** Owner of the stored responses that it may continue, and of the one it creates. */
  owner: string;
  /** Id of the request, for errors within a stream. */
  requestId: string;
  /** Whether the caller may use a model, by its id: for fallbacks. Default: any. */
  allows?: (model: string) => boolean;
}

/** A request that is valid and not sent yet. */
export interface PreparedText {
  /** Id of the model: what grants, prices and budgets are about. */
  readonly model: string;
  /** The name that the request asks for, which answers have: the id, or an alias. */
  readonly asked: string;
  /**
   * Maximum tokens of the request: its own, estimated by its length, and the maximum of the answer (1,024 if not
   * stated). Counting tokens costs none; 1 is reserved anyway, so that a caller without tokens is refused.
   */
  readonly maxTokens: number;
  /** Ids of the models that may answer in its place. Default: none. */
  readonly fallbacks?: readonly string[];
  /** What a token budget must reserve for it. Loads the tokenizer. Default: `maxTokens` suffices. */
  readonly demand?: () => Promise<TokenDemand>;
  /**
   * Must be called once.
   * @param reserved Limits the output: the upstream gets the limit in the body. Usage that it does not report is then
   *   at most this. Default: no limit.
   */
  send(reserved?: ReservedTokens): TextExchange;
}

/** The tokens that a request may use, as an upper estimate. */
export interface TokenDemand {
  input: number;
  /**
   * Maximum input that the gateway cannot see: an earlier response that it continues, files that it only names. A
   * budget with fewer free tokens reserves those that it has.
   */
  hiddenInput: number;
  /** Output over all choices, as stated or as the model allows. A budget with fewer free tokens grants fewer. */
  output: number;
  /** Minimum output over all choices; a budget with less refuses the request. */
  minOutput: number;
  choices: number;
}

/** The tokens that were reserved for a request. */
export interface ReservedTokens {
  /** Includes {@link TokenDemand.hiddenInput}, as far as it was reserved. */
  input: number;
  /** Over all choices. */
  output: number;
}

/** A request that was sent. */
export interface TextExchange {
  /**
   * Resolves when the status and the first bytes have arrived.
   * @throws GatewayError `upstream_*`, the caller's error as the upstream names it, `bad_request` if the caller has
   *   disconnected.
   */
  readonly answer: Promise<TextAnswer>;
  /** Resolves when the body has ended or was abandoned, also if there was no answer. Never rejects. */
  readonly ended: Promise<TextOutcome>;
  /**
   * Why the answer did not complete; undefined before that. Known at the end of the body, earlier than {@link ended},
   * which may wait for a token count.
   */
  readonly failure: GatewayError | undefined;
  /**
   * Whether a stream broke off or ended with an error of its upstream, while the caller was connected. Known when
   * {@link ended} resolves. Default false.
   */
  readonly isBroken?: boolean;
  /**
   * For a request that may continue without a client: resolves when the upstream has named the response and it can be
   * fetched later; undefined if it ends before. Never rejects. Default: it cannot continue.
   */
  readonly background?: Promise<BackgroundStart | undefined>;
  /** The caller has disconnected: aborts the upstream request within 100 ms. No effect once the answer has ended. */
  leave(): void;
  /**
   * Aborts the upstream request while the caller is still connected: the answer rejects with this error, or its stream
   * ends with it as an event.
   */
  abort(error: GatewayError): void;
}

export interface TextAnswer {
  /** 200 to 299. */
  status: number;
  /** Names in lower case; at least `content-type`, never a length. */
  headers: Readonly<Record<string, string>>;
  /**
   * The whole answer, or events as they arrive. A stream always ends with a terminal event; stopping early aborts the
   * upstream request.
   */
  body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Name of the plugin that answered, if it only replaces a provider that is not configured. */
  standIn?: string;
  /** The upstream's own id of the request. Default: it sent none. */
  upstreamRequestId?: string;
  /** Fields of the request that were left out. Default: none. */
  ignored?: readonly string[];
  /** As the upstream sent them, see {@link TextReply.vendorHeaders}: not to be passed on as they are. */
  vendorHeaders?: Readonly<Record<string, string>> | undefined;
  /** How often upstreams were asked. Default 1. */
  tries?: number | undefined;
  /** {@link TextReply.upstream}: for the operator's commands, never for clients. */
  upstream?: string;
}

/** How it ended. */
export interface TextOutcome {
  /** Reported, or estimated and marked so. Absent if nothing was used. */
  usage?: Usage;
  /** Id of the model that answered in place of the one that was asked for. Default: that one. */
  model?: string;
  /** Id of a response of the responses route. */
  responseId?: string;
  /** Whether the answer completed. */
  complete: boolean;
  /** Why it did not complete, or why there was none. */
  failure?: GatewayError;
  /** Whether the upstream reported the response as ended. Default: it may still be in progress. */
  final?: boolean;
}

/** A response that the upstream completes even if the exchange is abandoned. */
export interface BackgroundStart {
  responseId: string;
  /** `TextReply.upstream` and the status of the answer that named it. */
  upstream: string;
  status: number;
  /** Maximum tokens, estimated. */
  usage: Usage;
}

export interface StoredTextRequest {
  action: StoredResponseAction;
  responseId: string;
  owner: string;
  /** Query of the caller's request, without `?`. */
  query: string;
  requestId: string;
}

/** A text model that is ready. */
export interface ReadyTextModel extends TextModel {
  /** Plugin instance that serves it. */
  entry: string;
}

/** Text models: checks requests, sends them, and makes sure that each answer ends correctly and is counted. */
export interface Texts {
  models(): readonly ReadyTextModel[];
  /**
   * Checks a request without I/O, except for reading the response that it continues.
   * @throws GatewayError `missing_required_parameter`, `invalid_value`, `unsupported_value`, `model_not_found`,
   *   `model_not_supported`, `previous_response_not_found`, `upstream_unavailable` if the database does not answer.
   */
  prepare(request: TextRequest): Promise<PreparedText>;
  /**
   * Estimated input tokens of a request, if the model's upstream does not count. Pictures and files are not included.
   * Never rejects.
   */
  countTokens(parsed: TextRequest['parsed'], prompt?: PromptSample): Promise<number>;
  /**
   * Fetches a stored response from its upstream. Its usage was counted when it was made; for a background response it
   * is counted from this answer. A response is fetched once more before it is deleted.
   * @throws GatewayError `response_not_found` if there is none, or it belongs to another owner; `upstream_unavailable`
   *   if the database does not answer.
   */
  stored(request: StoredTextRequest): Promise<TextExchange>;
  /** Ends all exchanges with `shutting_down`: streams with the terminal event of their route. */
  cutOff(): void;
}

/** Maximum tokens of an answer if the request states none. */
const DEFAULT_OUTPUT_TOKENS = 1_024;
/** Maximum tokens of an answer under a token budget if neither the request nor the model states any. */
const MODEL_OUTPUT_TOKENS = 16_384;
/** With fewer for each choice, an answer is not worth its input. */
const MIN_OUTPUT_TOKENS = 256;
/** Tokens of an earlier response, or of a file that is not in the request: the context of many models. */
const HIDDEN_INPUT_TOKENS = 131_072;
/** The sum of many such values still fits the database's integer. */
export const MAX_TOKENS = 1e12;

/** The requested model. @throws GatewayError `missing_required_parameter`, `invalid_value`. */
export function modelOf({ model }: JsonRecord): string {
  if (model === undefined || model === null) {
    throw new GatewayError('missing_required_parameter', 'model is missing.', { param: 'model' });
  }
  if (typeof model !== 'string') {
    throw new GatewayError('invalid_value', 'model must be a text.', { param: 'model' });
  }
  return model;
}

/** Whether models write text on that route. */
export function isWriting(route: TextRoute): route is WritingRoute {
  return route === 'chat_completions' || route === 'responses' || route === 'messages';
}

/** Whether a stream is requested. @throws GatewayError `invalid_value`. */
export function streamOf({ stream }: JsonRecord): boolean {
  if (stream === undefined || stream === null) return false;
  if (typeof stream === 'boolean') return stream;
  throw new GatewayError('invalid_value', 'stream must be true or false.', { param: 'stream' });
}

/**
 * A message is not checked: its upstream has efforts, and ways to think, of its own.
 * @throws GatewayError `unsupported_value` naming the efforts that the model has.
 */
export function checkEffort(parsed: JsonRecord, route: WritingRoute, { id, efforts }: TextModel): void {
  if (route === 'messages') return;
  const param = route === 'chat_completions' ? 'reasoning_effort' : 'reasoning.effort';
  const effort = route === 'chat_completions' ? parsed.reasoning_effort : asRecord(parsed.reasoning)?.effort;
  if (effort === undefined || effort === null) return;
  if (typeof effort === 'string' && efforts.includes(effort)) return;
  const accepted = efforts.length > 0 ? `must be one of ${efforts.join(', ')}` : 'is not supported by this model';
  throw new GatewayError('unsupported_value', `${param} of ${id} ${accepted}.`, { param });
}

/** The earlier response that it continues. @throws GatewayError `invalid_value`. */
export function previousResponseOf({ previous_response_id: previous }: JsonRecord): string | undefined {
  if (previous === undefined || previous === null) return undefined;
  if (typeof previous === 'string') return previous;
  throw new GatewayError('invalid_value', 'previous_response_id must be a text.', { param: 'previous_response_id' });
}

/** The field that states the maximum tokens of an answer, for each choice. */
const LIMIT_FIELDS: Readonly<Record<WritingRoute, string>> = {
  chat_completions: 'max_completion_tokens',
  responses: 'max_output_tokens',
  messages: 'max_tokens',
};

/** Maximum tokens of an answer, over all its choices: at most 10^12. */
export function maxOutputTokens(parsed: JsonRecord, route: TextRoute): number {
  if (!isWriting(route)) return 0;
  return Math.min((statedMax(parsed) ?? DEFAULT_OUTPUT_TOKENS) * choicesOf(parsed, route), MAX_TOKENS);
}

const LIMITS: ReadonlyMap<string, 'limit' | 'container'> = new Map([
  ...LIMIT_NAMES.map((name) => [name, 'limit'] as const),
  ...LIMIT_CONTAINERS.map((name) => [name, 'container'] as const),
]);

function statedMax(parsed: JsonRecord): number | undefined {
  let most: number | undefined;
  // Upstreams differ in which of them they use: many know only an older one, or one of their own.
  for (const name in parsed) {
    const kind = LIMITS.get(name);
    if (kind === undefined) continue;
    const value = parsed[name];
    const stated = kind === 'limit' ? value : statedMax(asRecord(value) ?? {});
    if (isCount(stated)) most = Math.max(most ?? 0, stated);
  }
  return most;
}

/** Choices that the upstream writes; of the best of several, it writes all. */
function choicesOf({ n, best_of: tried }: JsonRecord, route: TextRoute): number {
  if (route !== 'chat_completions') return 1;
  return Math.max(isCount(n) ? n : 1, isCount(tried) ? tried : 1);
}

/** @throws GatewayError `invalid_value` if a number of choices is no whole number. */
export function checkChoices(parsed: JsonRecord): void {
  for (const param of CHOICE_FIELDS) {
    const count = parsed[param];
    if (count === undefined || count === null || isCount(count)) continue;
    throw new GatewayError('invalid_value', `${param} must be a whole number from 1.`, { param });
  }
}

const CHOICE_FIELDS = ['n', 'best_of'] as const;

/** What a token budget must reserve for a request with that input. */
export function demandOf(
  parsed: JsonRecord,
  route: TextRoute,
  { maxOutputTokens: most = MODEL_OUTPUT_TOKENS }: TextModel,
  { input, namesFiles }: { input: number; namesFiles: boolean },
): TokenDemand {
  if (!isWriting(route)) return { input, hiddenInput: 0, output: 0, minOutput: 0, choices: 1 };
  const choices = choicesOf(parsed, route);
  const perChoice = statedMax(parsed) ?? most;
  const continues = [parsed.previous_response_id, parsed.conversation].some((id) => id !== undefined && id !== null);
  return {
    input,
    hiddenInput: continues || namesFiles ? HIDDEN_INPUT_TOKENS : 0,
    output: Math.min(perChoice * choices, MAX_TOKENS),
    minOutput: Math.min(
      Math.min(perChoice, Math.max(MIN_OUTPUT_TOKENS, thinkingTokens(parsed) + 1)) * choices,
      MAX_TOKENS,
    ),
    choices,
  };
}

/** Anthropic's field for the most tokens of thinking. */
const THINKING_LIMIT = 'budget_tokens';

/** A message is refused if its own limit is not above that of its thinking. */
function thinkingTokens({ thinking }: JsonRecord): number {
  const tokens = asRecord(thinking)?.[THINKING_LIMIT];
  return isCount(tokens) ? tokens : 0;
}

/**
 * Writes the reserved output into a body as its limit, for each choice. A field that the caller sent keeps a smaller
 * value; one that is no number above 0 does not limit anything and is replaced.
 */
export function limitOutput(
  body: Uint8Array,
  parsed: JsonRecord,
  { route, output, field }: { route: WritingRoute; output: number; field?: string },
): { body: Uint8Array; parsed: JsonRecord } {
  const perChoice = Math.max(1, Math.floor(output / choicesOf(parsed, route)));
  const sent = LIMIT_NAMES.filter((name) => parsed[name] !== undefined);
  const names = route === 'chat_completions' && field !== undefined ? [...new Set([...sent, field])] : sent;
  const isKnown = names.some(
    (name) => name === LIMIT_FIELDS[route] || (route === 'chat_completions' && name === OLDER),
  );
  // A server that does not know the field that was sent reads that of the format.
  if (!isKnown && field === undefined) names.push(LIMIT_FIELDS[route]);
  const limits = { ...limitsIn(parsed, perChoice), ...lowered(parsed, names, perChoice) };
  return { body: replaceFields(body, limits), parsed: { ...parsed, ...limits } };
}

/** The older field of a chat. */
const OLDER = 'max_tokens';

/** The limits among the fields, at most so high, and those in fields that have further ones. */
function limitsIn(fields: JsonRecord, most: number): Record<string, JsonValue> {
  const changes = lowered(
    fields,
    LIMIT_NAMES.filter((name) => fields[name] !== undefined),
    most,
  );
  for (const name of LIMIT_CONTAINERS) {
    const inner = asRecord(fields[name]);
    const nested = inner ? limitsIn(inner, most) : {};
    if (inner && Object.keys(nested).length > 0) {
      changes[name] = { ...(inner as Readonly<Record<string, JsonValue>>), ...nested };
    }
  }
  return changes;
}

function lowered(fields: JsonRecord, names: readonly string[], most: number): Record<string, JsonValue> {
  return Object.fromEntries(
    names.map((name) => {
      const stated = fields[name];
      return [name, isCount(stated) ? Math.min(stated, most) : most];
    }),
  );
}

/**
 * Asks the upstream to report the usage of a chat stream, if the caller did not ask for it.
 * @returns The body to send, and whether the usage event is to be dropped.
 */
export function askForUsage(
  body: Uint8Array,
  parsed: JsonRecord,
): { body: Uint8Array; parsed: JsonRecord; asked: boolean } {
  const { stream_options: given } = parsed;
  const options = given === undefined || given === null ? {} : asRecord(given);
  // The upstream refuses a value that is no object.
  if (!options || options.include_usage === true) return { body, parsed, asked: false };
  const stream_options = { ...(options as Readonly<Record<string, JsonValue>>), include_usage: true };
  return { body: replaceFields(body, { stream_options }), parsed: { ...parsed, stream_options }, asked: true };
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

/** Everything that was reserved, as a usage. */
export function allOf({ input: inputTokens, output: outputTokens }: ReservedTokens): Usage {
  return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, estimated: true };
}
