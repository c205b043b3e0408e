/** Benchmark of parsing one generated page of each platform, one of them beside cheerio. */

import { load } from 'cheerio';
import { cpuPerCall, type Figure, median, toMilliseconds } from './measure.js';
import { comparePage, linkOf } from './page-parse.js';
import { PLATFORMS, platformNames } from './platforms.js';

const ROUNDS = 21;
const CALLS = 40;
const CALLS_OF_CHEERIO = 2;
const TARGET_OF_CHEERIO = 10;

/** One generated page of each platform, and one of them beside building a DOM of it. */
export async function measureParse(): Promise<Figure[]> {
  const figures = platformNames.map((name) => {
    const { page, link, build } = PLATFORMS[name];
    const url = link(1);
    return comparePage(name, { title: page, html: build(linkOf(PLATFORMS[name], url)), url });
  });
  return [...figures, besideCheerio()];
}

function besideCheerio(): Figure {
  const { vidsite } = PLATFORMS;
  const link = linkOf(vidsite, vidsite.link(1));
  const html = vidsite.build(link);
  const cpu = (work: () => unknown, calls: number) => {
    cpuPerCall(work, calls);
    return median(Array.from({ length: ROUNDS }, () => cpuPerCall(work, calls)));
  };
  const ours = cpu(() => vidsite.read(html, link), CALLS);
  const dom = cpu(() => load(html), CALLS_OF_CHEERIO);
  const times = dom / ours;
  return {
    what: `\`vidsite\`: the same page into a document, beside loading it into cheerio (CPU)`,
    measured: `${toMilliseconds(ours)}, ${toMilliseconds(dom)}: ${times.toFixed(1)}x less`,
    target: `≥ ${TARGET_OF_CHEERIO}x less`,
    met: times >= TARGET_OF_CHEERIO,
  };
}
