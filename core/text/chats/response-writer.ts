/*
 * Writes the answer of a chat as one of `/v1/responses`: whole, or as all events of the format in their order. One builder
 * writes the items, so that both say the same. Servers differ in what they send; the writer takes thoughts from
 * `reasoning_content` or `reasoning`, calls from `tool_calls`, `function_call` or blocks of the content, and sources from
 * `annotations`. It costs one pass over each event.
 */

import { drawRandomBytes, encodeTypedEvent, GatewayError } from '../../runtime/index.js';
import { readUsage } from '../usage-shapes.js';
import { chatCallsIn, chatTextIn } from './parts.js';
import { type ChatFromResponses, THOUGHT_ID } from './requests.js';
import { given, isGiven, type JsonRecord, parseRounded, recordOf } from './values.js';

/** As an answer that is no stream has at most. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export function tooLong(): GatewayError {
  return new GatewayError('upstream_error', 'The answer of the model is too long.');
}

export interface ResponseWriter {
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
  /** Sources of a text. */
  annotations: JsonRecord[];
}

export interface WriterOptions extends Pick<ChatFromResponses, 'customTools' | 'names'> {
  /** Of the responses route. */
  request: JsonRecord;
  model: string;
  isStream: boolean;
  /** Milliseconds since 1970. */
  now(): number;
}

export function createResponseWriter(options: WriterOptions): ResponseWriter {
  const { request, customTools, names, model, isStream, now } = options;
  const id = newId('resp_');
  const output: JsonRecord[] = [];
  const calls: { item?: OpenItem; key: number; id?: string; name: string; text: string }[] = [];
  let spoken: OpenItem | undefined;
  let createdAt = Math.floor(now() / 1000);
  let usage: JsonRecord | undefined;
  let tier: unknown;
  let finish: string | undefined;
  let ended: JsonRecord | undefined;
  let isStarted = false;
  let length = 0;
  let sequence = 0;
  let events = '';

  function emit(type: string, fields: JsonRecord): void {
    if (!isStream) return;
    events += encodeTypedEvent(type, { sequence_number: sequence++, ...fields });
  }

  function response(status: string, more: JsonRecord = {}): JsonRecord {
    const shown = {
      ...echoOf(request),
      output: status === 'in_progress' ? [] : output,
      usage: usageOf(usage, tier),
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
    const opened: OpenItem = { index, item, text: '', logprobs: [], annotations: [], ...(part && { part }) };
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

  function partOf({ part, text, logprobs, annotations }: OpenItem): JsonRecord {
    if (part === 'refusal') return { type: part, refusal: text };
    return part === 'output_text'
      ? { type: part, text, annotations: [...annotations], logprobs }
      : { type: part, text };
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

  /** The sources of the current text. */
  function cite(annotations: unknown): void {
    for (const annotation of Array.isArray(annotations) ? annotations : []) {
      const { type, url_citation: cited, ...rest } = recordOf(annotation);
      if (typeof type !== 'string') continue;
      if (spoken?.part !== 'output_text') {
        closeText();
        spoken = open({ ...EMPTY_MESSAGE, id: newId('msg_') }, 'output_text');
      }
      const source = { type, ...rest, ...recordOf(cited) };
      count(JSON.stringify(source));
      emit('response.output_text.annotation.added', {
        ...placeOf(spoken),
        annotation_index: spoken.annotations.length,
        annotation: source,
      });
      spoken.annotations.push(source);
    }
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
    // Continuations may repeat id and name, or have empty ones.
    const isNew = !last || (Boolean(callId) && Boolean(name) && last.id !== undefined && last.id !== callId);
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

  function newCall(callId: string, encoded: string): OpenItem['item'] {
    const { name, namespace } = names.decode(encoded);
    const named = { call_id: callId, name, ...(namespace !== undefined && { namespace }) };
    return customTools.has(encoded)
      ? { id: newId('ctc_'), type: 'custom_tool_call', status: 'in_progress', ...named, input: '' }
      : { id: newId('fc_'), type: 'function_call', status: 'in_progress', ...named, arguments: '' };
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
      // Clients parse the arguments.
      const args = text === '' && itemStatus() === 'completed' ? '{}' : text;
      if (args !== text) emit('response.function_call_arguments.delta', { ...placeOf(opened), delta: args });
      emit('response.function_call_arguments.done', { ...placeOf(opened), name: item.name, arguments: args });
      finishItem(index, { ...item, status: itemStatus(), arguments: args });
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
      const counted = usageIn(answer);
      if (counted && (!usage || readUsage(counted))) usage = counted;
      if (isGiven(answer.service_tier)) tier = answer.service_tier;
      const [first] = Array.isArray(answer.choices) ? answer.choices : [];
      const choice = recordOf(first);
      const change = recordOf(choice[field]);
      speak('reasoning_text', change.reasoning_content ?? change.reasoning);
      speak('output_text', chatTextIn(change.content), logprobsOf(choice.logprobs));
      cite(change.annotations);
      speak('refusal', change.refusal);
      for (const [position, call] of chatCallsIn(change).entries()) readCall(call, position);
      if (typeof choice.finish_reason === 'string') finish = choice.finish_reason;
      if (finish === 'error' || isGiven(choice.error)) this.fail(choice.error ?? { message: FAILED });
    },
    fail(error) {
      if (ended) return;
      start();
      const { message } = recordOf(error);
      const words = typeof error === 'string' ? error : typeof message === 'string' ? message : FAILED;
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

const FAILED = 'The model ended its answer with an error.';
const EMPTY_MESSAGE = { type: 'message', status: 'in_progress', role: 'assistant', content: [] };

function newId(prefix: string): string {
  return prefix + drawRandomBytes(24).toString('hex');
}

function logprobsOf(logprobs: unknown): readonly unknown[] {
  const { content } = recordOf(logprobs);
  return Array.isArray(content) ? content : [];
}

/** The text that a model wrote as `{"input": …}`; other arguments as they are. */
function inputOf(text: string): string {
  const { input } = recordOf(parseRounded(text));
  return typeof input === 'string' ? input : text;
}

/** The usage of an answer or of an event, wherever the server has it. */
function usageIn({ usage, x_groq: groq, choices }: JsonRecord): JsonRecord | undefined {
  const [first] = Array.isArray(choices) ? choices : [];
  const found = [usage, recordOf(groq).usage, recordOf(first).usage].find(isGiven);
  return found === undefined ? undefined : recordOf(found);
}

/** Null without any: then the gateway estimates it, and clients see none. */
function usageOf(reported: JsonRecord | undefined, tier: unknown): JsonRecord | null {
  const usage = readUsage(reported);
  const {
    inputTokens: input,
    outputTokens: output,
    cachedTokens,
    cacheWriteTokens,
    cacheWriteLongTokens,
  } = usage ?? {};
  if (!usage || input === undefined || output === undefined) return null;
  const { inputAudioTokens, inputImageTokens, outputAudioTokens, outputImageTokens, webSearches } = usage;
  const { serviceTier = tier } = usage;
  return {
    input_tokens: input,
    input_tokens_details: {
      cached_tokens: cachedTokens ?? 0,
      ...given({
        cache_write_tokens: cacheWriteTokens,
        cache_write_1h_tokens: cacheWriteLongTokens,
        audio_tokens: inputAudioTokens,
        image_tokens: inputImageTokens,
      }),
    },
    output_tokens: output,
    output_tokens_details: {
      reasoning_tokens: usage.reasoningTokens ?? 0,
      ...given({ audio_tokens: outputAudioTokens, image_tokens: outputImageTokens }),
    },
    total_tokens: usage.totalTokens ?? input + output,
    ...(webSearches !== undefined && { server_tool_use: { web_search_requests: webSearches } }),
    ...(typeof serviceTier === 'string' && !['auto', 'default'].includes(serviceTier) && { service_tier: serviceTier }),
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
