/** How a text upstream delivers: at once, in pieces, cut or stalled. */

import type { ServerResponse } from 'node:http';
import type { StreamEvent } from './text-chat-format.js';

/** Forms that a stream may have and seldom has. */
export type Oddity =
  /** Lines that are comments, before, between and after events. */
  | 'comments'
  /** Lines that end with CR LF. */
  | 'crlf'
  /** Lines that end with CR alone. */
  | 'cr'
  /** `data:` without the space behind it. */
  | 'no_space'
  /** `id` and `retry` beside the data. */
  | 'fields'
  /** JSON with spaces, escapes, numbers beyond 2^53 and a member twice. */
  | 'loose_json'
  /** `keepalive` events of the responses format. */
  | 'keepalive'
  /** Events of a type, and members, that nobody has heard of. */
  | 'unknown_events'
  /** `[DONE]` behind a stream of the responses format. */
  | 'done'
  /** A byte order mark. */
  | 'bom'
  /** No empty line behind the last event. */
  | 'open_end';

/** How the bytes of an answer reach the client. */
export interface Delivery {
  /** Pieces that are written at a time. Default: an event; a body without events as a whole. */
  chunks?: 'event' | 'whole' | number;
  /** Milliseconds before the status. Default 0. */
  delayMs?: number;
  /** Milliseconds between pieces. Default 0: one turn of the event loop. */
  pauseMs?: number;
  /** From there on nothing comes any more, and the connection stays. */
  stall?: 'before_headers' | Place;
  /** There the connection ends, the body does not. */
  cut?: 'before_headers' | Place;
}

/** After so many bytes, or events, of the body. */
export type Place = { bytes: number } | { events: number };

/** A body as it would be as a whole. */
export interface Content {
  contentType: string;
  bytes: Buffer;
  /** Offsets behind each event; one, the length, where there are none. */
  boundaries: readonly number[];
}

export function jsonContent(value: object, loose = false): Content {
  const bytes = Buffer.from(loose ? loosen(JSON.stringify(value)) : JSON.stringify(value));
  return { contentType: 'application/json', bytes, boundaries: [bytes.length] };
}

/** `text/event-stream` of events. */
export function streamContent(events: readonly StreamEvent[], odd: readonly Oddity[] = []): Content {
  const has = (oddity: Oddity) => odd.includes(oddity);
  const lineEnd = has('crlf') ? '\r\n' : has('cr') ? '\r' : '\n';
  const all = withOddEvents(events, odd);
  const pieces = all.map(({ event, data }, index) => {
    const json = typeof data === 'string' ? data : JSON.stringify(data);
    const text = has('loose_json') && typeof data !== 'string' ? loosen(json) : json;
    const isLast = index === all.length - 1;
    return [
      ...(has('comments') ? [': ping', ':'] : []),
      ...(has('fields') ? [`id: ${index}`, 'retry: 3000'] : []),
      ...(event === undefined ? [] : [`event: ${event}`]),
      `data:${has('no_space') ? '' : ' '}${text}`,
      ...(isLast && has('open_end') ? [] : ['', '']),
    ].join(lineEnd);
  });
  if (has('bom')) pieces[0] = `\ufeff${pieces[0]}`;
  if (has('comments')) pieces.push(`: bye${lineEnd}${lineEnd}`);
  let length = 0;
  const boundaries = pieces.map((piece) => (length += Buffer.byteLength(piece)));
  return { contentType: 'text/event-stream; charset=utf-8', bytes: Buffer.from(pieces.join('')), boundaries };
}

function withOddEvents(events: readonly StreamEvent[], odd: readonly Oddity[]): StreamEvent[] {
  const isResponses = events[0]?.event !== undefined;
  const extra: StreamEvent[] = [];
  if (odd.includes('keepalive')) extra.push({ event: 'keepalive', data: { type: 'keepalive', sequence_number: 1 } });
  if (odd.includes('unknown_events')) {
    const type = 'response.weather.changed';
    extra.push(isResponses ? { event: type, data: { type, sequence_number: 1, wind: 'W' } } : { data: { wind: 'W' } });
  }
  const [first, ...rest] = events;
  return [
    ...(first ? [first] : []),
    ...extra,
    ...rest,
    ...(odd.includes('done') && isResponses ? [{ data: '[DONE]' }] : []),
  ];
}

/** The same value as JSON, and more than `JSON.parse` can hold. */
function loosen(json: string): string {
  const spaced = json.replace(/^\{/, '{  "x_big": 12345678901234567890123, "x_twice": 1, "x_twice":\t2 , ');
  return spaced.replace(/"object":"/g, '"object" : "').replace('"model":"', '"model" :  "');
}

/** Writes it as told. Resolves when the last of it is out, or the client is gone. */
export async function deliver(
  response: ServerResponse,
  content: Content,
  delivery: Delivery,
  head: { status: number; headers: Readonly<Record<string, string>> },
): Promise<void> {
  const { chunks = 'event', delayMs = 0, pauseMs = 0, stall, cut } = delivery;
  if (delayMs > 0) await new Promise((done) => setTimeout(done, delayMs));
  if (stall === 'before_headers' || response.destroyed) return;
  if (cut === 'before_headers') return void response.socket?.resetAndDestroy();
  const isStream = content.contentType.startsWith('text/event-stream');
  response.writeHead(head.status, {
    'content-type': content.contentType,
    ...(!isStream && { 'content-length': content.bytes.length }),
    ...head.headers,
  });
  response.flushHeaders();
  const end = Math.min(offsetOf(stall, content), offsetOf(cut, content));
  let from = 0;
  for (const offset of offsets(chunks, content)) {
    if (from >= end) break;
    const next = Math.min(end, offset);
    if (next <= from) continue;
    const written = response.write(content.bytes.subarray(from, next));
    from = next;
    if (from === content.bytes.length) break;
    await (written || response.destroyed ? pause(pauseMs) : drained(response));
    if (response.destroyed) return;
  }
  if (cut !== undefined) return hangUp(response);
  if (stall === undefined) response.end();
}

function offsetOf(place: Delivery['stall'], { bytes, boundaries }: Content): number {
  if (place === undefined || place === 'before_headers') return bytes.length;
  if ('bytes' in place) return Math.min(bytes.length, place.bytes);
  return place.events === 0 ? 0 : (boundaries[place.events - 1] ?? bytes.length);
}

/** Where the pieces end. */
function* offsets(chunks: Delivery['chunks'], { bytes, boundaries }: Content): Generator<number> {
  if (chunks === 'event') yield* boundaries;
  if (typeof chunks === 'number') for (let end = chunks; end < bytes.length; end += chunks) yield end;
  yield bytes.length;
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => (ms > 0 ? setTimeout(done, ms) : setImmediate(done)));
}

function drained(response: ServerResponse): Promise<void> {
  return new Promise((done) => {
    response.once('drain', done);
    response.once('close', done);
  });
}

/** What was written reaches the client, and then the connection is gone in the middle of the body. */
async function hangUp({ socket }: ServerResponse): Promise<void> {
  while (socket && !socket.destroyed && socket.writableLength > 0) await pause(1);
  socket?.destroy();
}
