/**
 * `npm run faults -- alerts [--seconds 120] [--kills 40]`: alerts of two processes that are killed, on each engine; exits
 * with 1 if one was lost, or opened twice. `DATABASE_URL` names an empty PostgreSQL database for the second half; without
 * it, SQLite alone is tried.
 */

import { createPlace } from '../support/databases/engines.js';
import { readFlags } from '../support/processes/program-flags.js';
import { isSound, runAlertKills } from './alert-kills.js';

const flags = readFlags({
  command: 'npm run faults -- alerts',
  typed: process.argv.slice(3),
  flags: { seconds: { default: 120, least: 5 }, kills: { default: 40, least: 1 } },
});
const { DATABASE_URL: databaseUrl } = process.env;
for (const url of databaseUrl === undefined ? [undefined] : [undefined, databaseUrl]) {
  const place = await createPlace(url);
  try {
    const report = await runAlertKills(place, flags);
    console.table({ engine: url === undefined ? 'sqlite' : 'postgres', ...report });
    if (!isSound(report)) process.exitCode = 1;
  } finally {
    await place.remove();
  }
}
