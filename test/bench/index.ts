/** `npm run bench`: runs the benchmarks, or some by name, and prints their table. */

import { cpus } from 'node:os';
import { renderTable, writeTable } from '../support/docs/documents.js';
import { packageRoot } from '../support/package-root.js';
import { readFlags, refuse } from '../support/processes/program-flags.js';
import { measureAudio } from './audio.js';
import { measureBoard } from './board.js';
import { measureCachedExtract } from './cached-extract.js';
import { measureColdStart } from './cold-start.js';
import { measureGrowth } from './growth.js';
import { BASELINE, measureGuard } from './guard.js';
import { measureImages } from './images.js';
import { measureLargeAnswers } from './large-answers.js';
import { measureLoad } from './load.js';
import type { Figure } from './measure.js';
import { measureMedia } from './media.js';
import { measureMemory } from './memory.js';
import { measureNodes } from './nodes.js';
import { measureIdleNodes } from './nodes-idle.js';
import { measurePackageImport } from './package-import.js';
import { measureParse } from './parse.js';
import { measureRequestCosts } from './request-costs.js';
import { measureResident } from './resident.js';
import { measureSharedPages } from './shared-pages.js';
import { measureSoak } from './soak.js';
import { measureSpeech } from './speech.js';
import { measureText } from './text.js';
import { measureWorkers } from './workers.js';

/** In this order; `--only parse,start`, or `parse start`, runs some. */
const PARTS: Readonly<Record<string, () => Promise<Figure[]>>> = {
  parse: measureParse,
  shared: measureSharedPages,
  http: measureCachedExtract,
  load: measureLoad,
  start: measureColdStart,
  import: measurePackageImport,
  memory: measureMemory,
  resident: measureResident,
  audio: measureAudio,
  media: measureMedia,
  images: measureImages,
  speech: measureSpeech,
  text: measureText,
  board: measureBoard,
  workers: measureWorkers,
  answers: measureLargeAnswers,
  soak: measureSoak,
  growth: measureGrowth,
  nodes: measureNodes,
  idle: measureIdleNodes,
  requests: measureRequestCosts,
  guard: () => measureGuard(packageRoot, flags.baseline),
};

const PART_NAMES = Object.keys(PARTS);
const flags = readFlags({
  command: 'npm run bench --',
  flags: { only: { text: 'PART,PART' }, baseline: { text: 'COMMIT' }, update: 'switch' },
  words: { name: 'PART', most: PART_NAMES.length },
  note: `Parts are ${PART_NAMES.join(', ')}. guard runs by its name alone, beside --baseline (${BASELINE}).`,
});
const chosen = [...flags.words, ...(flags.only?.split(',') ?? [])];
const unknown = chosen.find((name) => !PART_NAMES.includes(name));
if (unknown !== undefined) refuse(`There is no part "${unknown}"; there are: ${PART_NAMES.join(', ')}.`);
const names = chosen.length > 0 ? chosen : PART_NAMES.filter((name) => name !== 'guard');

function tableOf(rows: readonly Figure[]): string {
  return renderTable(
    ['what', 'measured', 'target', 'met'],
    rows.map(({ what, measured, target, met }) => [
      what,
      measured,
      target,
      target === '' ? '' : met ? 'yes' : '**no**',
    ]),
  );
}

const figures: Figure[] = [];
const failed: string[] = [];
for (const name of names) {
  process.stderr.write(`measuring: ${name}\n`);
  try {
    const measured = (await PARTS[name]?.()) ?? [];
    figures.push(...measured);
    // What was measured is seen although a later part fails.
    process.stderr.write(`${tableOf(measured)}\n`);
  } catch (error) {
    failed.push(name);
    console.error(`the part "${name}" failed:`, error);
  }
}

const table = tableOf(figures);
const where = `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, Node ${process.versions.node}`;
const report = `${table}\n\nMeasured ${new Date().toISOString().slice(0, 10)} on ${where}.`;
console.log(report);
if (failed.length > 0) refuse(`These parts failed: ${failed.join(', ')}.`);
if (flags.update) writeTable('bench', report);
process.exitCode = figures.every(({ met }) => met) ? 0 : 1;
