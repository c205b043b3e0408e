import { tortureExtractionJobs } from './extract-jobs.js';

/** `node dist/test/chaos/run-extract-jobs.js [jobs] [kills] [database URL]`; ends with 1 where anything was lost or doubled. */
const [jobs = '1000', kills = '50', databaseUrl] = process.argv.slice(2);
const report = await tortureExtractionJobs({ jobs: Number(jobs), kills: Number(kills), databaseUrl });
console.table(report);
const bad = report.failed + report.lost + report.overlappingFetches + report.unaccountedFetches;
process.exitCode = bad === 0 && report.completed + report.answered === Number(jobs) ? 0 : 1;
