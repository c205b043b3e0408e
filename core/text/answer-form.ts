import type { TextReply, WritingRoute } from '../contracts/index.js';
import { convertBody } from './chat-answers.js';
import { createEventsToWhole } from './events-to-whole.js';
import { createWholeToEvents } from './whole-to-events.js';

/*
 * Gives a client the form of answer that it asked for: some servers always stream, and some never do. An answer
 * in the right form is not touched.
 */

const EVENTS_TYPE = 'text/event-stream';
const JSON_TYPE = 'application/json';

/** The reply as events if a stream was asked for, else whole. A type that is neither is left to its reader. */
export function inFormOf(reply: TextReply, route: WritingRoute, stream: boolean): TextReply {
  const type = reply.headers['content-type'] ?? '';
  if (type.startsWith(EVENTS_TYPE) ? stream : !stream || !type.startsWith(JSON_TYPE)) return reply;
  const converter = stream ? createWholeToEvents(route) : createEventsToWhole(route);
  const headers = { ...reply.headers, 'content-type': stream ? EVENTS_TYPE : JSON_TYPE };
  return { ...reply, headers, body: convertBody(reply.body, converter) };
}
