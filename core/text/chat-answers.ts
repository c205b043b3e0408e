/*
 * Answers requests of the responses route through upstreams that only have chats. The request becomes a chat
 * (`chat-requests.ts`), and the chat's answer becomes a response (`response-writer.ts`), event by event or as a whole.
 * An answer in one piece is collected first, at most 16 MiB. If it is large, it is converted in stages between which
 * the event loop continues. A chat stream that ends without a finish reason yields no terminal event, so the exchange
 * treats it as broken.
 */

import type { TextCall, TextReply } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { type ChatFormat, chatFromResponses } from './chat-requests.js';
import { isGiven, type JsonRecord, parseRounded, recordOf } from './chat-values.js';
import { createEventTexts } from './events.js';
import { createResponseWriter, type ResponseWriter, tooLong } from './response-writer.js';
import { inStages, LARGE_TEXT, MAX_TRANSLATED_BYTES } from './stages.js';

/** A call of the responses route as a chat, and the way back. */
export interface ChatTranslation {
  /** The call to send: of the chat route. */
  call: TextCall;
  /** The reply to that call as one of the responses route. It is read once. */
  replyOf<Reply extends Pick<TextReply, 'headers' | 'body' | 'ignored'>>(reply: Reply): Reply;
}

const KEEP_ALIVE = ': keep-alive\n\n';

/**
 * Translates a call of the responses route for an upstream that only has chats.
 * @throws GatewayError that says what a chat cannot do, or which field is wrong.
 */
export function translateToChat(call: TextCall, now: () => number, format?: ChatFormat): ChatTranslation {
  const request = JSON.parse(Buffer.from(call.body).toString('utf8')) as JsonRecord;
  const translated = chatFromResponses(request, format);
  const { chat, ignored } = translated;
  return {
    call: { ...call, route: 'chat_completions', body: Buffer.from(JSON.stringify(chat)), parsed: chat },
    replyOf(reply) {
      const isStream = reply.headers['content-type']?.startsWith('text/event-stream') === true;
      const writer = createResponseWriter({ request, ...translated, model: call.model, isStream, now });
      return {
        ...reply,
        ignored: [...ignored, ...(reply.ignored ?? [])],
        body: convertBody(reply.body, isStream ? eventsOf(writer) : wholeOf(writer)),
      };
    },
  };
}

/** Converts a body while it is read. */
export interface BodyConverter {
  /** The text that can be sent now; may be empty. */
  push(chunk: Uint8Array): string;
  finish(): string | Promise<string>;
}

/** A body in another format. No generator: see `resumeBody`. */
export function convertBody(
  source: AsyncIterable<Uint8Array>,
  converter: BodyConverter,
): AsyncIterableIterator<Uint8Array> {
  const chunks = source[Symbol.asyncIterator]();
  let isOver = false;
  const body: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => body,
    async next() {
      try {
        while (!isOver) {
          const { done, value } = await chunks.next();
          if (done) isOver = true;
          const text = done ? await converter.finish() : converter.push(value);
          if (text !== '') return { done: false, value: Buffer.from(text) };
        }
      } catch (error) {
        // What cannot be converted is not read on.
        isOver = true;
        throw error;
      }
      return { done: true, value: undefined };
    },
    async return() {
      isOver = true;
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return body;
}

function wholeOf(writer: ResponseWriter): BodyConverter {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  return {
    push(chunk) {
      bytes += chunk.length;
      if (bytes > MAX_TRANSLATED_BYTES) throw tooLong();
      chunks.push(chunk);
      return '';
    },
    finish() {
      const toText = () => Buffer.concat(chunks).toString('utf8');
      if (bytes <= LARGE_TEXT) return JSON.stringify(respond(read(toText())));
      return inStages([toText, read, respond, JSON.stringify]);
    },
  };

  function read(text: string): JsonRecord {
    try {
      return recordOf(JSON.parse(text));
    } catch {
      throw new GatewayError('upstream_error', 'The model did not answer with JSON.');
    }
  }

  function respond(answer: JsonRecord): JsonRecord {
    if (isGiven(answer.error)) throw new GatewayError('upstream_error', 'The model answered with an error.');
    writer.read(answer, 'message');
    const response = writer.end();
    if (response.status === 'failed') throw new GatewayError('upstream_error', 'The model answered with an error.');
    return response;
  }
}

function eventsOf(writer: ResponseWriter): BodyConverter {
  const texts = createEventTexts();
  return {
    push(chunk) {
      let output = '';
      for (const data of texts.push(chunk)) {
        if (data === undefined) output += KEEP_ALIVE;
        else if (data.trim() === '[DONE]') writer.end();
        else {
          const event = recordOf(parseRounded(data));
          if (isGiven(event.error)) writer.fail(event.error);
          else writer.read(event, 'delta');
        }
        output += writer.takeEvents();
      }
      return output;
    },
    finish() {
      // Without a reason for its end, the stream broke off.
      if (writer.isFinished) writer.end();
      return writer.takeEvents();
    },
  };
}
