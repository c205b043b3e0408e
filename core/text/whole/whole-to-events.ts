/*
 * Makes a stream of events from an answer that came whole, since some servers ignore `stream` while the client reads
 * events. Each text becomes one delta, and a long one several, so that no reader holds the event loop for an event of
 * many megabytes. The events and their order are those that the vendor of the format sends. The answer is read
 * completely first, at most 32 MiB, so an error in it is still an HTTP error for the client. Large integers stay exact.
 */

import type { WritingRoute } from '../../contracts/index.js';
import { DONE_EVENT, encodeEvent, encodeTypedEvent, GatewayError, recordOf } from '../../runtime/index.js';
import { MAX_ANSWER_BYTES } from '../chats/response-writer.js';
import type { BodyConverter } from '../chats/translation.js';
import { given, isGiven, type JsonRecord, listOf } from '../chats/values.js';
import { parseMarkedObject, restoreNumbers } from '../exact-json.js';
import { createWholeConverter } from './whole-converter.js';

/** @throws GatewayError `upstream_error` at the end, if it is no JSON object, or an error. */
export function createWholeToEvents(route: WritingRoute): BodyConverter {
  return createWholeConverter(EVENTS, { route }, MAX_ANSWER_BYTES);
}

/** Characters of a delta: more than nearly all texts have. */
const MAX_DELTA = 32 * 1024;

/** The pieces of a text, in order; no character outside of the basic plane is cut in two. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < text.length; ) {
    let end = start + MAX_DELTA;
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last <= 0xdbff) end -= 1;
    pieces.push(text.slice(start, end));
    start = end;
  }
  return pieces;
}

/** The deltas of a field with a text; one delta for any other value, and for an empty text. */
function deltasOf(field: string, value: unknown, more: JsonRecord = {}): JsonRecord[] {
  if (typeof value !== 'string' || value === '') return [{ ...more, [field]: value }];
  return piecesOf(value).map((piece) => ({ ...more, [field]: piece }));
}

/** The events of a whole answer. */
export function eventsOfWhole(bytes: Buffer, { route }: { route: WritingRoute }): string {
  return restoreNumbers(ENCODERS[route](readAnswer(bytes)));
}

const EVENTS = { module: import.meta.url, name: 'eventsOfWhole', run: eventsOfWhole };

function readAnswer(bytes: Buffer): JsonRecord {
  const answer = parseMarkedObject(bytes.toString('utf8').replace(/^\ufeff/, ''));
  if (!answer) throw new GatewayError('upstream_error', 'The model did not answer with JSON.');
  const isFailed = isGiven(answer.error) && answer.object !== 'response';
  if (isFailed || answer.type === 'error')
    throw new GatewayError('upstream_error', 'The model answered with an error.');
  return answer;
}

const ENCODERS: Readonly<Record<WritingRoute, (answer: JsonRecord) => string>> = {
  chat_completions: chatEvents,
  responses: responseEvents,
  messages: messageEvents,
};

function chatEvents({ choices, usage, object: _, ...head }: JsonRecord): string {
  const chunk = (fields: JsonRecord) =>
    encodeEvent(JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields }));
  const events = listOf(choices).flatMap(({ index = 0, message, logprobs = null, finish_reason: reason }) => {
    const {
      role = 'assistant',
      content,
      reasoning_content,
      reasoning,
      tool_calls: calls,
      ...others
    } = recordOf(message);
    const thoughts = given({ reasoning_content, reasoning });
    const isLong = Object.values(thoughts).some((text) => String(text).length > MAX_DELTA);
    const more = given(others);
    const spoken = isGiven(content) && content !== '' ? deltasOf('content', content) : [];
    const deltas = [
      { role, content: '' },
      ...(isLong ? Object.entries(thoughts).flatMap(([field, value]) => deltasOf(field, value)) : []),
      ...(!isLong && Object.keys(thoughts).length > 0 ? [thoughts] : []),
      ...spoken,
      ...(Object.keys(more).length > 0 ? [more] : []),
      ...callDeltas(listOf(calls)),
    ];
    const changes = deltas.map((delta) => ({
      index,
      delta,
      logprobs: delta === spoken[0] ? logprobs : null,
      finish_reason: null,
    }));
    const end = { index, delta: {}, logprobs: null, finish_reason: reason ?? 'stop' };
    return [...changes, end].map((choice) => chunk({ choices: [choice] }));
  });
  const counted = isGiven(usage) ? chunk({ choices: [], usage }) : '';
  return events.join('') + counted + DONE_EVENT;
}

/** All calls at once, but for what is behind the beginning of long arguments. */
function callDeltas(calls: readonly JsonRecord[]): JsonRecord[] {
  const rest: JsonRecord[] = [];
  const tool_calls = calls.map((call, index) => {
    const called = recordOf(call.function);
    const args = called.arguments;
    if (typeof args !== 'string' || args.length <= MAX_DELTA) return { index, ...call };
    const [first, ...others] = deltasOf('arguments', args);
    rest.push(...others.map((one) => ({ tool_calls: [{ index, function: one }] })));
    return { index, ...call, function: { ...called, ...first } };
  });
  return tool_calls.length > 0 ? [{ tool_calls }, ...rest] : [];
}

function messageEvents(message: JsonRecord): string {
  const { content, stop_reason, stop_sequence = null, usage } = message;
  const begun = { ...recordOf(usage), output_tokens: 0 };
  const start = { ...message, content: [], stop_reason: null, stop_sequence: null, usage: begun };
  const blocks = listOf(content).map((block, index) => {
    const { first, deltas } = partsOf(block);
    return [
      encodeTypedEvent('content_block_start', { index, content_block: first }),
      ...deltas.map((delta) => encodeTypedEvent('content_block_delta', { index, delta })),
      encodeTypedEvent('content_block_stop', { index }),
    ].join('');
  });
  const end = encodeTypedEvent('message_delta', { delta: { stop_reason, stop_sequence }, usage: recordOf(usage) });
  return (
    encodeTypedEvent('message_start', { message: start }) + blocks.join('') + end + encodeTypedEvent('message_stop')
  );
}

/** A block as it begins, and its changes. A block of another type begins as it is. */
function partsOf(block: JsonRecord): { first: JsonRecord; deltas: JsonRecord[] } {
  const { type, text, thinking, signature, input, citations } = block;
  if (type === 'text')
    return {
      first: { ...block, text: '', ...(Array.isArray(citations) && { citations: [] }) },
      deltas: [
        ...listOf(citations).map((citation) => ({ type: 'citations_delta', citation })),
        ...deltasOf('text', text, { type: 'text_delta' }),
      ],
    };
  if (type === 'thinking')
    return {
      first: { ...block, thinking: '', signature: '' },
      deltas: [
        ...deltasOf('thinking', thinking, { type: 'thinking_delta' }),
        ...(isGiven(signature) ? [{ type: 'signature_delta', signature }] : []),
      ],
    };
  if (type === 'tool_use' || type === 'server_tool_use')
    return {
      first: { ...block, input: {} },
      deltas: deltasOf('partial_json', restoreNumbers(JSON.stringify(input ?? {})), { type: 'input_json_delta' }),
    };
  return { first: block, deltas: [] };
}

const LAST_STATES: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

function responseEvents(response: JsonRecord): string {
  let events = '';
  let sequence = 0;
  const emit = (type: string, fields: JsonRecord) => {
    events += encodeTypedEvent(type, { sequence_number: sequence++, ...fields });
  };
  const begun = { ...response, status: 'in_progress', output: [], usage: null };
  emit('response.created', { response: begun });
  emit('response.in_progress', { response: begun });
  for (const [output_index, item] of listOf(response.output).entries()) {
    emit('response.output_item.added', { output_index, item: emptyItem(item) });
    emitParts({ item, place: { item_id: item.id, output_index } }, emit);
    emit('response.output_item.done', { output_index, item });
  }
  const { status } = response;
  emit(`response.${LAST_STATES.has(status) ? status : 'completed'}`, { response });
  return events;
}

function emptyItem(item: JsonRecord): JsonRecord {
  return {
    ...item,
    ...('status' in item && { status: 'in_progress' }),
    ...('content' in item && { content: [] }),
    ...('summary' in item && { summary: [] }),
    ...(typeof item.arguments === 'string' && { arguments: '' }),
    ...(typeof item.input === 'string' && { input: '' }),
  };
}

/** What each type of part streams, and the field with it. */
const PARTS: Readonly<Record<string, string>> = { output_text: 'text', refusal: 'refusal', reasoning_text: 'text' };

interface EmittedItem {
  item: JsonRecord;
  place: JsonRecord;
}

function emitParts({ item, place }: EmittedItem, emit: (type: string, fields: JsonRecord) => void): void {
  const { type, name, arguments: args, input } = item;
  const emitAll = (event: string, all: readonly JsonRecord[]) => {
    for (const fields of all) emit(event, fields);
  };
  for (const [summary_index, part] of listOf(item.summary).entries()) {
    const at = { ...place, summary_index };
    emit('response.reasoning_summary_part.added', { ...at, part: { ...part, text: '' } });
    emitAll('response.reasoning_summary_text.delta', deltasOf('delta', part.text, at));
    emit('response.reasoning_summary_text.done', { ...at, text: part.text });
    emit('response.reasoning_summary_part.done', { ...at, part });
  }
  for (const [content_index, part] of listOf(item.content).entries()) {
    const at = { ...place, content_index };
    const field = PARTS[String(part.type)];
    emit('response.content_part.added', { ...at, part: field === undefined ? part : { ...part, [field]: '' } });
    if (field !== undefined) {
      const logprobs = part.type === 'output_text' ? { logprobs: part.logprobs ?? [] } : {};
      const [first, ...others] = deltasOf('delta', part[field], at);
      const none = part.type === 'output_text' ? { logprobs: [] } : {};
      emitAll(`response.${part.type}.delta`, [
        { ...first, ...logprobs },
        ...others.map((one) => ({ ...one, ...none })),
      ]);
      emit(`response.${part.type}.done`, { ...at, [field]: part[field], ...logprobs });
    }
    emit('response.content_part.done', { ...at, part });
  }
  if (type === 'function_call' && typeof args === 'string') {
    emitAll('response.function_call_arguments.delta', deltasOf('delta', args, place));
    emit('response.function_call_arguments.done', { ...place, name, arguments: args });
  }
  if (type === 'custom_tool_call' && typeof input === 'string') {
    emitAll('response.custom_tool_call_input.delta', deltasOf('delta', input, place));
    emit('response.custom_tool_call_input.done', { ...place, input });
  }
}
