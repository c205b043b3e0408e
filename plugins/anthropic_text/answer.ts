/*
 * Converts answers of Anthropic's format to those of `/v1/chat/completions`. Thinking becomes `reasoning_content`, as
 * servers with that format send it. A stream is converted event by event; an event without an equivalent becomes a
 * comment, so that clients see that the connection lives. Whole answers that are large are converted in a worker
 * thread. Tools get back the names that the client gave them. Numbers keep all their digits. A body that is not a
 * message is passed on unchanged, and the gateway reports what is wrong with it.
 */

import {
  asRecord,
  asRecords,
  convertBody,
  createEventTexts,
  createWholeConverter,
  type JsonRecord,
  markNumbers,
  restoreNumbers,
  ToolNames,
  tryParseJson,
} from 'mediagate/plugin';

const FINISHES: Readonly<Record<string, string>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool_calls',
  refusal: 'content_filter',
};
const COMMENT = ': ping\n\n';
const DONE = 'data: [DONE]\n\n';

/** @param created Seconds since 1970. */
export function chatAnswer(
  body: AsyncIterable<Uint8Array>,
  { stream, created, tools }: { stream: boolean; created: number; tools: ToolNames['tools'] },
): AsyncIterableIterator<Uint8Array> {
  if (!stream) return convertBody(body, createWholeConverter(CHAT, { created, tools }));
  const texts = createEventTexts();
  const events = createEventConverter(created, new ToolNames(tools));
  return convertBody(body, {
    push: (bytes) =>
      texts
        .push(bytes)
        .map((text) => (text === undefined ? COMMENT : events(text)))
        .join(''),
    finish: () => '',
  });
}

/** The answer of `/v1/messages/count_tokens` as one of `/v1/responses/input_tokens`. */
export function countAnswer(body: AsyncIterable<Uint8Array>): AsyncIterableIterator<Uint8Array> {
  return convertBody(body, createWholeConverter(COUNT, undefined));
}

/** A message as a chat. */
export function wholeChat(bytes: Buffer, { created, tools }: { created: number; tools: ToolNames['tools'] }): string {
  return encodeWhole(bytes, (message) => chatOf(message, created, new ToolNames(tools)));
}

export function wholeCount(bytes: Buffer): string {
  return encodeWhole(bytes, ({ input_tokens: tokens }) => ({ object: 'response.input_tokens', input_tokens: tokens }));
}

const CHAT = { module: import.meta.url, name: 'wholeChat', run: wholeChat };
const COUNT = { module: import.meta.url, name: 'wholeCount', run: wholeCount };

/** @param encode Returns undefined for anything else: the gateway then says what is wrong with it. */
function encodeWhole(bytes: Buffer, encode: (answer: JsonRecord) => JsonRecord | undefined): string {
  const text = bytes.toString('utf8');
  const answer = parse(markNumbers(text));
  const encoded = answer && encode(answer);
  return encoded ? restoreNumbers(JSON.stringify(encoded)) : text;
}

function chatOf(message: JsonRecord, created: number, names: ToolNames): JsonRecord | undefined {
  if (!Array.isArray(message.content)) return undefined;
  const content = asRecords(message.content);
  const textOf = (type: string) => {
    const texts = content.flatMap((block) => (block.type === type ? [String(block[type] ?? '')] : []));
    return texts.length > 0 ? texts.join('') : null;
  };
  const calls = content
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }) => {
      const own = names.decode(String(name)).name;
      return { id, type: 'function', function: { name: own, arguments: JSON.stringify(input ?? {}) } };
    });
  const thought = textOf('thinking');
  const annotations = content.flatMap(({ citations }) => asRecords(citations).flatMap((one) => citationOf(one) ?? []));
  const answer = {
    role: 'assistant',
    content: textOf('text'),
    refusal: null,
    ...(annotations.length > 0 && { annotations }),
    ...(thought && { reasoning_content: thought }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    id: message.id,
    object: 'chat.completion',
    created,
    model: message.model,
    choices: [{ index: 0, message: answer, logprobs: null, finish_reason: finishOf(message.stop_reason) }],
    usage: usageOf(recordOf(message.usage)),
  };
}

/** @returns A function that converts the data of an event to events of a chat, or to a comment. */
function createEventConverter(created: number, names: ToolNames): (text: string) => string {
  let head: JsonRecord = {};
  let usage: JsonRecord = {};
  let calls = 0;
  /** Whether the input of the current call has begun; undefined in a block of another type. */
  let hasInput: boolean | undefined;

  const chunk = (choices: readonly JsonRecord[], more: JsonRecord = {}) =>
    `data: ${JSON.stringify({ ...head, choices, ...more })}\n\n`;
  const delta = (fields: JsonRecord, finish: string | null = null) =>
    chunk([{ index: 0, delta: fields, logprobs: null, finish_reason: finish }]);
  const addInput = (text: string) => {
    hasInput ||= text !== '';
    return delta({ tool_calls: [{ index: calls - 1, function: { arguments: text } }] });
  };

  function begin({ content_block: block }: JsonRecord, text: string): string {
    const { type, id, name, input, ...texts } = recordOf(block);
    hasInput = undefined;
    // Some servers send what a block has at once.
    if (type === 'text' || type === 'thinking') return addText(type, texts[type]);
    if (type !== 'tool_use') return COMMENT;
    calls += 1;
    hasInput = false;
    const begun = delta({
      tool_calls: [
        { index: calls - 1, id, type: 'function', function: { name: names.decode(String(name)).name, arguments: '' } },
      ],
    });
    if (Object.keys(recordOf(input)).length === 0) return begun;
    const exact = recordOf(parse(markNumbers(text))?.content_block).input;
    return begun + addInput(restoreNumbers(JSON.stringify(exact)));
  }

  function addText(type: 'text' | 'thinking', text: unknown): string {
    if (typeof text !== 'string' || text === '') return COMMENT;
    return delta({ [type === 'text' ? 'content' : 'reasoning_content']: text });
  }

  function add({ delta: added }: JsonRecord): string {
    const { type, text, thinking, partial_json: json, citation } = recordOf(added);
    if (type === 'text_delta') return addText('text', text);
    if (type === 'thinking_delta') return addText('thinking', thinking);
    const cited = type === 'citations_delta' ? citationOf(recordOf(citation)) : undefined;
    if (cited) return delta({ annotations: [cited] });
    return type === 'input_json_delta' && typeof json === 'string' && json !== '' ? addInput(json) : COMMENT;
  }

  const converters: Readonly<Record<string, (event: JsonRecord, text: string) => string>> = {
    message_start({ message }) {
      const { id, model, usage: first } = recordOf(message);
      head = { id, object: 'chat.completion.chunk', created, model };
      usage = recordOf(first);
      return delta({ role: 'assistant', content: '' });
    },
    content_block_start: begin,
    content_block_delta: add,
    // A call without arguments has an empty object as its input, and no JSON is sent for it.
    content_block_stop: () => (hasInput === false ? addInput('{}') : COMMENT),
    message_delta({ delta: end, usage: last }) {
      // Both count from the beginning, and some servers send zeros at the end.
      const known = Object.entries(recordOf(last)).filter(([, value]) => value !== null && value !== 0);
      usage = { ...usage, ...Object.fromEntries(known) };
      const { stop_reason: reason } = recordOf(end);
      return typeof reason === 'string' ? delta({}, finishOf(reason)) : COMMENT;
    },
    message_stop: () => chunk([], { usage: usageOf(usage) }) + DONE,
    error({ error }) {
      const { type, message } = recordOf(error);
      return `data: ${JSON.stringify({ error: { message, type, param: null, code: type } })}\n\n`;
    },
  };

  return (text) => {
    const event = parse(text);
    const type = String(event?.type);
    const converter = Object.hasOwn(converters, type) ? converters[type] : undefined;
    return event && converter ? converter(event, text) : COMMENT;
  };
}

/** A source of the web as chats have it; undefined for a place in a document of the request. */
function citationOf({ url, title }: JsonRecord): JsonRecord | undefined {
  if (typeof url !== 'string') return undefined;
  return { type: 'url_citation', url_citation: { url, title: title ?? url } };
}

function finishOf(reason: unknown): string {
  const name = String(reason);
  return (Object.hasOwn(FINISHES, name) && FINISHES[name]) || 'stop';
}

/** Anthropic counts what is read from its cache, and written to it, beside the input. */
function usageOf(usage: JsonRecord): JsonRecord | undefined {
  const count = (name: string) => (typeof usage[name] === 'number' ? usage[name] : 0);
  const [read, written] = [count('cache_read_input_tokens'), count('cache_creation_input_tokens')];
  const input = count('input_tokens') + read + written;
  const output = count('output_tokens');
  if (input + output === 0) return undefined;
  const { thinking_tokens: thought } = recordOf(usage.output_tokens_details);
  const { ephemeral_1h_input_tokens: long } = recordOf(usage.cache_creation);
  const { web_search_requests: searches } = recordOf(usage.server_tool_use);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      ...(typeof long === 'number' && long > 0 && { cache_write_1h_tokens: long }),
    },
    ...(typeof thought === 'number' && { completion_tokens_details: { reasoning_tokens: thought } }),
    ...(typeof searches === 'number' && searches > 0 && { server_tool_use: { web_search_requests: searches } }),
    ...(usage.speed === 'fast' && { speed: 'fast' }),
    ...(typeof usage.service_tier === 'string' && { service_tier: usage.service_tier }),
  };
}

function recordOf(value: unknown): JsonRecord {
  return asRecord(value) ?? {};
}

function parse(text: string): JsonRecord | undefined {
  return asRecord(tryParseJson(text));
}
