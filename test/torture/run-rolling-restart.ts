import { parseArgs } from 'node:util';
import { startPostgres } from '../support/postgres.js';
import { startNginx } from './nginx-front.js';
import { restartUnderLoad } from './rolling-restart.js';

/*
 * `node dist/test/torture/run-rolling-restart.js [--rounds 3] [--api 3] [--workers 2] [--rate 200] [--drain 2]
 * [--nginx]`: ends with 1 where a request failed or a stream was cut. `--nginx` has that stand before the nodes.
 */
const { values: flags } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    api: { type: 'string', default: '3' },
    workers: { type: 'string', default: '2' },
    rate: { type: 'string', default: '200' },
    drain: { type: 'string', default: '2' },
    nginx: { type: 'boolean', default: false },
  },
});
const postgres = await startPostgres();
if ('unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
try {
  const report = await restartUnderLoad({
    databaseUrl: await postgres.createDatabase(),
    apiNodes: Number(flags.api),
    workerNodes: Number(flags.workers),
    rounds: Number(flags.rounds),
    requestsPerSecond: Number(flags.rate),
    streams: 20,
    streamMs: 5_000,
    ...(flags.nginx && { front: startNginx }),
    environment: { DRAIN_SECONDS: flags.drain },
  });
  console.log(report);
  const bad = Object.keys(report.failed).length + report.cutStreams + report.lostJobs + report.badExits;
  process.exitCode = bad === 0 ? 0 : 1;
} finally {
  await postgres.stop();
}
