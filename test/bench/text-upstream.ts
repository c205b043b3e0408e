/*
 * An upstream far faster than the gateway: fixed bytes over kept connections, without any HTTP server. A stream gets an
 * event every ten milliseconds. A first argument delays each answer by as many milliseconds. Reports its address to its
 * parent, and the streams that clients closed.
 */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import { chatAnswer, chatEvents, EVENT_MS, UPSTREAM_MODEL } from './text-answers.js';

const PHASES = EVENT_MS;
const ANSWER_MS = Number(process.argv[2] ?? 0);

const body = chatAnswer(UPSTREAM_MODEL);
const PLAIN = Buffer.from(
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);
const STREAM = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n',
);
const EVENTS = chatEvents(UPSTREAM_MODEL).map((event) => chunk(event));
const LAST = Buffer.concat([EVENTS.at(-1) ?? Buffer.alloc(0), Buffer.from('0\r\n\r\n')]);

function chunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}

/** Streams by the millisecond of ten in which they get their events, and how many each has got. */
const phases = Array.from({ length: PHASES }, () => new Map<Socket, number>());
let ticks = 0;
setInterval(() => {
  ticks += 1;
  const streams = phases[ticks % PHASES];
  for (const [socket, sent] of streams ?? []) {
    if (sent === EVENTS.length - 1) {
      streams?.delete(socket);
      socket.write(LAST);
    } else {
      streams?.set(socket, sent + 1);
      socket.write(EVENTS[sent] ?? LAST);
    }
  }
}, 1);

function hangUp(socket: Socket): void {
  for (const streams of phases) {
    if (streams.delete(socket)) process.send?.({ hungUpAt: String(process.hrtime.bigint()) });
  }
}

let next = 0;
function answer(socket: Socket, request: string): void {
  // The gateway asks for the models once, at its start.
  if (request.startsWith('GET ')) {
    socket.write('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
    return;
  }
  const isStream = request.includes('"stream":true');
  if (ANSWER_MS > 0) setTimeout(begin, ANSWER_MS, socket, isStream);
  else begin(socket, isStream);
}

function begin(socket: Socket, isStream: boolean): void {
  if (socket.destroyed) return;
  if (!isStream) {
    socket.write(PLAIN);
    return;
  }
  socket.write(STREAM);
  next += 1;
  phases[next % PHASES]?.set(socket, 0);
}

/** Where the first request of these bytes ends; undefined where it is not whole. */
function endOfRequest(bytes: string): number | undefined {
  const head = bytes.indexOf('\r\n\r\n');
  if (head === -1) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(bytes.slice(0, head + 2))?.[1];
  // A client that does not know the length of what it sends is none of those that are measured.
  if (length === undefined && bytes.startsWith('GET ')) return head + 4;
  if (length === undefined) throw new Error(`a request without a length: ${bytes.slice(0, head)}`);
  const end = head + 4 + Number(length);
  return end <= bytes.length ? end : undefined;
}

const server = createServer({ noDelay: true }, (socket) => {
  let pending = '';
  socket.on('data', (data) => {
    pending = pending === '' ? data.toString('latin1') : pending + data.toString('latin1');
    for (let end = endOfRequest(pending); end !== undefined; end = endOfRequest(pending)) {
      answer(socket, pending.slice(0, end));
      pending = pending.slice(end);
    }
  });
  socket.on('error', () => socket.destroy()).on('close', () => hangUp(socket));
});
server.listen(0, '127.0.0.1', () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
// Ends with the parent, also if that was killed.
process.once('disconnect', () => process.exit());
