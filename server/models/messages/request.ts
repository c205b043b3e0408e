/*
 * Reads the body of `POST /v1/messages` and of its token count into one value that is independent of the upstream's
 * format. Unknown fields are ignored; known fields without an equivalent are listed in `ignored`, which the client
 * receives as `x-ignored-params`. What would change the meaning of the request is refused: MCP servers, stored threads,
 * and a conversation that ends with a text of the assistant. A user id of more than 64 characters is replaced by its
 * SHA-256 hash, so it stays the same for the same user.
 */

import { createHash } from 'node:crypto';
import { GatewayError, isRecord, type JsonRecord } from '../../../core/runtime/index.js';
import { type TextAnswer, ToolNames } from '../../../core/text/index.js';
import {
  flagAt,
  listAt,
  optional,
  readConversation,
  readTexts,
  readToolUse,
  recordAt,
  refuse,
  refuseUnable,
  type ToolUse,
  type Turn,
  textAt,
} from './message-parts.js';
import { readThinking, type Thinking } from './upstream-requests.js';

/** A message request, independent of a model format. */
export interface MessageRequest {
  /** Public model id. */
  model: string;
  stream: boolean;
  /** Absent if tokens are only counted. */
  maxTokens?: number;
  system?: string;
  turns: readonly Turn[];
  toolUse: ToolUse;
  /** Names of the tools as the upstream knows them. */
  names: ToolNames;
  thinking: Thinking;
  /** JSON Schema of the answer. */
  schema?: JsonRecord;
  temperature?: number;
  topP?: number;
  /** At most 64 characters. */
  user?: string;
  tier?: 'auto' | 'default';
  stopSequences: readonly string[];
  /** Known fields that were sent but have no equivalent for these models. */
  ignored: readonly string[];
}

const IGNORED = [
  'top_k',
  'container',
  'context_management',
  'diagnostics',
  'inference_geo',
  'speed',
  'billing_policy',
  'compaction',
  'fallbacks',
  'fallback_credit_token',
];
/** The limit of the other format. */
const MAX_USER_LENGTH = 64;
/** Each chunk of an answer is searched for all of them. */
const MAX_STOPS = 16;
const MAX_STOP_LENGTH = 256;

/**
 * Reads a body of `POST /v1/messages`. Unknown fields are ignored.
 * @throws GatewayError `missing_required_parameter`, `invalid_value`, `unsupported_value` with `param`.
 */
export function decodeMessage(sent: JsonRecord): MessageRequest & { maxTokens: number } {
  const counted = decodeCounted(sent);
  const last = counted.turns.at(-1);
  if (!last || last.type === 'call' || last.type === 'thought' || (last.type === 'said' && last.role === 'assistant')) {
    const why = 'the last message must be of the user, since these models do not go on from the middle of an answer';
    refuseUnable('messages', why);
  }
  const { max_tokens: maxTokens, temperature, top_p: topP, service_tier: tier } = sent;
  required('max_tokens', maxTokens);
  if (typeof maxTokens !== 'number' || !Number.isSafeInteger(maxTokens) || maxTokens < 1) {
    refuse('max_tokens', 'a whole number, 1 or more');
  }
  const user = userOf(optional(sent.metadata, 'metadata', recordAt)?.user_id);
  // One is the default, and some models refuse any other value.
  const share = (value: unknown, path: string) => optional(value, path, shareAt);
  const [heat, nucleus] = [share(temperature, 'temperature'), share(topP, 'top_p')];
  return {
    ...counted,
    maxTokens,
    ...(heat !== undefined && heat !== 1 && { temperature: heat }),
    ...(nucleus !== undefined && nucleus !== 1 && { topP: nucleus }),
    ...(user !== undefined && { user }),
    ...(tier !== undefined && tier !== null && { tier: tierAt(tier) }),
    stopSequences: optional(sent.stop_sequences, 'stop_sequences', stopsAt) ?? [],
    ignored: [...IGNORED.filter((name) => sent[name] !== undefined && sent[name] !== null), ...counted.ignored],
  };
}

/** Reads a body of `POST /v1/messages/count_tokens`, as {@link decodeMessage}. */
export function decodeCounted(sent: JsonRecord): MessageRequest {
  const { model, messages, system } = sent;
  required('model', model);
  required('messages', messages);
  const stream = optional(sent.stream, 'stream', flagAt) ?? false;
  const servers = optional(sent.mcp_servers, 'mcp_servers', listAt) ?? [];
  if (servers.length > 0) refuseUnable('mcp_servers', 'no servers are asked from here');
  const thread = optional(sent.thread, 'thread', recordAt);
  if (thread) refuseUnable('thread', 'no conversations are kept here; send all messages of it');
  const instructions = optional(system, 'system', readTexts)?.map(({ text }) => text);
  const format = optional(sent.output_config, 'output_config', recordAt)?.format;
  // The older name, which some clients still use.
  const schema = schemaAt(format, 'output_config.format') ?? schemaAt(sent.output_format, 'output_format');
  const toolUse = readToolUse(sent);
  const names = new ToolNames();
  // Listed tools keep their names where earlier calls have similar ones.
  for (const { name } of toolUse.tools) names.encode({ name });
  return {
    model: textAt(model, 'model'),
    stream,
    ...(instructions && instructions.length > 0 && { system: instructions.join('\n\n') }),
    turns: readConversation(messages, sent.tools),
    toolUse,
    names,
    thinking: readThinking(sent),
    ...(schema && { schema }),
    stopSequences: [],
    ignored: toolUse.ignored,
  };
}

function required(param: string, value: unknown): void {
  if (value !== undefined && value !== null) return;
  throw new GatewayError('missing_required_parameter', `${param} is missing.`, { param });
}

function shareAt(value: unknown, path: string): number {
  return typeof value === 'number' && value >= 0 && value <= 1 ? value : refuse(path, 'a number from 0 to 1');
}

function tierAt(value: unknown): 'auto' | 'default' {
  if (value === 'auto') return 'auto';
  return value === 'standard_only' ? 'default' : refuse('service_tier', 'auto or standard_only');
}

function stopsAt(value: unknown, path: string): readonly string[] {
  const accepted = `a list of at most ${MAX_STOPS} texts of 1 to ${MAX_STOP_LENGTH} characters`;
  const stops = listAt(value, path).map((one) => {
    const fits = typeof one === 'string' && one !== '' && one.length <= MAX_STOP_LENGTH;
    return fits ? one : refuse(path, accepted);
  });
  return stops.length <= MAX_STOPS ? stops : refuse(path, accepted);
}

/** A longer one is shortened, always to the same text. */
function userOf(id: unknown): string | undefined {
  const user = optional(id, 'metadata.user_id', textAt);
  if (user === undefined || user.length <= MAX_USER_LENGTH) return user;
  return createHash('sha256').update(user).digest('hex');
}

function schemaAt(format: unknown, path: string): JsonRecord | undefined {
  const asked = optional(format, path, recordAt);
  if (!asked) return undefined;
  const { type, schema } = asked;
  if (type !== 'json_schema') refuse(`${path}.type`, 'json_schema');
  return isRecord(schema) ? schema : refuse(`${path}.schema`, 'a JSON Schema');
}

/** Reads an answer of `/v1/responses/input_tokens`. @throws GatewayError `upstream_error` if it is invalid. */
export async function readInputTokens({ body }: TextAnswer): Promise<number> {
  // An answer must be read or abandoned before it ends.
  if (!(body instanceof Uint8Array)) await body[Symbol.asyncIterator]().return?.();
  const counted = body instanceof Uint8Array ? parse(body) : undefined;
  const tokens = isRecord(counted) ? counted.input_tokens : undefined;
  if (typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0) return tokens;
  throw new GatewayError('upstream_error', 'The upstream of the model did not say how many tokens there are.');
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString('utf8'));
  } catch {
    return undefined;
  }
}
