import { FREE_PLAN_ID, type PlanPrice, type PlanTerms } from '../plans/index.js';

/*
 * Which plan an account has, computed from all that it was granted. One plan runs; the others are paused below it and come
 * back, one after the other, when it ends. The same plan is lengthened. Another plan starts at once: the paid time that is
 * left of the running one becomes whole days of the new one, by price per day. What has no price in the currency of the new
 * plan, and a plan without an end, is paused instead; the free tier is neither, it begins again with a new key. Nothing is stored but the grants and the schedule that follows from
 * them, so a grant that is taken back leaves the account as if it had never been made.
 */

const DAY_MS = 24 * 60 * 60 * 1000;
/** The latest end: dates are written with four digits of a year. */
const LAST_END = Date.UTC(9999, 11, 31);

/** A grant that was not taken back. */
export interface GrantedPlan {
  /** Milliseconds since 1970. */
  at: number;
  budgetId: string | null;
  terms: PlanTerms;
}

/** Time of one price. */
interface Lot {
  ms: number;
  /** What so many milliseconds cost; undefined where it has no price. */
  rate?: PlanPrice & { durationMs: number };
}

export interface PlanEntry {
  /** Of the latest grant. */
  terms: PlanTerms;
  budgetId: string | null;
  /** What is left, in the order in which it is used; null is without an end. */
  lots: readonly Lot[] | null;
}

export interface PlanStack {
  at: number;
  /** The running plan, then those that come back after it. */
  entries: readonly PlanEntry[];
}

export interface AddedPlan {
  stack: PlanStack;
  /** Days of the new plan for what was left of the one before. */
  creditedDays: number;
  /** Whose budget the new plan may continue: no other plan uses it from now on. */
  joined?: PlanEntry;
}

/** A plan and when it ends; the next one of a schedule begins there. */
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

export function addPlan({ at, entries: had }: PlanStack, { terms, budgetId }: Omit<GrantedPlan, 'at'>): AddedPlan {
  const { durationMs } = terms;
  const entries = had.filter((entry) => entry.terms.planId !== FREE_PLAN_ID || terms.planId === FREE_PLAN_ID);
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
  const { creditedDays, kept } = credit(running.lots, bought);
  const below = rest.flatMap((entry) =>
    entry !== running ? [entry] : kept.length > 0 ? [{ ...running, lots: kept }] : [],
  );
  const joined = same ?? (kept.length > 0 ? undefined : running);
  const stack = added(joinLots([...lots, { ...bought, ms: creditedDays * DAY_MS }]), below);
  return { stack, creditedDays, ...(joined && { joined }) };
}

export function scheduleOf({ at, entries }: PlanStack): PlanPeriod[] {
  const periods: PlanPeriod[] = [];
  let end = at;
  for (const { terms, budgetId, lots } of entries) {
    if (lots !== null) end = Math.min(LAST_END, end + sumOf(lots));
    periods.push({ terms, budgetId, expiresAt: lots && end });
    // What is below a plan without an end comes back only if that is taken back.
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
  // A clock that was set back gives no time back.
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

/** What time that is left is worth in days of another plan, rounded down once; `kept` has no price to compare. */
function credit(lots: readonly Lot[], { rate }: Lot): { creditedDays: number; kept: readonly Lot[] } {
  if (!rate || rate.amount <= 0) return { creditedDays: 0, kept: lots };
  const kept = lots.filter((lot) => lot.rate?.currency !== rate.currency);
  // Exact: amounts times milliseconds do not fit into a number.
  let [worth, per] = [0n, 1n];
  for (const { ms, rate: own } of lots) {
    if (own?.currency !== rate.currency) continue;
    worth = worth * BigInt(own.durationMs) + BigInt(own.amount) * BigInt(ms) * per;
    per *= BigInt(own.durationMs);
  }
  const days = (worth * BigInt(rate.durationMs)) / (per * BigInt(rate.amount) * BigInt(DAY_MS));
  return { creditedDays: Math.min(Number(days), LAST_END / DAY_MS), kept };
}

/** Neighbours of one price are one, so that a plan lengthened for years stays small. */
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
