import type { ResponsesTask, StoredResponseAction, TextModel, TextRoute, Usage } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { type JsonValue, replaceMembers } from './json.js';
import type { TextSample } from './tokens.js';

export interface TextRequest {
  route: TextRoute;
  /** With the responses route. Default: the request is answered. */
  task?: ResponsesTask;
  /** The caller's JSON object, byte for byte. */
  body: Uint8Array;
  /** The same, parsed. Of a body above 256 KiB or 20,000 values, fields of more than 8 KiB may be missing. */
  parsed: Readonly<Record<string, unknown>>;
  /** What the model reads, where `parsed` lacks its long fields. Default: it is found in `parsed`. */
  prompt?: TextSample;
  /** Whose stored responses it may go on from, and who may find what it makes. */
  owner: string;
  /** Named in errors inside of a stream. */
  requestId: string;
}

/** A request that was found good and is not sent yet. */
export interface PreparedText {
  /** Public model id. */
  readonly model: string;
  /**
   * Tokens it may come to: its own, estimated by its length, and the most that may be answered (1,024 where it does not say).
   * Counting them costs none; 1 is asked for all the same, so that a caller who has none left is refused.
   */
  readonly mostTokens: number;
  /** To be called once. */
  send(): TextExchange;
}

/** A request that is under way. */
export interface TextExchange {
  /**
   * Resolves when the status is known and its first bytes are here.
   * @throws GatewayError `upstream_*`, the caller's fault as the upstream names it, `bad_request` where the caller left.
   */
  readonly answer: Promise<TextAnswer>;
  /** Resolves when the body has ended or was left, also where there was no answer. Never rejects. */
  readonly ended: Promise<TextOutcome>;
  /**
   * Of what may go on without it: resolves when the upstream has named the response, and it can be found again; undefined
   * where it never gets so far, or ends at once. Never rejects. Default: it is none such.
   */
  readonly background?: Promise<BackgroundStart | undefined>;
  /** The caller has gone: closes the upstream request within 100 ms. Of no effect once the answer has ended. */
  leave(): void;
}

export interface TextAnswer {
  /** 200 to 299. */
  status: number;
  /** Names in lower case; `content-type` at least, never a length. */
  headers: Readonly<Record<string, string>>;
  /** All of it, or events as they come. A stream always ends in a terminal event; leaving it closes the upstream request. */
  body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Name of the plugin that answered, where it only stands for something better. */
  standIn?: string;
}

/** How it ended. */
export interface TextOutcome {
  /** Reported, or estimated and marked so. Absent where nothing was used. */
  usage?: Usage;
  /** Of the responses route. */
  responseId?: string;
  /** Whether the answer came to its own end. */
  complete: boolean;
  /** Why it did not, or why there was none. */
  failure?: GatewayError;
  /** Whether the upstream said of a response that it has come to an end. Default: it may go on making it. */
  final?: boolean;
}

/** A response that the upstream makes to its end whatever becomes of the exchange. */
export interface BackgroundStart {
  responseId: string;
  /** `TextReply.upstream` and status of the answer that named it. */
  upstream: string;
  status: number;
  /** The most it may come to, estimated. */
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
  /** Plugin entry that serves it. */
  entry: string;
}

/** Text models: checks what is asked of them, sends it, and sees to it that each answer ends well and is counted. */
export interface Texts {
  models(): readonly ReadyTextModel[];
  /**
   * Checks a request without any I/O, but for the look-up of a response that it goes on from.
   * @throws GatewayError `missing_required_parameter`, `invalid_value`, `unsupported_value`, `model_not_found`,
   * `model_not_supported`, `previous_response_not_found`, `upstream_unavailable` where the database does not answer.
   */
  prepare(request: TextRequest): Promise<PreparedText>;
  /**
   * Tokens of what a request gives a model to read, as the gateway estimates them: for models whose upstream does not count.
   * Pictures and files are not among them. Never rejects.
   */
  countTokens(parsed: TextRequest['parsed']): Promise<number>;
  /**
   * Asks for a stored response where it was made. What it used was counted when it was made, or is counted by what this
   * tells, where it is made in the background; what is deleted is asked for once more before.
   * @throws GatewayError `response_not_found` where there is none, or none of this owner; `upstream_unavailable` where
   * the database does not answer.
   */
  stored(request: StoredTextRequest): Promise<TextExchange>;
  /** Ends all that is under way as `shutting_down`: streams in the terminal event of their route. */
  cutOff(): void;
}

type Members = Readonly<Record<string, unknown>>;

/** What an answer is taken to be at most where the request does not say. */
const DEFAULT_OUTPUT_TOKENS = 1_024;
const BYTES_PER_TOKEN = 4;
/** Many of them together still are an integer to the database. */
export const MAX_TOKENS = 1e12;

/** The model that is asked for. @throws GatewayError `missing_required_parameter`, `invalid_value`. */
export function modelOf({ model }: Members): string {
  if (model === undefined || model === null) {
    throw new GatewayError('missing_required_parameter', 'model is missing.', { param: 'model' });
  }
  if (typeof model !== 'string') {
    throw new GatewayError('invalid_value', 'model must be a text.', { param: 'model' });
  }
  return model;
}

/** Whether a stream is asked for. @throws GatewayError `invalid_value`. */
export function streamOf({ stream }: Members): boolean {
  if (stream === undefined || stream === null) return false;
  if (typeof stream === 'boolean') return stream;
  throw new GatewayError('invalid_value', 'stream must be true or false.', { param: 'stream' });
}

/** @throws GatewayError `unsupported_value` naming the efforts that the model has. */
export function checkEffort(parsed: Members, route: TextRoute, { id, efforts }: TextModel): void {
  const param = route === 'chat_completions' ? 'reasoning_effort' : 'reasoning.effort';
  const effort = route === 'chat_completions' ? parsed.reasoning_effort : membersOf(parsed.reasoning)?.effort;
  if (effort === undefined || effort === null) return;
  if (typeof effort === 'string' && efforts.includes(effort)) return;
  const accepted = efforts.length > 0 ? `must be one of ${efforts.join(', ')}` : 'is not known to this model';
  throw new GatewayError('unsupported_value', `${param} of ${id} ${accepted}.`, { param });
}

/** The earlier response that it goes on from. @throws GatewayError `invalid_value`. */
export function previousResponseOf({ previous_response_id: previous }: Members): string | undefined {
  if (previous === undefined || previous === null) return undefined;
  if (typeof previous === 'string') return previous;
  throw new GatewayError('invalid_value', 'previous_response_id must be a text.', { param: 'previous_response_id' });
}

/** Tokens that an answer may come to at most, over all its choices: 10^12 where more is asked for. */
export function mostOutputTokens(parsed: Members, route: TextRoute): number {
  const named = route === 'responses' ? [parsed.max_output_tokens] : [parsed.max_completion_tokens, parsed.max_tokens];
  const counts = named.filter(isCount);
  // Which of two an upstream goes by is its own affair: many know only the older one.
  const most = counts.length > 0 ? Math.max(...counts) : DEFAULT_OUTPUT_TOKENS;
  const choices = route === 'chat_completions' && isCount(parsed.n) ? parsed.n : 1;
  return Math.min(most * choices, MAX_TOKENS);
}

/** Tokens of a body by its length; at least 1. */
export function inputTokensOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BYTES_PER_TOKEN));
}

/**
 * Asks the upstream to say what a chat stream used, where the caller does not ask for it.
 * @returns What is to be sent, and whether the one event that tells it is to be kept from the caller.
 */
export function askForUsage(body: Uint8Array, parsed: Members): { body: Uint8Array; parsed: Members; asked: boolean } {
  const { stream_options: given } = parsed;
  const options = given === undefined || given === null ? {} : membersOf(given);
  // What is no object is the upstream's to refuse.
  if (!options || options.include_usage === true) return { body, parsed, asked: false };
  const stream_options = { ...(options as Readonly<Record<string, JsonValue>>), include_usage: true };
  return { body: replaceMembers(body, { stream_options }), parsed: { ...parsed, stream_options }, asked: true };
}

function membersOf(value: unknown): Members | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}
