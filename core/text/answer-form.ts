/*
 * Gives a client the form of answer that it asked for, since some servers always stream and some never do. An answer
 * in the right form passes untouched. It also checks that a plugin's reply has a 2xx status, headers and an iterable
 * body.
 */

import type { TextReply, WritingRoute } from '../contracts/index.js';
import type { InstancePolicy } from '../plugins/index.js';
import { isGatewayError } from '../runtime/index.js';
import { convertBody } from './chats/translation.js';
import { createEventsToWhole } from './events-to-whole.js';
import { createWholeToEvents } from './whole-to-events.js';

const EVENTS_TYPE = 'text/event-stream';
const JSON_TYPE = 'application/json';
/** Types of what comes whole where a stream was asked for. */
export const WHOLE_TYPES = /\b(json|html|xml)\b/;

/**
 * The reply as events if a stream was asked for, else whole. A type that is neither is left to its reader.
 * @throws GatewayError `upstream_error` where events are to be made of an answer that is none.
 */
export function inFormOf(
  reply: TextReply,
  { route, stream, signal }: { route: WritingRoute; stream: boolean; signal: AbortSignal },
): TextReply | Promise<TextReply> {
  const type = reply.headers['content-type'] ?? '';
  if (type.startsWith(EVENTS_TYPE) ? stream : !stream || !WHOLE_TYPES.test(type)) return reply;
  if (stream) return asEvents(reply, route, signal);
  const headers = { ...reply.headers, 'content-type': JSON_TYPE };
  return { ...reply, headers, body: convertBody(reply.body, createEventsToWhole(route)) };
}

/** Read as a whole first, so that an error in it is an HTTP error for the client. */
async function asEvents(reply: TextReply, route: WritingRoute, signal: AbortSignal): Promise<TextReply> {
  const converter = createWholeToEvents(route);
  for await (const chunk of reply.body) converter.push(chunk);
  signal.addEventListener('abort', () => converter.close?.(), { once: true });
  const text = await converter.finish();
  const events = typeof text === 'string' ? Buffer.from(text) : text;
  const headers = { ...reply.headers, 'content-type': EVENTS_TYPE };
  return { ...reply, headers, body: bodyOf(events) };
}

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** @throws Error if a plugin broke its contract; the message is not shown to callers. */
export function checkReply(reply: TextReply): TextReply {
  const { status, headers, body } = reply ?? {};
  if (!(status >= 200 && status <= 299)) throw new Error('the status of a reply must be one of 200 to 299');
  if (typeof headers !== 'object' || headers === null) throw new Error('the headers of a reply must be an object');
  if (typeof body?.[Symbol.asyncIterator] !== 'function')
    throw new Error('the body of a reply must be an async iterable');
  return reply;
}

/** A broken connection is no plugin fault: only errors that claim to be the gateway's are checked. */
export function bodyFailure(terms: InstancePolicy, thrown: unknown, signal: AbortSignal): unknown {
  return isGatewayError(thrown) ? terms.failureOf('text', thrown, signal) : thrown;
}
