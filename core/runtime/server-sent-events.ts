/*
 * Writes server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html): the text of one event, and
 * a stream of events that shows its reader that the connection is alive while nothing happens. Data is JSON in one line,
 * so nothing has to be escaped. `withKeepAlive` has a timer for each wait, which suits streams that follow a job;
 * streams of text models share one timer (`text/exchange.ts`), since thousands of them run at a time.
 */

import { endsWithin } from './time.js';

/** A comment: readers of events ignore it, and proxies see that the connection is alive. */
export const KEEP_ALIVE = ': keep-alive\n\n';
/** Milliseconds without an event after which a comment is sent. */
export const KEEP_ALIVE_MS = 15_000;
/** Ends a stream of chats. */
export const DONE_EVENT = 'data: [DONE]\n\n';

/** @param data One line. @param name Of the event. Default: it has none, as in streams of chats. */
export function encodeEvent(data: string, name?: string): string {
  return name === undefined ? `data: ${data}\n\n` : `event: ${name}\ndata: ${data}\n\n`;
}

/** An event whose name is also the `type` of its data. */
export function encodeTypedEvent(type: string, fields: object = {}): string {
  return encodeEvent(JSON.stringify({ type, ...fields }), type);
}

/** An event whose data is too long for one text. @param fields The lines before the data: `event: …` or `id: …`. */
export async function* encodeLongEvent(fields: string, data: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(`${fields}\ndata: `);
  yield* data;
  yield Buffer.from('\n\n');
}

/**
 * The bytes of events, with a comment whenever no event came for `quietMs`; never within an event. It must be read once.
 * @param events Texts of whole events, and long events.
 */
export async function* withKeepAlive(
  events: AsyncIterable<string | AsyncIterable<Uint8Array>>,
  quietMs = KEEP_ALIVE_MS,
): AsyncGenerator<Uint8Array> {
  const source = events[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = source.next();
      while (!(await endsWithin(quietMs, () => next))) yield Buffer.from(KEEP_ALIVE);
      const { done, value } = await next;
      if (done) return;
      if (typeof value === 'string') yield Buffer.from(value);
      else yield* value;
    }
  } finally {
    // Not awaited: a source that waits for an event ends after it.
    source.return?.().catch(() => undefined);
  }
}
