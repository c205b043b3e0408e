import { startPostgres } from '../support/postgres.js';
import { tortureSharedLimits } from './shared-limits.js';

/** `node dist/test/torture/run-shared-limits.js [rounds]`; ends with 1 where a limit let in one more or one less. */
const [rounds = '100'] = process.argv.slice(2);
const postgres = await startPostgres();
if ('unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
try {
  const reports = await tortureSharedLimits({
    databaseUrl: await postgres.createDatabase(),
    rounds: Number(rounds),
  });
  console.table(reports);
  process.exitCode = reports.every(({ exact, rounds: tried }) => exact === tried) ? 0 : 1;
} finally {
  await postgres.stop();
}
