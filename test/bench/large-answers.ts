/*
 * How long `/health/live` takes while four keys, each over four connections, fetch answers of tens of megabytes. The
 * upstream, the clients and the probe each run in a thread of their own, outside of the gateway's process.
 */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { startGatewayProcess } from '../support/processes/gateway-process.js';
import { type Figure, percentile } from './measure.js';

const KEYS = 4;
const CONNECTIONS = 4;
/** Milliseconds for each kind of answer. */
const LOAD_MS = 5_000;
const PROBE_PAUSE_MS = 5;
const MAX_P99_MS = 100;
const MAX_MS = 250;
const MB = 1024 * 1024;
const TEXT = 'a harbour and "a tug"\n';
/** More than 4 MiB of a text with escapes are refused in a request. */
const PLAIN = 'a harbour and a tug, ';
/** Of the text as JSON. */
const TEXT_BYTES = 25;

interface LoadOrder {
  work: 'load';
  url: string;
  keys: readonly string[];
  route: string;
  body: string;
  ms: number;
}

interface ProbeOrder {
  work: 'probe';
  url: string;
}

type Order = LoadOrder | ProbeOrder | { work: 'upstream' };

interface Kind {
  name: string;
  route: string;
  /** What the upstream sends, and its length. */
  kind: 'values' | 'text' | 'blank' | 'cut' | 'events';
  megabytes: number;
  model: string;
  /** Whether a stream is requested. Default: no. */
  stream?: boolean;
  /** Megabytes of the request. Default: it is short. */
  sends?: number;
}

const KINDS: readonly Kind[] = [
  { name: 'embeddings of 31 MB', route: 'embeddings', kind: 'values', megabytes: 31, model: 'vectors' },
  { name: 'embeddings of 40 MB', route: 'embeddings', kind: 'values', megabytes: 40, model: 'vectors' },
  { name: 'embeddings broken off', route: 'embeddings', kind: 'cut', megabytes: 40, model: 'vectors' },
  { name: 'chats of many values', route: 'chat/completions', kind: 'values', megabytes: 31, model: 'chats' },
  { name: 'chats of text', route: 'chat/completions', kind: 'text', megabytes: 31, model: 'chats' },
  { name: 'chats that are too long', route: 'chat/completions', kind: 'values', megabytes: 40, model: 'chats' },
  { name: 'blank chats', route: 'chat/completions', kind: 'blank', megabytes: 31, model: 'chats' },
  { name: 'chats broken off', route: 'chat/completions', kind: 'cut', megabytes: 31, model: 'chats' },
  { name: 'responses of many values', route: 'responses', kind: 'values', megabytes: 31, model: 'responses' },
  { name: 'responses from chats', route: 'responses', kind: 'text', megabytes: 8, model: 'chats' },
  { name: 'messages from chats', route: 'messages', kind: 'text', megabytes: 8, model: 'chats' },
  { name: 'messages of many values', route: 'messages', kind: 'values', megabytes: 31, model: 'chats' },
  { name: 'chats from messages', route: 'chat/completions', kind: 'text', megabytes: 8, model: 'native' },
  { name: 'responses from messages', route: 'responses', kind: 'text', megabytes: 8, model: 'native' },
  {
    name: 'a stream of one piece',
    route: 'chat/completions',
    kind: 'text',
    megabytes: 16,
    model: 'chats',
    stream: true,
  },
  { name: 'a piece of a stream', route: 'chat/completions', kind: 'events', megabytes: 16, model: 'chats' },
  ...(['responses', 'messages', 'chat/completions'] as const).map(
    (route): Kind => ({
      ...{ name: `sent ${route}`, route, kind: 'text', megabytes: 0, sends: 30 },
      model: route === 'chat/completions' ? 'native' : 'chats',
    }),
  ),
];

export async function measureLargeAnswers(): Promise<Figure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-answers-'));
  const upstream = new Worker(new URL(import.meta.url), { workerData: { work: 'upstream' } satisfies Order });
  const [address] = (await once(upstream, 'message')) as [string];
  const plugin = (id: string, routes: readonly string[], formats: readonly string[]) => ({
    id,
    use: 'mediagate/plugins/openai_text',
    options: { models: [{ id, routes }], upstreams: [{ url: `${address}/v1`, routes: formats }] },
  });
  const chat = ['chat_completions'];
  const plugins = [
    plugin('vectors', ['embeddings'], chat),
    plugin('chats', ['chat_completions', 'responses'], chat),
    plugin('responses', ['responses'], ['responses']),
    {
      id: 'native',
      use: 'mediagate/plugins/anthropic_text',
      options: { models: [{ id: 'native' }], upstreams: [{ url: `${address}/v1` }] },
    },
  ];
  const config = path.join(folder, 'plugins.json');
  await writeFile(config, JSON.stringify({ plugins }));
  const gateway = await startGatewayProcess({ environment: { PLUGINS_CONFIG: config, MESSAGES_ENABLED: 'true' } });
  const probe = new Worker(new URL(import.meta.url), {
    workerData: { work: 'probe', url: `${gateway.url}/health/live` } satisfies Order,
  });
  try {
    const keys: string[] = [];
    for (let made = 0; made < KEYS; made += 1) keys.push((await gateway.makeKey({ grants: ['text'] })).key);
    const figures: Figure[] = [];
    const only = process.env.BENCH_ANSWERS;
    const chosen = KINDS.filter((one) => !only || only.split(',').some((name) => one.name.includes(name)));
    for (const { name, route, kind, megabytes, model, stream, sends = 0 } of chosen) {
      const text = `kind=${kind};mb=${megabytes};`;
      const long = Array.from({ length: sends }, () => ({ role: 'user', content: PLAIN.repeat(MB / PLAIN.length) }));
      const messages = [{ role: 'user', content: text }, ...long];
      const isInput = route === 'embeddings' || route === 'responses';
      const input = isInput ? { input: sends > 0 ? messages : text } : { messages };
      const limit = route === 'messages' && { max_tokens: 100 };
      const body = JSON.stringify({ model, ...input, ...limit, ...(stream && { stream }) });
      const url = `${gateway.url}/v1/${route}`;
      const load = (ms: number) => work({ work: 'load', url, keys, route, body, ms });
      await load(500);
      probe.postMessage('start');
      const answered = await load(LOAD_MS);
      probe.postMessage('stop');
      const [times] = (await once(probe, 'message')) as [number[]];
      const [p99, longest] = [percentile(times, 0.99), Math.max(...times)];
      figures.push({
        what: `\`/health/live\` beside ${KEYS * CONNECTIONS} connections that fetch ${name} (${answered})`,
        measured: `p99 ${p99.toFixed(0)} ms, longest ${longest.toFixed(0)} ms`,
        target: `p99 ${MAX_P99_MS} ms, longest ${MAX_MS} ms`,
        met: p99 <= MAX_P99_MS && longest <= MAX_MS,
      });
      console.log(figures.at(-1)?.what, figures.at(-1)?.measured, times.length);
    }
    return figures;
  } finally {
    await Promise.all([probe.terminate(), upstream.terminate(), gateway.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

async function work(order: LoadOrder): Promise<string> {
  const worker = new Worker(new URL(import.meta.url), { workerData: order });
  try {
    const [answered] = (await once(worker, 'message')) as [string];
    return answered;
  } finally {
    await worker.terminate();
  }
}

/** Fetches one answer after the other over each connection. */
async function runLoad({ url, keys, body, ms }: LoadOrder): Promise<string> {
  const end = performance.now() + ms;
  const counts = new Map<number, number>();
  const fetchAll = async (key: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    do {
      const response = await fetch(url, { method: 'POST', headers, body });
      for await (const _ of response.body ?? []);
      counts.set(response.status, (counts.get(response.status) ?? 0) + 1);
    } while (performance.now() < end);
  };
  await Promise.all(keys.flatMap((key) => Array.from({ length: CONNECTIONS }, () => fetchAll(key))));
  return [...counts].map(([status, count]) => `${count} x ${status}`).join(', ');
}

async function runProbe({ url }: ProbeOrder): Promise<void> {
  let times: number[] | undefined;
  parentPort?.on('message', (message) => {
    if (message === 'start') times = [];
    else {
      parentPort?.postMessage(times);
      times = undefined;
    }
  });
  for (;;) {
    const began = performance.now();
    const response = await fetch(url);
    await response.arrayBuffer();
    times?.push(performance.now() - began);
    await sleep(PROBE_PAUSE_MS);
  }
}

interface Answer {
  body: Buffer;
  isCut: boolean;
  type: string;
}

function answerOf(request: string, target: string): Answer {
  const [, kind = 'text', size = '1'] = /kind=(\w+);mb=(\d+)/.exec(request) ?? [];
  const length = Number(size) * MB;
  const isCut = kind === 'cut';
  const type = kind === 'events' ? 'text/event-stream' : 'application/json';
  if (kind === 'blank') return { body: Buffer.alloc(length, ' '), isCut, type };
  if (kind === 'events') return { body: Buffer.from(eventsOf(length)), isCut, type };
  const filler =
    kind === 'text' ? JSON.stringify(TEXT.repeat(length / TEXT_BYTES)) : `[${'-0.0123456,'.repeat(length / 11)}0]`;
  const usage = '"usage":{"prompt_tokens":5,"completion_tokens":9,"total_tokens":14}';
  const content = kind === 'text' ? filler : '"Ostend."';
  const rest = kind === 'text' ? '' : `,"logprobs":{"content":${filler}}`;
  const message = `{"role":"assistant","content":${content}}`;
  const item = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":${content},"annotations":[]${rest}}]}`;
  const text = target.endsWith('/embeddings')
    ? `{"object":"list","data":[{"object":"embedding","index":0,"embedding":${filler}}],"model":"v",${usage}}`
    : target.endsWith('/responses')
      ? `{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"v","output":[${item}],"usage":{"input_tokens":5,"output_tokens":9,"total_tokens":14}}`
      : target.endsWith('/messages')
        ? `{"id":"m","type":"message","role":"assistant","model":"v","content":[{"type":"text","text":${content}}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":5,"output_tokens":9}}`
        : `{"id":"c","object":"chat.completion","created":1,"model":"v","choices":[{"index":0,"message":${message},"finish_reason":"stop"${rest}}],${usage}}`;
  return { body: Buffer.from(text), isCut, type };
}

function eventsOf(length: number): string {
  const event = (delta: object, finish_reason: string | null = null) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'v', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const one = event({ content: TEXT });
  return `${event({ role: 'assistant' })}${one.repeat(length / one.length)}${event({}, 'stop')}data: [DONE]\n\n`;
}

async function runUpstream(): Promise<void> {
  const made = new Map<string, ReturnType<typeof answerOf>>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const sent = Buffer.concat(chunks).toString();
    const id = `${request.url} ${/kind=\w+;mb=\d+/.exec(sent)}`;
    const answer = made.get(id) ?? answerOf(sent, request.url ?? '');
    if (!made.has(id)) made.clear();
    made.set(id, answer);
    const { body, isCut, type } = answer;
    response.writeHead(200, { 'content-type': type, 'content-length': body.length });
    if (isCut) response.write(body.subarray(0, body.length - MB), () => setTimeout(() => response.destroy(), 20));
    else response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

if (!isMainThread && parentPort) {
  const order = workerData as Order;
  if (order.work === 'load') parentPort.postMessage(await runLoad(order));
  else if (order.work === 'probe') await runProbe(order);
  else if (order.work === 'upstream') await runUpstream();
}
