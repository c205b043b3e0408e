import { setTimeout as sleep } from 'node:timers/promises';
import { createImageFiles } from '../core/media/image-file.js';
import type { LoadedRequest } from './http-load.js';
import { startImageServer } from './image-server.js';
import { instantPicture } from './instant-image.js';
import { cpuOfProcess, type Figure, percentile } from './measure.js';
import { createRawConnection } from './raw-connection.js';

const AT_ONCE = 50;
const PICTURES = 500;
/** Quick ones, until the code that makes them has been compiled; a gateway at work has made more. */
const WARM_UP = 1_000;
const SIZE = { width: 1024, height: 1024 };
const TARGET_MS = 5;
/** So long that the processors are not what fifty pictures at a time wait for. A real model takes ten times that. */
const PATIENT_MODEL_MS = 2_000;

/**
 * A picture by way of a job, beside the same model and the same pass of sharp called directly, as many at a time. Once with a
 * model that takes no time: then fifty pictures wait for the processors all the time, and what a job adds is seen in how many
 * are made. And once with a model that takes a while: then what a job adds is the time that a caller waits longer.
 */
export async function measureAddedTime(): Promise<Figure[]> {
  const busy = await compare(0);
  const work = busy.ours.perPicture - busy.direct.perPicture;
  const calm = await compare(PATIENT_MODEL_MS);
  const wait = calm.ours.p50 - calm.direct.p50;
  const beside = 'beside the model and the same pass of sharp alone';
  return [
    {
      what: `A picture by job and file, ${AT_ONCE} at a time, ${beside}: time of each (a model that takes ${PATIENT_MODEL_MS / 1000} s)`,
      measured:
        `p50 ${calm.ours.p50.toFixed(1)} ms, ${calm.direct.p50.toFixed(1)} ms: ${wait.toFixed(1)} ms more ` +
        `(p90 ${(calm.ours.p90 - calm.direct.p90).toFixed(1)} ms more)`,
      target: `< ${TARGET_MS} ms more`,
      met: wait < TARGET_MS,
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

interface Made {
  /** Milliseconds of all by their number. */
  perPicture: number;
  /** Milliseconds of each. */
  p50: number;
  p90: number;
  /** CPU milliseconds of the process that made them, for each. */
  cpu: number;
}

async function compare(modelMs: number): Promise<{ ours: Made; direct: Made }> {
  const images = createImageFiles();
  const { signal } = new AbortController();
  const makeDirectly: Client = () => async (_index, takesMs) => {
    const bytes = await instantPicture(takesMs);
    await images.fitCanvas({ bytes, contentType: 'image/png' }, { size: SIZE, signal });
  };
  const direct = await measure(makeDirectly, { modelMs, pid: process.pid });

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

/** One of those who want pictures, each of whom makes one after the other. */
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
  return { perPicture, p50: percentile(times, 0.5), p90: percentile(times, 0.9), cpu };
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
