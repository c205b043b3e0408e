import type { Clock } from '../contracts/index.js';
import type { TransientCode } from '../runtime/index.js';
import type { Outcome } from './ladder.js';

const LIMITED_FIRST_MS = 10_000;
const UNREADABLE_FIRST_MS = 30_000;
const LONGEST_MS = 600_000;
const SHORTEST_MS = 1_000;
/** Unreadable answers in a row that make a rung rest. */
const PATIENCE = 5;

/** Why a rung rests, and for how long still. */
export interface Rest {
  code: TransientCode;
  remainingMs: number;
}

/**
 * Which rungs rest. A rate limit makes a rung rest at once, as long as the platform asks for or else 10 s and doubling,
 * with full jitter; five unreadable answers in a row make it rest 30 s and doubling; never longer than 10 minutes. Data
 * or a definitive answer clears all of it.
 */
export interface CoolDown {
  report(rung: string, outcome: Outcome<unknown>): void;
  rests(rung: string): boolean;
  rest(rung: string): Rest | undefined;
  /** True where the rung rests for being unreadable and nobody else is trying it. Then `endProbe` must follow. */
  beginProbe(rung: string): boolean;
  endProbe(rung: string): void;
}

interface Fatigue {
  unreadable: number;
  /** Rests since the last good answer. */
  rests: number;
  until: number;
  code: TransientCode;
  probing: boolean;
}

export function createCoolDown({ clock, random }: { clock: Clock; random: () => number }): CoolDown {
  const fatigues = new Map<string, Fatigue>();

  function of(rung: string): Fatigue {
    const known = fatigues.get(rung);
    if (known) return known;
    const fresh: Fatigue = { unreadable: 0, rests: 0, until: 0, code: 'upstream_error', probing: false };
    fatigues.set(rung, fresh);
    return fresh;
  }

  function rest(rung: string): Rest | undefined {
    const fatigue = fatigues.get(rung);
    const remainingMs = (fatigue?.until ?? 0) - clock.monotonic();
    return fatigue && remainingMs > 0 ? { code: fatigue.code, remainingMs } : undefined;
  }

  return {
    report(rung, outcome) {
      const fatigue = of(rung);
      if (outcome.kind !== 'transient') {
        Object.assign(fatigue, { unreadable: 0, rests: 0, until: 0 });
        return;
      }
      const limited = outcome.code === 'upstream_rate_limited';
      fatigue.unreadable += limited ? 0 : 1;
      if (!limited && fatigue.unreadable < PATIENCE) return;
      // Calls that were under way together fail together: that is one reason to rest, not several.
      const resting = rest(rung);
      if (resting && !fatigue.probing && (resting.code === 'upstream_rate_limited' || !limited)) return;
      const doubled = 2 ** Math.min(fatigue.rests, 10);
      const wanted = limited
        ? (outcome.retryAfterSeconds ?? 0) * 1000 || random() * LIMITED_FIRST_MS * doubled
        : UNREADABLE_FIRST_MS * doubled;
      fatigue.code = outcome.code;
      fatigue.rests += 1;
      fatigue.until = clock.monotonic() + Math.min(LONGEST_MS, Math.max(SHORTEST_MS, wanted));
    },
    rest,
    rests: (rung) => rest(rung) !== undefined,
    beginProbe(rung) {
      const fatigue = fatigues.get(rung);
      if (!fatigue || fatigue.probing || rest(rung)?.code === 'upstream_rate_limited') return false;
      fatigue.probing = true;
      return true;
    },
    endProbe(rung) {
      of(rung).probing = false;
    },
  };
}
