/** Brings about random faults of several nodes, several at a time, none twice on one thing. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Dice } from './scale-dice.js';

/** One fault that is to come, with everything that chance had to decide. */
export interface Fault {
  /** What no other fault may touch meanwhile. */
  touches: readonly string[];
  /** Does harm, and makes it good again. False where there was no opportunity. */
  bringAbout(): Promise<boolean>;
}

/** Makes one fault of a kind. */
export type FaultKinds = Readonly<Record<string, () => Fault>>;

/** A fault that always has its opportunity. */
export function certain(touches: readonly string[], work: () => Promise<void>): Fault {
  return { touches, bringAbout: () => work().then(() => true) };
}

export interface FaultPlan {
  faults: number;
  /** Faults under way at the same time. */
  atOnce: number;
  /** Kinds that take so long, or touch so much, that they come less often than others. */
  rare: readonly string[];
  /** Told of each that is over. */
  happened(kind: string, count: number): void;
}

/** One in so many faults is of a rare kind. */
const RARE = 30;
/** How often a run checks for the opportunity of one fault. */
const TRIES = 5;
/** From the end of a fault to the next, in milliseconds. */
const PAUSE_MS = [50, 500] as const;

/** Brings about so many faults, each kind at least once, as soon as what they touch is whole. Gives how often which kind happened. */
export async function bringAboutFaults(kinds: FaultKinds, plan: FaultPlan, dice: Dice): Promise<Map<string, number>> {
  const names = draw(Object.keys(kinds), plan, dice);
  const waiting = names.map((kind) => ({
    kind,
    fault: (kinds[kind] as () => Fault)(),
    pauseMs: dice.between(...PAUSE_MS),
    triesLeft: TRIES,
  }));
  const touched = new Set<string>();
  const happened = new Map<string, number>();
  let freed = Promise.withResolvers<void>();
  let count = 0;

  async function bringAboutInTurn(): Promise<void> {
    while (waiting.length > 0) {
      const index = waiting.findIndex(({ fault }) => fault.touches.every((name) => !touched.has(name)));
      const [next] = index < 0 ? [] : waiting.splice(index, 1);
      if (!next) {
        await freed.promise;
        continue;
      }
      const { kind, fault, pauseMs } = next;
      for (const name of fault.touches) touched.add(name);
      next.triesLeft -= 1;
      if (await fault.bringAbout()) {
        count += 1;
        happened.set(kind, (happened.get(kind) ?? 0) + 1);
        plan.happened(kind, count);
      } else if (next.triesLeft > 0) waiting.push(next);
      for (const name of fault.touches) touched.delete(name);
      freed.resolve();
      freed = Promise.withResolvers();
      await sleep(pauseMs);
    }
  }

  await Promise.all(Array.from({ length: plan.atOnce }, bringAboutInTurn));
  return happened;
}

/** The kinds of all faults in the order in which they are to come. */
function draw(kinds: readonly string[], { faults, rare }: FaultPlan, dice: Dice): string[] {
  const often = kinds.filter((kind) => !rare.includes(kind));
  const few = kinds.filter((kind) => rare.includes(kind));
  const more = Array.from({ length: faults - kinds.length }, (_, index) => {
    const from = index % RARE === RARE - 1 ? few : often;
    return from[Math.floor(dice.between(0, from.length))] ?? '';
  });
  // Rare ones take longest, so a short run begins with them.
  return [...few, ...dice.shuffle([...often, ...more])];
}
