import type { Extraction } from '../contracts/index.js';
import {
  type ExtractorDefinition,
  exchangesOf,
  gatewayErrorOf,
  isFound,
  readIntact,
  runSample,
} from './extraction-run.js';
import { createFakeHttp, type FakeReply, withFastClock } from './fakes.js';
import { contractErrorOf, type ModelDefinition, type ModelFamily, type ModelRun } from './models.js';
import { createReplay, type Exchange } from './replay.js';
import { mapLeaves, type Part, takeApart } from './reply-parts.js';
import { type Rule, reportAll } from './runner.js';

/**
 * Replies that are made to take long. An expression that begins anew at each piece of a text takes four seconds where
 * one that reads it once takes a millisecond, and blocks all other requests meanwhile. Each text is tried in sizes that
 * grow fourfold: the time may grow a little more than that, but not by the square.
 */

/** Characters. */
const [SMALL, MIDDLE, LARGE] = [2 ** 13, 2 ** 15, 2 ** 17] as const;
/** Allowed growth of the time for a text of four times the size: 4 is linear, 16 is quadratic. */
const MAX_GROWTH = 8;
/** Less is noise, in milliseconds of CPU. */
const NOISE_MS = 12;
const QUICK_MS = 3;
/** Maximum milliseconds of CPU for one text of any size. */
const MAX_MS = 2_500;

/** What begins something whose end a reader may look for. */
const MARKUP = [
  ...[' ', '\n', ' \n', '<', '>', '"', "'", '\\', '\\"', '&', '#', '@', '{', '[', '(', '{"a":', '[{', '":"', '="', '='],
  ...[
    '<!--',
    '</',
    '<a ',
    '<a href="',
    '<img src="',
    '<span ',
    '<p',
    '</p><p',
    '<br',
    '<div>',
    '<div',
    '<i>',
    '<title>',
  ],
  ...['<script>', '<script id="', '<script></script>', '<script type="application/json">', '<meta ', '<meta content="'],
  ...['<abbr ', '<BaseURL ', '<Representation ', '1,', '12:34 ', 'a b', '…'],
];
/** What texts in data may have much of. */
const TEXT = [' ', '\n', ' \n', '<', '<a ', '#', '@', '&', ' - ', '"', '1,', ': ', '|', '(', '\u00a0', '.', 'a b '];

/** What errors and answers of models may have much of. */
const MODEL_TEXT = [' ', '\n', '<', '"', '\\', '{"a":', '[', 'data: '];

/** Measures one text in growing sizes. Undefined if its time grows with its size. */
async function growthProblem(run: (size: number) => Promise<unknown>): Promise<string | undefined> {
  let [before, size] = [await cpuMs(() => run(SMALL)), SMALL];
  // What reads so few characters at once is tried with the largest text alone.
  for (const next of before < QUICK_MS ? [LARGE] : [MIDDLE, LARGE]) {
    const most = Math.min(MAX_MS, MAX_GROWTH ** (Math.log2(next / size) / 2) * Math.max(before, NOISE_MS));
    let ms = await cpuMs(() => run(next));
    if (ms > most) {
      // Once more: a garbage collection or a first compilation is no growth.
      before = Math.max(before, await cpuMs(() => run(size)));
      ms = Math.min(ms, await cpuMs(() => run(next)));
    }
    if (ms > MAX_MS || ms > MAX_GROWTH ** (Math.log2(next / size) / 2) * Math.max(before, NOISE_MS)) {
      return `${Math.round(before)} ms for ${size} characters, and ${Math.round(ms)} ms for ${next}`;
    }
    [before, size] = [ms, next];
  }
  return undefined;
}

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const begun = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(begun);
  return (user + system) / 1_000;
}

function repeated(piece: string, size: number): string {
  return piece.repeat(Math.ceil(size / piece.length));
}

/** A reply that is changed in one place, by the piece that stands there again and again. */
interface HostileReply {
  where: string;
  piece: string;
  body(size: number): string;
}

/** In the place of a page, after the beginning of one, and in the texts that a result shows. */
function hostileReplies(exchange: Exchange, id: string, shown: readonly string[]): HostileReply[] {
  const text = exchange.body.toString('utf8');
  const at = Math.max(text.indexOf(id), 0);
  const head = text.slice(Math.max(0, at - 2 ** 15), at + 300);
  const heads = [{ where: 'alone', head: '' }, ...(at > 0 ? [{ where: 'after the beginning of a reply', head }] : [])];
  const { parts } = takeApart(exchange);
  const isRead = parts.some((part) => withTexts(part, shown, '') !== part.text);
  return [
    ...heads.flatMap(({ where, head: beginning }) =>
      MARKUP.map((piece) => ({ where, piece, body: (size: number) => beginning + repeated(piece, size) })),
    ),
    ...(isRead ? TEXT : []).map((piece) => ({
      where: 'in its texts',
      piece,
      body: (size: number) => {
        const long = `a${repeated(piece, size)}b`;
        return parts.map((part) => withTexts(part, shown, long)).join('');
      },
    })),
  ];
}

/** Texts that are replaced in one part; more would only take longer. */
const MAX_TEXTS = 3;

/** The part with another text wherever it has one that a result shows. */
function withTexts(part: Part, shown: readonly string[], long: string): string {
  let left = MAX_TEXTS;
  const replaced = (text: unknown) => {
    if (left === 0 || typeof text !== 'string' || !shown.some((one) => text.includes(one))) return undefined;
    left -= 1;
    return long;
  };
  if (part.kind === 'json') return JSON.stringify(mapLeaves(part.value, (leaf) => replaced(leaf) ?? leaf));
  if (part.kind !== 'tag') return part.text;
  return part.text.replace(/content="([^"]*)"/i, (all, text: string) => {
    const other = replaced(text);
    return other === undefined ? all : `content="${other.replaceAll('"', '&quot;')}"`;
  });
}

/** Beginnings of the texts of a result that are more than a word. */
function textsOf({ data }: Extraction): string[] {
  const found = new Set<string>();
  mapLeaves(data, (leaf) => {
    if (typeof leaf === 'string' && /\S \S/.test(leaf) && !/^https?:/.test(leaf)) found.add(leaf.slice(0, 12));
  });
  return [...found];
}

/** Replies that are tried: each takes a second or more. */
const MAX_REPLIES = 6;

/** The replies of a sample that are of another kind than those before. */
function differingReplies(exchanges: readonly Exchange[], seen: Set<string>): Exchange[] {
  return exchanges.filter(({ method, url, headers, body }) => {
    const kind = [method, url.host, url.pathname.split('/')[1]?.replace(/\d+/g, ''), headers['content-type']].join(' ');
    if (body.length === 0 || seen.has(kind) || seen.size === MAX_REPLIES) return false;
    seen.add(kind);
    return true;
  });
}

/** For the kinds of replies that the samples of an extractor have. */
export const HOSTILE_REPLIES_RULE: Rule<ExtractorDefinition> = {
  name: 'reads hostile replies in linear time',
  applies: ({ samples }) => samples.some(isFound),
  run: (definition) =>
    withFastClock(async (waiting) => {
      const problems: string[] = [];
      const seen = new Set<string>();
      for (const sample of definition.samples.filter(isFound)) {
        const differing = differingReplies(exchangesOf(definition, sample), seen);
        if (differing.length === 0) continue;
        const { exchanges, extraction } = await readIntact(definition, sample);
        const shown = textsOf(extraction);
        for (const exchange of exchanges.filter(({ name }) => differing.some((one) => one.name === name))) {
          for (const { where, piece, body } of hostileReplies(exchange, sample.id, shown)) {
            const problem = await growthProblem(async (size) => {
              const hostile = { ...exchange, body: Buffer.from(body(size)) };
              const replies = exchanges.map((one) => (one === exchange ? hostile : one));
              gatewayErrorOf(await runSample(definition, sample, createReplay(replies), { waiting }));
            });
            if (!problem) continue;
            problems.push(`${sample.name}: ${exchange.name}, ${JSON.stringify(piece)} ${where}: ${problem}`);
            // Other pieces mostly find the same, and take as long.
            break;
          }
        }
      }
      reportAll(problems);
    }),
};

/** For the answers and errors of a model's upstream. */
export function hostileModelRule<Definition extends ModelDefinition & { upstream?: unknown }, Run extends ModelRun>(
  family: ModelFamily<Definition, Run>,
): Rule<Definition> {
  const replies: Readonly<Record<string, (text: string) => FakeReply>> = {
    'a page with status 500': (text) => ({ status: 500, headers: { 'content-type': 'text/html' }, body: text }),
    'an error message': (message) => ({ status: 400, body: { error: { message }, detail: { message } } }),
    'an answer': (text) => ({ headers: { 'content-type': 'application/json' }, body: text }),
    'a stream': (text) => ({ headers: { 'content-type': 'text/event-stream' }, body: `data: ${text}` }),
  };
  return {
    name: 'reads hostile replies in linear time',
    applies: ({ upstream }) => upstream !== undefined,
    run: (definition) =>
      withFastClock(async (waiting) => {
        const problems: string[] = [];
        for (const one of family.cases(definition)) {
          for (const [what, reply] of Object.entries(replies)) {
            for (const piece of MODEL_TEXT) {
              const problem = await growthProblem(async (size) => {
                const http = createFakeHttp([reply(`a${repeated(piece, size)}b`)]);
                contractErrorOf(await one.run({ http, waiting }), family.kind);
              });
              if (!problem) continue;
              problems.push(`${one.label} ${what} of ${JSON.stringify(piece)}: ${problem}`.trim());
              break;
            }
          }
        }
        reportAll(problems);
      }),
  };
}
