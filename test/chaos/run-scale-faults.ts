/*
 * `npm run faults -- scale [--faults 300] [--seed N] [--at-once 6] [--update]`: ends with 1 if a counter is not 0.
 * `--update` writes the table of docs/develop/faults.md.
 */

import { randomInt } from 'node:crypto';
import { createTerminal } from '../demo/terminal.js';
import { renderTable, writeTable } from '../support/docs/documents.js';
import { readFlags } from '../support/processes/program-flags.js';
import { isClean } from './image-findings.js';
import { runScaleFaults, type ScaleReport } from './scale-run.js';
import { openScaleSite } from './scale-site.js';

const flags = readFlags({
  command: 'npm run faults -- scale',
  typed: process.argv.slice(3),
  flags: {
    faults: { default: 300, least: 24 },
    seed: { default: randomInt(1_000_000), least: 0 },
    'at-once': { default: 6, least: 1 },
    update: 'switch',
  },
});

const terminal = createTerminal(process.stderr);
const wait = terminal.wait(`three nodes start; the seed is ${flags.seed}`);
const site = await openScaleSite({ keys: 20, rpm: 15 });
try {
  const report = await runScaleFaults(site, {
    faults: flags.faults,
    atOnce: flags['at-once'],
    seed: flags.seed,
    clients: 20,
    paceMs: 8_000,
    drawMs: 1_500,
    timeoutMs: 300_000,
    progress: (text) => wait.update(text),
  });
  wait.end();
  const table = renderTable(
    ['fault', 'jobs', 'lost', 'duplicated', 'slot errors', 'stuck', 'dead links', 'besides'],
    [rowOf(report)],
  );
  console.table([...report.faults].map(([kind, times]) => ({ kind, times })));
  for (const line of report.logged) console.log(line);
  console.log(table);
  if (flags.update) writeTable('faults-scale', table);
  const { unexplainedCalls, staleCommits, abandoned, wrongLinks } = report;
  process.exitCode = isClean(report) && unexplainedCalls + staleCommits + abandoned + wrongLinks === 0 ? 0 : 1;
} finally {
  await site.remove();
}

function rowOf(report: ScaleReport): string[] {
  const { accepted, lost, duplicated, slotErrors, stuck, deadLinks, faults, failures } = report;
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts].map(([name, times]) => `${times} × ${name}`).join(', ');
  const times = [...faults.values()].reduce((sum, each) => sum + each, 0);
  const besides =
    `${list(faults)}; ${report.requests} requests, ${report.refused} refused, ${report.untold} replayed at the end; ` +
    `${report.completed} completed, ${report.failed} failed (${list(failures) || 'none'}), ${report.cancelled} cancelled; ` +
    `${report.bills} bills; ${report.upstreamCalls} upstream calls, ${report.repeatedCalls} of them repeated after a ` +
    `crash, ${report.unexplainedCalls} without one; ${report.heldJobs} jobs in the hands of zombies, ` +
    `${report.staleCommits} stale results written; ${report.linksAnswered} links answered, ` +
    `${report.linksUnanswered} not, ${report.wrongLinks} wrongly; ${report.seconds} s, seed ${flags.seed}`;
  const counters = [accepted, lost, duplicated, slotErrors, stuck, deadLinks].map(String);
  return [`${times} faults of ${faults.size} kinds, three nodes`, ...counters, besides];
}
