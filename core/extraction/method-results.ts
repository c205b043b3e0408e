import type { Clock } from '../contracts/index.js';
import {
  type CircuitBreaker,
  createCircuitBreaker,
  type DefinitiveCode,
  GatewayError,
  type TransientCode,
} from '../runtime/index.js';
import type { Outcome, Tried } from './fallback-chain.js';

type Definitive = Extract<Outcome<unknown>, { kind: 'definitive' }>;
type Transient = Pick<
  Extract<Outcome<unknown>, { kind: 'transient' }>,
  'code' | 'reason' | 'retryAfterSeconds' | 'cause'
>;

/** The more a failure says, the earlier it stands. */
const INFORMATIVE: readonly TransientCode[] = [
  'bot_check',
  'upstream_rate_limited',
  'upstream_changed',
  'upstream_refused',
  'upstream_error',
  'upstream_timeout',
];

const MESSAGES: Readonly<Record<DefinitiveCode | TransientCode, string>> = {
  removed: 'The item was removed or never existed.',
  private: 'The item is private.',
  login_required: 'The item is shown to signed-in users only.',
  age_restricted: 'The item is restricted by age.',
  geo_blocked: 'The item is not available in the region of this gateway.',
  members_only: 'The item is for members only.',
  paid: 'The item must be paid for.',
  under_review: 'The platform is still reviewing the item.',
  unavailable: 'The platform does not show the item.',
  short_link_dead: 'The short link leads nowhere.',
  redirected_to_unsupported: 'The short link leads to something that is not supported.',
  bot_check: 'The platform asked for a check that only a person can pass.',
  upstream_rate_limited: 'The platform limits requests for now.',
  upstream_refused: 'The platform refused the request.',
  upstream_changed: 'The answer of the platform could not be understood.',
  upstream_error: 'The platform could not be reached or failed.',
  upstream_timeout: 'The platform did not answer in time.',
};

export interface Decision {
  tried: readonly Tried<unknown>[];
  rest(method: string): Rest | undefined;
}

/**
 * What to tell where no data was had. An authority's "no" comes first. Then votes of others: two that agree, or one, but
 * never a lone `removed` where an authority could not be asked. Then the most informative failure.
 */
export function decide({ tried, rest }: Decision): GatewayError {
  const ruling = tried.find((one) => one.authority && one.outcome?.kind === 'definitive')?.outcome;
  if (ruling?.kind === 'definitive') return refusal(ruling);
  const vote = elect(tried);
  if (vote) return refusal(vote);
  const failures = tried.flatMap((one) => failureOf(one, rest) ?? []);
  return failure(failures, tried);
}

function elect(tried: readonly Tried<unknown>[]): Definitive | undefined {
  const votes = tried.flatMap(({ outcome }) => (outcome?.kind === 'definitive' ? [outcome] : []));
  const agreed = votes.find((vote, index) => votes.findIndex(({ code }) => code === vote.code) < index);
  if (agreed) return agreed;
  const unheard = tried.some((one) => one.authority && (one.late || resting(one) || one.outcome?.kind === 'transient'));
  return votes.find(({ code }) => !(unheard && code === 'removed'));
}

function resting(one: Tried<unknown>): boolean {
  return one.attempt.outcome === 'resting';
}

function failureOf(one: Tried<unknown>, rest: Decision['rest']): Transient | undefined {
  const { outcome } = one;
  const pause = rest(one.method);
  const retryAfterSeconds = pause && pause.remainingMs / 1000;
  if (outcome?.kind === 'transient')
    return { ...outcome, retryAfterSeconds: outcome.retryAfterSeconds ?? retryAfterSeconds };
  if (pause && resting(one)) return { code: pause.code, retryAfterSeconds };
  return one.late ? { code: 'upstream_timeout' } : undefined;
}

function failure(failures: readonly Transient[], tried: readonly Tried<unknown>[]): GatewayError {
  for (const code of INFORMATIVE) {
    const ofCode = failures.filter((one) => one.code === code);
    if (ofCode.length === 0) continue;
    const waits = ofCode.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
    return new GatewayError(code, MESSAGES[code], {
      reason: ofCode.find(({ reason }) => reason)?.reason,
      retryAfterSeconds: waits.length > 0 ? Math.min(...waits) : undefined,
      cause: ofCode.find(({ cause }) => cause)?.cause,
    });
  }
  const asked = tried.some((one) => one.outcome);
  return asked
    ? new GatewayError('upstream_changed', 'The platform answered without the data of the item.')
    : new GatewayError('plugin_unavailable', 'No way to get this item is set up on this gateway.');
}

function refusal({ code, reason }: Definitive): GatewayError {
  return new GatewayError(code, MESSAGES[code], { reason });
}

const LIMITED_FIRST_MS = 10_000;
const UNREADABLE_FIRST_MS = 30_000;
const LONGEST_MS = 600_000;
const SHORTEST_MS = 1_000;
/** Unreadable answers in a row that make a method rest. */
const PATIENCE = 5;

/** Why a method rests, and for how long still. */
export interface Rest {
  code: TransientCode;
  remainingMs: number;
}

/**
 * Which methods rest, by one circuit breaker each. A rate limit makes a method rest at once, as long as the platform asks for or
 * else 10 s and doubling, with full jitter; five unreadable answers in a row make it rest 30 s and doubling; never longer than
 * 10 minutes. Data or a definitive answer clears all of it.
 */
export interface CoolDown {
  report(method: string, outcome: Outcome<unknown>): void;
  rests(method: string): boolean;
  rest(method: string): Rest | undefined;
  /** True where the method rests for being unreadable and nobody else is trying it. Then `endProbe` must follow. */
  beginProbe(method: string): boolean;
  endProbe(method: string): void;
}

interface Circuit {
  breaker: CircuitBreaker;
  /** Why it was opened last. */
  code: TransientCode;
}

export function createCoolDown({ clock, random }: { clock: Clock; random: () => number }): CoolDown {
  const circuits = new Map<string, Circuit>();
  const coolDownMs = (openings: number) => bounded(UNREADABLE_FIRST_MS * doublings(openings));

  function of(method: string): Circuit {
    const known = circuits.get(method);
    if (known) return known;
    const breaker = createCircuitBreaker({ clock, maxFailures: PATIENCE, coolDownMs });
    const fresh: Circuit = { breaker, code: 'upstream_error' };
    circuits.set(method, fresh);
    return fresh;
  }

  function rest(method: string): Rest | undefined {
    const { breaker, code } = of(method);
    const { remainingMs } = breaker;
    return remainingMs > 0 ? { code, remainingMs } : undefined;
  }

  return {
    report(method, outcome) {
      const circuit = of(method);
      const { breaker } = circuit;
      if (outcome.kind !== 'transient') {
        breaker.succeed();
        return;
      }
      if (outcome.code !== 'upstream_rate_limited') {
        if (breaker.fail()) circuit.code = outcome.code;
        return;
      }
      // Calls that were under way together are limited together.
      if (rest(method)?.code === 'upstream_rate_limited' && !breaker.isProbing) return;
      const askedMs = (outcome.retryAfterSeconds ?? 0) * 1000;
      breaker.open(bounded(askedMs || random() * LIMITED_FIRST_MS * doublings(breaker.openings)));
      circuit.code = outcome.code;
    },
    rest,
    rests: (method) => rest(method) !== undefined,
    beginProbe: (method) => rest(method)?.code !== 'upstream_rate_limited' && of(method).breaker.beginProbe(),
    endProbe: (method) => of(method).breaker.endProbe(),
  };
}

function doublings(openings: number): number {
  return 2 ** Math.min(openings, 10);
}

function bounded(ms: number): number {
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms));
}
