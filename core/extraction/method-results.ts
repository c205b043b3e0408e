import type { Clock } from '../contracts/index.js';
import {
  type CircuitBreaker,
  createCircuitBreaker,
  type DefinitiveCode,
  GatewayError,
  isGatewayError,
  type TransientCode,
} from '../runtime/index.js';
import type { Outcome, Tried } from './fallback-chain.js';

type Definitive = Extract<Outcome<unknown>, { kind: 'definitive' }>;
type Transient = Pick<
  Extract<Outcome<unknown>, { kind: 'transient' }>,
  'code' | 'reason' | 'retryAfterSeconds' | 'cause'
>;

/** Most informative first. */
const INFORMATIVE: readonly TransientCode[] = [
  'bot_check',
  'upstream_rate_limited',
  'upstream_changed',
  'upstream_refused',
  'upstream_error',
  'upstream_timeout',
];

/** What clients read if an item could not be extracted, by code. */
export const FAILURE_MESSAGES: Readonly<Record<DefinitiveCode | TransientCode, string>> = {
  removed: 'The item was removed or never existed.',
  private: 'The item is private.',
  login_required: 'The item is shown to signed-in users only.',
  password_protected: 'The item is protected by a password.',
  age_restricted: 'The item is restricted by age.',
  geo_blocked: 'The item is not available in the region of this gateway.',
  members_only: 'The item is for members only.',
  paid: 'The item must be paid for.',
  under_review: 'The platform is still reviewing the item.',
  unavailable: 'The platform does not show the item.',
  short_link_dead: 'The short link does not work.',
  redirected_to_unsupported: 'The short link leads to something that is not supported.',
  bot_check: 'The platform asked for a check that only a person can solve.',
  upstream_rate_limited: 'The platform limits requests at the moment.',
  upstream_refused: 'The platform refused the request.',
  upstream_changed: 'The answer of the platform could not be read.',
  upstream_error: 'The platform could not be reached or failed.',
  upstream_timeout: 'The platform did not answer in time.',
};

export interface Decision {
  tried: readonly Tried<unknown>[];
  cooling(method: string): Cooling | undefined;
}

/**
 * The error if no data was found. A definitive refusal comes first. Then the votes of other methods: two that agree, or
 * one, but never a single `removed` if a definitive method could not be asked. Then the most informative failure.
 */
export function decide({ tried, cooling }: Decision): GatewayError {
  const definitive = tried.find((one) => one.definitive && one.outcome?.kind === 'definitive')?.outcome;
  if (definitive?.kind === 'definitive') return refusal(definitive);
  const vote = elect(tried);
  if (vote) return refusal(vote);
  const failures = tried.flatMap((one) => failureOf(one, cooling) ?? []);
  return failure(failures, tried);
}

function elect(tried: readonly Tried<unknown>[]): Definitive | undefined {
  const votes = tried.flatMap(({ outcome }) => (outcome?.kind === 'definitive' ? [outcome] : []));
  const agreed = votes.find((vote, index) => votes.findIndex(({ code }) => code === vote.code) < index);
  if (agreed) return agreed;
  const isUndecided = tried.some(
    (one) => one.definitive && (one.late || wasCooling(one) || one.outcome?.kind === 'transient'),
  );
  return votes.find(({ code }) => !(isUndecided && code === 'removed'));
}

function wasCooling(one: Tried<unknown>): boolean {
  return one.attempt.outcome === 'resting';
}

function failureOf(one: Tried<unknown>, cooling: Decision['cooling']): Transient | undefined {
  const { outcome } = one;
  const pause = cooling(one.method);
  const retryAfterSeconds = pause && pause.remainingMs / 1000;
  if (outcome?.kind === 'transient')
    return { ...outcome, retryAfterSeconds: outcome.retryAfterSeconds ?? retryAfterSeconds };
  if (pause && wasCooling(one)) return { code: pause.code, retryAfterSeconds };
  return one.late ? { code: 'upstream_timeout' } : undefined;
}

function failure(failures: readonly Transient[], tried: readonly Tried<unknown>[]): GatewayError {
  for (const code of INFORMATIVE) {
    const ofCode = failures.filter((one) => one.code === code);
    if (ofCode.length === 0) continue;
    const missing = ofCode.map(missingPackageOf).find((error) => error);
    if (missing) return missing;
    const delays = ofCode.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
    return new GatewayError(code, FAILURE_MESSAGES[code], {
      reason: ofCode.find(({ reason }) => reason)?.reason,
      retryAfterSeconds: delays.length > 0 ? Math.min(...delays) : undefined,
      cause: ofCode.find(({ cause }) => cause)?.cause,
    });
  }
  const asked = tried.some((one) => one.outcome);
  return asked
    ? new GatewayError('upstream_changed', 'The platform answered without the data of the item.')
    : new GatewayError('plugin_unavailable', 'No method for this item is configured on this gateway.');
}

/** The error for clients, if a method lacks a package: then the platform was not asked. */
export function missingPackageOf(outcome: Outcome<unknown> | Transient): GatewayError | undefined {
  const cause = 'cause' in outcome ? outcome.cause : undefined;
  const isMissing = isGatewayError(cause) && cause.code === 'plugin_unavailable' && !cause.retryable;
  return isMissing ? cause : undefined;
}

function refusal({ code, reason }: Definitive): GatewayError {
  return new GatewayError(code, FAILURE_MESSAGES[code], { reason });
}

const LIMITED_FIRST_MS = 10_000;
const UNREADABLE_FIRST_MS = 30_000;
const LONGEST_MS = 600_000;
const SHORTEST_MS = 1_000;
/** Unreadable answers in a row that start a cool-down. */
const MAX_UNREADABLE = 5;

/** The cause of a cool-down and its remaining time. */
export interface Cooling {
  code: TransientCode;
  remainingMs: number;
}

/**
 * The cool-down of each method, with one circuit breaker per method. A rate limit starts a cool-down at once, for as
 * long as the platform asks or else for 10 s, doubling, with full jitter. Five unreadable answers in a row start one of
 * 30 s, doubling. None is longer than 10 minutes. Data or a definitive outcome resets everything.
 */
export interface CoolDown {
  report(method: string, outcome: Outcome<unknown>): void;
  isCooling(method: string): boolean;
  cooling(method: string): Cooling | undefined;
  /**
   * True if the method cools down for unreadable answers and no other call is testing it. Then `endProbe` must follow.
   */
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
    const breaker = createCircuitBreaker({ clock, maxFailures: MAX_UNREADABLE, coolDownMs });
    const fresh: Circuit = { breaker, code: 'upstream_error' };
    circuits.set(method, fresh);
    return fresh;
  }

  function cooling(method: string): Cooling | undefined {
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
      // Concurrent calls are limited together and count once.
      if (cooling(method)?.code === 'upstream_rate_limited' && !breaker.isProbing) return;
      const askedMs = (outcome.retryAfterSeconds ?? 0) * 1000;
      breaker.open(bounded(askedMs || random() * LIMITED_FIRST_MS * doublings(breaker.openings)));
      circuit.code = outcome.code;
    },
    cooling,
    isCooling: (method) => cooling(method) !== undefined,
    beginProbe: (method) => cooling(method)?.code !== 'upstream_rate_limited' && of(method).breaker.beginProbe(),
    endProbe: (method) => of(method).breaker.endProbe(),
  };
}

function doublings(openings: number): number {
  return 2 ** Math.min(openings, 10);
}

function bounded(ms: number): number {
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms));
}
