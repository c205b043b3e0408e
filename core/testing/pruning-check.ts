import { reportAll } from './check.js';
import { runSample } from './extraction-run.js';
import type { ExtractorDefinition, FoundSample } from './extractor-definition.js';
import { withDecoys } from './foreign-items.js';
import { damageProblems, readIntact } from './intact-sample.js';
import { createManualClock } from './manual-clock.js';
import { pruneReply } from './pruned-replies.js';
import { createReplay } from './replay.js';
import { takeApart } from './reply-parts.js';
import { knownNumbers } from './result-numbers.js';
import { seededRandom } from './seeded-random.js';

const PRUNINGS = 500;
const PROBLEMS_SHOWN = 20;
/** Spread, so that adjacent seeds begin with different numbers. */
const SEED_STEP = 7919;
/** A plugin's waits take a fiftieth of their time. */
const PACE_MS = 20;
const PACE_STEP_MS = 1_000;

/**
 * Replies with fields removed, lists shortened, texts cut and values of other types, every second one with another item
 * beside the requested one. The result must contain no wrong id and no number that the item does not have, and only a
 * GatewayError may be thrown. `PRUNING_SEED` runs a single one.
 */
export async function passesPruned(definition: ExtractorDefinition, sample: FoundSample): Promise<void> {
  const intact = await readIntact(definition, sample);
  const replies = intact.exchanges.map(takeApart);
  const decoyed = replies.map((reply) => withDecoys(reply, intact.itemIds));
  const numbers = knownNumbers(intact.extraction, replies, intact.ids);
  const clock = createManualClock();
  const pace = setInterval(() => void clock.advance(PACE_STEP_MS), PACE_MS);
  const problems: string[] = [];
  try {
    for (const seed of seeds()) {
      const random = seededRandom(seed * SEED_STEP);
      const pruned = (seed % 2 === 0 ? replies : decoyed).map((reply) => pruneReply(reply, random));
      const replay = createReplay(pruned.map(({ exchange }) => exchange));
      const run = await runSample(definition, sample, replay, { waiting: clock });
      const spoils = pruned.flatMap((reply) => reply.spoils);
      const wrong = run.extraction ? numbers.unknownIn(run.extraction, spoils) : [];
      for (const problem of [...problemsOf(() => damageProblems(run, intact)), ...wrong]) {
        problems.push(`seed ${seed} (PRUNING_SEED=${seed} repeats it): ${problem}`);
      }
      if (problems.length > PROBLEMS_SHOWN) break;
    }
  } finally {
    clearInterval(pace);
  }
  reportAll(problems);
}

function seeds(): number[] {
  const wanted = process.env.PRUNING_SEED;
  if (wanted === undefined) return Array.from({ length: PRUNINGS }, (_, index) => index + 1);
  if (!/^\d{1,9}$/.test(wanted)) throw new RangeError('PRUNING_SEED is a whole number.');
  return [Number(wanted)];
}

function problemsOf(check: () => string[]): string[] {
  try {
    return check();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
