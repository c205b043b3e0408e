import assert from 'node:assert';
import type { Extraction } from '../contracts/extractor.js';
import { decoyId, decoyReply, numbersIn, pruneReply, seededRandom, withText } from './altered-replies.js';
import { type Check, reportAll } from './check.js';
import {
  type ExtractionRun,
  exchangesOf,
  fixtureFolder,
  gatewayErrorOf,
  idsOf,
  leaks,
  outcomeOf,
  runSample,
  schemaProblems,
} from './extraction-run.js';
import { type ExtractorDefinition, type FoundSample, isRefused, type Sample } from './extractor-definition.js';
import type { Exchange } from './fixtures.js';
import { compare, show } from './matchers.js';
import { recordSample } from './record-sample.js';
import { createReplay } from './replay.js';

const PRUNINGS = 30;

/** What one sample must show: its own expectations, and that damaged or exchanged replies do no harm. */
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
    { name: `${sample.name}: survives pruned replies`, run: () => survivesPruning(definition, sample) },
    { name: `${sample.name}: survives truncated replies`, run: () => survivesTruncation(definition, sample) },
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
  reportAll(schemaProblems(await resultOf(definition, sample)));
}

/** All replies speak of another item, then one at a time: what they say must not get into the result. */
async function resistsDecoys(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const exchanges = exchangesOf(definition, sample);
  const known = new Set([...textNumbers(exchanges), ...countsIn(await resultOf(definition, sample))]);
  const speaking = exchanges.filter(({ body }) => body.includes(sample.id));
  const problems: string[] = [];
  for (const chosen of [speaking, ...speaking.map((exchange) => [exchange])]) {
    const replies = exchanges.map((one) => (chosen.includes(one) ? decoyReply(one, sample.id) : one));
    const run = await runSample(definition, sample, createReplay(replies));
    gatewayErrorOf(run);
    if (!run.extraction) continue;
    const where = chosen.length === 1 ? `${chosen[0]?.name} about another item` : 'all replies about another item';
    const said = JSON.stringify(run.extraction.data);
    if (said.includes(decoyId(sample.id))) problems.push(`${where}: the result names it`);
    const foreign = [...textNumbers(replies)].filter((number) => !known.has(number));
    const taken = countsIn(run.extraction);
    problems.push(...foreign.filter((number) => taken.has(number)).map((number) => `${where}: took ${number} from it`));
  }
  reportAll(problems);
}

function countsIn({ data }: Extraction): Set<string> {
  return numbersIn(JSON.stringify('product' in data ? [data.product, data.raw_stats] : [data.metrics, data.raw_stats]));
}

function textNumbers(exchanges: readonly Exchange[]): Set<string> {
  return numbersIn(exchanges.map(({ body }) => body.toString('utf8')).join('\n'));
}

async function survivesPruning(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const ids = idsOf(await resultOf(definition, sample));
  const exchanges = exchangesOf(definition, sample);
  const problems: string[] = [];
  for (let seed = 1; seed <= PRUNINGS; seed += 1) {
    const random = seededRandom(seed * 7919);
    const run = await runSample(definition, sample, createReplay(exchanges.map((one) => pruneReply(one, random))));
    problems.push(...damageProblems(run, ids).map((problem) => `seed ${seed}: ${problem}`));
  }
  reportAll(problems);
}

async function survivesTruncation(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const ids = idsOf(await resultOf(definition, sample));
  const problems: string[] = [];
  for (const share of [0.05, 0.5, 0.95]) {
    const cut = exchangesOf(definition, sample).map((one) =>
      withText(one, (text) => text.slice(0, Math.floor(text.length * share))),
    );
    const run = await runSample(definition, sample, createReplay(cut));
    problems.push(...damageProblems(run, ids).map((problem) => `cut at ${share * 100} %: ${problem}`));
    const code = gatewayErrorOf(run)?.code;
    if (code && !code.startsWith('upstream_') && code !== 'bot_check')
      problems.push(`cut at ${share * 100} %: ${code}`);
  }
  reportAll(problems);
}

/** Damage may cost members or the whole result; it must not make a wrong one, nor anything but a GatewayError. */
function damageProblems(run: ExtractionRun, ids: Readonly<Record<string, string | undefined>>): string[] {
  gatewayErrorOf(run);
  if (!run.extraction) return [];
  const wrong = Object.entries(idsOf(run.extraction)).filter(
    ([name, id]) => ids[name] !== undefined && id !== ids[name],
  );
  return [...schemaProblems(run.extraction), ...wrong.map(([name, id]) => `${name} became ${show(id)}`)];
}

async function resultOf(definition: ExtractorDefinition, sample: FoundSample) {
  const run = await runSample(definition, sample, createReplay(exchangesOf(definition, sample)));
  assert(run.extraction, `there is no result: ${outcomeOf(run)}`);
  return run.extraction;
}
