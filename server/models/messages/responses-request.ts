import type { Part } from './content.js';
import type { Role, Turn } from './conversation.js';
import { nearestEffort } from './effort.js';
import { SCHEMA_NAME, toldFailure } from './format-words.js';
import type { MessageRequest } from './request.js';
import type { Members } from './sent.js';
import type { Tool, ToolUse } from './tools.js';

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
    ...encodeTools(toolUse),
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
    return { type: 'function_call_output', call_id: turn.id, output: encodeOutput(toldFailure(turn)) };
  }
  const { role, parts } = turn;
  return { type: 'message', role, content: parts.map((part) => encodePart(part, role)) };
}

/** A bare text where there is nothing else: not every server of the format takes a list. */
function encodeOutput(parts: readonly Part[]): unknown {
  if (parts.every((part) => part.type === 'text')) return parts.map(({ text }) => text).join('\n');
  return parts.map((part) => encodePart(part, 'user'));
}

function encodePart(part: Part, role: Role): Members {
  if (part.type === 'text') return { type: role === 'assistant' ? 'output_text' : 'input_text', text: part.text };
  if (part.type === 'image') return { type: 'input_image', image_url: part.url, detail: 'auto' };
  if (part.type === 'file') return { type: 'input_file', filename: part.name, file_data: part.data };
  return { type: 'input_file', file_url: part.url };
}

function encodeTools({ tools, choice, oneAtATime }: ToolUse): Members {
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
