/**
 * Attacks with request bodies: slow ones that try to hold all room for bodies, and hostile ones that try to stall the event
 * loop or to fill the memory. The gateway is a process of its own, and so is the client that measures.
 */

import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { packageRoot } from '../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import type { ProbePlan, ProbeReport } from './probe.js';

const PROBE = path.join(packageRoot, 'dist', 'test', 'chaos', 'probe.js');
const MEGABYTE = 1024 * 1024;
const SECRET = 'invented-secret-of-a-bank-that-nobody-knows';
const NETWORKS = Array.from({ length: 8 }, (_, index) => `127.0.${index + 1}.1`);
/** Addresses of all other clients. */
const OTHERS = Array.from({ length: 20 }, (_, index) => `127.1.${index + 1}.1`);
const CHAT = JSON.stringify({ model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }] });
const IMAGE = JSON.stringify({ model: 'gen-img-2', prompt: 'A tug at dawn', size: '1024x1024' });

export interface SlowPlan {
  /** Slow connections of callers without a key. */
  connections: number;
  /** Slow connections of one account. */
  ofAccount: number;
  /** Ordinary requests of others, sent one every 25 ms. */
  requests: number;
}

export interface SlowReport {
  quiet: ProbeReport;
  attacked: ProbeReport;
  /** Slow connections that the gateway had ended by the end. */
  ended: number;
}

/** Opens slow connections, drips a byte into each every second, and sends the requests of others meanwhile. */
export async function attackSlowly(plan: SlowPlan): Promise<SlowReport> {
  const gateway = await startGatewayProcess({ environment: { PAYMENT_WEBHOOK_SECRET: `sepay:${SECRET}`, SITE: 'on' } });
  const sockets: Socket[] = [];
  let ended = 0;
  try {
    const keys = await keysOf(gateway, 10);
    const probe = {
      requests: keys.flatMap((key) => [
        { path: '/v1/chat/completions', key, body: CHAT },
        { path: '/v1/usage', key },
      ]),
      from: OTHERS,
      everyMs: 25,
    };
    await runProbe(gateway, { ...probe, count: 40 });
    const quiet = await runProbe(gateway, { ...probe, count: plan.requests });
    const open = (head: string, localAddress: string) => {
      const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', localAddress });
      socket
        .on('error', () => {})
        .once('close', () => {
          ended += 1;
        });
      socket.write(head);
      sockets.push(socket.resume());
    };
    const [attacker = ''] = await keysOf(gateway, 1);
    for (let index = 0; index < plan.connections; index += 1) {
      const head = `POST /api/payment/webhook/sepay HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 65536\r\n\r\n{`;
      open(head, NETWORKS[index % NETWORKS.length] ?? '');
      if (index % 100 === 99) await sleep(10);
    }
    for (let index = 0; index < plan.ofAccount; index += 1) {
      const head = `POST /v1/images/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${attacker}\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n{`;
      open(head, NETWORKS[index % NETWORKS.length] ?? '');
    }
    const dripping = setInterval(() => {
      for (const socket of sockets) if (!socket.destroyed) socket.write(' ');
    }, 1_000);
    await sleep(1_000);
    const attacked = await runProbe(gateway, { ...probe, count: plan.requests });
    clearInterval(dripping);
    return { quiet, attacked, ended };
  } finally {
    for (const socket of sockets) socket.destroy();
    await gateway.stop();
  }
}

export interface HostilePlan {
  /** Milliseconds that the attack lasts. */
  ms: number;
  /** Whether the window of refused bodies is as by default, which ends most of the attack at once. */
  isWindowOpen: boolean;
}

export interface HostileReport {
  /** `/health/live`, asked every 20 ms. */
  live: ProbeReport;
  /** Chats and image jobs of others. */
  others: ProbeReport;
  /** Bytes of resident memory above rest, at the most. */
  extraBytes: number;
  /** Name of a body → statuses that it was answered with. */
  answers: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Whether the gateway was still there. */
  isAlive: boolean;
}

/** Four connections send hostile bodies without a pause, to a gateway with a heap of 1 GB. */
export async function attackWithBodies({ ms, isWindowOpen }: HostilePlan): Promise<HostileReport> {
  const gateway = await startGatewayProcess({
    environment: {
      NODE_OPTIONS: '--max-old-space-size=1024',
      // Jobs of others are accepted and not run: the mock model draws on the main thread, which would be measured instead.
      IMAGE_WORKERS: '0',
      ...(isWindowOpen && { REFUSED_BODIES_PER_MINUTE: '1000000' }),
    },
  });
  try {
    const keys = await keysOf(gateway, 5);
    const attackers = await keysOf(gateway, 4);
    const others = keys.flatMap((key) => [
      { path: '/v1/chat/completions', key, body: CHAT },
      { path: '/v1/images/jobs', key, body: IMAGE },
    ]);
    await runProbe(gateway, { requests: others, from: OTHERS, everyMs: 20, count: 40 });
    await sleep(1_000);
    const rest = await residentBytes(gateway.pid);
    let most = rest;
    const watching = setInterval(async () => {
      most = Math.max(most, await residentBytes(gateway.pid).catch(() => 0));
    }, 20);
    const until = performance.now() + ms;
    const answers: Record<string, Record<string, number>> = {};
    const attack = attackers.map(async (key, index) => {
      for (let turn = index; performance.now() < until; turn += 1) {
        const body = HOSTILE[turn % HOSTILE.length];
        if (!body) break;
        const status = await (body.isChunked ? sendChunks : sendBody)(gateway, key, body.path, body.bytes());
        answers[body.name] = { ...answers[body.name], [status]: (answers[body.name]?.[status] ?? 0) + 1 };
      }
    });
    const [live, other] = await Promise.all([
      runProbe(gateway, {
        requests: [{ path: '/health/live' }],
        from: OTHERS,
        everyMs: 20,
        count: Math.floor(ms / 25),
      }),
      runProbe(gateway, { requests: others, from: OTHERS, everyMs: 100, count: Math.floor(ms / 125) }),
      ...attack,
    ]);
    clearInterval(watching);
    const isAlive = (await gateway.request('/health/live')).status === 200;
    return { live, others: other, extraBytes: most - rest, answers, isAlive };
  } finally {
    await gateway.stop();
  }
}

/**
 * Fills the room of bodies without a key from three networks, with bodies that are replaced before they count as slow.
 * @returns Statuses that a bank in a fourth network was answered with; 0 where the connection broke.
 */
export async function attackByReplacing(requests: number): Promise<Record<string, number>> {
  const gateway = await startGatewayProcess({ environment: { PAYMENT_WEBHOOK_SECRET: `sepay:${SECRET}`, SITE: 'on' } });
  const head = (bytes: number) =>
    `POST /api/payment/webhook/sepay HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`;
  let isOver = false;
  const open = `${head(65_536)}{"a":"${'x'.repeat(65_000)}`;
  const attack = NETWORKS.slice(0, 3).flatMap((from) =>
    Array.from({ length: 26 }, async (_, index) => {
      await sleep(index * 30);
      while (!isOver) {
        const sent = sendRaw(gateway, open, from);
        await sleep(850);
        sent.socket.destroy();
      }
    }),
  );
  try {
    await sleep(2_000);
    const statuses: Record<string, number> = {};
    const body = `{"a":"${'y'.repeat(40_000)}"}`;
    for (let sent = 0; sent < requests; sent += 1) {
      const status = await sendRaw(gateway, head(body.length) + body, '127.9.9.9').status;
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    return statuses;
  } finally {
    isOver = true;
    await Promise.all(attack);
    await gateway.stop();
  }
}

/**
 * One account sends short bodies for the threads that parse over 200 connections.
 * @returns Statuses that the large chats of another account were answered with.
 */
export async function attackQueue(requests: number): Promise<Record<string, number>> {
  const gateway = await startGatewayProcess({ environment: { REFUSED_BODIES_PER_MINUTE: '1000000' } });
  const [attacker = '', other = ''] = await keysOf(gateway, 2);
  const bomb = Buffer.from(`{"model":"nope","x":[${'0,'.repeat(25_000)}0]}`);
  const chat = Buffer.from(
    JSON.stringify({ model: 'm-5.5', messages: [{ role: 'user', content: 'x'.repeat(300_000) }] }),
  );
  let isOver = false;
  const attack = Array.from({ length: 200 }, async () => {
    while (!isOver) await sendBody(gateway, attacker, '/v1/chat/completions', bomb);
  });
  try {
    await sleep(1_000);
    const statuses: Record<string, number> = {};
    for (let sent = 0; sent < requests; sent += 1) {
      const status = await sendBody(gateway, other, '/v1/chat/completions', chat);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
    return statuses;
  } finally {
    isOver = true;
    await Promise.all(attack);
    await gateway.stop();
  }
}

/** What is sent, made anew each time so that nothing of it stays in memory here. */
const HOSTILE: readonly { name: string; path: string; isChunked?: boolean; bytes(): Buffer }[] = [
  {
    name: 'value bomb of 54 MB',
    path: '/v1/images/jobs',
    bytes: () => filled('{"model":"nope","x":[', '{},', '{}]}', 54 * MEGABYTE),
  },
  {
    name: 'nested lists of 10 MiB',
    path: '/v1/chat/completions',
    bytes: () => filled('{"model":"nope","x":[', '[[[[[[]]]]]],', '[]]}', 10 * MEGABYTE - 64),
  },
  { name: 'nesting without end', path: '/v1/images/jobs', bytes: () => Buffer.alloc(54 * MEGABYTE, '[') },
  {
    name: 'long text of 54 MB',
    path: '/v1/images/jobs',
    bytes: () => filled('{"model":"nope","x":"', 'x', '"}', 54 * MEGABYTE),
  },
  {
    name: 'long text of letters beyond ASCII',
    path: '/v1/images/jobs',
    bytes: () => filled('{"model":"nope","x":"', 'é', '"}', 54 * MEGABYTE),
  },
  {
    name: 'escapes of 54 MB',
    path: '/v1/images/jobs',
    bytes: () => filled('{"model":"nope","x":"', '\\"', '"}', 54 * MEGABYTE),
  },
  {
    name: '199,000 values in 600 kB, all legal',
    path: '/v1/chat/completions',
    bytes: () => filled('{"model":"nope","messages":[', '{},', '{}]}', 600_000),
  },
  { name: '64 MB', path: '/v1/images/jobs', bytes: () => filled('{"model":"nope","x":"', 'x', '"}', 64 * MEGABYTE) },
  {
    name: 'chunks of one byte',
    path: '/v1/chat/completions',
    isChunked: true,
    bytes: () => Buffer.from(`1\r\n{\r\n${'1\r\nx\r\n'.repeat(950_000)}0\r\n\r\n`),
  },
  {
    name: '490,000 short fields',
    path: '/v1/chat/completions',
    bytes: () =>
      Buffer.from(`{"model":"nope",${Array.from({ length: 490_000 }, (_, index) => `"k${index}":1`).join()}}`),
  },
  { name: 'no JSON at all', path: '/v1/chat/completions', bytes: () => Buffer.alloc(10 * MEGABYTE - 1, '"\\') },
];

function filled(begin: string, piece: string, end: string, bytes: number): Buffer {
  const room = bytes - begin.length - end.length;
  const whole = Buffer.byteLength(piece) * Math.floor(room / Buffer.byteLength(piece));
  const buffer = Buffer.allocUnsafe(begin.length + whole + end.length);
  buffer.write(begin);
  buffer.fill(piece, begin.length, begin.length + whole);
  buffer.write(end, begin.length + whole);
  return buffer;
}

function sendBody(gateway: GatewayProcess, key: string, target: string, bytes: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'content-length': bytes.length,
    };
    const request = httpRequest(gateway.url + target, { method: 'POST', headers, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    request.on('error', () => resolve(0));
    request.end(bytes);
  });
}

/** @param bytes Chunks as they stand on the wire, and their end. */
function sendChunks(gateway: GatewayProcess, key: string, target: string, bytes: Buffer): Promise<number> {
  const head = `POST ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const { socket, status } = sendRaw(gateway, head);
  socket.write(bytes);
  return status.finally(() => socket.destroy());
}

/** Sends what is given. `status` resolves with 0 where the connection ended without an answer. */
function sendRaw(gateway: GatewayProcess, text: string, localAddress?: string) {
  const socket = connect({ port: Number(new URL(gateway.url).port), host: '127.0.0.1', localAddress });
  const status = new Promise<number>((resolve) => {
    socket
      .once('data', (chunk) => resolve(Number(String(chunk).split(' ', 2)[1])))
      .on('error', () => resolve(0))
      .once('close', () => resolve(0));
  });
  socket.write(text);
  return { socket, status };
}

async function keysOf(gateway: GatewayProcess, count: number): Promise<string[]> {
  const keys = [];
  for (let made = 0; made < count; made += 1) keys.push((await gateway.makeKey({ grants: ['images', 'text'] })).key);
  return keys;
}

async function runProbe(gateway: GatewayProcess, plan: Omit<ProbePlan, 'url'>): Promise<ProbeReport> {
  const sent = JSON.stringify({ ...plan, url: gateway.url });
  const { stdout } = await promisify(execFile)(process.execPath, [PROBE, sent], { maxBuffer: MEGABYTE });
  return JSON.parse(stdout);
}

async function residentBytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s*(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
}
