/*
 * Computes the plan of an account from all its grants. One plan is active; the others are paused below it and resume,
 * one after the other, when it ends. The same plan is extended. Another plan starts at once: the remaining paid time of
 * the current one becomes whole days of the new one, by price per day. A plan without a price in the currency of the
 * new one, or without an end, is paused instead; the free tier is neither, it restarts with a new key. Only the grants
 * and the resulting schedule are stored, so revoking a grant leaves the account as if it had never been made.
 */

import { FREE_PLAN_ID, type PlanPrice, type PlanTerms } from '../plans/index.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** The latest end: years have four digits. */
const LAST_END = Date.UTC(9999, 11, 31);

/** A grant that was not revoked. */
export interface GrantedPlan {
  /** Milliseconds since 1970. */
  at: number;
  budgetId: string | null;
  terms: PlanTerms;
}

/** A period with one price. */
interface Lot {
  ms: number;
  /** Price of this many milliseconds; undefined without a price. */
  rate?: PlanPrice & { durationMs: number };
}

export interface PlanEntry {
  /** Time of the latest grant. */
  terms: PlanTerms;
  budgetId: string | null;
  /** Remaining periods in the order of use; null is without an end. */
  lots: readonly Lot[] | null;
}

export interface PlanStack {
  at: number;
  /** The current plan, then those that resume after it. */
  entries: readonly PlanEntry[];
}

export interface AddedPlan {
  stack: PlanStack;
  /** Days of the new plan, credited for the rest of the previous one. */
  creditedDays: number;
  /** The plan that passes its budget on to the new one: no other plan uses it from now on. */
  joined?: PlanEntry;
}

/** A plan and its end; the next one of a schedule begins there. */
export interface PlanPeriod {
  terms: PlanTerms;
  budgetId: string | null;
  expiresAt: number | null;
}

/** @param grants Oldest first. */
export function stackOf(grants: readonly GrantedPlan[], at: number): PlanStack {
  let stack: PlanStack = { at: grants[0]?.at ?? at, entries: [] };
  for (const grant of grants) stack = addPlan(advance(stack, grant.at), grant).stack;
  return advance(stack, at);
}

export function addPlan({ at, entries: existing }: PlanStack, { terms, budgetId }: Omit<GrantedPlan, 'at'>): AddedPlan {
  const { durationMs } = terms;
  const entries = existing.filter((entry) => entry.terms.planId !== FREE_PLAN_ID || terms.planId === FREE_PLAN_ID);
  const [running] = entries;
  const isEndless = durationMs === null;
  const same = entries.find(({ lots, terms: { planId } }) => planId === terms.planId && (lots === null) === isEndless);
  const rest = entries.filter((entry) => entry !== same);
  const added = (lots: PlanEntry['lots'], below: readonly PlanEntry[] = rest): PlanStack => ({
    at,
    entries: [{ terms, budgetId, lots }, ...below],
  });
  if (isEndless) {
    const joined = same ?? (running?.lots === null ? running : undefined);
    return { stack: added(null), creditedDays: 0, ...(joined && { joined }) };
  }
  const bought: Lot = { ms: durationMs, ...(terms.price && { rate: { ...terms.price, durationMs } }) };
  const lots = [...(same?.lots ?? []), bought];
  if (!running?.lots || running === same) {
    return { stack: added(joinLots(lots)), creditedDays: 0, ...(same && { joined: same }) };
  }
  const { creditedDays, remaining } = credit(running.lots, bought);
  const below = rest.flatMap((entry) =>
    entry !== running ? [entry] : remaining.length > 0 ? [{ ...running, lots: remaining }] : [],
  );
  const joined = same ?? (remaining.length > 0 ? undefined : running);
  const stack = added(joinLots([...lots, { ...bought, ms: creditedDays * DAY_MS }]), below);
  return { stack, creditedDays, ...(joined && { joined }) };
}

export function scheduleOf({ at, entries }: PlanStack): PlanPeriod[] {
  const periods: PlanPeriod[] = [];
  let end = at;
  for (const { terms, budgetId, lots } of entries) {
    if (lots !== null) end = Math.min(LAST_END, end + sumOf(lots));
    periods.push({ terms, budgetId, expiresAt: lots && end });
    // A plan below one without an end only resumes if that is revoked.
    if (lots === null) break;
  }
  return periods;
}

function advance({ at, entries }: PlanStack, to: number): PlanStack {
  let passed = Math.max(0, to - at);
  let rest = entries;
  for (let [running] = rest; running?.lots; [running] = rest) {
    const left = sumOf(running.lots);
    if (left > passed) {
      rest = [{ ...running, lots: usedUp(running.lots, passed) }, ...rest.slice(1)];
      break;
    }
    passed -= left;
    rest = rest.slice(1);
  }
  // A clock that was set back does not restore time.
  return { at: Math.max(at, to), entries: rest };
}

function usedUp(lots: readonly Lot[], passed: number): Lot[] {
  let over = passed;
  return lots.flatMap((lot) => {
    const used = Math.min(over, lot.ms);
    over -= used;
    return lot.ms > used ? [{ ...lot, ms: lot.ms - used }] : [];
  });
}

/** Converts remaining time to days of another plan, rounded down once; the rest has no comparable price. */
function credit(lots: readonly Lot[], { rate }: Lot): { creditedDays: number; remaining: readonly Lot[] } {
  if (!rate || rate.amount <= 0) return { creditedDays: 0, remaining: lots };
  const remaining = lots.filter((lot) => lot.rate?.currency !== rate.currency);
  // Exact arithmetic: amounts times milliseconds exceed the range of a number.
  let [worth, per] = [0n, 1n];
  for (const { ms, rate: own } of lots) {
    if (own?.currency !== rate.currency) continue;
    worth = worth * BigInt(own.durationMs) + BigInt(own.amount) * BigInt(ms) * per;
    per *= BigInt(own.durationMs);
  }
  const days = (worth * BigInt(rate.durationMs)) / (per * BigInt(rate.amount) * BigInt(DAY_MS));
  return { creditedDays: Math.min(Number(days), LAST_END / DAY_MS), remaining };
}

/** Adjacent periods of one price are merged, so that a plan extended for years stays small. */
function joinLots(lots: readonly Lot[]): Lot[] {
  const joined: Lot[] = [];
  for (const lot of lots) {
    const before = joined.at(-1);
    if (lot.ms === 0) continue;
    if (before && isSameRate(before.rate, lot.rate)) joined[joined.length - 1] = { ...lot, ms: before.ms + lot.ms };
    else joined.push(lot);
  }
  return joined;
}

function isSameRate(one: Lot['rate'], other: Lot['rate']): boolean {
  return one?.amount === other?.amount && one?.currency === other?.currency && one?.durationMs === other?.durationMs;
}

function sumOf(lots: readonly Lot[]): number {
  return lots.reduce((sum, { ms }) => sum + ms, 0);
}
