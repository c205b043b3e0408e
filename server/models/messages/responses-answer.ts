import {
  type AnswerReader,
  type AnswerReaderOptions,
  failureOf,
  inputTextOf,
  NAMELESS_CALL,
  type Told,
} from './answer-reader.js';
import { toolUseOf } from './message.js';
import { isMembers, type Members } from './sent.js';

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
