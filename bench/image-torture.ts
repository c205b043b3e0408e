import { parseArgs } from 'node:util';
import { createPlace } from '../test/core/state/engines.js';
import { tortureImages } from '../test/core/state/image-torture.js';
import { startPostgres } from '../test/support/postgres.js';

/*
 * Kills the process that accepts, runs and cancels image jobs, and counts what became of them:
 * `node dist/bench/image-torture.js [--engine postgres] [--kills 200] [--clients 20]`.
 */
const { values: flags } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    kills: { type: 'string', default: '200' },
    clients: { type: 'string', default: '20' },
  },
});

const postgres = flags.engine === 'postgres' ? await startPostgres() : undefined;
if (postgres && 'unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
const place = await createPlace(await postgres?.createDatabase());
try {
  const state = await place.open();
  const begun = performance.now();
  const plan = { keys: 4, rpm: 100, lifeMs: 600, jobMs: 60, patienceMs: 120_000 };
  const report = await tortureImages(place, state, {
    ...plan,
    kills: Number(flags.kills),
    clients: Number(flags.clients),
  });
  console.log({ engine: state.engine, ...report, seconds: Math.round((performance.now() - begun) / 1000) });
  const { lost, duplicated, slotErrors, stuck } = report;
  process.exitCode = lost + duplicated + slotErrors + stuck === 0 ? 0 : 1;
} finally {
  await place.remove();
  await postgres?.stop();
}
