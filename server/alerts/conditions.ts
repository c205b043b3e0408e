/*
 * What an operator should know of, as conditions that are met now. Those of this machine are read by each node: its disk
 * and the providers of models as it sees them. Shared ones are read from SQL by one process in turn: budgets, the share
 * of failed requests, bank money, live probes, and the certificate of the public address, at most once an hour. A source
 * that fails leaves its own conditions out.
 */

import type { Gateway } from 'mediagate';
import type { PluginStatus } from '../../core/contracts/index.js';
import type { Clock } from '../../core/runtime/index.js';
import type { Budgets } from '../budgets/index.js';
import { isSiteAccount } from '../keys/index.js';
import type { Orders } from '../payments/index.js';
import type { ProbeResults } from '../probes/index.js';
import { roomOf } from '../settings/index.js';
import type { RequestLog } from '../usage/index.js';
import type { Condition } from './alerts.js';
import { type CertificateState, readCertificate } from './certificate.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Requests that are judged together: the latest of this span, at most so many. */
const ERRORS_MS = 5 * 60_000;
const MAX_REQUESTS = 5_000;
/** Fewer requests say nothing. */
const MIN_REQUESTS = 20;
/** A certificate that renews itself does so earlier. */
const CERTIFICATE_DAYS = 14;
const MAX_BUDGETS = 100;
const MAX_TRANSFERS = 100;
const MAX_WORDS = 300;

export interface NodeSources {
  gateway: Pick<Gateway, 'plugins' | 'models'>;
  dataDir: string;
  /** Name of the machine. */
  host: string;
  /** Free percent of the disk below which it is nearly full. */
  diskPercent: number;
}

/** Conditions of this machine. */
export async function nodeConditions({ gateway, ...disk }: NodeSources): Promise<readonly Condition[]> {
  return [...upstreamConditions(gateway), ...(await diskConditions(disk))];
}

async function diskConditions({ dataDir, host, diskPercent }: Omit<NodeSources, 'gateway'>): Promise<Condition[]> {
  const room = await roomOf(dataDir).catch(() => undefined);
  if (!room || room.size === 0) return [];
  const percent = Math.floor((room.free / room.size) * 100);
  if (percent >= diskPercent) return [];
  return [{ kind: 'disk_low', subject: host, detail: { free_bytes: room.free, percent } }];
}

/** An entry with several models is one subject: when its server fails, that is one alert. */
function upstreamConditions(gateway: NodeSources['gateway']): Condition[] {
  const absent = new Set(
    gateway.models().flatMap(({ id, isAbsent, aliasOf }) => (isAbsent && aliasOf === undefined ? [id] : [])),
  );
  return gateway.plugins().flatMap((plugin): Condition[] => {
    const reason = reasonOf(plugin, absent);
    if (reason === undefined) return [];
    const serves = plugin.serves.join(', ').slice(0, MAX_WORDS);
    return [{ kind: 'upstream_down', subject: plugin.id, detail: { reason, serves } }];
  });
}

function reasonOf({ state, reason, serves, upstreams }: PluginStatus, absent: ReadonlySet<string>): string | undefined {
  if (state === 'failed') return (reason ?? 'failed').slice(0, MAX_WORDS);
  if (state !== 'ready') return undefined;
  if (upstreams.length > 0 && upstreams.every(({ isCoolingDown }) => isCoolingDown)) return 'cools down after failures';
  const lacks = serves.length > 0 && serves.every((id) => absent.has(id));
  return lacks ? 'the server does not list its models' : undefined;
}

export interface SharedSources {
  state: {
    budgets: Pick<Budgets, 'nearlyUsed'>;
    orders: Pick<Orders, 'transactions'>;
    probes: Pick<ProbeResults, 'latest'>;
    requestLog: Pick<RequestLog, 'latestFailures'>;
    /** Names of keys, for their budgets. */
    keys: { find(id: string): Promise<{ name: string } | undefined> };
  };
  /** Public addresses: of the gateway and of its site. */
  addresses: readonly string[];
  /** Percent of failed requests from which on it is an alert. */
  errorPercent: number;
  clock: Clock;
  /** Receives errors of a source. */
  report(error: unknown): void;
}

/** Conditions that every process would find. */
export class SharedConditions {
  readonly #sources: SharedSources;
  #certificates: { until: number; states: readonly CertificateState[] } | undefined;

  constructor(sources: SharedSources) {
    this.#sources = sources;
  }

  async read(): Promise<readonly Condition[]> {
    const sources = [
      () => this.#budgets(),
      () => this.#errors(),
      () => this.#bankMoney(),
      () => this.#probes(),
      () => this.#certificateConditions(),
    ];
    const found = sources.map((read) =>
      read().catch((error) => {
        this.#sources.report(error);
        return [];
      }),
    );
    return (await Promise.all(found)).flat();
  }

  async #budgets(): Promise<Condition[]> {
    const { budgets, keys } = this.#sources.state;
    // Budgets that users set for their own keys are their business.
    const used = (await budgets.nearlyUsed(MAX_BUDGETS)).filter(
      ({ scope, accountId }) => scope !== 'key' || !isSiteAccount(accountId),
    );
    const conditions = used.map(async ({ scope, subject, percent, unit, currency, limit, used: spent, resets }) => {
      const name = scope === 'key' ? ((await keys.find(subject))?.name ?? subject) : subject;
      return {
        kind: percent === 100 ? ('budget_used' as const) : ('budget_low' as const),
        subject: `${scope} ${subject} ${unit}/${resets === 'never' ? 'lifetime' : resets}`,
        detail: { of: scope, name, unit, ...(currency !== null && { currency }), limit, used: spent, resets, percent },
      };
    });
    return Promise.all(conditions);
  }

  async #errors(): Promise<Condition[]> {
    const { state, clock, errorPercent } = this.#sources;
    const { requests, failed, code } = await state.requestLog.latestFailures(clock.now() - ERRORS_MS, MAX_REQUESTS);
    const percent = requests < MIN_REQUESTS ? 0 : Math.round((failed / requests) * 100);
    if (percent < errorPercent || failed === 0) return [];
    const detail = { percent, requests, failed, ...(code !== undefined && { code }) };
    return [{ kind: 'error_rate', subject: '', detail }];
  }

  async #bankMoney(): Promise<Condition[]> {
    const waiting = await this.#sources.state.orders.transactions({ review: true }, MAX_TRANSFERS);
    if (waiting.length === 0) return [];
    return [{ kind: 'bank_money', subject: '', detail: { transfers: waiting.length } }];
  }

  async #probes(): Promise<Condition[]> {
    const now = this.#sources.clock.now();
    const results = await this.#sources.state.probes.latest();
    return results
      .filter(({ failed, at }) => failed > 0 && now - at <= DAY_MS)
      .map(({ platform, failed, passed }) => {
        return { kind: 'probe_failed', subject: platform, detail: { failed, passed } };
      });
  }

  async #certificateConditions(): Promise<Condition[]> {
    const { addresses, clock } = this.#sources;
    const now = clock.monotonic();
    if (!this.#certificates || now >= this.#certificates.until) {
      const all = await Promise.all([...new Set(addresses)].map(readCertificate));
      const states = all.filter((one) => one !== undefined);
      // A gateway that has just started may not listen yet.
      this.#certificates = { until: now + (states.length === all.length ? HOUR_MS : HOUR_MS / 6), states };
    }
    return this.#certificates.states.flatMap(({ host, endsAt }): Condition[] => {
      const days = Math.floor((endsAt - clock.now()) / DAY_MS);
      return days >= CERTIFICATE_DAYS ? [] : [{ kind: 'certificate', subject: host, detail: { days } }];
    });
  }
}
