import type { TextModel, TextRoute } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { type JsonValue, replaceMembers } from './json-members.js';

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
