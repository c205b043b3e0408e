import { startImageServer } from './image-server.js';
import { type Figure, residentMegabytes, slope } from './measure.js';

/** After as many as it takes until allocators, caches and compiled code have found their size. */
const WARM_UP = 2_500;
const JOBS = WARM_UP + 5_000;
const BATCH = 250;
const AT_ONCE = 20;
const TARGET_MEGABYTES = 2;

/** Five thousand pictures through one gateway, and how its resident memory goes. */
export async function measureImageMemory(): Promise<Figure> {
  const server = await startImageServer();
  try {
    const points: [jobs: number, megabytes: number][] = [];
    let begun = 0;
    while (begun < JOBS) {
      const until = begun + BATCH;
      const client = async () => {
        while (begun < until) {
          const { path: _path, status: _accepted, ...init } = server.submission(begun++, { size: '256x256' });
          const { status, text } = await server.gateway.request('/v1/images/generations', init);
          if (status !== 200) throw new Error(`There is no picture: ${text}`);
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, client));
      points.push([begun / 1_000, residentMegabytes(server.gateway.pid)]);
    }
    const settled = points.filter(([jobs]) => jobs * 1_000 >= WARM_UP);
    const rise = slope(settled);
    const ends = [settled[0], settled.at(-1)].map((point) => point?.[1].toFixed(0)).join(' → ');
    return {
      what: `Resident memory over ${(JOBS - WARM_UP).toLocaleString('en-US')} image jobs, after the first ${WARM_UP.toLocaleString('en-US')}`,
      measured: `${rise.toFixed(2)} MB per 1,000 (${ends} MB)`,
      target: `≤ ${TARGET_MEGABYTES} MB per 1,000`,
      met: rise <= TARGET_MEGABYTES,
    };
  } finally {
    await server.stop();
  }
}
