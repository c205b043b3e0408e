import type { Part } from './content.js';
import type { Turn } from './conversation.js';
import { nearestEffort } from './effort.js';
import { SCHEMA_NAME, toldFailure } from './format-words.js';
import type { MessageRequest } from './request.js';
import { type Members, refuseUnable } from './sent.js';
import type { ToolUse } from './tools.js';

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
      const parts = toldFailure(turn);
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
