import { createImageFiles } from '../core/media/image-file.js';
import { startImageServer } from './image-server.js';
import { instantPicture } from './instant-image.js';
import { cpuOfProcess, type Figure, percentile } from './measure.js';

const AT_ONCE = 50;
const PICTURES = 500;
const WARM_UP = 50;
const SIZE = { width: 1024, height: 1024 };
const TARGET_MS = 5;

/** A picture by way of a job, beside the same model and the same pass of sharp called directly. */
export async function measureAddedTime(): Promise<Figure> {
  const images = createImageFiles();
  const bytes = await instantPicture();
  const { signal } = new AbortController();
  const cpuUsed = () => process.cpuUsage().user + process.cpuUsage().system;
  const directBefore = cpuUsed();
  const direct = await repeat(PICTURES, () =>
    images.fitCanvas({ bytes, contentType: 'image/png' }, { size: SIZE, signal }),
  );
  const directCpu = (cpuUsed() - directBefore) / 1000 / PICTURES;

  const server = await startImageServer({ IMAGE_WORKERS: String(AT_ONCE) });
  try {
    const make = async (index: number) => {
      const { path, status: _accepted, ...init } = server.submission(index, { size: `${SIZE.width}x${SIZE.height}` });
      const { status, text } = await server.gateway.request('/v1/images/generations', init);
      if (status !== 200) throw new Error(`${path}: no picture: ${text}`);
    };
    await repeat(WARM_UP, make);
    const cpuBefore = cpuOfProcess(server.gateway.pid);
    const ours = await repeat(PICTURES, make);
    const cpu = (cpuOfProcess(server.gateway.pid) - cpuBefore) / PICTURES;
    const added = ours.perPicture - direct.perPicture;
    return {
      what: `A picture by job and file, ${AT_ONCE} at a time, beside the model and the same pass of sharp alone (a model that takes no time)`,
      measured:
        `${ours.perPicture.toFixed(1)} ms, ${direct.perPicture.toFixed(1)} ms a picture: ${added.toFixed(1)} ms more ` +
        `(p50 of ${AT_ONCE} that wait for each other: ${ours.p50.toFixed(0)} ms, ${direct.p50.toFixed(0)} ms; ` +
        `CPU ${cpu.toFixed(1)} ms, ${directCpu.toFixed(1)} ms a picture)`,
      target: `< ${TARGET_MS} ms more`,
      met: added < TARGET_MS,
    };
  } finally {
    await server.stop();
  }
}

/** So many at a time. `perPicture`: milliseconds of all by their number. */
async function repeat(count: number, work: (index: number) => Promise<unknown>) {
  const times: number[] = [];
  let index = 0;
  const began = performance.now();
  const worker = async () => {
    while (index < count) {
      const own = index;
      index += 1;
      const begun = performance.now();
      await work(own);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { perPicture: (performance.now() - began) / count, p50: percentile(times, 0.5) };
}
