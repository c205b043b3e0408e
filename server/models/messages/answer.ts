/*
 * Converts what an upstream answers into Anthropic's format: one `message`, or a stream of events. A stream always ends
 * with `message_stop` or `error`, unless the client has disconnected, and a silence of 15 s yields a `ping`. A stop
 * sequence ends the exchange with the upstream, since the rest of its output is not needed. After the terminal event,
 * the upstream has 1 s to close its stream, because only then is the usage known. Large whole answers are converted in
 * a worker thread; one that is collected from events may have 32 MiB.
 */

import { GatewayError } from '../../../core/runtime/index.js';
import {
  convertWhole,
  createEventTexts,
  LARGE_TEXT,
  type TextAnswer,
  type TextExchange,
  type ToolNames,
} from '../../../core/text/index.js';
import { anthropicTypeOf } from '../../http/index.js';
import {
  BlockQueue,
  type BlockSink,
  ContentSink,
  createEventSink,
  describeEnd,
  describeUsage,
  describeWholeUsage,
  encodeEvent,
  type MessageEnd,
  newMessage,
} from './sinks.js';
import type { AnswerEnding } from './upstream-answers.js';
import { endOf, failureOfEnd, type HowToWrite, MESSAGE, parseData, readerOf, writeMessage } from './whole-answer.js';

export interface MessageAnswerOptions extends Pick<HowToWrite, 'route' | 'model' | 'stops' | 'includesThinking'> {
  names: ToolNames;
  exchange: TextExchange;
  requestId: string;
  monotonic(): number;
}

/** Milliseconds without an event after which the client gets a ping. */
const PING_MS = 15_000;
/** Maximum bytes of collected events: the same as of an answer in one piece. */
const MAX_WHOLE_BYTES = 32 * 1024 * 1024;
/** Milliseconds for an upstream to close a stream after its terminal event. */
const CLOSE_MS = 1_000;

/**
 * The model's output as one `message`. The signal aborts when the client leaves.
 * @throws GatewayError `upstream_error` if it did not answer; `invalid_prompt` or another upstream code, according to
 *   its report.
 */
export async function wholeMessage(
  { body }: TextAnswer,
  options: MessageAnswerOptions & { signal(): AbortSignal },
): Promise<Buffer> {
  const { model, exchange, names, route, stops, includesThinking } = options;
  if (body instanceof Uint8Array) {
    const { usage } = await exchange.ended;
    const how = { route, model, stops, includesThinking, tools: names.tools, usage };
    return convertWhole(MESSAGE, body, how, body.length > LARGE_TEXT ? options.signal() : undefined);
  }
  const sink = new ContentSink();
  const reading = read(body, sink, options);
  for await (const { bytes } of reading.pieces) {
    if (bytes > MAX_WHOLE_BYTES) throw new GatewayError('upstream_error', 'The answer of the model is too long.');
  }
  const end = reading.end();
  // An answer that was ended here says less than why.
  if ('failure' in end) throw exchange.failure ?? failureOfEnd(end);
  const { usage } = await exchange.ended;
  return Buffer.from(writeMessage(sink, end, { model, usage }));
}

/** The answer as a stream of events. Always ends with `message_stop` or `error`, unless the client has disconnected. */
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
  const queue = new BlockQueue(sink, stops);
  const reader = readerOf(route, { queue, includesThinking, names });
  const isDone = () => queue.stop !== undefined || queue.isOverfull;

  async function* pieces(): AsyncGenerator<Piece, void, undefined> {
    if (body instanceof Uint8Array) {
      // Short: the core makes events of what comes whole, except for errors.
      reader.whole(parseData(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8')));
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
          if (text !== undefined && !reader.ending && !isDone()) reader.event(parseData(text));
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
    end: () => endOf(queue, reader),
  };
}
