/*
 * The rules that every extractor must pass: its links, its samples against recorded replies, replies that are damaged,
 * cut or about another item, a platform that fails in each usual way, a caller who leaves, and hostile texts that must
 * be read in linear time. An unused or missing recorded reply is a problem too. `RECORD=1`, or the name of a sample,
 * records new replies from the network if the result is as expected. `describeExtractor` registers the rules with the
 * test runner.
 */

import { resistsDecoys } from './decoys.js';
import {
  damageProblems,
  type ExtractionRun,
  type ExtractorDefinition,
  exchangesOf,
  type FoundSample,
  fixtureFolder,
  gatewayErrorOf,
  isFound,
  isRefused,
  readIntact,
  runSample,
  type Sample,
  schemaProblems,
} from './extraction-run.js';
import { createFakeHttp, type FakeReply } from './fakes.js';
import { HOSTILE_REPLIES_RULE } from './hostile.js';
import { strayErrors } from './limits.js';
import { LINK_RULES } from './links.js';
import { compare, show } from './matchers.js';
import {
  type Call,
  contributionOf,
  leavesBefore,
  leavesDuring,
  outcomeOf,
  undeclaredProblems,
} from './models/models.js';
import { passesPruned } from './pruning.js';
import { recordSample } from './recording.js';
import { createReplay } from './replay.js';
import {
  type Check,
  checksOf,
  describeChecks,
  leakProblems,
  type Rule,
  reportAll,
  type Table,
  unless,
} from './runner.js';
import { extractorOf } from './setup.js';

/** The rules of one sample: its own expectations, and robustness against damaged or exchanged replies. */
function sampleRules(sample: Sample): readonly Rule<ExtractorDefinition>[] {
  const rule = (name: string, run: (definition: ExtractorDefinition) => Promise<void>) => ({
    name: `${sample.name}: ${name}`,
    run,
  });
  const rules = [
    rule('replays as expected', (definition) => replay(definition, sample)),
    rule('keeps secrets', async (definition) => {
      const run = await runSample(definition, sample, createReplay(exchangesOf(definition, sample)));
      reportAll(leakProblems(definition.secrets ?? [], run));
    }),
  ];
  if (isRefused(sample)) return rules;
  return [
    ...rules,
    rule('fits the schema', async (definition) =>
      reportAll(schemaProblems((await readIntact(definition, sample)).extraction)),
    ),
    rule('takes nothing from another item', (definition) => resistsDecoys(definition, sample)),
    rule('survives pruned replies', (definition) => passesPruned(definition, sample)),
    rule('survives truncated replies', (definition) => passesTruncated(definition, sample)),
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
  problems.push(...undeclaredProblems(run.setup));
  if ('save' in http) {
    if (problems.length === 0) http.save(fixtureFolder(definition, sample));
  } else {
    problems.push(...http.unmatched.map((request) => `no exchange answers ${request}`));
    problems.push(...http.unused.map((exchange) => `nobody asked for ${exchange}`));
  }
  reportAll(problems);
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

const GARBAGE = Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 7919 + 13) % 256));

/** The platform's reaction to every request → the accepted codes. */
const FAULTS: readonly { name: string; reply: FakeReply; codes: readonly string[] }[] = [
  {
    name: 'HTTP 404',
    reply: { status: 404, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>404</title>' },
    codes: ['removed', 'unavailable', 'upstream_refused', 'upstream_changed', 'upstream_error'],
  },
  { name: 'HTTP 429', reply: { status: 429, headers: { 'retry-after': '30' } }, codes: ['upstream_rate_limited'] },
  {
    name: 'HTTP 500',
    reply: { status: 500, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>500</title>' },
    codes: ['upstream_error'],
  },
  { name: 'a timeout', reply: { fail: 'timeout' }, codes: ['upstream_timeout'] },
  { name: 'a broken connection', reply: { fail: 'connection' }, codes: ['upstream_error'] },
  { name: 'an empty body', reply: { body: '' }, codes: ['upstream_refused', 'upstream_changed', 'bot_check'] },
  {
    name: 'garbage',
    reply: { headers: { 'content-type': 'text/html' }, body: GARBAGE },
    codes: ['upstream_refused', 'upstream_changed', 'bot_check'],
  },
];

/** The whole platform failing in one way, and a caller who leaves. */
const FAULT_RULES: Table<ExtractorDefinition> = [
  ...FAULTS.map(({ name, reply, codes }) =>
    ofFirstSample(`${name} everywhere is named`, async (definition, sample) => {
      const run = await runSample(definition, sample, createFakeHttp([reply]));
      const code = gatewayErrorOf(run)?.code;
      const isNamed = code !== undefined && codes.includes(code);
      reportAll([
        ...unless(isNamed, `expected ${codes.join(' or ')}, got ${outcomeOf(run)}`),
        ...leakProblems(definition.secrets ?? [], run),
      ]);
    }),
  ),
  ofFirstSample('leaves no rejected promise and no late throw', async (definition, sample) => {
    const upstreams = [
      createReplay(exchangesOf(definition, sample)),
      ...FAULTS.map(({ reply }) => createFakeHttp([reply])),
    ];
    const runs = () => Promise.all(upstreams.map((http) => runSample(definition, sample, http)));
    reportAll(await strayErrors(runs));
  }),
  ofFirstSample('ends at once when the caller leaves', async (definition, sample) => {
    const call: Call<ExtractionRun> = {
      method: 'extract()',
      run: ({ http, ...more }) => runSample(definition, sample, http, more),
    };
    await leavesBefore(call);
    await leavesDuring(call);
  }),
];

/** Applies if there is an item that is found. */
function ofFirstSample(
  name: string,
  run: (definition: ExtractorDefinition, sample: FoundSample) => Promise<void>,
): Rule<ExtractorDefinition> {
  const first = ({ samples }: ExtractorDefinition) => samples.find(isFound);
  return {
    name,
    applies: (definition) => first(definition) !== undefined,
    async run(definition) {
      const sample = first(definition);
      if (sample) await run(definition, sample);
    },
  };
}

const EXTRACTOR_RULES: Table<ExtractorDefinition> = [
  { name: 'names its platform', run: namesPlatform },
  ...LINK_RULES,
  ({ samples }) => samples.flatMap(sampleRules),
  ...FAULT_RULES,
  HOSTILE_REPLIES_RULE,
];

/** Checks that every extractor must pass, with the platform's own links and samples. */
export function extractorChecks(definition: ExtractorDefinition): Check[] {
  return checksOf(EXTRACTOR_RULES, definition);
}

/** Registers {@link extractorChecks} with the test runner's global `describe` and `it`. */
export function describeExtractor(definition: ExtractorDefinition): void {
  describeChecks(`extractor ${definition.plugin.name}`, extractorChecks(definition));
}

async function namesPlatform(definition: ExtractorDefinition): Promise<void> {
  const { platform, displayName, linkForms, audio, resolveAudio } = await contributionOf(definition, extractorOf);
  reportAll([
    ...unless(platform === definition.plugin.name, `the platform is "${platform}"`),
    ...unless(displayName.trim() !== '', 'there is no display name'),
    ...unless(linkForms.length > 0, 'there are no link forms'),
    ...unless(audio !== true || resolveAudio !== undefined, 'audio is offered, and there is no resolveAudio'),
    ...unless(definition.samples.some(isFound), 'no sample shows an item that is found'),
  ]);
}
