/*
 * The client of the model routes, in a process of its own, so that its work is not counted as a server's. Gets one
 * order after the other from its parent and answers each with a report, or with what went wrong.
 */

import { percentile } from './measure.js';
import type { RawAnswer } from './raw-answer.js';
import { createRawConnection, type RawConnection } from './raw-connection.js';

/** What to send, and where to. */
export interface LoadTarget {
  /** Origin of the server. */
  url: string;
  headers: Readonly<Record<string, string>>;
}

export type LoadOrder = LoadTarget & { body: string } & (
    | { kind: 'requests'; connections: number; count: number }
    /** An open loop: each request is sent when it is time, also if those before it are still open. */
    | { kind: 'rate'; perSecond: number; count: number }
    | { kind: 'streams'; parallel: number; count: number }
    /** Hangs up once so many events are here. */
    | { kind: 'hang-up'; events: number }
  );

export interface LoadReport {
  count: number;
  seconds: number;
  /** Milliseconds: of a request, from sending to the whole answer; of a stream, to its first event. */
  p50: number;
  p99: number;
  /** Of all streams. */
  events: number;
  /** The first answer, up to its first kilobytes. */
  text: string;
  /** When the connection was hung up, on the clock that all processes share, in nanoseconds. */
  hungUpAt: string;
}

const PATH = '/v1/chat/completions';

function encode({ url, headers, body }: LoadOrder): Buffer {
  const all = { host: new URL(url).host, 'content-type': 'application/json', ...headers };
  const lines = Object.entries({ ...all, 'content-length': Buffer.byteLength(body) }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return Buffer.from(`POST ${PATH} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
}

function check({ status, text }: RawAnswer): void {
  if (status !== 200) throw new Error(`${PATH} was answered with ${status}: ${text}`);
}

/** So many at a time, each on a connection of its own. */
async function sendAll(order: LoadOrder, atOnce: number, count: number): Promise<LoadReport> {
  const request = encode(order);
  const isStream = order.kind === 'streams';
  const times: number[] = [];
  let begun = 0;
  let events = 0;
  let text = '';
  const client = async (connection: RawConnection) => {
    while (begun < count) {
      begun += 1;
      const sentAt = performance.now();
      let firstAt = 0;
      const onEvents = () => {
        firstAt ||= performance.now();
      };
      const answer = await connection.exchange(request, isStream ? onEvents : undefined);
      check(answer);
      times.push((isStream ? firstAt : performance.now()) - sentAt);
      events += answer.events;
      text ||= answer.text;
    }
  };
  const connections = Array.from({ length: atOnce }, () => createRawConnection(order.url));
  const began = performance.now();
  try {
    await Promise.all(connections.map(client));
  } finally {
    for (const connection of connections) connection.destroy();
  }
  return report({ times, events, text, began });
}

async function sendAtRate(order: LoadOrder & { kind: 'rate' }): Promise<LoadReport> {
  const request = encode(order);
  const times: number[] = [];
  const idle: RawConnection[] = [];
  const under: Promise<void>[] = [];
  let text = '';
  const send = async () => {
    const connection = idle.pop() ?? createRawConnection(order.url);
    const sentAt = performance.now();
    const answer = await connection.exchange(request);
    times.push(performance.now() - sentAt);
    check(answer);
    text ||= answer.text;
    idle.push(connection);
  };
  const began = performance.now();
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(order.count, ((performance.now() - began) * order.perSecond) / 1000);
      while (under.length < due) under.push(send());
      if (under.length < order.count) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });
  try {
    await Promise.all(under);
  } finally {
    for (const connection of idle) connection.destroy();
  }
  return report({ times, events: 0, text, began });
}

async function hangUp(order: LoadOrder & { kind: 'hang-up' }): Promise<LoadReport> {
  const connection = createRawConnection(order.url);
  const began = performance.now();
  const hungUpAt = await new Promise<bigint>((resolve, reject) => {
    const answered = connection.exchange(encode(order), (events) => {
      if (events < order.events) return;
      connection.destroy();
      resolve(process.hrtime.bigint());
    });
    // What it is rejected with once it was hung up on comes too late to count.
    answered.then(check).catch(reject);
  });
  return { ...report({ times: [], events: order.events, text: '', began }), hungUpAt: String(hungUpAt) };
}

function report(run: { times: number[]; events: number; text: string; began: number }): LoadReport {
  const { times, events, text, began } = run;
  const seconds = (performance.now() - began) / 1000;
  const at = (share: number) => percentile(times, share);
  return { count: times.length, seconds, p50: at(0.5), p99: at(0.99), events, text, hungUpAt: '' };
}

function run(order: LoadOrder): Promise<LoadReport> {
  if (order.kind === 'requests') return sendAll(order, order.connections, order.count);
  if (order.kind === 'streams') return sendAll(order, order.parallel, order.count);
  return order.kind === 'rate' ? sendAtRate(order) : hangUp(order);
}

process.on('message', (order: LoadOrder) => {
  run(order).then(
    (done) => process.send?.({ done }),
    (error: unknown) => process.send?.({ failed: error instanceof Error ? error.message : String(error) }),
  );
});
