import { type Gateway, type GatewayError, isGatewayError, systemClock } from 'mediagate';
import type { CanaryTarget } from './canary-links.js';

/** How one rung fared with one link. */
export interface RungTrial {
  platform: string;
  url: string;
  rung: string;
  /**
   * `ok`: it answered, and gave what it usually gives. `fail`: it should have. `info`: nothing is expected of it.
   * `skip`: this gateway lacks what it needs, so it was not asked.
   */
  level: 'ok' | 'fail' | 'info' | 'skip';
  /** `ok`, `skipped`, `not set up`, or the error code. */
  outcome: string;
  /** Whole milliseconds. */
  ms: number;
  /** Members of the document that it filled, dotted. */
  filled: readonly string[];
  /** Members that it usually fills and did not. */
  missing: readonly string[];
  /** Where it failed: the platform's words, or ours. */
  reason?: string;
}

/** Asks every rung of the link's platform alone, one after the other, as a visitor with patience would. */
export async function tryRungs(
  gateway: Gateway,
  { platform, url, fills }: CanaryTarget,
  onRung: (rung: string) => void,
): Promise<RungTrial[]> {
  const trials: RungTrial[] = [];
  for (const { name, available } of platform.rungs) {
    const usual = fills[name];
    const trial = { platform: platform.key, url, rung: name };
    if (!available) {
      trials.push({ ...trial, level: 'skip', outcome: 'not set up', ms: 0, filled: [], missing: [] });
      continue;
    }
    onRung(name);
    const { outcome, ms, filled, reason } = await tryRung(gateway, url, name);
    const missing = outcome === 'ok' ? (usual ?? []).filter((member) => !filled.includes(member)) : [];
    const good = outcome === 'ok' && missing.length === 0;
    const level = usual === undefined ? 'info' : good ? 'ok' : 'fail';
    trials.push({ ...trial, level, outcome, ms, filled, missing, ...(reason !== undefined && { reason }) });
  }
  return trials;
}

type Answer = Pick<RungTrial, 'outcome' | 'ms' | 'filled' | 'reason'>;

async function tryRung(gateway: Gateway, url: string, only: string): Promise<Answer> {
  const began = systemClock.monotonic();
  const ms = () => Math.round(systemClock.monotonic() - began);
  try {
    const { data } = await gateway.extract({ url, only });
    return { outcome: 'ok', ms: ms(), filled: Object.keys(data.provenance?.sources ?? {}).sort() };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    const outcome = outcomeOf(error, only);
    const reason = outcome === 'skipped' ? 'not of use for this link' : (error.reason ?? error.message);
    return { outcome, ms: ms(), filled: [], reason };
  }
}

/** What became of the rung says more than what its platform makes of it; one that answered without data did not. */
function outcomeOf({ attempts, code }: GatewayError, rung: string): string {
  const outcome = attempts?.find((attempt) => attempt.rung === rung)?.outcome ?? 'ok';
  return outcome === 'ok' ? code : outcome;
}
