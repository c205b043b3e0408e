/** Benchmark of growth: the same work beside a thousand and beside a million jobs. */

import { startPostgres } from '../support/databases/postgres.js';
import { measureGrownKeys } from './growth-keys.js';
import { type GrowthSide, openSide } from './growth-side.js';
import { GROWTH_WORK, type GrowthWork } from './growth-work.js';
import { type Figure, median } from './measure.js';
import { cpuOfPostgres, findPostmaster } from './postgres-cpu.js';

const ROUNDS = 5;
const LITTLE = { jobs: 1_000, keys: 300 };
const MUCH = { jobs: 1_000_000, keys: 100_000 };
const TARGET_RATIO = 2;

/** As an operator has it: what was committed is on the disk. */
export const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '256MB',
  max_connections: '400',
};

/** What a gateway does all day with much behind it, beside the same with next to nothing, on both engines. */
export async function measureGrowth(): Promise<Figure[]> {
  const postgres = await startPostgres({ configuration: DURABLE });
  if ('unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
  try {
    const postmaster = await findPostmaster(postgres.url);
    const cpuOfBoth = () => cpuOfThis() + cpuOfPostgres(postmaster);
    return [
      ...(await measureEngine(cpuOfThis, async () => undefined)),
      ...(await measureEngine(cpuOfBoth, () => postgres.createDatabase())),
    ];
  } finally {
    await postgres.stop();
  }
}

/** Milliseconds. */
function cpuOfThis(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function measureEngine(cpu: () => number, createDatabase: () => Promise<string | undefined>): Promise<Figure[]> {
  const sides: GrowthSide[] = [];
  try {
    for (const size of [LITTLE, MUCH]) sides.push(await openSide({ ...size, databaseUrl: await createDatabase() }));
    const [little, much] = sides as [GrowthSide, GrowthSide];
    return [...(await measureWork(little, much, cpu)), ...(await measureGrownKeys(little, much))];
  } finally {
    for (const side of sides) await side.remove();
  }
}

interface Cost {
  /** Microseconds for one. */
  time: number;
  cpu: number;
}

async function costOf({ prepare, work }: GrowthWork, side: GrowthSide, cpu: () => number): Promise<Cost> {
  await prepare?.(side);
  const [beganAt, cpuBefore] = [performance.now(), cpu()];
  const count = await work(side);
  return { time: ((performance.now() - beganAt) * 1000) / count, cpu: ((cpu() - cpuBefore) * 1000) / count };
}

/** Rounds alternate between the sides, so that the machine's moods hit both; the first round is not counted. */
async function measureWork(little: GrowthSide, much: GrowthSide, cpu: () => number): Promise<Figure[]> {
  const rounds = GROWTH_WORK.map((work) => ({ work, costs: [] as { little: Cost; much: Cost }[] }));
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const { work, costs } of rounds) {
      const found = { little: await costOf(work, little, cpu), much: await costOf(work, much, cpu) };
      if (round > 0) costs.push(found);
    }
  }
  return rounds.map(({ work, costs }) => {
    const of = (pick: (cost: { little: Cost; much: Cost }) => number) => median(costs.map(pick));
    const ratio = of(({ much }) => much.cpu) / of(({ little }) => little.cpu);
    const shown = (name: keyof Cost) =>
      `${Math.round(of(({ much: each }) => each[name]))} µs, ${Math.round(of(({ little: each }) => each[name]))} µs`;
    return {
      what: `${work.what}: ${nameOf(much)}, beside ${LITTLE.jobs.toLocaleString('en-US')} and ${LITTLE.keys}`,
      measured: `${shown('cpu')} of CPU: ${ratio.toFixed(2)}x (time ${shown('time')})`,
      target: `≤ ${TARGET_RATIO}x`,
      met: ratio <= TARGET_RATIO,
    };
  });
}

function nameOf({ engine, jobs, keys }: GrowthSide): string {
  const name = engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  return `${name} with ${jobs.toLocaleString('en-US')} jobs and ${keys.toLocaleString('en-US')} keys`;
}
