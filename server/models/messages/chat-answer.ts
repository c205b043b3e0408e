import {
  type AnswerReader,
  type AnswerReaderOptions,
  failureOf,
  inputTextOf,
  NAMELESS_CALL,
  type Told,
} from './answer-reader.js';
import { createJsonEnd, type JsonEnd } from './json-end.js';
import { type StopReason, toolUseOf } from './message.js';
import { isMembers, type Members } from './sent.js';

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
