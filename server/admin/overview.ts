/*
 * The first look of an operator: is it well, who uses what, what does it cost, what failed, what waits for me. Sums over
 * all keys are those of stored days and of today, which requests at the same time share. They are at most ten seconds old, or a minute where
 * adding up takes long. Older ones are renewed, and are answered only if that takes more than a moment, as with many keys; they say of
 * when they are. After a start those that a process has stored in the last minutes are answered.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { field, optional, Type } from '../../core/contracts/index.js';
import type { Clock } from '../../core/runtime/index.js';
import { type Alert, describeAlert } from '../alerts/index.js';
import { dayOf, isoTime } from '../format/index.js';
import { Count, type Route, Text } from '../http/index.js';
import type { RecordedTransaction } from '../payments/index.js';
import {
  addUp,
  encodeCounts,
  failedHere,
  platformsOf,
  type StoredToday,
  USAGE_COUNTS,
  type UsageEntry,
  type UsageGroup,
} from '../usage/index.js';
import { adminRoute } from './admin-route.js';
import { describeIncident } from './incidents.js';
import { describeQueue, type Queue, readQueues } from './jobs.js';
import { failedPlugins, watchModels } from './models/models.js';
import { describeOrder, describeTransfer, listOrders, listTransfers } from './orders.js';
import { describeRequest, listRequests, RequestShape } from './requests.js';
import type { AdminServices } from './services.js';
import { AlertShape, IncidentShape, Order, QueueShape, Transfer } from './shapes.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const FRESH_MS = 10_000;
/** Sums are renewed so seldom that this takes a hundredth of the time, but at least once a minute. */
const LONG_SHARE = 100;
const MAX_FRESH_MS = 60_000;
/** How long a request waits for sums that are being renewed, before it answers the last ones. */
const WAIT_MS = 100;
/** Older ones are not answered. */
const OLDEST_MS = 10 * 60_000;
const DAYS = 7;
/** So many failures of a model or platform within that time are a problem, also before an alert opens. */
const FAILURES = 3;
const FAILURES_MS = 15 * 60_000;
/** Rows of each short list. */
const MAX_ROWS = 5;
/** Of failures, which are often the same again. */
const MAX_FAILURES = 20;

export type OverviewServices = Omit<AdminServices, 'catalogue' | 'freeTierPeriod' | 'pepper'>;

/** What does not work, in words; empty if all is well. */
function problemsOf(
  services: OverviewServices,
  checks: Readonly<Record<string, { ok: boolean; message?: string }>>,
  failures: readonly UsageEntry[],
): string[] {
  const failed = Object.entries(checks).filter(([, { ok }]) => !ok);
  const models = watchModels(services).filter(
    ({ health, aliasOf }) => health !== 'ok' && health !== 'off' && aliasOf === undefined,
  );
  return [
    ...failed.map(([name, { message }]) => `${name}: ${message ?? 'does not answer'}`),
    ...failedPlugins(services).map(({ id, reason }) => `plugin ${id}: ${reason ?? 'failed'}`),
    ...models.map(({ model: { id }, health }) => `model ${id}: ${health}`),
    ...repeatedFailures(failures, services.clock.now()),
  ];
}

/** A model or platform that fails again and again, by the latest failures: a small team never gets to the rate of an alert. */
function repeatedFailures(failures: readonly UsageEntry[], now: number): string[] {
  const recent = failures.filter((failure) => now - failure.at < FAILURES_MS && failedHere(failure));
  return Array.from(
    Map.groupBy(recent, ({ model, route, errorCode }) => `${model || route} failed with ${errorCode ?? 'an error'}`),
    ([what, { length }]) =>
      length < FAILURES ? [] : [`${what} ${length} times in the last ${FAILURES_MS / 60_000} minutes`],
  ).flat();
}

interface Usage {
  /** When it was added up, in milliseconds since 1970. */
  summedAt: number;
  /** Of today (UTC). */
  today: UsageGroup['counts'];
  /** Of the last seven days, newest first; days without requests are left out. */
  days: readonly UsageGroup[];
  /** With the most requests of these days. */
  models: readonly UsageGroup[];
  accounts: readonly UsageGroup[];
  /** Days of each model, oldest first; days without requests are left out. */
  daysOfModels: ReadonlyMap<string, readonly UsageGroup[]>;
}

/** Sums of the last days, shared. */
export class RecentUsage {
  readonly #services: OverviewServices;
  readonly #clock: Clock;
  #last: { at: number; tookMs: number; usage: Usage } | undefined;
  #renewing: Promise<Usage> | undefined;

  constructor(services: OverviewServices) {
    this.#services = services;
    this.#clock = services.clock;
  }

  async get(): Promise<Usage> {
    if (!this.#last) return this.#renew();
    const { at, tookMs, usage } = this.#last;
    const age = this.#clock.monotonic() - at;
    if (age < Math.max(FRESH_MS, Math.min(tookMs * LONG_SHARE, MAX_FRESH_MS))) return usage;
    const renewed = this.#renew();
    if (age > OLDEST_MS) return renewed;
    // The next request learns that it failed.
    renewed.catch(() => {
      this.#last = undefined;
    });
    return Promise.race([renewed, sleep(WAIT_MS, usage, { ref: false })]);
  }

  #renew(): Promise<Usage> {
    this.#renewing ??= this.#measured().finally(() => {
      this.#renewing = undefined;
    });
    return this.#renewing;
  }

  async #measured(): Promise<Usage> {
    const begun = this.#clock.monotonic();
    const { stored, ...usage } = await this.#sum(this.#last === undefined);
    const at = this.#clock.monotonic();
    this.#last = { at, tookMs: stored?.tookMs ?? at - begun, usage };
    return usage;
  }

  async #sum(takesStored: boolean): Promise<Usage & { stored: StoredToday | undefined }> {
    const now = this.#clock.now();
    const to = dayOf(now);
    const range = { from: dayOf(Date.parse(to) - (DAYS - 1) * DAY_MS), to };
    const { state, gateway } = this.#services;
    const platforms = new Set(platformsOf(gateway));
    const read = await state.usageDays.read(range, platforms, MAX_ROWS, takesStored);
    const { days, models, accounts, daysOfModels, open: stored } = read;
    const today = days.find(({ name }) => name === to)?.counts ?? addUp([]);
    return { summedAt: stored?.at ?? now, today, days, models, accounts, daysOfModels, stored };
  }
}

export interface Overview extends Usage {
  /** Milliseconds since 1970. */
  at: number;
  /** What does not work, in words; empty if all is well. */
  problems: readonly string[];
  /** The latest requests that failed. */
  failures: readonly UsageEntry[];
  queues: readonly Queue[];
  waiting: {
    /** Orders that need a review. */
    orders: Awaited<ReturnType<typeof listOrders>>['items'];
    /** Transfers that need a review. */
    transfers: readonly RecordedTransaction[];
    /** Open alerts, and those that were acknowledged and are not over. */
    alerts: readonly Alert[];
    /** Numbers of them. */
    alertCount: number;
    /** Open incidents, and those that begin later. */
    incidents: Awaited<ReturnType<AdminServices['state']['incidents']['list']>>;
    /** Whether more orders, transfers or incidents wait than are here. */
    hasMore: boolean;
  };
}

export async function readOverview(services: OverviewServices, recent: RecentUsage): Promise<Overview> {
  const { state, health, clock } = services;
  const now = clock.now();
  const range = { limit: MAX_ROWS };
  const failed = { outcome: 'failed', from: now - DAY_MS, to: now + DAY_MS } as const;
  const [checks, usage, failures, queues, orders, transfers, incidents, alerts, counts] = await Promise.all([
    health.checks(),
    recent.get(),
    listRequests(services, failed, { limit: MAX_FAILURES }),
    readQueues(services),
    listOrders(services, { state: 'needs_review' }, range),
    listTransfers(services, true, range),
    state.incidents.list({ since: now, limit: MAX_ROWS + 1 }),
    state.alerts.list({ state: 'active', limit: MAX_ROWS }),
    state.alerts.counts(),
  ]);
  const alertCount = counts.reduce((sum, { open, acknowledged }) => sum + open + acknowledged, 0);
  const waiting = {
    orders: orders.items,
    transfers: transfers.items,
    incidents: incidents.slice(0, MAX_ROWS),
    alerts,
    alertCount,
    hasMore: orders.next !== undefined || transfers.next !== undefined || incidents.length > MAX_ROWS,
  };
  return {
    at: now,
    problems: problemsOf(services, checks, failures.items),
    ...usage,
    failures: failures.items,
    queues,
    waiting,
  };
}

const Sum = Type.Object({ name: field(Text, 'What the sum is of.'), ...USAGE_COUNTS });
const OverviewShape = Type.Object({
  at: field(Text, 'When it was read (RFC 3339).'),
  problems: field(Type.Array(Text), 'What does not work. Empty if all is well.'),
  currency: optional(Text, 'Currency of the costs (ISO 4217). Only if the gateway has prices.', 'USD'),
  summed_at: field(Text, 'When the sums below were added up (RFC 3339): seconds before, with very many keys minutes.'),
  today: field(Type.Object(USAGE_COUNTS), 'Usage of this day (UTC).'),
  days: field(Type.Array(Sum), 'Usage of the last seven days, newest first.'),
  models: field(Type.Array(Sum), 'Models with the most requests of these days.'),
  accounts: field(Type.Array(Sum), 'Accounts with the most requests of these days.'),
  failures: field(Type.Array(RequestShape), 'The latest requests that failed, of the last 24 hours; at most 20.'),
  queues: field(Type.Array(QueueShape), 'Background jobs by kind.'),
  waiting: field(
    Type.Object({
      orders: field(Type.Array(Order), 'Orders that need a review; at most five.'),
      transfers: field(Type.Array(Transfer), 'Transfers that need a review; at most five.'),
      incidents: field(Type.Array(IncidentShape), 'Open incidents; at most five.'),
      alerts: field(Type.Array(AlertShape), 'Alerts that are not closed; at most five.'),
      alert_count: field(Count, 'Number of alerts that are not closed.'),
    }),
    'What waits for an operator.',
  ),
});

export function overviewRoutes(services: AdminServices): Route[] {
  const recent = new RecentUsage(services);
  const { currency } = services.prices ?? {};
  const encode = (counts: UsageGroup['counts']) => encodeCounts(counts, currency !== undefined);
  const encodeSums = (groups: readonly UsageGroup[]) => groups.map(({ name, counts }) => ({ name, ...encode(counts) }));
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/overview',
      summary: 'Get an overview',
      description:
        'Returns what does not work, the usage of the last days, the latest failures, and what waits for you.',
      answer: { description: 'The overview.', name: 'AdminOverview', schema: OverviewShape },
      async run() {
        const found = await readOverview(services, recent);
        const { at, problems, summedAt, today, days, models, accounts, failures, queues, waiting } = found;
        return {
          at: isoTime(at),
          problems,
          ...(currency !== undefined && { currency }),
          summed_at: isoTime(summedAt),
          today: encode(today),
          days: encodeSums(days),
          models: encodeSums(models),
          accounts: encodeSums(accounts),
          failures: failures.map((entry) => describeRequest(entry, currency !== undefined)),
          queues: queues.map(describeQueue),
          waiting: {
            orders: waiting.orders.map(describeOrder),
            transfers: waiting.transfers.map(describeTransfer),
            incidents: waiting.incidents.map(describeIncident),
            alerts: waiting.alerts.map(describeAlert),
            alert_count: waiting.alertCount,
          },
        };
      },
    }),
  ];
}
