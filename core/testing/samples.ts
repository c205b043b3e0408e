import assert from 'node:assert';
import type { Extraction, HttpClient } from '../contracts/index.js';
import { withDeadline } from '../runtime/index.js';
import { type ItemIds, resistsDecoys } from './decoys.js';
import {
  type ExtractionRun,
  type ExtractorDefinition,
  exchangesOf,
  type FoundSample,
  fixtureFolder,
  gatewayErrorOf,
  idsOf,
  isRefused,
  leaks,
  outcomeOf,
  runSample,
  type Sample,
  schemaProblems,
} from './extractor.js';
import { createFakeHttp, type FakeReply } from './fakes.js';
import { compare, show } from './matchers.js';
import { passesPruned } from './pruning.js';
import { recordSample } from './recording.js';
import { createReplay, type Exchange } from './replay.js';
import { type Check, reportAll } from './runner.js';

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

/** Maximum milliseconds of "at once" on a busy machine. */
const AT_ONCE_MS = 5_000;
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

/** The whole platform failing in one way, and a caller that disconnects. */
export function faultChecks(definition: ExtractorDefinition, sample: FoundSample): Check[] {
  const faults = FAULTS.map(({ name, reply, codes }): Check => {
    return {
      name: `${name} everywhere is named`,
      async run() {
        const run = await runSample(definition, sample, createFakeHttp([reply]));
        const code = gatewayErrorOf(run)?.code;
        const named = code !== undefined && codes.includes(code);
        reportAll([
          ...(named ? [] : [`expected ${codes.join(' or ')}, got ${outcomeOf(run)}`]),
          ...leaks(definition, run),
        ]);
      },
    };
  });
  return [
    ...faults,
    {
      name: 'ends at once when the caller leaves',
      async run() {
        const gone = new Error('the caller left');
        const late = new AbortController();
        const http = createFakeHttp(() => {
          setImmediate(() => late.abort(gone));
          return { hang: true };
        });
        await endsWith(gone, runSample(definition, sample, http, { signal: late.signal }));
        const ignoring: HttpClient = { request: () => new Promise(() => {}), stream: () => new Promise(() => {}) };
        const early = AbortSignal.abort(gone);
        await endsWith(gone, runSample(definition, sample, ignoring, { signal: early }));
      },
    },
  ];
}

async function endsWith(reason: Error, run: ReturnType<typeof runSample>): Promise<void> {
  const message = `went on for more than ${AT_ONCE_MS} ms after the caller had left`;
  const ended = await withDeadline(AT_ONCE_MS, () => run, { error: () => new assert.AssertionError({ message }) });
  assert.equal(ended.error, reason, `expected the reason of the signal, got ${outcomeOf(ended)}`);
}

/** A sample's replies and their result, before any change. */
export interface IntactSample {
  exchanges: readonly Exchange[];
  extraction: Extraction;
  /** The ids with which the link or the sample identifies the item. */
  own: ItemIds;
  /** Those, and the ids of the result. */
  itemIds: ItemIds;
  /** Those, and the ids of its author. */
  ids: readonly string[];
}

export async function readIntact(definition: ExtractorDefinition, sample: FoundSample): Promise<IntactSample> {
  const exchanges = exchangesOf(definition, sample);
  const { extraction, ...run } = await runSample(definition, sample, createReplay(exchanges));
  assert(extraction, `there is no result: ${outcomeOf(run)}`);
  const own: ItemIds = [sample.id, ...(sample.aliases ?? [])];
  const { author_id, channel_id, canonical_url: _address, ...stated } = idsOf(extraction);
  const itemIds: ItemIds = [...own, ...present(Object.values(stated))];
  return { exchanges, extraction, own, itemIds, ids: [...itemIds, ...present([author_id, channel_id])] };
}

function present(ids: readonly (string | undefined)[]): string[] {
  return ids.filter((id) => id !== undefined);
}

/** Damage may cost fields or the whole result; it must not cause a wrong one, or an error other than a GatewayError. */
export function damageProblems(run: ExtractionRun, intact: IntactSample): string[] {
  gatewayErrorOf(run);
  if (!run.extraction) return [];
  const ids = idsOf(intact.extraction);
  const wrong = Object.entries(idsOf(run.extraction)).filter(
    ([name, id]) => id !== undefined && ids[name] !== undefined && id !== ids[name] && !intact.own.includes(id),
  );
  return [...schemaProblems(run.extraction), ...wrong.map(([name, id]) => `${name} became ${show(id)}`)];
}
