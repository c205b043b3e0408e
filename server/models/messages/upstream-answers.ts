import { createJsonEnd, type JsonEnd, restoreNumbers } from './exact-json.js';
import { isMembers, type Members } from './message-parts.js';
import { type BlockQueue, type StopReason, toolUseOf } from './sinks.js';

/** How an answer ended, by what it says of itself. */
export type Told = { reason: StopReason } | { failure: SanitizedError };

/** As this format tells it. */
export interface SanitizedError {
  type: 'api_error' | 'invalid_request_error' | 'overloaded_error' | 'rate_limit_error' | 'timeout_error';
  message: string;
}

/** Understands the answers of one format, and puts what they say into blocks. */
export interface AnswerReader {
  /** The data of one event, with numbers marked; a text where it is no JSON. */
  event(data: unknown): void;
  /** An answer that came in one piece. It has not ended where this is none. */
  whole(answer: unknown): void;
  /** Undefined until it has ended. */
  readonly told: Told | undefined;
}

export interface AnswerReaderOptions {
  queue: BlockQueue;
  /** Whether what the model thinks goes into the answer. */
  showsThinking: boolean;
}

/** Where a model calls a tool and does not say which. */
export const NAMELESS_CALL: Told = {
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

/** The input of a tool as JSON, where there is some: some servers send what they should send as a text as an object. */
export function inputTextOf(input: unknown): string {
  if (typeof input === 'string') return input;
  return isMembers(input) ? restoreNumbers(JSON.stringify(input)) : '';
}

/** @param error as an answer has it: `code` and `type` say what kind it is of. */
export function failureOf(error: unknown): SanitizedError {
  const { code, type, message } = isMembers(error) ? error : {};
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

/** Reads answers of `/v1/chat/completions`, whole or in events. */
export function createChatReader({ queue, showsThinking }: AnswerReaderOptions): AnswerReader {
  let told: Told | undefined;
  let reason: StopReason = 'end_turn';
  let refuses = false;
  /** Key of the text or thought that goes on, and its kind. */
  let words: { key: string; type: 'text' | 'thinking' } | undefined;
  let blocks = 0;
  /** Of the tools that are called, by their index: what came of their inputs. */
  const calls = new Map<unknown, Call>();
  const inOrder: Call[] = [];
  /** Of those in order, that were seen to be whole. */
  let wholeCalls = 0;

  /** A text goes on until something else comes. */
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

  /** Nothing says that a call is done; its input does once it is whole. */
  function closeWholeCalls(): void {
    for (let one = inOrder[wholeCalls]; one?.end.isWhole; one = inOrder[wholeCalls]) {
      queue.close(one.key);
      wholeCalls += 1;
    }
  }

  function call(value: unknown, place: number): void {
    if (!isMembers(value)) return;
    const { index = place, id, function: called } = value;
    const { name, arguments: input } = isMembers(called) ? called : {};
    let open = calls.get(index);
    // Some servers have one index for all of them.
    const isAnother = typeof id === 'string' && id !== '' && open?.id !== id && typeof name === 'string' && name !== '';
    if (!open || isAnother) {
      const block = toolUseOf(id, name);
      if (!block) {
        told = NAMELESS_CALL;
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

  /** What a message says, or what an event adds to it. */
  function read({ content, refusal, reasoning_content: thought, reasoning, tool_calls: called }: Members): void {
    if (showsThinking) speak('thinking', thought ?? reasoning);
    // Of servers that answer in parts, those that are text.
    const texts = Array.isArray(content) ? content.filter(isMembers).map(({ text }) => text) : [content];
    for (const text of texts) speak('text', text);
    if (typeof refusal === 'string' && refusal !== '') {
      refuses = true;
      speak('text', refusal);
    }
    if (Array.isArray(called)) called.forEach((one, place) => void call(one, place));
  }

  /** One is asked for; a server that makes several tells them apart by their index. */
  function readChoice(choices: readonly unknown[]): void {
    const first = choices.filter(isMembers).find(({ index }) => index === 0 || typeof index !== 'number');
    if (!first) return;
    const { delta, message, finish_reason: finish } = first;
    const says = delta ?? message;
    if (isMembers(says)) read(says);
    if (finish !== undefined && finish !== null) reason = REASONS.get(finish) ?? 'end_turn';
  }

  function end(): void {
    if (told) return;
    queue.closeAll();
    if (refuses) told = { reason: 'refusal' };
    else told = { reason: reason === 'end_turn' && calls.size > 0 ? 'tool_use' : reason };
  }

  return {
    event(data) {
      if (data === DONE) {
        end();
      } else if (isMembers(data) && data.error) told = { failure: failureOf(data.error) };
      else if (isMembers(data) && Array.isArray(data.choices)) readChoice(data.choices);
    },
    whole(answer) {
      if (!isMembers(answer)) return;
      if (answer.error) told = { failure: failureOf(answer.error) };
      if (!Array.isArray(answer.choices) || answer.choices.length === 0) return;
      readChoice(answer.choices);
      end();
    },
    get told() {
      return told;
    },
  };
}

const OPEN_STATES: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);

/** Reads answers of `/v1/responses`, whole or in events. */
export function createResponsesReader({ queue, showsThinking }: AnswerReaderOptions): AnswerReader {
  let told: Told | undefined;
  let callsTools = false;
  let refuses = false;
  let hasItems = false;

  const events: Readonly<Record<string, (event: Members) => void>> = {
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
    'response.failed': ({ response }) => fail(isMembers(response) ? response.error : undefined),
    'response.cancelled': () => fail(undefined),
    error: (event) => fail(isMembers(event.error) ? event.error : event),
  };

  function add(key: string, delta: unknown): void {
    if (typeof delta === 'string') queue.add(key, delta);
  }

  function addText({ output_index: index, content_index: part }: Members, delta: unknown): void {
    const key = partKeyOf(index, part);
    queue.open(key, { type: 'text' });
    add(key, delta);
  }

  /** Its parts become one block; between two of them is an empty line. */
  function beginThought(index: unknown, part: unknown): void {
    if (typeof part === 'number' && part > 0 && queue.hasSaid(keyOf(index))) addThought(index, '\n\n');
  }

  function addThought(index: unknown, delta: unknown): void {
    if (!showsThinking) return;
    queue.open(keyOf(index), { type: 'thinking' });
    add(keyOf(index), delta);
  }

  function beginItem(item: unknown, index: unknown): void {
    hasItems = true;
    if (!isMembers(item) || item.type !== 'function_call') return;
    callsTools = true;
    const block = toolUseOf(item.call_id ?? item.id, item.name);
    if (block) queue.open(keyOf(index), block);
    else told = NAMELESS_CALL;
  }

  /** With what was not told before: some servers send items when they are done, and nothing of them until then. */
  function endItem(item: unknown, index: unknown): void {
    if (!isMembers(item)) return;
    const key = keyOf(index);
    beginItem(item, index);
    if (item.type === 'function_call' && !queue.hasSaid(key)) add(key, inputTextOf(item.arguments));
    if (item.type === 'reasoning' && !queue.hasSaid(key)) {
      for (const [part, { text }] of partsOf(item.summary).entries()) {
        beginThought(index, part);
        addThought(index, text);
      }
    }
    queue.close(key);
    if (item.type !== 'message') return;
    for (const [part, { type, text, refusal }] of partsOf(item.content).entries()) {
      const partKey = partKeyOf(index, part);
      if (type === 'refusal') refuses = true;
      if (!queue.hasSaid(partKey)) addText({ output_index: index, content_index: part }, text ?? refusal);
      queue.close(partKey);
    }
  }

  function end(response: unknown): void {
    const { status, incomplete_details: details, output } = isMembers(response) ? response : {};
    const reason = status === 'incomplete' && isMembers(details) ? details.reason : undefined;
    // Some servers tell all of it at once.
    if (!hasItems && Array.isArray(output)) output.forEach((item, index) => void endItem(item, index));
    if (told) return;
    queue.closeAll();
    if (reason === 'max_output_tokens') told = { reason: 'max_tokens' };
    else if (reason === 'content_filter' || refuses) told = { reason: 'refusal' };
    else told = { reason: callsTools ? 'tool_use' : 'end_turn' };
  }

  function fail(error: unknown): void {
    told = { failure: failureOf(error) };
  }

  return {
    event(data) {
      if (!isMembers(data)) return;
      // Live servers at times send an error without a type.
      const type = typeof data.type === 'string' ? data.type : data.error === undefined ? '' : 'error';
      if (Object.hasOwn(events, type)) events[type]?.(data);
    },
    whole(answer) {
      if (!isMembers(answer)) return;
      if (answer.status === 'failed' || answer.status === 'cancelled') {
        fail(answer.error);
      } else if (Array.isArray(answer.output) && !OPEN_STATES.has(answer.status)) end(answer);
    },
    get told() {
      return told;
    },
  };
}

/** What is no index is one and the same. */
function keyOf(index: unknown): string {
  return typeof index === 'number' || typeof index === 'string' ? String(index) : '';
}

function partKeyOf(index: unknown, part: unknown): string {
  return `${keyOf(index)}/${keyOf(part)}`;
}

function partsOf(value: unknown): readonly Members[] {
  return Array.isArray(value) ? value.filter(isMembers) : [];
}
