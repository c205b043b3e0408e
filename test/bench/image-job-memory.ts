/** Benchmark of memory over thousands of image jobs. */

import type { Database } from '../../core/database/database.js';
import { sql } from '../../core/database/kysely.js';
import { loadHttp } from './http-load.js';
import { type ImageServer, startImageServer } from './image-server.js';
import { COLLECTING_PROMPT } from './instant-image.js';
import { type Figure, residentMegabytes, slope } from './measure.js';

/** After as many as it takes until allocators, caches and compiled code have found their size. */
const WARM_UP = 5_000;
const JOBS = WARM_UP + 5_000;
const BATCH = 250;
const AT_ONCE = 20;
const SHOWN_EVERY = 1_000;
const TARGET_MEGABYTES = 2;
const ROUTE = '/v1/images/generations';

interface Sample {
  jobs: number;
  /** Resident, once garbage has been collected: otherwise it is of chance how much of that there is. */
  megabytes: number;
  /** Of the database's file, of which SQLite keeps 8 MiB in memory where it began as a small one. */
  stored: number;
}

/** Five thousand pictures through one gateway, and how its resident memory goes. */
export async function measureImageMemory(): Promise<Figure> {
  const server = await startImageServer();
  const database = await server.site.openDatabase();
  try {
    const samples: Sample[] = [];
    for (let jobs = BATCH; jobs <= JOBS; jobs += BATCH) {
      await make(server, jobs - BATCH);
      await collectGarbage(server);
      const megabytes = residentMegabytes(server.gateway.pid);
      samples.push({ jobs, megabytes, stored: await storedMegabytes(database) });
    }
    const settled = samples.filter(({ jobs }) => jobs >= WARM_UP);
    const rise = (of: 'megabytes' | 'stored') => slope(settled.map((sample) => [sample.jobs / 1_000, sample[of]]));
    const curve = settled
      .filter(({ jobs }) => (jobs - WARM_UP) % SHOWN_EVERY === 0)
      .map(({ megabytes }) => megabytes.toFixed(0));
    const [jobs, warmUp] = [JOBS - WARM_UP, WARM_UP].map((count) => count.toLocaleString('en-US'));
    return {
      what: `Resident memory over ${jobs} image jobs, after the first ${warmUp}`,
      measured:
        `${rise('megabytes').toFixed(2)} MB per 1,000 (${curve.join(', ')} MB); the database grew by ` +
        `${rise('stored').toFixed(2)} MB per 1,000, of which 8 MiB are kept in memory`,
      target: `≤ ${TARGET_MEGABYTES} MB per 1,000`,
      met: rise('megabytes') <= TARGET_MEGABYTES,
    };
  } finally {
    await database.close();
    await server.stop();
  }
}

/** A batch of pictures, the first of which has this number. */
async function make({ gateway, submission }: ImageServer, first: number): Promise<void> {
  const next = (index: number) => ({ ...submission(first + index, { size: '256x256' }), path: ROUTE, status: 200 });
  await loadHttp({ url: gateway.url, connections: AT_ONCE, count: BATCH, next });
}

async function collectGarbage({ gateway, submission }: ImageServer): Promise<void> {
  const next = () => ({ ...submission(0, { prompt: COLLECTING_PROMPT }), path: ROUTE, status: 400 });
  await loadHttp({ url: gateway.url, connections: 1, count: 1, next });
}

async function storedMegabytes({ queries }: Database): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`.execute(queries);
  return (rows[0]?.bytes ?? 0) / 1e6;
}
