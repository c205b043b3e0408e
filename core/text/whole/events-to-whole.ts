/*
 * Collects the events of a stream into the whole answer that a client asked for, since some servers always stream.
 * Each route has a gatherer that joins texts, tool calls and usage as an SDK would. Large integers stay exact. An
 * error among the events becomes the body, which is then read like any error. A stream that breaks off before its end
 * is `upstream_error`, and so is an answer of more than 32 MiB.
 */

import type { WritingRoute } from '../../contracts/index.js';
import { GatewayError, recordOf } from '../../runtime/index.js';
import { MAX_ANSWER_BYTES } from '../chats/response-writer.js';
import type { BodyConverter } from '../chats/translation.js';
import { given, isGiven, type JsonRecord, listOf } from '../chats/values.js';
import { parseMarkedObject, restoreNumbers } from '../exact-json.js';
import { createEventTexts } from '../streams/events.js';
import { laterUsage } from '../usage-shapes.js';
import { createWholeConverter } from './whole-converter.js';

interface Gatherer {
  read(event: JsonRecord): void;
  /** The data `[DONE]`. */
  finish(): void;
  /** Undefined if it has not ended. */
  answer(): JsonRecord | undefined;
}

/** @throws GatewayError `upstream_error` if the stream is too long, or broke off. */
export function createEventsToWhole(route: WritingRoute): BodyConverter {
  return createWholeConverter(WHOLE, { route }, MAX_ANSWER_BYTES);
}

/** The whole answer of a stream. */
export function wholeOfEvents(bytes: Buffer, { route }: { route: WritingRoute }): string {
  const texts = createEventTexts();
  const gatherer = GATHERERS[route]();
  let error: JsonRecord | undefined;

  function read(data: string | undefined): void {
    if (data === undefined || data.trim() === '') return;
    if (data.trim() === '[DONE]') {
      gatherer.finish();
      return;
    }
    const event = parseMarkedObject(data);
    if (!event) return;
    const isError = event.type === 'error' || (isGiven(event.error) && event.object !== 'response');
    if (isError) error ??= isGiven(event.error) ? { error: event.error } : { error: event };
    else gatherer.read(event);
  }

  // The last event may lack its blank line.
  for (const piece of [bytes, Buffer.from('\n\n')]) for (const data of texts.push(piece)) read(data);
  const answer = error ?? gatherer.answer();
  if (!answer) throw new GatewayError('upstream_error', 'The answer of the model was interrupted.');
  return restoreNumbers(JSON.stringify(answer));
}

const WHOLE = { module: import.meta.url, name: 'wholeOfEvents', run: wholeOfEvents };

const GATHERERS: Readonly<Record<WritingRoute, () => Gatherer>> = {
  chat_completions: createChatGatherer,
  responses: createResponseGatherer,
  messages: createMessageGatherer,
};

type Fields = Record<string, unknown>;

/** Adds a text or a list to a field; any other value replaces the one before. */
function addTo(fields: Fields, name: string, value: unknown): void {
  const before = fields[name];
  if (!isGiven(value)) return;
  if (typeof value === 'string' && typeof before === 'string') fields[name] = before + value;
  else if (Array.isArray(value) && Array.isArray(before)) for (const one of value) before.push(one);
  else fields[name] = value;
}

interface Choice {
  message: Fields;
  calls: { key: unknown; fields: Fields; called: Fields }[];
  rest: Fields;
  logprobs: unknown;
}

function createChatGatherer(): Gatherer {
  const head: Fields = {};
  const choices = new Map<unknown, Choice>();
  let isDone = false;

  function choiceAt(index: unknown): Choice {
    const known = choices.get(index);
    if (known) return known;
    const fresh: Choice = { message: { role: 'assistant', content: null }, calls: [], rest: {}, logprobs: null };
    choices.set(index, fresh);
    return fresh;
  }

  function readCall({ calls }: Choice, change: JsonRecord, position: number): void {
    const { index: key = position, id, function: called, ...others } = change;
    const { name, arguments: args, ...further } = recordOf(called);
    const last = calls.findLast((one) => one.key === key);
    // Some servers send each whole call with the same index.
    const isOther = isGiven(id) && id !== '' && isGiven(last?.fields.id) && last?.fields.id !== id && isGiven(name);
    const call = !last || isOther ? { key, fields: {} as Fields, called: { name: '', arguments: '' } as Fields } : last;
    if (call !== last) calls.push(call);
    if (isGiven(id) && id !== '') call.fields.id ??= id;
    Object.assign(call.fields, others);
    if (typeof name === 'string' && call.called.name === '') call.called.name = name;
    addTo(call.called, 'arguments', typeof args === 'object' && args !== null ? JSON.stringify(args) : args);
    Object.assign(call.called, further);
  }

  function readChoice({ index = 0, delta, message, logprobs, ...rest }: JsonRecord): void {
    const choice = choiceAt(index);
    const { tool_calls: calls, function_call: legacy, role, ...texts } = recordOf(delta ?? message);
    if (isGiven(role) && role !== '') choice.message.role = role;
    for (const [name, value] of Object.entries(texts)) addTo(choice.message, name, value);
    for (const [position, call] of listOf(calls).entries()) readCall(choice, call, position);
    if (isGiven(legacy)) {
      const joined: Fields = { ...recordOf(choice.message.function_call) };
      for (const [name, value] of Object.entries(recordOf(legacy))) addTo(joined, name, value);
      choice.message.function_call = joined;
    }
    if (isGiven(logprobs)) {
      const joined: Fields = { ...recordOf(choice.logprobs) };
      for (const [name, value] of Object.entries(recordOf(logprobs))) addTo(joined, name, value);
      choice.logprobs = joined;
    }
    for (const [name, value] of Object.entries(rest)) if (isGiven(value)) choice.rest[name] = value;
  }

  return {
    read({ choices: changed, ...fields }) {
      for (const [name, value] of Object.entries(fields)) if (isGiven(value)) head[name] = value;
      for (const choice of listOf(changed)) readChoice(choice);
    },
    finish() {
      isDone = true;
    },
    answer() {
      const all = [...choices].sort(([one], [other]) => Number(one) - Number(other));
      const isWhole = isDone || (all.length > 0 && all.every(([, { rest }]) => isGiven(rest.finish_reason)));
      if (!isWhole) return undefined;
      const { obfuscation: _, usage, ...rest } = head;
      return {
        ...rest,
        object: 'chat.completion',
        choices: all.map(([index, { message, calls, logprobs, rest: ends }]) => ({
          index,
          message: {
            ...message,
            ...(calls.length > 0 && {
              tool_calls: calls.map(({ fields, called }) => ({ type: 'function', ...fields, function: called })),
            }),
          },
          logprobs,
          finish_reason: null,
          ...ends,
        })),
        ...(isGiven(usage) && { usage }),
      };
    },
  };
}

const RESPONSE_ENDS: ReadonlySet<unknown> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
  'response.cancelled',
]);

function createResponseGatherer(): Gatherer {
  const items = new Map<unknown, JsonRecord>();
  let text = '';
  let response: JsonRecord | undefined;

  function outputOf(): readonly JsonRecord[] {
    if (items.size > 0) return [...items].sort(([one], [other]) => Number(one) - Number(other)).map(([, item]) => item);
    if (text === '') return [];
    const content = [{ type: 'output_text', text, annotations: [] }];
    return [{ id: 'msg_0', type: 'message', status: 'completed', role: 'assistant', content }];
  }

  return {
    read({ type, response: sent, item, output_index: index, delta }) {
      if (type === 'response.output_item.done') items.set(index, recordOf(item));
      if (type === 'response.output_text.delta' && typeof delta === 'string') text += delta;
      if (RESPONSE_ENDS.has(type)) response = recordOf(sent);
    },
    finish() {},
    answer() {
      const isFilled = Array.isArray(response?.output) && response.output.length > 0;
      return response && (isFilled ? response : { ...response, output: outputOf() });
    },
  };
}

interface Block {
  fields: Fields;
  json: string;
}

/** Fields of the changes of a block, by their type. */
const CHANGES: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
};

function createMessageGatherer(): Gatherer {
  const blocks = new Map<unknown, Block>();
  let message: JsonRecord | undefined;
  let isDone = false;
  let end: JsonRecord = {};
  let usage: JsonRecord = {};

  function change({ fields }: Block, delta: JsonRecord): void {
    const name = CHANGES[String(delta.type)];
    if (name !== undefined) addTo(fields, name, delta[name]);
    if (delta.type !== 'citations_delta') return;
    if (Array.isArray(fields.citations)) fields.citations.push(delta.citation);
    else fields.citations = [delta.citation];
  }

  return {
    read({ type, message: first, index, content_block: block, delta, usage: counted }) {
      if (type === 'message_start') {
        message = recordOf(first);
        usage = given(recordOf(message.usage));
      } else if (type === 'content_block_start') blocks.set(index, { fields: { ...recordOf(block) }, json: '' });
      else if (type === 'content_block_delta') {
        const found = blocks.get(index);
        const { type: kind, partial_json: json } = recordOf(delta);
        if (found && kind === 'input_json_delta') found.json += typeof json === 'string' ? json : '';
        else if (found) change(found, recordOf(delta));
      } else if (type === 'message_delta') {
        end = { ...end, ...given(recordOf(delta)) };
        usage = { ...laterUsage(usage, given(recordOf(counted))) };
      } else if (type === 'message_stop') isDone = true;
    },
    finish() {
      isDone = true;
    },
    answer() {
      if (!message || !(isDone || isGiven(end.stop_reason))) return undefined;
      const content = [...blocks]
        .sort(([one], [other]) => Number(one) - Number(other))
        .map(([, { fields, json }]) => (json === '' ? fields : { ...fields, input: parseMarkedObject(json) ?? {} }));
      return { ...message, content, stop_sequence: null, ...end, usage };
    },
  };
}
