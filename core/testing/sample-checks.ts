import { type Check, reportAll } from './check.js';
import { resistsDecoys } from './decoy-check.js';
import {
  exchangesOf,
  fixtureFolder,
  gatewayErrorOf,
  leaks,
  outcomeOf,
  runSample,
  schemaProblems,
} from './extraction-run.js';
import { type ExtractorDefinition, type FoundSample, isRefused, type Sample } from './extractor-definition.js';
import { damageProblems, readIntact } from './intact-sample.js';
import { compare, show } from './matchers.js';
import { passesPruned } from './pruning-check.js';
import { recordSample } from './record-sample.js';
import { createReplay } from './replay.js';

/** The checks of one sample: its own expectations, and robustness against damaged or exchanged replies. */
export function sampleChecks(definition: ExtractorDefinition, sample: Sample): Check[] {
  const replays: Check = { name: `${sample.name}: replays as expected`, run: () => replay(definition, sample) };
  const keeps: Check = {
    name: `${sample.name}: keeps secrets`,
    async run() {
      const run = await runSample(definition, sample, createReplay(exchangesOf(definition, sample)));
      reportAll(leaks(definition, run));
    },
  };
  if (isRefused(sample)) return [replays, keeps];
  return [
    replays,
    keeps,
    { name: `${sample.name}: fits the schema`, run: () => fits(definition, sample) },
    { name: `${sample.name}: takes nothing from another item`, run: () => resistsDecoys(definition, sample) },
    { name: `${sample.name}: survives pruned replies`, run: () => passesPruned(definition, sample) },
    { name: `${sample.name}: survives truncated replies`, run: () => passesTruncated(definition, sample) },
  ];
}

async function replay(definition: ExtractorDefinition, sample: Sample): Promise<void> {
  const wanted = process.env.RECORD;
  const records = wanted === '1' || wanted === sample.name;
  const http = records ? await recordSample(definition) : createReplay(exchangesOf(definition, sample));
  const run = await runSample(definition, sample, http);
  const error = gatewayErrorOf(run);
  const problems: string[] = [];
  if (isRefused(sample)) {
    if (error?.code !== sample.error) problems.push(`expected ${sample.error}, got ${outcomeOf(run)}`);
    else if (sample.reason && !sample.reason.test(error.reason ?? '')) problems.push(`reason: ${show(error.reason)}`);
  } else if (run.extraction) {
    if (run.link?.id !== sample.id) problems.push(`the link's id: expected ${sample.id}, got ${run.link?.id}`);
    problems.push(...compare(sample.expect, run.extraction));
  } else {
    problems.push(`expected a result, got ${outcomeOf(run)}`);
  }
  problems.push(...run.setup.undeclared.map((need) => `used the ${need} without naming it in "needs" or "wants"`));
  if ('save' in http) {
    if (problems.length === 0) http.save(fixtureFolder(definition, sample));
  } else {
    problems.push(...http.unmatched.map((request) => `no exchange answers ${request}`));
    problems.push(...http.unused.map((exchange) => `nobody asked for ${exchange}`));
  }
  reportAll(problems);
}

async function fits(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const { extraction } = await readIntact(definition, sample);
  reportAll(schemaProblems(extraction));
}

async function passesTruncated(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const intact = await readIntact(definition, sample);
  const problems: string[] = [];
  for (const share of [0.05, 0.5, 0.95]) {
    const cut = intact.exchanges.map((one) => {
      const text = one.body.toString('utf8');
      return { ...one, body: Buffer.from(text.slice(0, Math.floor(text.length * share))) };
    });
    const run = await runSample(definition, sample, createReplay(cut));
    problems.push(...damageProblems(run, intact).map((problem) => `cut at ${share * 100} %: ${problem}`));
    const code = gatewayErrorOf(run)?.code;
    if (code && !code.startsWith('upstream_') && code !== 'bot_check')
      problems.push(`cut at ${share * 100} %: ${code}`);
  }
  reportAll(problems);
}
