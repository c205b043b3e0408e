/** Measures the extraction from a page beside plain JSON.parse of its data. */

import type { LinkRef } from 'mediagate';
import { cpuPerCall, type Figure, median, toMilliseconds } from './measure.js';
import { blobsNaming, blobsNeeded } from './page-blobs.js';
import { type BenchPlatform, PLATFORMS, type PlatformName } from './platforms.js';

const ROUNDS = 21;
/** Milliseconds of CPU for one side of a round. */
const ROUND_MS = 60;
/** Until the compiler has done with the code that is measured: its threads count, too. */
const WARM_UP_MS = 1_500;
const TARGET = 2;
/** Its pages are so large that the time itself counts as well. */
const TARGET_OF_SOCIAL_MS = 40;

export interface ParsedPage {
  /** What the table calls it. */
  title: string;
  html: string;
  url: string;
}

/** A page into a document, beside parsing the JSON that names the item alone. */
export function comparePage(name: PlatformName, { title, html, url }: ParsedPage): Figure {
  const platform = PLATFORMS[name];
  const link = linkOf(platform, url);
  const read = () => platform.read(html, link);
  const reading = read();
  const texts = blobsNaming(html, link.id);
  const needed = blobsNeeded(html, texts, (page) => platform.read(page, link));
  if (!reading?.title || !reading.owner || needed.length === 0) {
    throw new Error(`${title} of ${name} lacks what it should hold, so its time says nothing.`);
  }
  const { parse, floor, ratio } = measure(read, () => texts.map((text) => JSON.parse(text)));
  const inTime = name !== 'social' || parse <= TARGET_OF_SOCIAL_MS * 1000;
  const named = `${sizeOf(texts)} that name the item, of which ${sizeOf(needed)} make the answer`;
  return {
    what: `\`${name}\`: ${title} of ${megabytes(html.length)} into a document, beside \`JSON.parse\` of the ${named} (CPU)`,
    measured: `${toMilliseconds(parse)}, ${toMilliseconds(floor)}: ${ratio.toFixed(2)}x`,
    target: `≤ ${TARGET}x${name === 'social' ? `, ≤ ${TARGET_OF_SOCIAL_MS} ms` : ''}`,
    met: ratio <= TARGET && inTime,
  };
}

/** @throws Error where the link is not the platform's. */
export function linkOf(platform: BenchPlatform, url: string): LinkRef {
  const link = platform.match(new URL(url));
  if (!link) throw new Error(`${url} does not match.`);
  return link;
}

function measure(read: () => unknown, parseAlone: () => unknown) {
  const [calls, callsAlone] = [read, parseAlone].map((work) =>
    Math.max(1, Math.round((ROUND_MS * 1000) / warmUp(work))),
  ) as [number, number];
  // Rounds alternate, so that the machine's moods hit both.
  const rounds = Array.from({ length: ROUNDS }, () => ({
    parse: cpuPerCall(read, calls),
    floor: cpuPerCall(parseAlone, callsAlone),
  }));
  return {
    parse: median(rounds.map((round) => round.parse)),
    floor: median(rounds.map((round) => round.floor)),
    ratio: median(rounds.map((round) => round.parse / round.floor)),
  };
}

/** Microseconds of CPU for one call, once it is compiled. */
function warmUp(work: () => unknown): number {
  const until = performance.now() + WARM_UP_MS;
  while (performance.now() < until) work();
  return cpuPerCall(work, 10);
}

function sizeOf(texts: readonly string[]): string {
  return megabytes(texts.reduce((sum, { length }) => sum + length, 0));
}

function megabytes(length: number): string {
  return `${(length / 1e6).toFixed(2)} MB`;
}
