/*
 * `npm run faults -- limits [--rounds 100] [--update]`: exits with 1 if a limit accepted one more or one less.
 * `--update` writes the row of docs/operate/multi-node.md.
 */

import { startPostgres } from '../support/databases/postgres.js';
import { hasRow, pageOfTable, writeRow } from '../support/docs/documents.js';
import { readFlags, refuse } from '../support/processes/program-flags.js';
import { LIMIT, LIMITS, REQUESTS, runSharedLimitChaos } from './shared-limits.js';

const { rounds, update } = readFlags({
  command: 'npm run faults -- limits',
  typed: process.argv.slice(3),
  flags: {
    rounds: { default: 100, least: 1 },
    update: 'switch',
  },
});
const run =
  `${REQUESTS} requests at once over two nodes where ${LIMIT} are allowed, ${rounds} times each: ` +
  Object.keys(LIMITS).join(', ');
if (update && !hasRow('nodes', run)) refuse(`${pageOfTable('nodes')} has no row for this run: ${run}`);

const postgres = await startPostgres();
if ('unavailable' in postgres) refuse(`There is no PostgreSQL: ${postgres.unavailable}.`);
try {
  const reports = await runSharedLimitChaos({ databaseUrl: await postgres.createDatabase(), rounds });
  console.table(reports);
  const exact = reports.reduce((sum, report) => sum + report.exact, 0);
  const tried = reports.length * rounds;
  if (update) writeRow('nodes', [run, `exactly ${LIMIT} let in, ${exact} of ${tried} times`]);
  process.exitCode = exact === tried ? 0 : 1;
} finally {
  await postgres.stop();
}
