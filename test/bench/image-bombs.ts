/** Benchmark of hostile input images: memory and time of the worst ones. */

import { runImageBombs } from '../support/images/image-bomb-run.js';
import type { Figure } from './measure.js';

const TARGET_MIB = 64;
const TARGET_MS = 1_000;

/** The harmful input image that took most memory of the gateway, and the one that took longest. */
export async function measureImageBombs(): Promise<Figure> {
  const outcomes = Object.entries(await runImageBombs(['https://127.0.0.1:9']));
  const most = outcomes.reduce((one, other) => ((other[1].extraBytes ?? 0) > (one[1].extraBytes ?? 0) ? other : one));
  const longest = outcomes.reduce((one, other) => (other[1].ms > one[1].ms ? other : one));
  const mebibytes = (most[1].extraBytes ?? 0) / 1024 / 1024;
  return {
    what: `${outcomes.length} input images made to do harm, one after the other, by \`POST /v1/images/jobs\``,
    measured: `at most ${mebibytes.toFixed(0)} MiB more (${most[0]}), at most ${longest[1].ms.toFixed(0)} ms (${longest[0]})`,
    target: `≤ ${TARGET_MIB} MiB, ≤ ${TARGET_MS} ms`,
    met: mebibytes <= TARGET_MIB && longest[1].ms <= TARGET_MS,
  };
}
