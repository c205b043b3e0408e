/** `node dist/test/chaos/run-extract-jobs.js [jobs] [kills] [database URL]`; exits with 1 if a job was lost or doubled. */

import { runExtractionChaos } from './extract-jobs.js';

const [jobs = '1000', kills = '50', databaseUrl] = process.argv.slice(2);
const report = await runExtractionChaos({ jobs: Number(jobs), kills: Number(kills), databaseUrl });
console.table(report);
const bad = report.failed + report.lost + report.overlappingFetches + report.unaccountedFetches;
process.exitCode = bad === 0 && report.completed + report.answered === Number(jobs) ? 0 : 1;
