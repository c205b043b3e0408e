/*
 * Answers requests of the responses route through upstreams that only have chats. The request becomes a chat
 * (`requests.ts`), and the chat's answer becomes a response (`response-writer.ts`), event by event or as a whole. An
 * answer in one piece is collected first, at most 16 MiB. A large request or answer is converted in a worker thread
 * (`large-work.ts`), by the same function as a small one. A chat stream that ends without a finish reason yields no
 * terminal event, so the exchange treats it as broken.
 */

import type { TextCall, TextReply } from '../../contracts/index.js';
import { GatewayError, KEEP_ALIVE, recordOf } from '../../runtime/index.js';
import { LARGE_TEXT, workOn } from '../large-work.js';
import { createEventTexts } from '../streams/events.js';
import { createWholeConverter } from '../whole/whole-converter.js';
import { type ChatFormat, type ChatFromResponses, chatFromResponses } from './requests.js';
import { ResponseWriter, type WriterOptions } from './response-writer.js';
import { ToolNames } from './tool-names.js';
import { isGiven, type JsonRecord, parseRounded } from './values.js';

/** A call of the responses route as a chat, and the way back. */
export interface ChatTranslation {
  /** The call to send: of the chat route. */
  call: TextCall;
  /** The reply to that call as one of the responses route. It is read once. */
  replyOf<Reply extends Pick<TextReply, 'headers' | 'body' | 'ignored'>>(reply: Reply): Reply;
}

/**
 * Translates a call of the responses route for an upstream that only has chats; a large one in a thread.
 * @throws GatewayError that says what a chat cannot do, or which field is wrong.
 */
export async function translateToChat(
  call: TextCall,
  now: () => number,
  format?: ChatFormat,
): Promise<ChatTranslation> {
  return translationBy(call, now, await workOn(CHAT, call.body, format, call.signal));
}

interface ChatOfRequest extends Pick<ChatFromResponses, 'customTools' | 'ignored'> {
  body: string;
  /** Without its messages, if it is long. */
  parsed: JsonRecord;
  tools: ToolNames['tools'];
  /** What a response may repeat of the request. */
  request: JsonRecord;
}

/** The body of a request as a chat. */
export function chatOfRequest(bytes: Buffer, format?: ChatFormat): ChatOfRequest {
  const { input, ...request } = JSON.parse(bytes.toString('utf8')) as JsonRecord;
  const { chat, ignored, names, customTools } = chatFromResponses({ ...request, input }, format);
  const { messages: _messages, ...rest } = chat;
  const parsed = bytes.length > LARGE_TEXT ? rest : chat;
  return { body: JSON.stringify(chat), parsed, ignored, customTools, tools: names.tools, request };
}

const CHAT = { module: import.meta.url, name: 'chatOfRequest', run: chatOfRequest };

function translationBy(
  call: TextCall,
  now: () => number,
  sent: Omit<ChatOfRequest, 'body'> & { body: Uint8Array },
): ChatTranslation {
  const { body, parsed, ignored, tools, customTools, request } = sent;
  return {
    call: { ...call, route: 'chat_completions', body, parsed },
    replyOf(reply) {
      const isStream = reply.headers['content-type']?.startsWith('text/event-stream') === true;
      const how = { request, customTools, model: call.model };
      const converter = isStream
        ? eventsOf(new ResponseWriter({ ...how, names: new ToolNames(tools), isStream, now }))
        : createWholeConverter(RESPONSE, { ...how, tools, at: now() });
      return {
        ...reply,
        ignored: [...ignored, ...(reply.ignored ?? [])],
        body: convertBody(reply.body, converter),
      };
    },
  };
}

/** Converts a body while it is read. */
export interface BodyConverter {
  /** The text that can be sent now; may be empty. */
  push(chunk: Uint8Array): string;
  finish(): string | Promise<string | Uint8Array>;
  /** The reader has stopped. Default: nothing is to be ended. */
  close?(): void;
}

/** A body in another format. It is no generator: one that waits for a chunk would not notice that its reader has left. */
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
          if (text.length > 0) return { done: false, value: typeof text === 'string' ? Buffer.from(text) : text };
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
      converter.close?.();
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return body;
}

interface HowToRespond extends Pick<WriterOptions, 'request' | 'customTools' | 'model'> {
  tools: ToolNames['tools'];
  /** Milliseconds since 1970. */
  at: number;
}

/** The whole answer of a chat as a response. */
export function responseOfChat(bytes: Buffer, { tools, at, ...how }: HowToRespond): string {
  const writer = new ResponseWriter({ ...how, names: new ToolNames(tools), isStream: false, now: () => at });
  const answer = readChat(bytes.toString('utf8'));
  if (isGiven(answer.error)) throw new GatewayError('upstream_error', 'The model answered with an error.');
  if (!Array.isArray(answer.choices) || answer.choices.length === 0)
    throw new GatewayError('upstream_error', 'The model answered without a choice.');
  writer.read(answer, 'message');
  const response = writer.end();
  if (response.status === 'failed') throw new GatewayError('upstream_error', 'The model answered with an error.');
  return JSON.stringify(response);
}

const RESPONSE = { module: import.meta.url, name: 'responseOfChat', run: responseOfChat };

function readChat(text: string): JsonRecord {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    throw new GatewayError('upstream_error', 'The model did not answer with JSON.');
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
