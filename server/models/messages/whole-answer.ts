/*
 * A whole answer of an upstream as one `message`. The code depends on nothing but its parameters, so that a worker
 * thread can convert a large answer while other requests go on. A failure that the model reports becomes the error of
 * the request.
 */

import type { TextRoute, Usage } from '../../../core/contracts/index.js';
import { type ErrorCode, GatewayError } from '../../../core/runtime/index.js';
import { markNumbers, restoreNumbers, ToolNames } from '../../../core/text/index.js';
import { BlockQueue, ContentSink, describeEnd, describeWholeUsage, type MessageEnd, newMessage } from './sinks.js';
import {
  type AnswerEnding,
  type AnswerReader,
  type AnswerReaderOptions,
  ChatAnswer,
  ResponseAnswer,
  type SanitizedError,
} from './upstream-answers.js';

export interface HowToWrite {
  /** Format of the upstream's answer. */
  route: TextRoute;
  /** Public model id. */
  model: string;
  stops: readonly string[];
  includesThinking: boolean;
  /** Of the request, by their names in the answer. */
  tools: ToolNames['tools'];
  usage?: Usage | undefined;
}

/** The error code for a failure that the model reports before any output. */
const FAILURE_CODES: Readonly<Record<SanitizedError['type'], ErrorCode>> = {
  api_error: 'upstream_error',
  invalid_request_error: 'invalid_prompt',
  overloaded_error: 'upstream_unavailable',
  rate_limit_error: 'upstream_rate_limited',
  timeout_error: 'upstream_timeout',
};
const TOO_MUCH_WAITS: AnswerEnding = {
  failure: { type: 'api_error', message: 'The model does not end a call of a tool, and too much waits behind it.' },
};

/** @throws GatewayError as {@link failureOfEnd}, or `upstream_error` for a tool's input that is no object. */
export function messageOf(bytes: Buffer, { tools, usage, ...how }: HowToWrite): string {
  const sink = new ContentSink();
  const queue = new BlockQueue(sink, how.stops);
  const reader = readerOf(how.route, { queue, includesThinking: how.includesThinking, names: new ToolNames(tools) });
  reader.whole(parseData(bytes.toString('utf8')));
  const end = endOf(queue, reader);
  if ('failure' in end) throw failureOfEnd(end);
  return writeMessage(sink, end, { model: how.model, usage });
}

/** To make it of small and of large answers. */
export const MESSAGE = { module: import.meta.url, name: 'messageOf', run: messageOf };

export function readerOf(route: TextRoute, options: AnswerReaderOptions): AnswerReader {
  return route === 'responses' ? new ResponseAnswer(options) : new ChatAnswer(options);
}

/** How an answer ended that was read to its end. */
export function endOf(
  queue: Pick<BlockQueue, 'stop' | 'isOverfull'>,
  reader: AnswerReader,
): MessageEnd | Extract<AnswerEnding, { failure: unknown }> {
  if (queue.stop !== undefined) return { reason: 'stop_sequence', sequence: queue.stop };
  const unended = { failure: { type: 'api_error', message: 'The answer of the model was interrupted.' } } as const;
  return (queue.isOverfull ? TOO_MUCH_WAITS : reader.ending) ?? unended;
}

/** The failure that the model reports, as an error of the request. */
export function failureOfEnd({ failure }: Extract<AnswerEnding, { failure: unknown }>): GatewayError {
  return new GatewayError(FAILURE_CODES[failure.type], failure.message);
}

/** @throws GatewayError `upstream_error` for a tool's input that is no object. */
export function writeMessage(
  sink: ContentSink,
  end: MessageEnd,
  { model, usage }: { model: string; usage: Usage | undefined },
): string {
  const content = contentOf(sink, end);
  const message = { ...newMessage(model), content, ...describeEnd(end), usage: describeWholeUsage(usage) };
  return restoreNumbers(JSON.stringify(message));
}

/**
 * The value of JSON with its numbers marked. Anything else, such as the end marker of a chat or JSON with too many
 * numbers to be marked, is returned as a text.
 */
export function parseData(text: string): unknown {
  try {
    return JSON.parse(markNumbers(text));
  } catch {
    return text;
  }
}

function contentOf(sink: ContentSink, { reason }: MessageEnd): object[] {
  try {
    return sink.content(reason === 'max_tokens');
  } catch (cause) {
    throw new GatewayError('upstream_error', 'The model called a tool with what is no JSON object.', { cause });
  }
}
