/*
 * Writes the answer of a chat as one of `/v1/responses`: whole, or as all events of the format in their order. One
 * builder writes the items, so that both say the same. Servers differ in what they send; the writer takes thoughts from
 * `reasoning_content` or `reasoning`, calls from `tool_calls`, `function_call` or blocks of the content, and sources
 * from `annotations`. It costs one pass over each event.
 */

import { drawRandomBytes, encodeTypedEvent, GatewayError, recordOf } from '../../runtime/index.js';
import { readUsage } from '../usage-shapes.js';
import { chatCallsIn, chatTextIn } from './parts.js';
import { type ChatFromResponses, THOUGHT_ID } from './requests.js';
import { given, isGiven, type JsonRecord, parseRounded } from './values.js';

/** As an answer that is no stream has at most. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;

export function tooLong(): GatewayError {
  return new GatewayError('upstream_error', 'The answer of the model is too long.');
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

/** A call of a tool that is being written. */
interface OpenCall {
  item?: OpenItem;
  key: number;
  id?: string;
  name: string;
  text: string;
}

/** Writes one response. */
export class ResponseWriter {
  readonly #options: WriterOptions;
  readonly #id = newId('resp_');
  readonly #output: JsonRecord[] = [];
  readonly #calls: OpenCall[] = [];
  #spoken: OpenItem | undefined;
  #createdAt: number;
  #usage: JsonRecord | undefined;
  #tier: unknown;
  #finish: string | undefined;
  #ended: JsonRecord | undefined;
  #isStarted = false;
  #length = 0;
  #sequence = 0;
  #events = '';

  constructor(options: WriterOptions) {
    this.#options = options;
    this.#createdAt = this.#seconds();
  }

  /** Whether the model said why it stopped. */
  get isFinished(): boolean {
    return this.#finish !== undefined;
  }

  /** Reads an answer, or one event of a stream, which has its changes in `delta`. */
  read(answer: JsonRecord, field: 'message' | 'delta'): void {
    if (this.#ended) return;
    if (!this.#isStarted && typeof answer.created === 'number') this.#createdAt = answer.created;
    if (field === 'delta') this.#start();
    const counted = usageIn(answer);
    if (counted && (!this.#usage || readUsage(counted))) this.#usage = counted;
    if (isGiven(answer.service_tier)) this.#tier = answer.service_tier;
    const [first] = Array.isArray(answer.choices) ? answer.choices : [];
    const choice = recordOf(first);
    const change = recordOf(choice[field]);
    this.#speak('reasoning_text', change.reasoning_content ?? change.reasoning);
    this.#speak('output_text', chatTextIn(change.content), logprobsOf(choice.logprobs));
    this.#cite(change.annotations);
    this.#speak('refusal', change.refusal);
    for (const [position, call] of chatCallsIn(change).entries()) this.#readCall(call, position);
    if (typeof choice.finish_reason === 'string') this.#finish = choice.finish_reason;
    if (this.#finish === 'error' || isGiven(choice.error)) this.fail(choice.error ?? { message: FAILED });
  }

  /** Ends a stream with an error of the upstream. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#start();
    const { message } = recordOf(error);
    const words = typeof error === 'string' ? error : typeof message === 'string' ? message : FAILED;
    this.#ended = this.#response('failed', { error: { code: 'server_error', message: words } });
    this.#emit('response.failed', { response: this.#ended });
  }

  /** The response; only the first call has an effect. */
  end(): JsonRecord {
    if (this.#ended) return this.#ended;
    this.#start();
    // An answer without a word is an empty message.
    if (this.#output.length === 0) this.#openText('output_text');
    this.#closeText();
    for (const call of this.#calls) this.#closeCall(call);
    const finish = this.#finish;
    const reason = finish === 'length' ? 'max_output_tokens' : finish === 'content_filter' ? finish : undefined;
    const status = reason === undefined ? 'completed' : 'incomplete';
    const ended = this.#response(status, {
      ...(reason === undefined ? { completed_at: this.#seconds() } : { incomplete_details: { reason } }),
    });
    this.#emit(`response.${status}`, { response: ended });
    this.#ended = ended;
    return ended;
  }

  /** Events since the last call, as text. */
  takeEvents(): string {
    const taken = this.#events;
    this.#events = '';
    return taken;
  }

  #seconds(): number {
    return Math.floor(this.#options.now() / 1000);
  }

  #emit(type: string, fields: JsonRecord): void {
    if (this.#options.isStream)
      this.#events += encodeTypedEvent(type, { sequence_number: this.#sequence++, ...fields });
  }

  #response(status: string, more: JsonRecord = {}): JsonRecord {
    const { request, model } = this.#options;
    const shown = {
      ...echoOf(request),
      output: status === 'in_progress' ? [] : this.#output,
      usage: usageOf(this.#usage, this.#tier),
      ...more,
    };
    return { id: this.#id, object: 'response', created_at: this.#createdAt, status, model, ...shown };
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#emit('response.created', { response: this.#response('in_progress') });
    this.#emit('response.in_progress', { response: this.#response('in_progress') });
  }

  #count(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_ANSWER_BYTES) throw tooLong();
  }

  #open(item: OpenItem['item'], part?: OpenItem['part']): OpenItem {
    const index = this.#output.length;
    const opened: OpenItem = { index, item, text: '', logprobs: [], annotations: [], ...(part && { part }) };
    // Its place; the whole item takes it when it is done.
    this.#output.push(item);
    this.#emit('response.output_item.added', { output_index: index, item });
    if (part) this.#emit('response.content_part.added', { ...placeOf(opened), part: partOf(opened) });
    return opened;
  }

  /** Ends the item before, and begins one with that part. */
  #openText(part: NonNullable<OpenItem['part']>): OpenItem {
    this.#closeText();
    const item =
      part === 'reasoning_text'
        ? { id: newId(THOUGHT_ID), type: 'reasoning', status: 'in_progress', summary: [], content: [] }
        : { id: newId('msg_'), type: 'message', status: 'in_progress', role: 'assistant', content: [] };
    this.#spoken = this.#open(item, part);
    return this.#spoken;
  }

  #speak(part: NonNullable<OpenItem['part']>, text: unknown, logprobs: readonly unknown[] = []): void {
    if (typeof text !== 'string' || text === '') return;
    this.#count(text);
    const spoken = this.#spoken?.part === part ? this.#spoken : this.#openText(part);
    spoken.text += text;
    spoken.logprobs.push(...logprobs);
    this.#emit(`response.${part}.delta`, {
      ...placeOf(spoken),
      delta: text,
      ...(part === 'output_text' && { logprobs }),
    });
  }

  /** The sources of the current text. */
  #cite(annotations: unknown): void {
    for (const annotation of Array.isArray(annotations) ? annotations : []) {
      const { type, url_citation: cited, ...rest } = recordOf(annotation);
      if (typeof type !== 'string') continue;
      const spoken = this.#spoken?.part === 'output_text' ? this.#spoken : this.#openText('output_text');
      const source = { type, ...rest, ...recordOf(cited) };
      this.#count(JSON.stringify(source));
      this.#emit('response.output_text.annotation.added', {
        ...placeOf(spoken),
        annotation_index: spoken.annotations.length,
        annotation: source,
      });
      spoken.annotations.push(source);
    }
  }

  #closeText(): void {
    const spoken = this.#spoken;
    if (!spoken) return;
    const { item, part, text, index } = spoken;
    const content = partOf(spoken);
    const words = part === 'refusal' ? { refusal: text } : { text };
    this.#emit(`response.${part}.done`, {
      ...placeOf(spoken),
      ...words,
      ...(part === 'output_text' && { logprobs: spoken.logprobs }),
    });
    this.#emit('response.content_part.done', { ...placeOf(spoken), part: content });
    this.#finishItem(index, { ...item, status: this.#itemStatus(), content: [content] });
    this.#spoken = undefined;
  }

  #finishItem(index: number, item: JsonRecord): void {
    this.#output[index] = item;
    this.#emit('response.output_item.done', { output_index: index, item });
  }

  #itemStatus(): 'incomplete' | 'completed' {
    return this.#finish === 'length' || this.#finish === 'content_filter' ? 'incomplete' : 'completed';
  }

  #readCall(change: JsonRecord, position: number): void {
    const { index, id: callId } = change;
    const { name, arguments: args } = recordOf(change.function);
    const key = typeof index === 'number' ? index : position;
    const call = this.#callAt(key, callId, name);
    if (typeof callId === 'string' && callId !== '') call.id ??= callId;
    if (typeof name === 'string' && call.name === '') call.name = name;
    if (!call.item && call.name !== '') {
      this.#closeText();
      call.id ??= newId('call_');
      call.item = this.#open(this.#newCall(call.id, call.name));
    }
    const text = typeof args === 'string' ? args : isGiven(args) ? JSON.stringify(args) : '';
    this.#count(text);
    call.text += text;
    if (!call.item) return;
    // What came before the name.
    const delta = call.text.slice(call.item.text.length);
    call.item.text = call.text;
    if (delta !== '' && !this.#options.customTools.has(call.name))
      this.#emit('response.function_call_arguments.delta', { ...placeOf(call.item), delta });
  }

  /**
   * The call that a change belongs to. Some servers send each whole call with the same index. Continuations may repeat
   * id and name, or have empty ones.
   */
  #callAt(key: number, callId: unknown, name: unknown): OpenCall {
    const last = this.#calls.findLast((one) => one.key === key);
    const isNew = !last || (Boolean(callId) && Boolean(name) && last.id !== undefined && last.id !== callId);
    if (!isNew) return last;
    const call = { key, name: '', text: '' };
    this.#calls.push(call);
    return call;
  }

  #newCall(callId: string, encoded: string): OpenItem['item'] {
    const { names, customTools } = this.#options;
    const { name, namespace } = names.decode(encoded);
    const named = { call_id: callId, name, ...(namespace !== undefined && { namespace }) };
    return customTools.has(encoded)
      ? { id: newId('ctc_'), type: 'custom_tool_call', status: 'in_progress', ...named, input: '' }
      : { id: newId('fc_'), type: 'function_call', status: 'in_progress', ...named, arguments: '' };
  }

  #closeCall({ item: opened, name }: OpenCall): void {
    if (!opened) return;
    const { item, text, index } = opened;
    const status = this.#itemStatus();
    const place = placeOf(opened);
    if (this.#options.customTools.has(name)) {
      const input = inputOf(text);
      if (input !== '') this.#emit('response.custom_tool_call_input.delta', { ...place, delta: input });
      this.#emit('response.custom_tool_call_input.done', { ...place, input });
      this.#finishItem(index, { ...item, status, input });
    } else {
      // Clients parse the arguments.
      const args = text === '' && status === 'completed' ? '{}' : text;
      if (args !== text) this.#emit('response.function_call_arguments.delta', { ...place, delta: args });
      this.#emit('response.function_call_arguments.done', { ...place, name: item.name, arguments: args });
      this.#finishItem(index, { ...item, status, arguments: args });
    }
  }
}

function placeOf({ index, item, part }: OpenItem): JsonRecord {
  return { item_id: item.id, output_index: index, ...(part && { content_index: 0 }) };
}

function partOf({ part, text, logprobs, annotations }: OpenItem): JsonRecord {
  if (part === 'refusal') return { type: part, refusal: text };
  return part === 'output_text' ? { type: part, text, annotations: [...annotations], logprobs } : { type: part, text };
}

const FAILED = 'The model ended its answer with an error.';

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
