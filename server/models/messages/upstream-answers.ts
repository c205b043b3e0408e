/*
 * Reads answers of `/v1/chat/completions` and `/v1/responses`, whole or event by event, and adds their content to a
 * block queue. Servers of open models deviate from these formats: they send objects in place of texts, one index for
 * several calls, all items at the end, or errors without a type. The readers accept these deviations. An answer that
 * does not state its end has no `ending`, and its caller treats it as interrupted. A call that does not name its tool
 * makes the answer fail.
 */

import { isRecord, type JsonRecord } from '../../../core/runtime/index.js';
import { chatCallsIn, JsonEnd, restoreNumbers, type ToolNames } from '../../../core/text/index.js';
import { type BlockQueue, type StopReason, toolUseOf } from './sinks.js';

/** How an answer ended, as stated in it. */
export type AnswerEnding = { reason: StopReason } | { failure: SanitizedError };

/** In the terms of this format. */
export interface SanitizedError {
  type: 'api_error' | 'invalid_request_error' | 'overloaded_error' | 'rate_limit_error' | 'timeout_error';
  message: string;
}

/** Reads the answers of one format and converts them to blocks. */
export interface AnswerReader {
  /** The data of one event, with marked numbers; a text if it is no JSON. */
  event(data: unknown): void;
  /** An answer in one piece. It has not ended if the value is invalid. */
  whole(answer: unknown): void;
  /** Undefined until it has ended. */
  readonly ending: AnswerEnding | undefined;
}

export interface AnswerReaderOptions {
  queue: BlockQueue;
  /** Whether the model's thinking is included in the answer. */
  includesThinking: boolean;
  /** Names of the request's tools. */
  names: ToolNames;
}

/** For a tool call without the name of the tool. */
export const NAMELESS_CALL: AnswerEnding = {
  failure: { type: 'api_error', message: 'The model called a tool without its name.' },
};

const TYPES: ReadonlyMap<unknown, SanitizedError['type']> = new Map([
  ['context_length_exceeded', 'invalid_request_error'],
  ['invalid_prompt', 'invalid_request_error'],
  ['rate_limit_exceeded', 'rate_limit_error'],
  ['rate_limit_error', 'rate_limit_error'],
  ['server_is_overloaded', 'overloaded_error'],
  ['slow_down', 'overloaded_error'],
  ['overloaded_error', 'overloaded_error'],
  ['timeout_error', 'timeout_error'],
]);

/** The input of a tool as JSON, if any: some servers send an object instead of a text. */
export function inputTextOf(input: unknown): string {
  if (typeof input === 'string') return input;
  return isRecord(input) ? restoreNumbers(JSON.stringify(input)) : '';
}

/** @param error As in an answer: `code` and `type` determine its kind. */
export function failureOf(error: unknown): SanitizedError {
  const { code, type, message } = isRecord(error) ? error : {};
  return {
    type: TYPES.get(code) ?? TYPES.get(type) ?? 'api_error',
    message: typeof message === 'string' && message !== '' ? message : 'The model answered with an error.',
  };
}

const REASONS: ReadonlyMap<unknown, StopReason> = new Map([
  ['stop', 'end_turn'],
  ['length', 'max_tokens'],
  ['tool_calls', 'tool_use'],
  ['function_call', 'tool_use'],
  ['content_filter', 'refusal'],
]);
const DONE = '[DONE]';

interface Call {
  key: string;
  /** As the upstream named it. */
  id: unknown;
  end: JsonEnd;
}

/** Reads answers of `/v1/chat/completions`, whole or as events. */
export class ChatAnswer implements AnswerReader {
  readonly #options: AnswerReaderOptions;
  #ending: AnswerEnding | undefined;
  #reason: StopReason = 'end_turn';
  #refuses = false;
  /** Key and kind of the current text or thinking. */
  #words: { key: string; type: 'text' | 'thinking' } | undefined;
  #blocks = 0;
  /** Input state of the tool calls, by their index. */
  readonly #calls = new Map<unknown, Call>();
  readonly #inOrder: Call[] = [];
  /** Number of calls, in order, that are complete. */
  #wholeCalls = 0;

  constructor(options: AnswerReaderOptions) {
    this.#options = options;
  }

  get ending(): AnswerEnding | undefined {
    return this.#ending;
  }

  event(data: unknown): void {
    if (data === DONE) this.#end();
    else if (isRecord(data) && data.error) this.#ending = { failure: failureOf(data.error) };
    else if (isRecord(data) && Array.isArray(data.choices)) this.#readChoice(data.choices);
  }

  whole(answer: unknown): void {
    if (!isRecord(answer)) return;
    if (answer.error) this.#ending = { failure: failureOf(answer.error) };
    if (!Array.isArray(answer.choices) || answer.choices.length === 0) return;
    this.#readChoice(answer.choices);
    this.#end();
  }

  /** One choice is requested; a server that makes several distinguishes them by their index. */
  #readChoice(choices: readonly unknown[]): void {
    const first = choices.filter(isRecord).find(({ index }) => index === 0 || typeof index !== 'number');
    if (!first) return;
    const { delta, message, finish_reason: finish } = first;
    const content = delta ?? message;
    if (isRecord(content)) this.#read(content);
    if (finish !== undefined && finish !== null) this.#reason = REASONS.get(finish) ?? 'end_turn';
    if (finish === 'error' || isRecord(first.error)) this.#ending = { failure: failureOf(first.error) };
  }

  /** A message, or a delta of an event. */
  #read(message: JsonRecord): void {
    const { content, refusal, reasoning_content: thought, reasoning } = message;
    if (this.#options.includesThinking) this.#speak('thinking', thought ?? reasoning);
    // For servers that answer in parts: the text parts.
    const texts = Array.isArray(content) ? content.filter(isRecord).map(({ text }) => text) : [content];
    for (const text of texts) this.#speak('text', text);
    if (typeof refusal === 'string' && refusal !== '') {
      this.#refuses = true;
      this.#speak('text', refusal);
    }
    for (const [position, one] of chatCallsIn(message).entries()) this.#call(one, position);
  }

  /** A text continues until another block begins. */
  #speak(type: 'text' | 'thinking', text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    const { queue } = this.#options;
    if (this.#words?.type !== type) {
      this.#closeWords();
      this.#words = { key: `words ${this.#blocks++}`, type };
      queue.open(this.#words.key, { type });
    }
    queue.add(this.#words.key, text);
  }

  /** Closes the text before, and the calls whose input is complete: the format does not mark the end of a call. */
  #closeWords(): void {
    const { queue } = this.#options;
    if (this.#words) queue.close(this.#words.key);
    this.#words = undefined;
    for (let one = this.#inOrder[this.#wholeCalls]; one?.end.isWhole; one = this.#inOrder[this.#wholeCalls]) {
      queue.close(one.key);
      this.#wholeCalls += 1;
    }
  }

  #call(value: unknown, position: number): void {
    if (!isRecord(value)) return;
    const { index = position, id, function: called } = value;
    const { name, arguments: input } = isRecord(called) ? called : {};
    const call = this.#callAt(index, id, name);
    if (!call) {
      this.#ending = NAMELESS_CALL;
      return;
    }
    const text = inputTextOf(input);
    call.end.push(text);
    this.#options.queue.add(call.key, text);
  }

  /** The call that a change belongs to; undefined for a new one without the name of its tool. */
  #callAt(index: unknown, id: unknown, name: unknown): Call | undefined {
    const open = this.#calls.get(index);
    // Some servers use one index for all of them.
    const isAnother = typeof id === 'string' && id !== '' && open?.id !== id && typeof name === 'string' && name !== '';
    if (open && !isAnother) return open;
    const { queue, names } = this.#options;
    const block = toolUseOf(id, name, names);
    if (!block) return undefined;
    this.#closeWords();
    const begun = { key: `call ${this.#blocks++}`, id, end: new JsonEnd() };
    this.#calls.set(index, begun);
    this.#inOrder.push(begun);
    queue.open(begun.key, block);
    return begun;
  }

  #end(): void {
    if (this.#ending) return;
    this.#options.queue.closeAll();
    const reason = this.#reason;
    if (this.#refuses) this.#ending = { reason: 'refusal' };
    else if (reason === 'end_turn' || reason === 'tool_use') {
      this.#ending = { reason: this.#calls.size > 0 ? 'tool_use' : 'end_turn' };
    } else this.#ending = { reason };
  }
}

const OPEN_STATES: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);

/** Reads answers of `/v1/responses`, whole or as events. */
export class ResponseAnswer implements AnswerReader {
  static readonly #events: Readonly<Record<string, (self: ResponseAnswer, event: JsonRecord) => void>> = {
    'response.output_item.added': (self, { output_index: index, item }) => self.#beginItem(item, index),
    'response.output_item.done': (self, { output_index: index, item }) => self.#endItem(item, index),
    'response.output_text.delta': (self, event) => self.#addDelta(event),
    'response.refusal.delta': (self, event) => {
      self.#refuses = true;
      self.#addDelta(event);
    },
    'response.reasoning_summary_part.added': (self, event) =>
      self.#beginThought(event.output_index, event.summary_index),
    'response.reasoning_summary_text.delta': (self, event) => self.#addThought(event.output_index, event.delta),
    'response.reasoning_text.delta': (self, event) => self.#addThought(event.output_index, event.delta),
    'response.function_call_arguments.delta': (self, event) => self.#add(keyOf(event.output_index), event.delta),
    'response.completed': (self, { response }) => self.#end(response),
    'response.incomplete': (self, { response }) => self.#end(response),
    'response.failed': (self, { response }) => self.#fail(isRecord(response) ? response.error : undefined),
    'response.cancelled': (self) => self.#fail(undefined),
    error: (self, event) => self.#fail(isRecord(event.error) ? event.error : event),
  };
  readonly #options: AnswerReaderOptions;
  #ending: AnswerEnding | undefined;
  #callsTools = false;
  #refuses = false;
  #hasItems = false;

  constructor(options: AnswerReaderOptions) {
    this.#options = options;
  }

  get ending(): AnswerEnding | undefined {
    return this.#ending;
  }

  event(data: unknown): void {
    if (!isRecord(data)) return;
    // Live servers sometimes send an error without a type.
    const type = typeof data.type === 'string' ? data.type : data.error === undefined ? '' : 'error';
    if (Object.hasOwn(ResponseAnswer.#events, type)) ResponseAnswer.#events[type]?.(this, data);
  }

  whole(answer: unknown): void {
    if (!isRecord(answer)) return;
    if (answer.status === 'failed' || answer.status === 'cancelled') this.#fail(answer.error);
    else if (Array.isArray(answer.output) && !OPEN_STATES.has(answer.status)) this.#end(answer);
  }

  #add(key: string, delta: unknown): void {
    if (typeof delta === 'string') this.#options.queue.add(key, delta);
  }

  #addDelta({ output_index: index, content_index: part, delta }: JsonRecord): void {
    this.#addText(partKeyOf(index, part), delta);
  }

  #addText(key: string, delta: unknown): void {
    this.#options.queue.open(key, { type: 'text' });
    this.#add(key, delta);
  }

  /** Its parts become one block, separated by an empty line. */
  #beginThought(index: unknown, part: unknown): void {
    const isFurther = typeof part === 'number' && part > 0 && this.#options.queue.hasText(keyOf(index));
    if (isFurther) this.#addThought(index, '\n\n');
  }

  #addThought(index: unknown, delta: unknown): void {
    if (!this.#options.includesThinking) return;
    this.#options.queue.open(keyOf(index), { type: 'thinking' });
    this.#add(keyOf(index), delta);
  }

  #beginItem(item: unknown, index: unknown): void {
    this.#hasItems = true;
    if (!isRecord(item) || item.type !== 'function_call') return;
    const { queue, names } = this.#options;
    this.#callsTools = true;
    const block = toolUseOf(item.call_id ?? item.id, item.name, names);
    if (block) queue.open(keyOf(index), block);
    else this.#ending = NAMELESS_CALL;
  }

  /** Includes text that was not streamed before: some servers send items only when they are done. */
  #endItem(item: unknown, index: unknown): void {
    if (!isRecord(item)) return;
    const { queue } = this.#options;
    const key = keyOf(index);
    this.#beginItem(item, index);
    if (item.type === 'function_call' && !queue.hasText(key)) this.#add(key, inputTextOf(item.arguments));
    if (item.type === 'reasoning' && !queue.hasText(key)) {
      // Servers of open models send the thoughts themselves, and no summary.
      const thoughts = [item.summary, item.content].map(partsOf).find((parts) => parts.length > 0) ?? [];
      for (const [part, { text }] of thoughts.entries()) {
        this.#beginThought(index, part);
        this.#addThought(index, text);
      }
    }
    queue.close(key);
    if (item.type !== 'message') return;
    for (const [part, { type, text, refusal }] of partsOf(item.content).entries()) {
      const partKey = partKeyOf(index, part);
      if (type === 'refusal') this.#refuses = true;
      if (!queue.hasText(partKey)) this.#addText(partKey, text ?? refusal);
      queue.close(partKey);
    }
  }

  #end(response: unknown): void {
    const { status, incomplete_details: details, output } = isRecord(response) ? response : {};
    const reason = status === 'incomplete' && isRecord(details) ? details.reason : undefined;
    // Some servers send all of it at once.
    if (!this.#hasItems && Array.isArray(output))
      for (const [index, item] of output.entries()) this.#endItem(item, index);
    if (this.#ending) return;
    this.#options.queue.closeAll();
    if (reason === 'max_output_tokens') this.#ending = { reason: 'max_tokens' };
    else if (reason === 'content_filter' || this.#refuses) this.#ending = { reason: 'refusal' };
    else this.#ending = { reason: this.#callsTools ? 'tool_use' : 'end_turn' };
  }

  #fail(error: unknown): void {
    this.#ending = { failure: failureOf(error) };
  }
}

/** Values that are no index share one key. */
function keyOf(index: unknown): string {
  return typeof index === 'number' || typeof index === 'string' ? String(index) : '';
}

function partKeyOf(index: unknown, part: unknown): string {
  return `${keyOf(index)}/${keyOf(part)}`;
}

function partsOf(value: unknown): readonly JsonRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
