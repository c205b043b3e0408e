import {
  createEventTexts,
  type ErrorCode,
  GatewayError,
  type TextAnswer,
  type TextExchange,
  type TextRoute,
} from 'mediagate';
import { anthropicTypeOf } from '../../http/index.js';
import { markNumbers, restoreNumbers } from './exact-json.js';
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
import { createChatReader, createResponsesReader, type SanitizedError, type Told } from './upstream-answers.js';

export interface MessageAnswerOptions {
  /** Format that the answer has. */
  route: TextRoute;
  /** Public model id. */
  model: string;
  stops: readonly string[];
  showsThinking: boolean;
  exchange: TextExchange;
  requestId: string;
  monotonic(): number;
}

/** Milliseconds without an event for the client after which it gets one that says nothing. */
const PING_MS = 15_000;
/** Of events that are gathered: as much as of an answer that comes in one piece. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
const TOO_MUCH_WAITS: Told = {
  failure: { type: 'api_error', message: 'The model does not end a call of a tool, and too much waits behind it.' },
};
/** What a failure that a model tells of is, where nothing was answered yet. */
const FAILURE_CODES: Readonly<Record<SanitizedError['type'], ErrorCode>> = {
  api_error: 'upstream_error',
  invalid_request_error: 'invalid_prompt',
  overloaded_error: 'upstream_unavailable',
  rate_limit_error: 'upstream_rate_limited',
  timeout_error: 'upstream_timeout',
};
/** Milliseconds that an upstream has to close a stream whose end it has told. */
const CLOSE_MS = 1_000;

/**
 * What a model said as one `message`.
 * @throws GatewayError `upstream_error` where it did not answer; by what it tells of that `invalid_prompt` or another of upstreams.
 */
export async function wholeMessage({ body }: TextAnswer, options: MessageAnswerOptions): Promise<Buffer> {
  const { model, exchange } = options;
  const sink = createContentSink();
  const reading = read(body, sink, options);
  for await (const { bytes } of reading.pieces) {
    if (bytes > MAX_WHOLE_BYTES) throw new GatewayError('upstream_error', 'The answer of the model is too long.');
  }
  const end = reading.end();
  if ('failure' in end) throw new GatewayError(FAILURE_CODES[end.failure.type], end.failure.message);
  const { usage } = await exchange.ended;
  const content = contentOf(sink, end);
  const message = { ...newMessage(model), content, ...describeEnd(end), usage: describeWholeUsage(usage) };
  return Buffer.from(restoreNumbers(JSON.stringify(message)));
}

/** The same in events, as they come. Always ends in `message_stop` or `error`, but where the client has left. */
export async function* messageEvents(
  { body }: TextAnswer,
  options: MessageAnswerOptions,
): AsyncGenerator<Buffer, void, undefined> {
  const { model, exchange, requestId, monotonic } = options;
  let told: Buffer[] = [];
  const tell = (event: Buffer) => void told.push(event);
  const take = () => {
    const [only] = told;
    const bytes = told.length === 1 && only ? only : Buffer.concat(told);
    told = [];
    return bytes;
  };
  const empty = { content: [], ...describeEnd(undefined), usage: describeWholeUsage(undefined) };
  tell(encodeEvent('message_start', { message: { ...newMessage(model), ...empty } }));

  const reading = read(body, createEventSink(tell), options);
  let toldAt = monotonic();
  for await (const { isSilent } of reading.pieces) {
    if (told.length === 0 && (isSilent || monotonic() - toldAt >= PING_MS)) tell(encodeEvent('ping'));
    if (told.length === 0) continue;
    toldAt = monotonic();
    yield take();
  }
  const end = reading.end();
  if ('failure' in end) {
    // Where it was no end of the model's own, the gateway knows more about it than the other format has words for; what it knows
    // of an upstream that was left from here is only that.
    const { failure } = await exchange.ended;
    const type =
      failure && failure.code !== 'bad_request' ? anthropicTypeOf(failure, { model: true }) : end.failure.type;
    tell(encodeEvent('error', { error: { type, message: end.failure.message }, request_id: requestId }));
  } else {
    const { usage } = await exchange.ended;
    tell(
      encodeEvent('message_delta', { delta: { ...describeEnd(end), container: null }, usage: describeUsage(usage) }),
    );
    tell(encodeEvent('message_stop'));
  }
  yield take();
}

interface Piece {
  /** Whether it was nothing but a sign of life. */
  isSilent: boolean;
  /** How many came so far. */
  bytes: number;
}

interface Reading {
  /** To be gone through once: each time something came. */
  pieces: AsyncIterable<Piece>;
  /** How it ended, after that. */
  end(): MessageEnd | Extract<Told, { failure: unknown }>;
}

function read(body: TextAnswer['body'], sink: BlockSink, options: MessageAnswerOptions): Reading {
  const { route, stops, showsThinking, exchange } = options;
  const queue = createBlockQueue(sink, stops);
  const create = route === 'responses' ? createResponsesReader : createChatReader;
  const reader = create({ queue, showsThinking });
  const isDone = () => queue.stop !== undefined || queue.isOverfull;

  async function* pieces(): AsyncGenerator<Piece, void, undefined> {
    if (body instanceof Uint8Array) {
      reader.whole(parse(Buffer.from(body).toString('utf8')));
      yield { isSilent: false, bytes: body.length };
      return;
    }
    const chunks = body[Symbol.asyncIterator]();
    const texts = createEventTexts();
    let patience: NodeJS.Timeout | undefined;
    let bytes = 0;
    try {
      // The first event need not wait for the model; and from here on the body is closed, wherever its reader stops.
      yield { isSilent: false, bytes };
      for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
        bytes += next.value.length;
        const data = texts.push(next.value);
        for (const text of data) {
          if (text !== undefined && !reader.told && !isDone()) reader.event(parse(text));
        }
        yield { isSilent: data.every((text) => text === undefined), bytes };
        if (isDone()) return;
        // What was used is known when the body has ended.
        if (reader.told) patience ??= setTimeout(() => void chunks.return?.(), CLOSE_MS);
      }
    } finally {
      clearTimeout(patience);
      // The model has nothing more to say to anybody.
      if (queue.stop !== undefined) exchange.leave();
      await chunks.return?.();
    }
  }

  return {
    pieces: pieces(),
    end() {
      if (queue.stop !== undefined) return { reason: 'stop_sequence', sequence: queue.stop };
      if (queue.isOverfull) return TOO_MUCH_WAITS;
      return reader.told ?? { failure: { type: 'api_error', message: 'The answer of the model broke off.' } };
    },
  };
}

/** A text where it is no JSON: the word that ends a chat, or nobody's concern. */
function parse(text: string): unknown {
  try {
    return JSON.parse(markNumbers(text));
  } catch {
    return text;
  }
}

function contentOf(sink: ReturnType<typeof createContentSink>, { reason }: MessageEnd): object[] {
  try {
    return sink.content(reason === 'max_tokens');
  } catch (cause) {
    throw new GatewayError('upstream_error', 'The model called a tool with what is no JSON object.', { cause });
  }
}
