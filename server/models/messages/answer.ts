import type { TextRoute } from '../../../core/contracts/index.js';
import { type ErrorCode, GatewayError } from '../../../core/runtime/index.js';
import {
  createEventTexts,
  inStages,
  LARGE_TEXT,
  MAX_TRANSLATED_BYTES,
  markNumbers,
  restoreNumbers,
  type TextAnswer,
  type TextExchange,
  type ToolNames,
} from '../../../core/text/index.js';
import { anthropicTypeOf } from '../../http/index.js';
import {
  type BlockSink,
  createBlockQueue,
  createContentSink,
  createEventSink,
  describeEnd,
  describeUsage,
  describeWholeUsage,
  encodeEvent,
  type MessageEnd,
  newMessage,
} from './sinks.js';
import { type AnswerEnding, createChatReader, createResponsesReader, type SanitizedError } from './upstream-answers.js';

export interface MessageAnswerOptions {
  /** Format of the upstream's answer. */
  route: TextRoute;
  /** Public model id. */
  model: string;
  stops: readonly string[];
  includesThinking: boolean;
  names: ToolNames;
  exchange: TextExchange;
  requestId: string;
  monotonic(): number;
}

/** Milliseconds without an event after which the client gets a ping. */
const PING_MS = 15_000;
/** Maximum bytes of collected events: the same as of an answer in one piece. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
const TOO_MUCH_WAITS: AnswerEnding = {
  failure: { type: 'api_error', message: 'The model does not end a call of a tool, and too much waits behind it.' },
};
/** The error code for a failure that the model reports before any output. */
const FAILURE_CODES: Readonly<Record<SanitizedError['type'], ErrorCode>> = {
  api_error: 'upstream_error',
  invalid_request_error: 'invalid_prompt',
  overloaded_error: 'upstream_unavailable',
  rate_limit_error: 'upstream_rate_limited',
  timeout_error: 'upstream_timeout',
};
/** Milliseconds for an upstream to close a stream after its terminal event. */
const CLOSE_MS = 1_000;

/**
 * The model's output as one `message`.
 * @throws GatewayError `upstream_error` if it did not answer; `invalid_prompt` or another upstream code, according to
 *   its report.
 */
export async function wholeMessage({ body }: TextAnswer, options: MessageAnswerOptions): Promise<Buffer> {
  const { model, exchange } = options;
  const sink = createContentSink();
  const reading = read(body, sink, options);
  for await (const { bytes } of reading.pieces) {
    if (bytes > MAX_WHOLE_BYTES) throw tooLong();
  }
  const end = reading.end();
  if ('failure' in end) {
    // An answer that was ended here says less than why.
    throw exchange.failure ?? new GatewayError(FAILURE_CODES[end.failure.type], end.failure.message);
  }
  const { usage } = await exchange.ended;
  const content = contentOf(sink, end);
  const message = { ...newMessage(model), content, ...describeEnd(end), usage: describeWholeUsage(usage) };
  const size = content.reduce((sum, block) => sum + sizeOf(block), 0);
  const encode = () => JSON.stringify(message);
  if (size <= LARGE_TEXT) return Buffer.from(restoreNumbers(encode()));
  return inStages([encode, restoreNumbers, (text: string) => Buffer.from(text)]);
}

/** The same as a stream of events. Always ends with `message_stop` or `error`, unless the client has disconnected. */
export async function* messageEvents(
  { body }: TextAnswer,
  options: MessageAnswerOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { model, exchange, requestId, monotonic } = options;
  let pending: Buffer[] = [];
  const send = (event: Buffer) => void pending.push(event);
  const take = () => {
    const [only] = pending;
    const bytes = pending.length === 1 && only ? only : Buffer.concat(pending);
    pending = [];
    return bytes;
  };
  const empty = { content: [], ...describeEnd(undefined), usage: describeWholeUsage(undefined) };
  send(encodeEvent('message_start', { message: { ...newMessage(model), ...empty } }));

  const reading = read(body, createEventSink(send), options);
  let sentAt = monotonic();
  for await (const { isSilent } of reading.pieces) {
    if (pending.length === 0 && (isSilent || monotonic() - sentAt >= PING_MS)) send(encodeEvent('ping'));
    if (pending.length === 0) continue;
    sentAt = monotonic();
    yield take();
  }
  const end = reading.end();
  if ('failure' in end) {
    // If the failure is not the model's own, the gateway's error is more precise than the other format allows. For an
    // upstream that was aborted here, it is only the abort. The error does not wait for the usage.
    const { failure } = exchange;
    const type =
      failure && failure.code !== 'bad_request' ? anthropicTypeOf(failure, { model: true }) : end.failure.type;
    send(encodeEvent('error', { error: { type, message: end.failure.message }, request_id: requestId }));
  } else {
    const { usage } = await exchange.ended;
    send(
      encodeEvent('message_delta', { delta: { ...describeEnd(end), container: null }, usage: describeUsage(usage) }),
    );
    send(encodeEvent('message_stop'));
  }
  yield take();
}

interface Piece {
  /** Whether it was only a keep-alive. */
  isSilent: boolean;
  /** Number of bytes so far. */
  bytes: number;
}

interface Reading {
  /** Must be iterated once; yields whenever bytes arrive. */
  pieces: AsyncIterable<Piece>;
  /** The end of the answer, after the iteration. */
  end(): MessageEnd | Extract<AnswerEnding, { failure: unknown }>;
}

function read(body: TextAnswer['body'], sink: BlockSink, options: MessageAnswerOptions): Reading {
  const { route, stops, includesThinking, names, exchange } = options;
  const queue = createBlockQueue(sink, stops);
  const create = route === 'responses' ? createResponsesReader : createChatReader;
  const reader = create({ queue, includesThinking, names });
  const isDone = () => queue.stop !== undefined || queue.isOverfull;

  async function readBody(whole: Uint8Array): Promise<void> {
    const toText = () => Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString('utf8');
    const take = (value: unknown) => reader.whole(value);
    if (whole.length <= LARGE_TEXT) take(parse(toText()));
    else if (whole.length > MAX_TRANSLATED_BYTES) throw tooLong();
    else await inStages([toText, mark, parseMarked, take]);
  }

  async function* pieces(): AsyncGenerator<Piece, void, undefined> {
    if (body instanceof Uint8Array) {
      await readBody(body);
      yield { isSilent: false, bytes: body.length };
      return;
    }
    const chunks = body[Symbol.asyncIterator]();
    const texts = createEventTexts();
    let closing: NodeJS.Timeout | undefined;
    let bytes = 0;
    try {
      // The first event need not wait for the model. From here on the body is closed, wherever its reader stops.
      yield { isSilent: false, bytes };
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
        bytes += next.value.length;
        const data = texts.push(next.value);
        for (const text of data) {
          if (text !== undefined && !reader.ending && !isDone()) reader.event(parse(text));
        }
        yield { isSilent: data.every((text) => text === undefined), bytes };
        if (isDone()) return;
        // The usage is known when the body has ended.
        if (reader.ending) closing ??= setTimeout(() => void chunks.return?.(), CLOSE_MS);
      }
    } finally {
      clearTimeout(closing);
      // The rest of the model's output is not needed.
      if (queue.stop !== undefined) exchange.leave();
      await chunks.return?.();
    }
  }

  return {
    pieces: pieces(),
    end() {
      if (queue.stop !== undefined) return { reason: 'stop_sequence', sequence: queue.stop };
      if (queue.isOverfull) return TOO_MUCH_WAITS;
      return reader.ending ?? { failure: { type: 'api_error', message: 'The answer of the model was interrupted.' } };
    },
  };
}

/** Returns the text if it is no JSON: the end marker of a chat, or invalid data. */
function parse(text: string): unknown {
  return parseMarked(mark(text));
}

/** Invalid data, which is no JSON either, if it has too many numbers to be marked. */
function mark(text: string): string {
  try {
    return markNumbers(text);
  } catch {
    return 'too many numbers';
  }
}

function parseMarked(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function tooLong(): GatewayError {
  return new GatewayError('upstream_error', 'The answer of the model is too long.');
}

/** Characters of a block's text; those of tools' input are few. */
function sizeOf(block: object): number {
  const { text, thinking } = block as { text?: unknown; thinking?: unknown };
  return String(text ?? '').length + String(thinking ?? '').length;
}

function contentOf(sink: ReturnType<typeof createContentSink>, { reason }: MessageEnd): object[] {
  try {
    return sink.content(reason === 'max_tokens');
  } catch (cause) {
    throw new GatewayError('upstream_error', 'The model called a tool with what is no JSON object.', { cause });
  }
}
