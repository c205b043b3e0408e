/*
 * Checks that an extractor reads replies in linear time when they are made to take long: pieces of markup, white space
 * or brackets repeated a hundred thousand times, alone, after the beginning of a real reply, and inside the texts that
 * a result shows. At most six kinds of replies are tried, because each takes a second or more.
 */

import type { Extraction } from '../contracts/index.js';
import {
  type ExtractorDefinition,
  exchangesOf,
  gatewayErrorOf,
  isFound,
  readIntact,
  runSample,
} from './extraction-run.js';
import { growthProblems, type LongText, repeated } from './limits.js';
import { createReplay, type Exchange } from './replay.js';
import { mapLeaves, type Part, takeApart } from './reply-parts.js';
import { type Rule, reportAll } from './runner.js';

/** What begins something whose end a reader may look for. */
const MARKUP = [
  ...`< > " ' \\ \\" & # @ { [ ( {"a": [{ ":" =" = <!-- </ <p </p><p <br <div> <div <i> <title> 1, …`.split(' '),
  ...['<script>', '<script></script>', '<script id="', '<script type="application/json">', '<meta ', '<meta content="'],
  ...['<a ', '<a href="', '<img src="', '<span ', '<abbr ', '<BaseURL ', '<Representation '],
  ...[' ', '\n', ' \n', '12:34 ', 'a b'],
];
/** What texts in data may have much of. */
const TEXT = [' ', '\n', ' \n', '<', '<a ', '#', '@', '&', ' - ', '"', '1,', ': ', '|', '(', '\u00a0', '.', 'a b '];

/** In the place of a page, after the beginning of one, and in the texts that a result shows. */
function longReplies(exchange: Exchange, id: string, shown: readonly string[]): LongText[] {
  const body = exchange.body.toString('utf8');
  const at = Math.max(body.indexOf(id), 0);
  const head = body.slice(Math.max(0, at - 2 ** 15), at + 300);
  const { parts } = takeApart(exchange);
  const isRead = parts.some((part) => withTexts(part, shown, '') !== part.text);
  const places: readonly [where: string, pieces: readonly string[], text: (repeated: string) => string][] = [
    ['alone', MARKUP, (long) => long],
    ['after the beginning of a reply', at > 0 ? MARKUP : [], (long) => head + long],
    ['in its texts', isRead ? TEXT : [], (long) => parts.map((part) => withTexts(part, shown, `a${long}b`)).join('')],
  ];
  return places.flatMap(([where, pieces, text]) =>
    pieces.map((piece) => ({
      name: `${JSON.stringify(piece)} ${where}`,
      text: (size) => text(repeated(piece, size)),
    })),
  );
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
  async run(definition) {
    const problems: string[] = [];
    const seen = new Set<string>();
    for (const sample of definition.samples.filter(isFound)) {
      const differing = differingReplies(exchangesOf(definition, sample), seen);
      if (differing.length === 0) continue;
      const { exchanges, extraction } = await readIntact(definition, sample);
      for (const exchange of exchanges.filter(({ name }) => differing.some((one) => one.name === name))) {
        const found = await growthProblems(
          longReplies(exchange, sample.id, textsOf(extraction)),
          async (text, waiting) => {
            const hostile = { ...exchange, body: Buffer.from(text) };
            const replies = exchanges.map((one) => (one === exchange ? hostile : one));
            gatewayErrorOf(await runSample(definition, sample, createReplay(replies), { waiting }));
          },
        );
        problems.push(...found.map((problem) => `${sample.name}: ${exchange.name}, ${problem}`));
      }
    }
    reportAll(problems);
  },
};
