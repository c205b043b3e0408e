/**
 * `npm run faults -- ledger [--changes 100000] [--kills 50]`: random changes of prepaid balances by two processes that are
 * killed, on each engine; exits with 1 if the ledger is wrong afterwards. `DATABASE_URL` names an empty PostgreSQL database
 * for the second half; without it, SQLite alone is tried.
 */

import { createPlace } from '../support/databases/engines.js';
import { readFlags } from '../support/processes/program-flags.js';
import { isSound, runLedgerKills } from './ledger-kills.js';

const flags = readFlags({
  command: 'npm run faults -- ledger',
  typed: process.argv.slice(3),
  flags: { changes: { default: 100_000, least: 100 }, kills: { default: 50, least: 1 } },
});
const { DATABASE_URL: databaseUrl } = process.env;
for (const url of databaseUrl === undefined ? [undefined] : [undefined, databaseUrl]) {
  const place = await createPlace(url);
  try {
    const report = await runLedgerKills(place, flags);
    console.table({ engine: url === undefined ? 'sqlite' : 'postgres', ...report });
    if (!isSound(report)) process.exitCode = 1;
  } finally {
    await place.remove();
  }
}
