import type { TextCall, TextReply } from '../contracts/index.js';
import { drawRandomBytes, GatewayError } from '../runtime/index.js';
import {
  type ChatFromResponses,
  chatFromResponses,
  isGiven,
  type JsonRecord,
  recordOf,
  THOUGHT_ID,
} from './chat-requests.js';
import { createEventTexts } from './events.js';

/*
 * The answer of a chat as one of `/v1/responses`: whole, or a stream with all events of the format in their order. The
 * items are written by one builder, so that both say the same.
 */

/** A call of the responses route as a chat, and the way back. */
export interface ChatTranslation {
  /** The call to send: of the chat route. */
  call: TextCall;
  /** The reply to that call as one of the responses route. It is read once. */
  replyOf<Reply extends Pick<TextReply, 'headers' | 'body'>>(reply: Reply): Reply;
}

/** As an answer that is no stream has at most. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const KEEP_ALIVE = ': keep-alive\n\n';

/**
 * Translates a call of the responses route for an upstream that only has chats.
 * @param limitField Field of a chat that limits its output. Default `max_tokens`.
 * @throws GatewayError that says what a chat cannot do, or which field is wrong.
 */
export function translateToChat(call: TextCall, now: () => number, limitField?: string): ChatTranslation {
  const request = JSON.parse(Buffer.from(call.body).toString('utf8')) as JsonRecord;
  const translated = chatFromResponses(request, limitField);
  const { chat } = translated;
  return {
    call: { ...call, route: 'chat_completions', body: Buffer.from(JSON.stringify(chat)), parsed: chat },
    replyOf(reply) {
      const isStream = reply.headers['content-type']?.startsWith('text/event-stream') === true;
      const writer = createWriter({ request, ...translated, model: call.model, isStream, now });
      return { ...reply, body: convertBody(reply.body, isStream ? eventsOf(writer) : wholeOf(writer)) };
    },
  };
}

/** Converts a body while it is read. */
export interface BodyConverter {
  /** The text that can be sent now; may be empty. */
  push(chunk: Uint8Array): string;
  finish(): string;
}

/** A body in another format. No generator: see `resumeBody`. */
export function convertBody(
  source: AsyncIterable<Uint8Array>,
  converter: BodyConverter,
): AsyncIterableIterator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  let isOver = false;
  const body: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => body,
    async next() {
      while (!isOver) {
        const { done, value } = await chunks.next();
        if (done) isOver = true;
        const text = done ? converter.finish() : converter.push(value);
        if (text !== '') return { done: false, value: Buffer.from(text) };
      }
      return { done: true, value: undefined };
    },
    async return() {
      isOver = true;
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return body;
}

function wholeOf(writer: ResponseWriter): BodyConverter {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return {
    push(chunk) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) throw tooLong();
      chunks.push(chunk);
      return '';
    },
    finish() {
      let answer: JsonRecord;
      try {
        answer = recordOf(JSON.parse(Buffer.concat(chunks).toString('utf8')));
      } catch {
        throw new GatewayError('upstream_error', 'The model did not answer with JSON.');
      }
      if (isGiven(answer.error)) throw new GatewayError('upstream_error', 'The model answered with an error.');
      writer.read(answer, 'message');
      return JSON.stringify(writer.end());
    },
  };
}

function eventsOf(writer: ResponseWriter): BodyConverter {
  const texts = createEventTexts();
  return {
    push(chunk) {
      let output = '';
      for (const data of texts.push(chunk)) {
        if (data === undefined) output += KEEP_ALIVE;
        else if (data.trim() === '[DONE]') writer.end();
        else {
          const event = recordOf(parse(data));
          if (isGiven(event.error)) writer.fail(event.error);
          else writer.read(event, 'delta');
        }
        output += writer.takeEvents();
      }
      return output;
    },
    finish() {
      // Without a reason for its end, the stream broke off.
      if (writer.isFinished) writer.end();
      return writer.takeEvents();
    },
  };
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

function tooLong(): GatewayError {
  return new GatewayError('upstream_error', 'The answer of the model is too long.');
}

interface ResponseWriter {
  /** Reads an answer, or one event of a stream, which has its changes in `delta`. */
  read(answer: JsonRecord, field: 'message' | 'delta'): void;
  /** Ends a stream with an error of the upstream. */
  fail(error: unknown): void;
  /** The response; only the first call has an effect. */
  end(): JsonRecord;
  /** Whether the model said why it stopped. */
  readonly isFinished: boolean;
  /** Events since the last call, as text. */
  takeEvents(): string;
}

/** An output item that is being written. */
interface OpenItem {
  index: number;
  item: { id: string; type: string; [field: string]: unknown };
  /** Text, refusal, reasoning, or the arguments of a call. */
  text: string;
  /** Of texts: the type of the one content part. */
  part?: 'output_text' | 'refusal' | 'reasoning_text';
  logprobs: unknown[];
}

interface WriterOptions extends Pick<ChatFromResponses, 'customTools'> {
  /** Of the responses route. */
  request: JsonRecord;
  model: string;
  isStream: boolean;
  /** Milliseconds since 1970. */
  now(): number;
}

function createWriter({ request, customTools, model, isStream, now }: WriterOptions): ResponseWriter {
  const id = newId('resp_');
  const output: JsonRecord[] = [];
  const calls: { item?: OpenItem; key: number; id?: string; name: string; text: string }[] = [];
  let spoken: OpenItem | undefined;
  let createdAt = Math.floor(now() / 1000);
  let usage: JsonRecord | undefined;
  let finish: string | undefined;
  let ended: JsonRecord | undefined;
  let isStarted = false;
  let length = 0;
  let sequence = 0;
  let events = '';

  function emit(type: string, fields: JsonRecord): void {
    if (!isStream) return;
    const event = JSON.stringify({ type, sequence_number: sequence++, ...fields });
    events += `event: ${type}\ndata: ${event}\n\n`;
  }

  function response(status: string, more: JsonRecord = {}): JsonRecord {
    const shown = {
      ...echoOf(request),
      output: status === 'in_progress' ? [] : output,
      usage: usageOf(usage),
      ...more,
    };
    return { id, object: 'response', created_at: createdAt, status, model, ...shown };
  }

  function start(): void {
    if (isStarted) return;
    isStarted = true;
    emit('response.created', { response: response('in_progress') });
    emit('response.in_progress', { response: response('in_progress') });
  }

  function count(text: string): void {
    length += text.length;
    if (length > MAX_ANSWER_BYTES) throw tooLong();
  }

  function open(item: OpenItem['item'], part?: OpenItem['part']): OpenItem {
    const index = output.length;
    const opened: OpenItem = { index, item, text: '', logprobs: [], ...(part && { part }) };
    // Its place; the whole item takes it when it is done.
    output.push(item);
    emit('response.output_item.added', { output_index: index, item });
    if (part) emit('response.content_part.added', { ...placeOf(opened), part: partOf(opened) });
    return opened;
  }

  const placeOf = ({ index, item, part }: OpenItem) => ({
    item_id: item.id,
    output_index: index,
    ...(part && { content_index: 0 }),
  });

  function partOf({ part, text, logprobs }: OpenItem): JsonRecord {
    if (part === 'refusal') return { type: part, refusal: text };
    return part === 'output_text' ? { type: part, text, annotations: [], logprobs } : { type: part, text };
  }

  function speak(part: NonNullable<OpenItem['part']>, text: unknown, logprobs: readonly unknown[] = []): void {
    if (typeof text !== 'string' || text === '') return;
    count(text);
    if (spoken?.part !== part) {
      closeText();
      const isThought = part === 'reasoning_text';
      const item = isThought
        ? { id: newId(THOUGHT_ID), type: 'reasoning', status: 'in_progress', summary: [], content: [] }
        : { id: newId('msg_'), type: 'message', status: 'in_progress', role: 'assistant', content: [] };
      spoken = open(item, part);
    }
    spoken.text += text;
    spoken.logprobs.push(...logprobs);
    emit(`response.${part}.delta`, {
      ...placeOf(spoken),
      delta: text,
      ...(part === 'output_text' && { logprobs }),
    });
  }

  function closeText(): void {
    if (!spoken) return;
    const { item, part, text, index } = spoken;
    const content = partOf(spoken);
    const words = part === 'refusal' ? { refusal: text } : { text };
    emit(`response.${part}.done`, {
      ...placeOf(spoken),
      ...words,
      ...(part === 'output_text' && { logprobs: spoken.logprobs }),
    });
    emit('response.content_part.done', { ...placeOf(spoken), part: content });
    finishItem(index, { ...item, status: itemStatus(), content: [content] });
    spoken = undefined;
  }

  function finishItem(index: number, item: JsonRecord): void {
    output[index] = item;
    emit('response.output_item.done', { output_index: index, item });
  }

  const itemStatus = () => (finish === 'length' || finish === 'content_filter' ? 'incomplete' : 'completed');

  function readCall(change: JsonRecord, position: number): void {
    const { index, id: callId } = change;
    const { name, arguments: args } = recordOf(change.function);
    const key = typeof index === 'number' ? index : position;
    const last = calls.findLast((one) => one.key === key);
    // Some servers send each whole call with the same index.
    const isNew = !last || (isGiven(callId) && isGiven(name) && last.id !== undefined && last.id !== callId);
    const call = isNew ? { key, name: '', text: '' } : last;
    if (isNew) calls.push(call);
    if (typeof callId === 'string' && callId !== '') call.id ??= callId;
    if (typeof name === 'string' && call.name === '') call.name = name;
    if (!call.item && call.name !== '') {
      closeText();
      call.id ??= newId('call_');
      call.item = open(newCall(call.id, call.name));
    }
    const text = typeof args === 'string' ? args : isGiven(args) ? JSON.stringify(args) : '';
    count(text);
    call.text += text;
    if (!call.item) return;
    // What came before the name.
    const delta = call.text.slice(call.item.text.length);
    call.item.text = call.text;
    if (delta !== '' && !customTools.has(call.name))
      emit('response.function_call_arguments.delta', { ...placeOf(call.item), delta });
  }

  function newCall(callId: string, name: string): OpenItem['item'] {
    return customTools.has(name)
      ? { id: newId('ctc_'), type: 'custom_tool_call', status: 'in_progress', call_id: callId, name, input: '' }
      : { id: newId('fc_'), type: 'function_call', status: 'in_progress', call_id: callId, name, arguments: '' };
  }

  function closeCall({ item: opened, name }: (typeof calls)[number]): void {
    if (!opened) return;
    const { item, text, index } = opened;
    if (customTools.has(name)) {
      const input = inputOf(text);
      if (input !== '') emit('response.custom_tool_call_input.delta', { ...placeOf(opened), delta: input });
      emit('response.custom_tool_call_input.done', { ...placeOf(opened), input });
      finishItem(index, { ...item, status: itemStatus(), input });
    } else {
      emit('response.function_call_arguments.done', { ...placeOf(opened), name, arguments: text });
      finishItem(index, { ...item, status: itemStatus(), arguments: text });
    }
  }

  function end(): JsonRecord {
    if (ended) return ended;
    start();
    // An answer without a word is an empty message.
    if (output.length === 0) spoken = open({ ...EMPTY_MESSAGE, id: newId('msg_') }, 'output_text');
    closeText();
    for (const call of calls) closeCall(call);
    const reason = finish === 'length' ? 'max_output_tokens' : finish === 'content_filter' ? finish : undefined;
    const status = reason === undefined ? 'completed' : 'incomplete';
    ended = response(status, {
      ...(reason === undefined ? { completed_at: Math.floor(now() / 1000) } : { incomplete_details: { reason } }),
    });
    emit(`response.${status}`, { response: ended });
    return ended;
  }

  return {
    read(answer, field) {
      if (ended) return;
      if (!isStarted && typeof answer.created === 'number') createdAt = answer.created;
      if (field === 'delta') start();
      if (isGiven(answer.usage)) usage = recordOf(answer.usage);
      const [first] = Array.isArray(answer.choices) ? answer.choices : [];
      const choice = recordOf(first);
      const change = recordOf(choice[field]);
      speak('reasoning_text', change.reasoning_content ?? change.reasoning);
      speak('output_text', textIn(change.content), logprobsOf(choice.logprobs));
      speak('refusal', change.refusal);
      const called = Array.isArray(change.tool_calls) ? change.tool_calls : [];
      for (const [position, call] of called.entries()) {
        readCall(recordOf(call), position);
      }
      if (typeof choice.finish_reason === 'string') finish = choice.finish_reason;
    },
    fail(error) {
      if (ended) return;
      start();
      const { message } = recordOf(error);
      const words = typeof error === 'string' ? error : typeof message === 'string' ? message : 'The model failed.';
      ended = response('failed', { error: { code: 'server_error', message: words } });
      emit('response.failed', { response: ended });
    },
    end,
    get isFinished() {
      return finish !== undefined;
    },
    takeEvents() {
      const taken = events;
      events = '';
      return taken;
    },
  };
}

const EMPTY_MESSAGE = { type: 'message', status: 'in_progress', role: 'assistant', content: [] };

function newId(prefix: string): string {
  return prefix + drawRandomBytes(24).toString('hex');
}

/** Some servers send a list of parts. */
function textIn(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content
    .map((part) => recordOf(part).text)
    .filter((text) => typeof text === 'string')
    .join('');
}

function logprobsOf(logprobs: unknown): readonly unknown[] {
  const { content } = recordOf(logprobs);
  return Array.isArray(content) ? content : [];
}

/** The text that a model wrote as `{"input": …}`; other arguments as they are. */
function inputOf(text: string): string {
  const { input } = recordOf(parse(text));
  return typeof input === 'string' ? input : text;
}

/** Null without any: then the gateway estimates it, and clients see none. */
function usageOf(usage: JsonRecord | undefined): JsonRecord | null {
  if (!usage) return null;
  const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = usage;
  if (typeof input !== 'number' || typeof output !== 'number') return null;
  const { cached_tokens: cached = 0, cache_write_tokens: written } = recordOf(usage.prompt_tokens_details);
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached ?? 0, ...(isGiven(written) && { cache_write_tokens: written }) },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: recordOf(usage.completion_tokens_details).reasoning_tokens ?? 0 },
    total_tokens: total ?? input + output,
  };
}

/** Fields of the request that a response repeats; `store` and `truncation` as the chat had them. */
function echoOf(request: JsonRecord): JsonRecord {
  const { reasoning, text } = request;
  return {
    background: false,
    error: null,
    incomplete_details: null,
    instructions: request.instructions ?? null,
    max_output_tokens: request.max_output_tokens ?? null,
    max_tool_calls: request.max_tool_calls ?? null,
    metadata: request.metadata ?? {},
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: recordOf(reasoning).effort ?? null, summary: null },
    service_tier: 'default',
    store: false,
    temperature: request.temperature ?? null,
    text: { ...recordOf(text), format: recordOf(text).format ?? { type: 'text' } },
    tool_choice: request.tool_choice ?? 'auto',
    tools: request.tools ?? [],
    top_logprobs: request.top_logprobs ?? 0,
    top_p: request.top_p ?? null,
    truncation: 'disabled',
    user: request.user ?? null,
  };
}
