import {
  type Members,
  membersAt,
  optional,
  type Part,
  type Role,
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
 * A message as a body of `/v1/chat/completions`.
 * @throws GatewayError `unsupported_value` naming a document that is only linked.
 */
export function encodeChat(request: MessageRequest, efforts: readonly string[]): Members {
  const { model, stream, system, turns, toolUse, thinking, schema, maxTokens, temperature, topP, user, tier } = request;
  const effort = thinking.effort && nearestEffort(thinking.effort, efforts);
  const format = schema && { type: 'json_schema', json_schema: { name: SCHEMA_NAME, schema, strict: true } };
  return {
    model,
    messages: [...(system === undefined ? [] : [{ role: 'system', content: system }]), ...encodeTurns(turns)],
    stream,
    // The older name: servers that have this format alone mostly know no other.
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...encodeTools(toolUse),
    ...(effort && { reasoning_effort: effort }),
    ...(format && { response_format: format }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(user !== undefined && { user }),
    ...(tier && { service_tier: tier }),
  };
}

function encodeTurns(turns: readonly Turn[]): Members[] {
  const messages: Members[] = [];
  /** What the model said and called last, which is one message. */
  let spoken: { role: 'assistant'; content: string | null; tool_calls?: Members[] } | undefined;
  /** Of results, which take no pictures: they follow in a message of the user. */
  let shown: Part[] = [];

  function show(): void {
    if (shown.length > 0) messages.push({ role: 'user', content: shown.map(encodePart) });
    shown = [];
  }

  for (const turn of turns) {
    if (turn.type === 'result') {
      spoken = undefined;
      const parts = sanitizedError(turn);
      const text = parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
      messages.push({ role: 'tool', tool_call_id: turn.id, content: text });
      for (const part of parts) if (part.type !== 'text') shown.push(part);
      continue;
    }
    show();
    if (turn.type === 'said' && turn.role !== 'assistant') {
      spoken = undefined;
      messages.push({ role: turn.role, content: encodeContent(turn.parts) });
      continue;
    }
    if (!spoken) {
      spoken = { role: 'assistant', content: null };
      messages.push(spoken);
    }
    if (turn.type === 'said') spoken.content = (spoken.content ?? '') + textsOf(turn.parts).join('');
    else {
      const { id, name, input } = turn;
      spoken.tool_calls ??= [];
      spoken.tool_calls.push({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } });
    }
  }
  show();
  return messages;
}

/** A bare text where there is nothing else: many servers of the format take no list. */
function encodeContent(parts: readonly Part[]): unknown {
  return parts.every(({ type }) => type === 'text') ? textsOf(parts).join('\n') : parts.map(encodePart);
}

function textsOf(parts: readonly Part[]): string[] {
  return parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
}

function encodePart(part: Part): Members {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'image') return { type: 'image_url', image_url: { url: part.url } };
  if (part.type === 'file') return { type: 'file', file: { filename: part.name, file_data: part.data } };
  return refuseUnable(part.place, 'this model takes no addresses of documents; send it as base64');
}

function encodeTools({ tools, choice, oneAtATime }: ToolUse): Members {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ strict, ...tool }) => ({ type: 'function', function: { ...tool, ...(strict && { strict }) } })),
    ...(choice && {
      tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.name } },
    }),
    ...(oneAtATime && { parallel_tool_calls: false }),
  };
}

/** Fewer are refused by the vendor of the format. */
const LEAST_TOKENS = 16;

/** A message as a body of `/v1/responses`; nothing of it is stored there. */
export function encodeResponses(request: MessageRequest, efforts: readonly string[]): Members {
  const { maxTokens, temperature, topP, user, tier } = request;
  return {
    ...encodeResponsesInput(request, efforts),
    store: false,
    stream: request.stream,
    ...(maxTokens !== undefined && { max_output_tokens: Math.max(LEAST_TOKENS, maxTokens) }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(user !== undefined && { user }),
    ...(tier && { service_tier: tier }),
  };
}

/** What a model gets to read, as a body of `/v1/responses/input_tokens`. */
export function encodeResponsesInput(request: MessageRequest, efforts: readonly string[]): Members {
  const { model, system, turns, toolUse, thinking, schema } = request;
  const effort = thinking.effort && nearestEffort(thinking.effort, efforts);
  const reasoning = { ...(effort && { effort }), ...(thinking.shown && { summary: 'auto' }) };
  return {
    model,
    ...(system !== undefined && { instructions: system }),
    input: turns.map(encodeTurn),
    ...encodeResponsesTools(toolUse),
    ...(Object.keys(reasoning).length > 0 && { reasoning }),
    ...(schema && { text: { format: { type: 'json_schema', name: SCHEMA_NAME, schema, strict: true } } }),
  };
}

function encodeTurn(turn: Turn): Members {
  if (turn.type === 'call') {
    const { id, name, input } = turn;
    return { type: 'function_call', call_id: id, name, arguments: JSON.stringify(input) };
  }
  if (turn.type === 'result') {
    return { type: 'function_call_output', call_id: turn.id, output: encodeOutput(sanitizedError(turn)) };
  }
  const { role, parts } = turn;
  return { type: 'message', role, content: parts.map((part) => encodeResponsesPart(part, role)) };
}

/** A bare text where there is nothing else: not every server of the format takes a list. */
function encodeOutput(parts: readonly Part[]): unknown {
  if (parts.every((part) => part.type === 'text')) return parts.map(({ text }) => text).join('\n');
  return parts.map((part) => encodeResponsesPart(part, 'user'));
}

function encodeResponsesPart(part: Part, role: Role): Members {
  if (part.type === 'text') return { type: role === 'assistant' ? 'output_text' : 'input_text', text: part.text };
  if (part.type === 'image') return { type: 'input_image', image_url: part.url, detail: 'auto' };
  if (part.type === 'file') return { type: 'input_file', filename: part.name, file_data: part.data };
  return { type: 'input_file', file_url: part.url };
}

function encodeResponsesTools({ tools, choice, oneAtATime }: ToolUse): Members {
  if (tools.length === 0) return {};
  return {
    tools: tools.map(({ name, description, parameters, strict }: Tool) => ({
      type: 'function',
      name,
      ...(description !== undefined && { description }),
      parameters,
      // What is not said is true there.
      strict,
    })),
    ...(choice && { tool_choice: typeof choice === 'string' ? choice : { type: 'function', name: choice.name } }),
    ...(oneAtATime && { parallel_tool_calls: false }),
  };
}

/** Weakest first. */
const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
type Effort = (typeof EFFORTS)[number];

/** How much thought is asked for, and by which member. */
export interface Thinking {
  effort?: Effort;
  /** The member that asks for it, where somebody is to be told that the model has none. */
  param?: string;
  /** Whether the answer shows what the model thinks, as far as it says. */
  shown: boolean;
}

/** Tokens of a budget up to which an effort is meant. */
const BUDGETS: readonly (readonly [tokens: number, effort: Effort])[] = [
  [4_000, 'low'],
  [16_000, 'medium'],
  [32_000, 'high'],
];
const TYPES = ['enabled', 'adaptive', 'between_tools', 'disabled'];

/** `output_config.effort` goes before `thinking`. @throws GatewayError `invalid_value`. */
export function readThinking({ thinking, output_config: config }: Members): Thinking {
  const asked = optional(thinking, 'thinking', membersAt);
  const type = asked?.type;
  if (asked && !TYPES.some((one) => one === type)) refuse('thinking.type', TYPES.join(', '));
  const shown = asked !== undefined && type !== 'disabled' && asked.display !== 'omitted';
  const named = optional(config, 'output_config', membersAt)?.effort;
  if (named !== undefined && named !== null) return { effort: effortAt(named), param: 'output_config.effort', shown };
  if (type === 'disabled') return { effort: 'none', shown };
  return type === 'enabled' ? { effort: effortOfBudget(asked?.budget_tokens), param: 'thinking', shown } : { shown };
}

/**
 * The effort that comes closest to one, of those that a model has: a weaker one rather than a stronger.
 * @returns Undefined where it has none.
 */
export function nearestEffort(effort: Effort, efforts: readonly string[]): string | undefined {
  const at = EFFORTS.indexOf(effort);
  const nearest = [...EFFORTS.slice(0, at + 1).reverse(), ...EFFORTS.slice(at + 1)];
  return nearest.find((one) => efforts.includes(one));
}

/** What a model without efforts leaves out. */
export function ignoredEffort({ effort, param }: Thinking, efforts: readonly string[]): readonly string[] {
  return effort && param !== undefined && nearestEffort(effort, efforts) === undefined ? [param] : [];
}

function effortAt(value: unknown): Effort {
  return EFFORTS.find((one) => one === value) ?? refuse('output_config.effort', 'low, medium, high, xhigh or max');
}

function effortOfBudget(tokens: unknown): Effort {
  if (typeof tokens !== 'number' || !Number.isSafeInteger(tokens) || tokens < 1) {
    refuse('thinking.budget_tokens', 'a whole number, 1 or more');
  }
  return BUDGETS.find(([most]) => tokens <= most)?.[1] ?? 'xhigh';
}
