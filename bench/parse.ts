import { load } from 'cheerio';
import { mergePosts } from 'mediagate';
import { resolveFacts } from '../plugins/vidsite/facts.js';
import { readWatchPage } from '../plugins/vidsite/watch-page.js';
import { cpuPerCall, type Figure, median, toMilliseconds } from './measure.js';
import { buildWatchPage } from './watch-page.js';

const ROUNDS = 21;
const CALLS = 20;
/** Until the compiler has done with the code that is measured: its threads count, too. */
const WARM_UP = 400;
const CALLS_OF_CHEERIO = 2;
const TARGET_OF_BLOBS = 1.6;
const TARGET_OF_CHEERIO = 10;
const VIDEO_ID = 'mgBench0002';

/** A watch page into a document, beside parsing its two data blobs alone and beside building a DOM of it. */
export async function measureParse(): Promise<Figure[]> {
  const { html, player, initialData } = buildWatchPage(VIDEO_ID);
  const reading = { facts: resolveFacts(), region: 'US' };

  const parse = () => {
    const outcome = readWatchPage(html, VIDEO_ID, reading);
    if (outcome.kind !== 'found') throw new Error(`The page was not read: ${outcome.code}`);
    return mergePosts(outcome.found.map((found) => ({ rung: 'watch_page', found })));
  };
  const blobs = () => [JSON.parse(player), JSON.parse(initialData)];
  const dom = () => load(html);

  const { common, metrics, media } = parse();
  if (!common.title || !common.author?.name || metrics.views === undefined || media.video_urls.length === 0) {
    throw new Error('The parsed page lacks what it holds, so its time says nothing.');
  }

  for (const work of [parse, blobs]) cpuPerCall(work, WARM_UP);
  const rounds = Array.from({ length: ROUNDS }, () => ({
    parse: cpuPerCall(parse, CALLS),
    blobs: cpuPerCall(blobs, CALLS),
  }));
  // Afterwards, since the garbage of a DOM would be cleaned up on the others' time.
  cpuPerCall(dom, CALLS_OF_CHEERIO);
  const doms = Array.from({ length: ROUNDS }, () => cpuPerCall(dom, CALLS_OF_CHEERIO));

  const typical = median(rounds.map((round) => round.parse));
  const floor = median(rounds.map((round) => round.blobs));
  const ofBlobs = median(rounds.map((round) => round.parse / round.blobs));
  const ofDom = median(doms) / typical;
  const size = `${(html.length / 1e6).toFixed(2)} MB`;
  return [
    {
      what: `Watch page of ${size} into a document, beside \`JSON.parse\` of its two data blobs alone (CPU)`,
      measured: `${toMilliseconds(typical)}, ${toMilliseconds(floor)}: ${ofBlobs.toFixed(2)}x`,
      target: `≤ ${TARGET_OF_BLOBS}x`,
      met: ofBlobs <= TARGET_OF_BLOBS,
    },
    {
      what: 'The same page into a document, beside loading it into cheerio (CPU)',
      measured: `${toMilliseconds(typical)}, ${toMilliseconds(median(doms))}: ${ofDom.toFixed(1)}x less`,
      target: `≥ ${TARGET_OF_CHEERIO}x less`,
      met: ofDom >= TARGET_OF_CHEERIO,
    },
  ];
}
