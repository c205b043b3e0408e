import { parseArgs } from 'node:util';
import { createPlace } from '../test/core/state/engines.js';
import { tortureTarget } from '../test/core/state/job-processes.js';
import { tortureJobs } from '../test/support/jobs-torture.js';
import { startPostgres } from '../test/support/postgres.js';

/*
 * Kills the process that runs jobs, at random moments and with SIGKILL, while jobs are submitted and run, and counts what
 * became of them: `node dist/bench/jobs-torture.js [--engine postgres] [--jobs 1000] [--kills 50]`.
 */
const { values: flags } = parseArgs({
  options: {
    engine: { type: 'string', default: 'sqlite' },
    jobs: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '50' },
  },
});

const postgres = flags.engine === 'postgres' ? await startPostgres() : undefined;
if (postgres && 'unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
const place = await createPlace(await postgres?.createDatabase());
try {
  const state = await place.open();
  const begun = performance.now();
  // Lives are long beside the jobs, which else are cut off five times by chance alone and fail as they are meant to.
  const plan = { jobs: Number(flags.jobs), kills: Number(flags.kills), lifeMs: 600, patienceMs: 60_000 };
  const report = await tortureJobs(tortureTarget(place, state, 40), plan);
  console.log({ engine: state.engine, ...report, seconds: Math.round((performance.now() - begun) / 1000) });
  const { refused, lost, failed, overlapping, completedTwice } = report;
  process.exitCode = refused + lost + failed + overlapping + completedTwice === 0 ? 0 : 1;
} finally {
  await place.remove();
  await postgres?.stop();
}
