/*
 * `npm run faults -- restart [--rounds 2] [--api 2] [--workers 1] [--rate 200] [--drain 2] [--nginx] [--update]`: exits with
 * 1 if a request failed, a stream was cut, a job was lost or a node ended badly. `--nginx` puts nginx before the nodes,
 * which does not check whether they are ready. `--update` writes the row of docs/operate/multi-node.md.
 */

import { spawnSync } from 'node:child_process';
import { startPostgres } from '../support/databases/postgres.js';
import { hasRow, pageOfTable, writeRow } from '../support/docs/documents.js';
import { readFlags, refuse } from '../support/processes/program-flags.js';
import { startNginx } from './nginx-balancer.js';
import { type RollingReport, restartUnderLoad } from './rolling-restart.js';

const flags = readFlags({
  command: 'npm run faults -- restart',
  typed: process.argv.slice(3),
  flags: {
    rounds: { default: 2, least: 1 },
    api: { default: 2, least: 1 },
    workers: { default: 1, least: 1 },
    rate: { default: 200, least: 1 },
    drain: { default: 2, least: 0 },
    nginx: 'switch',
    update: 'switch',
  },
});
const STREAMS = 20;
const STREAM_SECONDS = 5;
const front = flags.nginx ? 'nginx set as above' : 'a balancer that asks for `/health/ready`';
const run =
  `${flags.api} × api and ${flags.workers} × worker, each restarted ${flags.rounds} × at ${flags.rate} requests/s and ` +
  `${STREAMS} streams of ${STREAM_SECONDS} s, behind ${front}, \`DRAIN_SECONDS=${flags.drain}\``;
if (flags.update && !hasRow('nodes', run)) refuse(`${pageOfTable('nodes')} has no row for this run: ${run}`);

if (flags.nginx && spawnSync('nginx', ['-v']).error) refuse('There is no nginx on the PATH.');
const postgres = await startPostgres();
if ('unavailable' in postgres) refuse(`There is no PostgreSQL: ${postgres.unavailable}.`);
try {
  const report = await restartUnderLoad({
    databaseUrl: await postgres.createDatabase(),
    apiNodes: flags.api,
    workerNodes: flags.workers,
    rounds: flags.rounds,
    requestsPerSecond: flags.rate,
    streams: STREAMS,
    streamMs: STREAM_SECONDS * 1_000,
    ...(flags.nginx && { front: startNginx }),
    environment: { DRAIN_SECONDS: String(flags.drain) },
  });
  console.log(report);
  if (flags.update) writeRow('nodes', [run, outcomeOf(report)]);
  process.exitCode = failuresOf(report) + report.cutStreams + report.lostJobs + report.badExits === 0 ? 0 : 1;
} finally {
  await postgres.stop();
}

function outcomeOf(report: RollingReport): string {
  const { requests, askedAgain, streams, cutStreams, jobs, lostJobs, badExits } = report;
  return (
    `${requests.toLocaleString('en')} requests, ${askedAgain} asked again as they were told; ${failuresOf(report)} failed, ` +
    `${cutStreams} of ${streams} streams cut, ${lostJobs} of ${jobs} jobs lost` +
    (badExits === 0 ? '' : `; ${badExits} nodes ended badly`)
  );
}

function failuresOf({ failed }: RollingReport): number {
  return Object.values(failed).reduce((sum, times) => sum + times, 0);
}
