/*
 * Reads answers of `/v1/chat/completions` and `/v1/responses`, whole or event by event, and adds their content to a
 * block queue. Servers of open models deviate from these formats: they send objects in place of texts, one index for
 * several calls, all items at the end, or errors without a type. The readers accept these deviations. An answer that
 * does not state its end has no `ending`, and its caller treats it as interrupted. A call that does not name its tool
 * makes the answer fail.
 */

import { isRecord, type JsonRecord } from '../../../core/runtime/index.js';
import { chatCallsIn, createJsonEnd, type JsonEnd, restoreNumbers, type ToolNames } from '../../../core/text/index.js';
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
export function createChatReader({ queue, includesThinking, names }: AnswerReaderOptions): AnswerReader {
  let ending: AnswerEnding | undefined;
  let reason: StopReason = 'end_turn';
  let refuses = false;
  /** Key and kind of the current text or thinking. */
  let words: { key: string; type: 'text' | 'thinking' } | undefined;
  let blocks = 0;
  /** Input state of the tool calls, by their index. */
  const calls = new Map<unknown, Call>();
  const inOrder: Call[] = [];
  /** Number of calls, in order, that are complete. */
  let wholeCalls = 0;

  /** A text continues until another block begins. */
  function speak(type: 'text' | 'thinking', text: unknown): void {
    if (typeof text !== 'string' || text === '') return;
    if (words?.type !== type) {
      closeWords();
      closeWholeCalls();
      words = { key: `words ${blocks++}`, type };
      queue.open(words.key, { type });
    }
    queue.add(words.key, text);
  }

  function closeWords(): void {
    if (words) queue.close(words.key);
    words = undefined;
  }

  /** The format does not mark the end of a call; it is done once its input is complete. */
  function closeWholeCalls(): void {
    for (let one = inOrder[wholeCalls]; one?.end.isWhole; one = inOrder[wholeCalls]) {
      queue.close(one.key);
      wholeCalls += 1;
    }
  }

  function call(value: unknown, position: number): void {
    if (!isRecord(value)) return;
    const { index = position, id, function: called } = value;
    const { name, arguments: input } = isRecord(called) ? called : {};
    let open = calls.get(index);
    // Some servers use one index for all of them.
    const isAnother = typeof id === 'string' && id !== '' && open?.id !== id && typeof name === 'string' && name !== '';
    if (!open || isAnother) {
      const block = toolUseOf(id, name, names);
      if (!block) {
        ending = NAMELESS_CALL;
        return;
      }
      closeWords();
      closeWholeCalls();
      open = { key: `call ${blocks++}`, id, end: createJsonEnd() };
      calls.set(index, open);
      inOrder.push(open);
      queue.open(open.key, block);
    }
    const text = inputTextOf(input);
    open.end.push(text);
    queue.add(open.key, text);
  }

  /** A message, or a delta of an event. */
  function read(message: JsonRecord): void {
    const { content, refusal, reasoning_content: thought, reasoning } = message;
    if (includesThinking) speak('thinking', thought ?? reasoning);
    // For servers that answer in parts: the text parts.
    const texts = Array.isArray(content) ? content.filter(isRecord).map(({ text }) => text) : [content];
    for (const text of texts) speak('text', text);
    if (typeof refusal === 'string' && refusal !== '') {
      refuses = true;
      speak('text', refusal);
    }
    for (const [position, one] of chatCallsIn(message).entries()) call(one, position);
  }

  /** One choice is requested; a server that makes several distinguishes them by their index. */
  function readChoice(choices: readonly unknown[]): void {
    const first = choices.filter(isRecord).find(({ index }) => index === 0 || typeof index !== 'number');
    if (!first) return;
    const { delta, message, finish_reason: finish } = first;
    const content = delta ?? message;
    if (isRecord(content)) read(content);
    if (finish !== undefined && finish !== null) reason = REASONS.get(finish) ?? 'end_turn';
    if (finish === 'error' || isRecord(first.error)) ending = { failure: failureOf(first.error) };
  }

  function end(): void {
    if (ending) return;
    queue.closeAll();
    if (refuses) ending = { reason: 'refusal' };
    else if (reason === 'end_turn' || reason === 'tool_use') {
      ending = { reason: calls.size > 0 ? 'tool_use' : 'end_turn' };
    } else ending = { reason };
  }

  return {
    event(data) {
      if (data === DONE) {
        end();
      } else if (isRecord(data) && data.error) ending = { failure: failureOf(data.error) };
      else if (isRecord(data) && Array.isArray(data.choices)) readChoice(data.choices);
    },
    whole(answer) {
      if (!isRecord(answer)) return;
      if (answer.error) ending = { failure: failureOf(answer.error) };
      if (!Array.isArray(answer.choices) || answer.choices.length === 0) return;
      readChoice(answer.choices);
      end();
    },
    get ending() {
      return ending;
    },
  };
}

const OPEN_STATES: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);

/** Reads answers of `/v1/responses`, whole or as events. */
export function createResponsesReader({ queue, includesThinking, names }: AnswerReaderOptions): AnswerReader {
  let ending: AnswerEnding | undefined;
  let callsTools = false;
  let refuses = false;
  let hasItems = false;

  const events: Readonly<Record<string, (event: JsonRecord) => void>> = {
    'response.output_item.added': ({ output_index: index, item }) => beginItem(item, index),
    'response.output_item.done': ({ output_index: index, item }) => endItem(item, index),
    'response.output_text.delta': (event) => addText(event, event.delta),
    'response.refusal.delta': (event) => {
      refuses = true;
      addText(event, event.delta);
    },
    'response.reasoning_summary_part.added': ({ output_index: index, summary_index: part }) =>
      beginThought(index, part),
    'response.reasoning_summary_text.delta': ({ output_index: index, delta }) => addThought(index, delta),
    'response.reasoning_text.delta': ({ output_index: index, delta }) => addThought(index, delta),
    'response.function_call_arguments.delta': ({ output_index: index, delta }) => add(keyOf(index), delta),
    'response.completed': ({ response }) => end(response),
    'response.incomplete': ({ response }) => end(response),
    'response.failed': ({ response }) => fail(isRecord(response) ? response.error : undefined),
    'response.cancelled': () => fail(undefined),
    error: (event) => fail(isRecord(event.error) ? event.error : event),
  };

  function add(key: string, delta: unknown): void {
    if (typeof delta === 'string') queue.add(key, delta);
  }

  function addText({ output_index: index, content_index: part }: JsonRecord, delta: unknown): void {
    const key = partKeyOf(index, part);
    queue.open(key, { type: 'text' });
    add(key, delta);
  }

  /** Its parts become one block, separated by an empty line. */
  function beginThought(index: unknown, part: unknown): void {
    if (typeof part === 'number' && part > 0 && queue.hasText(keyOf(index))) addThought(index, '\n\n');
  }

  function addThought(index: unknown, delta: unknown): void {
    if (!includesThinking) return;
    queue.open(keyOf(index), { type: 'thinking' });
    add(keyOf(index), delta);
  }

  function beginItem(item: unknown, index: unknown): void {
    hasItems = true;
    if (!isRecord(item) || item.type !== 'function_call') return;
    callsTools = true;
    const block = toolUseOf(item.call_id ?? item.id, item.name, names);
    if (block) queue.open(keyOf(index), block);
    else ending = NAMELESS_CALL;
  }

  /** Includes text that was not streamed before: some servers send items only when they are done. */
  function endItem(item: unknown, index: unknown): void {
    if (!isRecord(item)) return;
    const key = keyOf(index);
    beginItem(item, index);
    if (item.type === 'function_call' && !queue.hasText(key)) add(key, inputTextOf(item.arguments));
    if (item.type === 'reasoning' && !queue.hasText(key)) {
      // Servers of open models send the thoughts themselves, and no summary.
      const thoughts = [item.summary, item.content].map(partsOf).find((parts) => parts.length > 0) ?? [];
      for (const [part, { text }] of thoughts.entries()) {
        beginThought(index, part);
        addThought(index, text);
      }
    }
    queue.close(key);
    if (item.type !== 'message') return;
    for (const [part, { type, text, refusal }] of partsOf(item.content).entries()) {
      const partKey = partKeyOf(index, part);
      if (type === 'refusal') refuses = true;
      if (!queue.hasText(partKey)) addText({ output_index: index, content_index: part }, text ?? refusal);
      queue.close(partKey);
    }
  }

  function end(response: unknown): void {
    const { status, incomplete_details: details, output } = isRecord(response) ? response : {};
    const reason = status === 'incomplete' && isRecord(details) ? details.reason : undefined;
    // Some servers send all of it at once.
    if (!hasItems && Array.isArray(output)) output.forEach((item, index) => void endItem(item, index));
    if (ending) return;
    queue.closeAll();
    if (reason === 'max_output_tokens') ending = { reason: 'max_tokens' };
    else if (reason === 'content_filter' || refuses) ending = { reason: 'refusal' };
    else ending = { reason: callsTools ? 'tool_use' : 'end_turn' };
  }

  function fail(error: unknown): void {
    ending = { failure: failureOf(error) };
  }

  return {
    event(data) {
      if (!isRecord(data)) return;
      // Live servers sometimes send an error without a type.
      const type = typeof data.type === 'string' ? data.type : data.error === undefined ? '' : 'error';
      if (Object.hasOwn(events, type)) events[type]?.(data);
    },
    whole(answer) {
      if (!isRecord(answer)) return;
      if (answer.status === 'failed' || answer.status === 'cancelled') {
        fail(answer.error);
      } else if (Array.isArray(answer.output) && !OPEN_STATES.has(answer.status)) end(answer);
    },
    get ending() {
      return ending;
    },
  };
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
