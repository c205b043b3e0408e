/*
 * Resident memory of one gateway process by what it has done: each row does one thing more in the same process, and
 * the last one waits until the threads of engines and tokenizers have ended. Tracing has a gateway of its own. The
 * models are the mocks that the package brings, so the figures are those of a newcomer's gateway.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { launcherEnvironment } from './image-server.js';
import { type Figure, residentMegabytes } from './measure.js';
import { buildWatchPage } from './watch-page.js';

const VIDEO_ID = 'mgBench0001';
const SENTENCE = 'The quick brown fox jumps over the lazy dog.';
const CHATS = 2_000;
/** The offline recogniser ends after 60 seconds without work, tokenizers after 30. */
const IDLE_MS = 75_000;

/** What a gateway does, and the row's name for it. */
type Step = readonly [what: string, work: (ask: Ask) => Promise<unknown>];
/** Sends a request with the key; a refusal is an error. */
type Ask = (path: string, body?: object | FormData) => Promise<Response>;

export async function measureResident(): Promise<Figure[]> {
  const page = { headers: { 'content-type': 'text/html; charset=utf-8' }, body: buildWatchPage(VIDEO_ID) };
  const proxy = await startReplayingProxy({
    answer: ({ url }) => (url.pathname === '/watch' ? page : { status: 404 }),
  });
  const collector = createServer((request, response) => request.resume().on('end', () => response.end('{}')));
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const traces = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  try {
    const usual = await measure(
      await startGatewayProcess({ proxy, environment: launcherEnvironment() }),
      'Resident memory',
      STEPS,
    );
    const environment = { ...launcherEnvironment(), OTEL_EXPORTER_OTLP_ENDPOINT: traces };
    const tracing = await measure(
      await startGatewayProcess({ proxy, environment }),
      'Resident memory with tracing',
      STEPS.slice(0, 2),
    );
    return [...usual, ...tracing];
  } finally {
    collector.closeAllConnections();
    collector.close();
    await proxy.close();
  }
}

const STEPS: readonly Step[] = [
  ['after the start', async () => undefined],
  [
    `and ${CHATS.toLocaleString('en-US')} chats`,
    async (ask) => {
      for (let sent = 0; sent < CHATS; sent += 1) await chat(ask);
    },
  ],
  ['and a link', (ask) => ask('/v1/extract', { url: `https://www.youtube.com/watch?v=${VIDEO_ID}` })],
  ['and an image', (ask) => ask('/v1/images/generations', { model: 'gen-img-2', prompt: 'A tug at dawn' })],
  ['and a sentence as speech', speak],
  ['and its transcription', transcribe],
  [`and ${IDLE_MS / 1_000} s without a request`, () => sleep(IDLE_MS)],
];

function chat(ask: Ask): Promise<Response> {
  return ask('/v1/chat/completions', { model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }] });
}

async function speak(ask: Ask): Promise<Blob> {
  return (await ask('/v1/audio/speech', { model: 'tts_v3', voice: 'nova', input: SENTENCE })).blob();
}

async function transcribe(ask: Ask): Promise<void> {
  const form = new FormData();
  form.set('model', 'stt-large-v3');
  form.set('file', await speak(ask), 'fox.mp3');
  await ask('/v1/audio/transcriptions', form);
}

async function measure(gateway: GatewayProcess, name: string, steps: readonly Step[]): Promise<Figure[]> {
  try {
    const { key } = await gateway.makeKey({ grants: ['extract', 'images', 'text', 'audio'], rpm: 1_000_000 });
    const figures: Figure[] = [];
    for (const [what, work] of steps) {
      await work((path, body) => ask(gateway.url + path, key, body));
      // Until what ended has given its memory back.
      await sleep(1_000);
      const measured = `${Math.round(residentMegabytes(gateway.pid))} MB`;
      figures.push({ what: `${name} ${what}`, measured, target: '', met: true });
    }
    return figures;
  } finally {
    await gateway.stop();
  }
}

async function ask(url: string, key: string, body: object | FormData = {}): Promise<Response> {
  const isForm = body instanceof FormData;
  const headers = { authorization: `Bearer ${key}`, ...(!isForm && { 'content-type': 'application/json' }) };
  const answer = await fetch(url, { method: 'POST', headers, body: isForm ? body : JSON.stringify(body) });
  const whole = Buffer.from(await answer.arrayBuffer());
  if (!answer.ok) throw new Error(`${url} was answered with ${answer.status}: ${whole.toString().slice(0, 500)}`);
  return new Response(whole, { headers: answer.headers });
}
