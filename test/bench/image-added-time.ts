/** Benchmark of the time that the gateway adds to an image of a model. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ImageFiles } from '../../core/media/image-file.js';
import type { LoadedRequest } from './http-load.js';
import { startEmbeddedGateway } from './image-embedded.js';
import { startImageServer } from './image-server.js';
import { instantPicture } from './instant-image.js';
import { cpuOfProcess, type Figure, median, percentile } from './measure.js';
import { createRawConnection } from './raw-connection.js';

const AT_ONCE = 50;
const PICTURES = 500;
/** Quick ones, until the code that makes them has been compiled; a gateway at work has made more. */
const WARM_UP = 1_000;
const SIZE = { width: 1024, height: 1024 };
const TARGET_MS = 5;
const ROUNDS = 3;
/** So long that the processors are not what fifty pictures at a time wait for. A real model takes ten times that. */
const PATIENT_MODEL_MS = 2_000;

/**
 * A picture by way of a job, beside the same model and the same pass of sharp called directly, as many at a time. Twice with a
 * model that takes a while: then what a job adds is the time that a caller waits longer, who calls either of them in one process,
 * or the former over HTTP. And once with a model that takes no time: then fifty pictures wait for the processors all the time,
 * and what a job adds is seen in how many are made.
 */
export async function measureAddedTime(): Promise<Figure[]> {
  const busy = await compareOverHttp(0);
  const work = busy.ours.perPicture - busy.direct.perPicture;
  const called = await compareCalls();
  const calm = await compareOverHttp(PATIENT_MODEL_MS);
  const beside = 'beside the model and the same pass of sharp alone';
  const patient = `(a model that takes ${PATIENT_MODEL_MS / 1000} s)`;
  return [
    {
      what: `A picture by job and file, ${AT_ONCE} at a time, ${beside}, called in one process: time of each ${patient}`,
      measured: describeWait(called),
      target: `< ${TARGET_MS} ms more`,
      met: waitOf(called) < TARGET_MS,
    },
    {
      what: `The same with its request and answer over HTTP, ${beside}: time of each ${patient}`,
      measured: describeWait(calm),
      target: '',
      met: true,
    },
    {
      what: `A picture by job and file, ${AT_ONCE} at a time, ${beside}: time of all by their number (a model that takes no time)`,
      measured:
        `${busy.ours.perPicture.toFixed(1)} ms, ${busy.direct.perPicture.toFixed(1)} ms a picture: ${work.toFixed(1)} ms more ` +
        `(p50 of ${AT_ONCE} that wait for each other: ${busy.ours.p50.toFixed(0)} ms, ${busy.direct.p50.toFixed(0)} ms; ` +
        `CPU ${busy.ours.cpu.toFixed(1)} ms, ${busy.direct.cpu.toFixed(1)} ms a picture)`,
      target: `< ${TARGET_MS} ms more`,
      met: work < TARGET_MS,
    },
  ];
}

interface Compared {
  ours: Waits;
  direct: Waits;
}

/** Milliseconds of each picture. */
interface Waits {
  p50: number;
  p90: number;
}

function waitOf({ ours, direct }: Compared): number {
  return ours.p50 - direct.p50;
}

function describeWait({ ours, direct }: Compared): string {
  return (
    `p50 ${ours.p50.toFixed(1)} ms, ${direct.p50.toFixed(1)} ms: ${waitOf({ ours, direct }).toFixed(1)} ms more ` +
    `(p90 ${(ours.p90 - direct.p90).toFixed(1)} ms more)`
  );
}

interface Made extends Waits {
  /** Milliseconds of all by their number. */
  perPicture: number;
  /** CPU milliseconds of the process that made them, for each. */
  cpu: number;
}

function directly(): Client {
  const images = new ImageFiles();
  const { signal } = new AbortController();
  return () => async (_index, takesMs) => {
    const bytes = await instantPicture(takesMs);
    await images.fitCanvas({ bytes, contentType: 'image/png' }, { size: SIZE, signal });
  };
}

/** Rounds alternate, so that the machine's moods hit both; the median of each. */
async function compareCalls(): Promise<Compared> {
  const embedded = await startEmbeddedGateway({
    size: SIZE,
    workers: AT_ONCE,
    modelMs: PATIENT_MODEL_MS,
    quickPictures: WARM_UP,
  });
  try {
    const clients = { ours: () => (index: number) => embedded.make(index), direct: directly() };
    await repeat(WARM_UP, clients.ours, 0);
    await repeat(WARM_UP, clients.direct, 0);
    const rounds = { ours: [] as Waits[], direct: [] as Waits[] };
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const who of ['direct', 'ours'] as const) {
        rounds[who].push(toWaits((await repeat(PICTURES / 2, clients[who], PATIENT_MODEL_MS)).times));
      }
    }
    return { ours: medianOf(rounds.ours), direct: medianOf(rounds.direct) };
  } finally {
    await embedded.stop();
  }
}

function toWaits(times: readonly number[]): Waits {
  return { p50: percentile(times, 0.5), p90: percentile(times, 0.9) };
}

function medianOf(rounds: readonly Waits[]): Waits {
  return { p50: median(rounds.map(({ p50 }) => p50)), p90: median(rounds.map(({ p90 }) => p90)) };
}

async function compareOverHttp(modelMs: number): Promise<{ ours: Made; direct: Made }> {
  const direct = await measure(directly(), { modelMs, pid: process.pid });

  const server = await startImageServer({
    environment: { IMAGE_WORKERS: String(AT_ONCE) },
    modelMs,
    quickPictures: WARM_UP,
  });
  try {
    const makeByJob: Client = () => {
      const connection = createRawConnection(server.gateway.url);
      return async (index) => {
        const wanted = server.submission(index, { size: `${SIZE.width}x${SIZE.height}` });
        const { status, text } = await connection.exchange(toRawRequest({ ...wanted, path: '/v1/images/generations' }));
        if (status !== 200) throw new Error(`no picture: ${text}`);
      };
    };
    return { ours: await measure(makeByJob, { modelMs, pid: server.gateway.pid }), direct };
  } finally {
    await server.stop();
  }
}

/** One of the clients, each of which makes one picture after the other. */
type Client = () => (index: number, takesMs: number) => Promise<unknown>;

function toRawRequest({ method, path, headers, body = '' }: LoadedRequest): Buffer {
  const fields = { host: 'localhost', ...headers, 'content-length': Buffer.byteLength(body) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}

interface Measuring {
  modelMs: number;
  /** Of the process that does the work. */
  pid: number;
}

async function measure(client: Client, { modelMs, pid }: Measuring): Promise<Made> {
  await repeat(WARM_UP, client, 0);
  const before = cpuOfProcess(pid);
  const { perPicture, times } = await repeat(PICTURES, client, modelMs);
  const cpu = (cpuOfProcess(pid) - before) / PICTURES;
  return { perPicture, ...toWaits(times), cpu };
}

/** So many at a time, the first of which begin one after the other. */
async function repeat(count: number, client: Client, modelMs: number) {
  const times: number[] = [];
  let index = 0;
  const began = performance.now();
  const worker = async (_: unknown, place: number) => {
    const make = client();
    await sleep((place * modelMs) / AT_ONCE);
    while (index < count) {
      const own = index;
      index += 1;
      const begun = performance.now();
      await make(own, modelMs);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { perPicture: (performance.now() - began) / count, times };
}
