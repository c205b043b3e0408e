/*
 * Writes a decoded message as the body of `/v1/chat/completions`, `/v1/responses` or its token count. A content of
 * texts alone is sent as one string, because many servers accept no list of parts. Requests to the responses route set
 * `store: false` and contain no earlier thinking, since its vendor accepts only thinking that it has encrypted. A
 * requested effort or thinking budget becomes the closest effort that the model supports, a weaker one rather than a
 * stronger one. A document that is only linked is refused for chats.
 */

import { REASONING_EFFORTS } from '../../../core/contracts/index.js';
import type { JsonRecord } from '../../../core/runtime/index.js';
import {
  arrangeChat,
  type DraftMessage,
  DraftWriter,
  type ReasoningField,
  type ToolNames,
} from '../../../core/text/index.js';
import {
  optional,
  type Part,
  type Role,
  recordAt,
  refuse,
  refuseUnable,
  SCHEMA_NAME,
  sanitizedError,
  type Tool,
  type ToolUse,
  type Turn,
} from './message-parts.js';
import type { MessageRequest } from './request.js';

/**
 * Converts a message to a body of `/v1/chat/completions`.
 * @param reasoningField Of the model, see {@link arrangeChat}.
 * @throws GatewayError `unsupported_value` naming a document that is only linked.
 */
export function encodeChat(
  request: MessageRequest,
  efforts: readonly string[],
  reasoningField?: ReasoningField,
): JsonRecord {
  const { model, stream, system, turns, toolUse, names, thinking, schema } = request;
  const { maxTokens, temperature, topP, user, tier } = request;
  const effort = thinking.effort && closestEffort(thinking.effort, efforts);
  const instructions = system === undefined ? [] : [{ role: 'system', content: system }];
  const format = schema && { type: 'json_schema', json_schema: { name: SCHEMA_NAME, schema, strict: true } };
  return {
    model,
    messages: arrangeChat([...instructions, ...draftsOf(turns, names)], reasoningField),
    stream,
    // The older name: most servers with only this format know no other.
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...encodeTools(toolUse, names),
    ...(effort && { reasoning_effort: effort }),
    ...(format && { response_format: format }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(user !== undefined && { user }),
    ...(tier && { service_tier: tier }),
  };
}

function draftsOf(turns: readonly Turn[], names: ToolNames): DraftMessage[] {
  const drafts = new DraftWriter();

  function addText({ role, parts }: Turn & { type: 'said' }): void {
    if (role === 'system') drafts.addSystem(textsOf(parts).join('\n'));
    else if (role === 'assistant') drafts.addText(textsOf(parts).join(''), '');
    else drafts.addUser(encodeContent(parts));
  }

  for (const turn of turns) {
    if (turn.type === 'result') {
      const parts = sanitizedError(turn);
      const pictures = parts.filter(({ type }) => type !== 'text').map(encodePart);
      drafts.addResult(turn.id, textsOf(parts).join('\n'), pictures);
    } else if (turn.type === 'said') addText(turn);
    else if (turn.type === 'thought') drafts.addThought(turn.text);
    else drafts.addCall(turn.id, names.encode({ name: turn.name }), JSON.stringify(turn.input));
  }
  return drafts.end();
}

/** A plain text if there is nothing else: many servers of the format accept no list. */
function encodeContent(parts: readonly Part[]): unknown {
  return parts.every(({ type }) => type === 'text') ? textsOf(parts).join('\n') : parts.map(encodePart);
}

function textsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

function encodePart(part: Part): JsonRecord {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'image') return { type: 'image_url', image_url: { url: part.url } };
  if (part.type === 'file') return { type: 'file', file: { filename: part.name, file_data: part.data } };
  return refuseUnable(part.path, 'this model takes no addresses of documents; send it as base64');
}

function encodeTools({ tools, choice, oneAtATime }: ToolUse, names: ToolNames): JsonRecord {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ strict, name, ...tool }) => ({
      type: 'function',
      function: { name: names.encode({ name }), ...tool, ...(strict && { strict }) },
    })),
    ...(choice && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: names.encode(choice) } },
    }),
    ...(oneAtATime && { parallel_tool_calls: false }),
  };
}

/** The format's vendor refuses a smaller value. */
const MIN_TOKENS = 16;

/** Converts a message to a body of `/v1/responses`; nothing of it is stored there. */
export function encodeResponses(request: MessageRequest, efforts: readonly string[]): JsonRecord {
  const { maxTokens, temperature, topP, user, tier } = request;
  return {
    ...encodeResponsesInput(request, efforts),
    store: false,
    stream: request.stream,
    ...(maxTokens !== undefined && { max_output_tokens: Math.max(MIN_TOKENS, maxTokens) }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(user !== undefined && { user }),
    ...(tier && { service_tier: tier }),
  };
}

/** Converts the input of a model to a body of `/v1/responses/input_tokens`. */
export function encodeResponsesInput(request: MessageRequest, efforts: readonly string[]): JsonRecord {
  const { model, system, turns, toolUse, names, thinking, schema } = request;
  const effort = thinking.effort && closestEffort(thinking.effort, efforts);
  const reasoning = { ...(effort && { effort }), ...(thinking.isVisible && { summary: 'auto' }) };
  return {
    model,
    ...(system !== undefined && { instructions: system }),
    input: turns.flatMap((turn) => encodeTurn(turn, names) ?? []),
    ...encodeResponsesTools(toolUse, names),
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(schema && { text: { format: { type: 'json_schema', name: SCHEMA_NAME, schema, strict: true } } }),
  };
}

/** Undefined for thoughts: the vendor takes only those that it has encrypted. */
function encodeTurn(turn: Turn, names: ToolNames): JsonRecord | undefined {
  if (turn.type === 'thought') return undefined;
  if (turn.type === 'call') {
    const { id, name, input } = turn;
    return { type: 'function_call', call_id: id, name: names.encode({ name }), arguments: JSON.stringify(input) };
  }
  if (turn.type === 'result') {
    return { type: 'function_call_output', call_id: turn.id, output: encodeOutput(sanitizedError(turn)) };
  }
  const { role, parts } = turn;
  return { type: 'message', role, content: parts.map((part) => encodeResponsesPart(part, role)) };
}

/** A plain text if there is nothing else: not every server of the format accepts a list. */
function encodeOutput(parts: readonly Part[]): unknown {
  if (parts.every((part) => part.type === 'text')) return parts.map(({ text }) => text).join('\n');
  return parts.map((part) => encodeResponsesPart(part, 'user'));
}

function encodeResponsesPart(part: Part, role: Role): JsonRecord {
  if (part.type === 'text') return { type: role === 'assistant' ? 'output_text' : 'input_text', text: part.text };
  if (part.type === 'image') return { type: 'input_image', image_url: part.url, detail: 'auto' };
  if (part.type === 'file') return { type: 'input_file', filename: part.name, file_data: part.data };
  return { type: 'input_file', file_url: part.url };
}

function encodeResponsesTools({ tools, choice, oneAtATime }: ToolUse, names: ToolNames): JsonRecord {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters, strict }: Tool) => ({
      type: 'function',
      name: names.encode({ name }),
      ...(description !== undefined && { description }),
      parameters,
      // The default there is true.
      strict,
    })),
    ...(choice && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function', name: names.encode(choice) },
    }),
    ...(oneAtATime && { parallel_tool_calls: false }),
  };
}

type Effort = (typeof REASONING_EFFORTS)[number];

/** The requested amount of thinking, and the field that requested it. */
export interface Thinking {
  effort?: Effort;
  /** The requesting field, to report to the client that the model does not support it. */
  param?: string;
  /** Whether the answer includes the model's thinking, if it sends any. */
  isVisible: boolean;
}

/** Maximum budget tokens of each effort. */
const BUDGETS: readonly (readonly [tokens: number, effort: Effort])[] = [
  [4_000, 'low'],
  [16_000, 'medium'],
  [32_000, 'high'],
];
const TYPES = ['enabled', 'adaptive', 'between_tools', 'disabled'];

/** `output_config.effort` has precedence over `thinking`. @throws GatewayError `invalid_value`. */
export function readThinking({ thinking, output_config: config }: JsonRecord): Thinking {
  const asked = optional(thinking, 'thinking', recordAt);
  const type = asked?.type;
  if (asked && !TYPES.some((one) => one === type)) refuse('thinking.type', TYPES.join(', '));
  const isVisible = asked !== undefined && type !== 'disabled' && asked.display !== 'omitted';
  const named = optional(config, 'output_config', recordAt)?.effort;
  if (named !== undefined && named !== null)
    return { effort: effortAt(named), param: 'output_config.effort', isVisible };
  if (type === 'disabled') return { effort: 'none', isVisible };
  return type === 'enabled'
    ? { effort: effortOfBudget(asked?.budget_tokens), param: 'thinking', isVisible }
    : { isVisible };
}

/**
 * The closest effort that a model supports: a weaker one rather than a stronger one.
 * @returns Undefined if it supports none.
 */
export function closestEffort(effort: Effort, efforts: readonly string[]): string | undefined {
  const at = REASONING_EFFORTS.indexOf(effort);
  const closest = [...REASONING_EFFORTS.slice(0, at + 1).reverse(), ...REASONING_EFFORTS.slice(at + 1)];
  return closest.find((one) => efforts.includes(one));
}

/** The fields that a model without efforts ignores. */
export function ignoredEffort({ effort, param }: Thinking, efforts: readonly string[]): readonly string[] {
  return effort && param !== undefined && closestEffort(effort, efforts) === undefined ? [param] : [];
}

function effortAt(value: unknown): Effort {
  return (
    REASONING_EFFORTS.find((one) => one === value) ??
    refuse('output_config.effort', 'none, minimal, low, medium, high, xhigh or max')
  );
}

function effortOfBudget(tokens: unknown): Effort {
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 1) {
    refuse('thinking.budget_tokens', 'a whole number, 1 or more');
  }
  return BUDGETS.find(([max]) => tokens <= max)?.[1] ?? 'xhigh';
}
