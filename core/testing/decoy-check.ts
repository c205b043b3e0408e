import type { Extraction } from '../contracts/index.js';
import { reportAll } from './check.js';
import { gatewayErrorOf, idsOf, runSample } from './extraction-run.js';
import type { ExtractorDefinition, FoundSample } from './extractor-definition.js';
import type { Exchange } from './fixtures.js';
import { decoyedExchange, decoyId, foreignReply, numbersIn, withDecoys } from './foreign-items.js';
import { readIntact } from './intact-sample.js';
import { compare } from './matchers.js';
import { createReplay } from './replay.js';
import { takeApart } from './reply-parts.js';

/**
 * Adds another item beside the requested one in every reply that contains it; then makes all replies, and each single
 * one, about another item. Its data must not get into the result.
 */
export async function resistsDecoys(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const { exchanges, extraction, itemIds } = await readIntact(definition, sample);
  const decoyed = exchanges.map((exchange) => withDecoys(takeApart(exchange), itemIds));
  const decoys = decoyed.reduce((sum, reply) => sum + reply.decoys, 0);
  if (decoys === 0) {
    reportAll(sample.noDecoys ? [] : [`no reply bears ${sample.id}, so no decoy was put in; "noDecoys" says why`]);
    return;
  }
  const known = new Set([...textNumbers(exchanges), ...countsIn(extraction)]);
  const run = async (replies: readonly Exchange[], where: string) => {
    const ran = await runSample(definition, sample, createReplay(replies));
    gatewayErrorOf(ran);
    return { ...ran, problems: ran.extraction ? takenFrom(ran.extraction, replies, known, sample.id, where) : [] };
  };

  const beside = await run(decoyed.map(decoyedExchange), 'another item beside it');
  const problems = [...beside.problems];
  if (!beside.extraction) problems.push('another item beside it: there is no result');
  else problems.push(...differences(extraction, beside.extraction).map((line) => `another item beside it: ${line}`));

  const speaking = exchanges.filter(({ body }) => body.includes(sample.id));
  for (const chosen of [speaking, ...speaking.map((exchange) => [exchange])]) {
    const replies = exchanges.map((one) => (chosen.includes(one) ? foreignReply(one, sample.id) : one));
    const where = chosen.length === 1 ? `${chosen[0]?.name} about another item` : 'all replies about another item';
    problems.push(...(await run(replies, where)).problems);
  }
  reportAll(problems);
}

/** Data of the other item in a result, one line each. */
function takenFrom(
  extraction: Extraction,
  replies: readonly Exchange[],
  known: ReadonlySet<string>,
  id: string,
  where: string,
): string[] {
  const foreign = [...textNumbers(replies)].filter((number) => !known.has(number));
  const taken = countsIn(extraction);
  return [
    ...(JSON.stringify(extraction.data).includes(decoyId(id)) ? [`${where}: the result names it`] : []),
    ...foreign.filter((number) => taken.has(number)).map((number) => `${where}: took ${number} from it`),
  ];
}

/** Fields that identify the item and its counters must be the same, with any other content of the replies. */
function differences(intact: Extraction, decoyed: Extraction): string[] {
  return [
    ...compare(idsOf(intact), idsOf(decoyed), 'ids'),
    ...compare(statementsOf(intact), statementsOf(decoyed), 'data'),
  ];
}

function statementsOf({ data }: Extraction): object {
  if (!('product' in data)) return { common: data.common, metrics: data.metrics };
  const { media: _files, image_urls: _images, video_urls: _videos, ...product } = data.product;
  return { product };
}

function countsIn({ data }: Extraction): Set<string> {
  return numbersIn(JSON.stringify('product' in data ? [data.product, data.raw_stats] : [data.metrics, data.raw_stats]));
}

function textNumbers(exchanges: readonly Exchange[]): Set<string> {
  return numbersIn(exchanges.map(({ body }) => body.toString('utf8')).join('\n'));
}
