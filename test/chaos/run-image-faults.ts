/*
 * `npm run faults [-- --only kills,workers,upstream,disk,clock] [--engine sqlite,postgres] [--kills 200] [--jobs 50]
 * [--update]`: ends with 1 if a counter is not 0. `--update` writes the table of docs/develop/faults.md.
 */

import { startPostgres } from '../support/databases/postgres.js';
import { renderTable, writeTable } from '../support/docs/documents.js';
import { readFlags, refuse } from '../support/processes/program-flags.js';
import { runClockFaults } from './image-clock-jumps.js';
import { runDiskFullFaults } from './image-disk-full.js';
import { type FaultCounters, isClean } from './image-findings.js';
import { runKillFaults } from './image-kills.js';
import { openImageSite } from './image-site.js';
import { runUpstreamFaults } from './image-upstream-faults.js';
import { runWorkerFaults } from './image-workers.js';

interface Row {
  fault: string;
  /** Undefined where it could not be brought about here. */
  report?: FaultCounters & { accepted: number };
  detail: string;
  /** Whether all else that must be so is so. */
  good: boolean;
}

const FAULTS: Readonly<Record<string, (engine: string, databaseUrl?: string) => Promise<Row[]>>> = {
  kills: faultsByKills,
  workers: faultsOfWorkers,
  upstream: faultsByUpstream,
  disk: faultsByFullDisk,
  clock: faultsByClock,
};

const flags = readFlags({
  command: 'npm run faults --',
  note: 'Others have flags of their own: npm run faults -- scale | restart | limits | hints | bodies | soak | batch.',
  flags: {
    only: { among: Object.keys(FAULTS) },
    engine: { among: ['sqlite', 'postgres'] },
    kills: { default: 200, least: 1 },
    jobs: { default: 50, least: 1 },
    update: 'switch',
  },
});

const rows: Row[] = [];
for (const engine of flags.engine) {
  const postgres = engine === 'postgres' ? await startPostgres() : undefined;
  if (postgres && 'unavailable' in postgres) refuse(`There is no PostgreSQL: ${postgres.unavailable}.`);
  try {
    for (const name of flags.only) {
      process.stderr.write(`${name} on ${engine}\n`);
      rows.push(...((await FAULTS[name]?.(engine, await postgres?.createDatabase())) ?? []));
    }
  } finally {
    await postgres?.stop();
  }
}

const table = renderTable(
  ['fault', 'jobs', 'lost', 'duplicated', 'slot errors', 'stuck', 'dead links', 'besides'],
  rows.map(({ fault, report, detail }) => [
    fault,
    ...(report
      ? [report.accepted, report.lost, report.duplicated, report.slotErrors, report.stuck, report.deadLinks].map(String)
      : Array<string>(6).fill('–')),
    detail,
  ]),
);
console.log(table);
if (flags.update) writeTable('faults', table);
process.exitCode = rows.every(({ report, good }) => good && (!report || isClean(report))) ? 0 : 1;

async function faultsByKills(engine: string, databaseUrl?: string): Promise<Row[]> {
  const site = await openImageSite({ keys: 20, rpm: 30, databaseUrl });
  try {
    const times = { lifeMs: 600, drawMs: 80, paceMs: 400, timeoutMs: 300_000 };
    const report = await runKillFaults(site, { kills: flags.kills, clients: 20, ...times });
    const { kills, atMoments, requests, refused, untold, completed, failed, cancelled, bills } = report;
    const detail =
      `${atMoments} of them at named moments; 20 clients, ${requests} requests, ${refused} refused, ${untold} replayed; ` +
      `${completed} completed, ${failed} failed, ${cancelled} cancelled; ${bills} bills; ${report.upstreamCalls} upstream ` +
      `calls, ${report.repeatedCalls} of them repeated after a crash, ${report.unexplainedCalls} without one; ` +
      `back after ${report.restartMs} ms`;
    return [{ fault: `${kills} × kill -9, ${engine}`, report, detail, good: report.unexplainedCalls === 0 }];
  } finally {
    await site.remove();
  }
}

async function faultsOfWorkers(engine: string, databaseUrl?: string): Promise<Row[]> {
  const site = await openImageSite({ keys: 20, rpm: 30, databaseUrl, environment: { WORKERS: '2' } });
  try {
    const few = Math.ceil(flags.kills / 50);
    const faults = { workerKills: 5 * few, supervisorKills: few, reloads: few };
    const times = { drawMs: 80, paceMs: 400, timeoutMs: 300_000 };
    const report = await runWorkerFaults(site, { ...faults, clients: 20, ...times });
    const { requests, refused, untold, completed, failed, cancelled, bills, unexplainedCalls } = report;
    const detail =
      `20 clients, ${requests} requests, ${refused} refused, ${untold} replayed; ${completed} completed, ${failed} failed, ` +
      `${cancelled} cancelled; ${bills} bills; ${report.upstreamCalls} upstream calls, ${report.repeatedCalls} of them ` +
      `repeated after a crash, ${unexplainedCalls} without one; ${report.reloaded} reloads completed`;
    const fault =
      `two workers: ${faults.workerKills} × kill -9 of one, ${few} × kill -9 of their supervisor, ` +
      `${few} × SIGHUP under load, ${engine}`;
    return [{ fault, report, detail, good: unexplainedCalls === 0 && report.reloaded === few }];
  } finally {
    await site.remove();
  }
}

async function faultsByUpstream(engine: string, databaseUrl?: string): Promise<Row[]> {
  const report = await runUpstreamFaults(flags.jobs, databaseUrl);
  console.table(report.modes);
  const { modes, completed, failed, bills, wrongEnds } = report;
  const detail = `${completed} completed, ${failed} failed; ${bills} bills; ${wrongEnds} ended otherwise than they should`;
  const fault = `${modes.length} ways in which the upstream fails, ${engine}`;
  return [{ fault, report, detail, good: wrongEnds === 0 }];
}

async function faultsByFullDisk(engine: string, databaseUrl?: string): Promise<Row[]> {
  // The database of PostgreSQL is on a disk of its own.
  if (databaseUrl) return [];
  const report = await runDiskFullFaults();
  const fault = `full disk, ${engine}`;
  if (!report) return [{ fault, detail: 'not here: it takes root to mount a small disk', good: true }];
  const { takenWhileFull, refusedWhileFull, failedReads, recoveryMs } = report;
  const detail =
    `while full ${refusedWhileFull} refused, ${takenWhileFull} taken and kept, ${failedReads} reads failed; accepts again ` +
    `${recoveryMs} ms after there is room`;
  return [{ fault, report, detail, good: failedReads === 0 && refusedWhileFull > 0 }];
}

async function faultsByClock(engine: string, databaseUrl?: string): Promise<Row[]> {
  const report = await runClockFaults({ waitsForSlots: true, databaseUrl });
  const { jumps, restarts, refused, longestRetryAfter, blockedKeys = 0 } = report;
  const detail =
    `up to an hour, ${restarts} with a restart; ${refused} refused, told to wait ${longestRetryAfter} s at most; ` +
    `${blockedKeys} keys blocked for longer than 60 s`;
  const good = longestRetryAfter <= 60 && blockedKeys === 0;
  return [{ fault: `${jumps} jumps of the clock, ${engine}`, report, detail, good }];
}
