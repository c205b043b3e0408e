/**
 * `npm run faults -- batch [--links 1000] [--kills 10] [--rpm 6000]`: a background batch whose process is killed; exits
 * with 1 if a link was lost or charged twice.
 */

import { readFlags } from '../support/processes/program-flags.js';
import { runBatchKills } from './batch-kills.js';

const { links, kills, rpm } = readFlags({
  command: 'npm run faults -- batch',
  typed: process.argv.slice(3),
  flags: {
    links: { default: 1_000, least: 1 },
    kills: { default: 10, least: 0 },
    rpm: { default: 6_000, least: 1 },
  },
});
const report = await runBatchKills({ links, kills, rpm, timed: true });
console.table(report);
const { status, lost, failed, countedTwice, slotsTwice, paidTwice, unaccountedFetches } = report;
const wrong = [lost, failed, countedTwice, slotsTwice, paidTwice, unaccountedFetches];
process.exitCode = status === 'completed' && wrong.every((count) => count === 0) ? 0 : 1;
