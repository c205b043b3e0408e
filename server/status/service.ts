/*
 * Puts the status together: the parts as this process sees them now, their history, and incidents. A report is at most
 * ten seconds old, however many visitors ask, and requests at the same time share one. While the database is
 * unavailable, the report has the parts alone and says so.
 */

import type { Gateway } from 'mediagate';
import { type Clock, endsWithin, type Logger } from '../../core/runtime/index.js';
import type { Health } from '../observability/index.js';
import type { ProbeResult, ProbeResults } from '../probes/index.js';
import { CELL_MS, CELLS, type Cell, type PartState, type StatusHistory, startStatusHistory } from './history.js';
import type { Incident, Incidents } from './incidents.js';
import { describeParts, type StatusPart, worstOf } from './parts.js';

const FRESH_MS = 10_000;
const TIMEOUT_MS = 2_000;
const INCIDENTS_MS = 14 * 24 * 3_600_000;
const MAX_INCIDENTS = 50;
/** Spans of five minutes from which on a share says something. */
const MIN_NOTED = 12;

/** The last 24 hours of a part. */
export interface PartHistory {
  /** Spans of half an hour, oldest first; undefined where nothing was noted. */
  states: readonly (PartState | undefined)[];
  /** Share of the noted time without any disturbance, 0 to 1. Undefined if less than an hour was noted. */
  fine: number | undefined;
}

export interface ServiceReport {
  /** Milliseconds since 1970. */
  at: number;
  parts: readonly (StatusPart & { history: PartHistory })[];
  /** Open ones, and those that ended in the last two weeks. Undefined if they could not be read. */
  incidents: readonly Incident[] | undefined;
  /** When the first span of the history begins. */
  since: number;
}

export interface ServiceStatusOptions {
  gateway: Pick<Gateway, 'plugins' | 'platforms' | 'models'>;
  health: Pick<Health, 'checks'>;
  probes: Pick<ProbeResults, 'latest'>;
  history: StatusHistory;
  incidents: Pick<Incidents, 'list'>;
  /** Whether orders are accepted. */
  acceptsOrders: boolean;
  canSignIn(): boolean;
  clock: Clock;
}

/** What the status of a running server is made from. */
export interface StatusParts {
  state: { probes: ProbeResults; incidents: Incidents; statusHistory: StatusHistory };
  gateway: ServiceStatusOptions['gateway'];
  health: ServiceStatusOptions['health'];
  payments: { acceptsOrders: boolean };
  identity: { status(): { state: string } };
  logger: Logger;
  clock: Clock;
}

/** Notes the states once a minute, in every process: upstreams may fail in one of them alone. */
export function openServiceStatus({ state, gateway, health, payments, identity, logger, clock }: StatusParts) {
  const { probes, incidents, statusHistory: history } = state;
  const { acceptsOrders } = payments;
  const canSignIn = () => identity.status().state === 'ready';
  const status = new ServiceStatus({ gateway, health, probes, history, incidents, acceptsOrders, canSignIn, clock });
  const noting = startStatusHistory(() => status.note(), logger);
  return { report: () => status.report(), close: () => noting.stop() };
}

export class ServiceStatus {
  readonly #options: ServiceStatusOptions;
  #asked: { at: number; report: Promise<ServiceReport> } | undefined;

  constructor(options: ServiceStatusOptions) {
    this.#options = options;
  }

  /** At most ten seconds old. */
  report(): Promise<ServiceReport> {
    const { clock } = this.#options;
    const now = clock.monotonic();
    if (!this.#asked || now - this.#asked.at >= FRESH_MS) this.#asked = { at: now, report: this.#report() };
    return this.#asked.report;
  }

  /** Notes the states of now. @throws GatewayError `upstream_unavailable`. */
  async note(): Promise<void> {
    const { history, clock } = this.#options;
    await history.record(await this.#parts(), clock.now());
  }

  async #report(): Promise<ServiceReport> {
    const { history, incidents, clock } = this.#options;
    const now = clock.now();
    const [parts, cells, listed] = await Promise.all([
      this.#parts(),
      this.#read(() => history.read(now)),
      this.#read(() => incidents.list({ since: now - INCIDENTS_MS, limit: MAX_INCIDENTS })),
    ]);
    const first = Math.floor(now / CELL_MS) - CELLS + 1;
    return {
      at: now,
      parts: parts.map((part) => ({ ...part, history: historyOf(cells?.get(part.id) ?? [], first) })),
      incidents: listed,
      since: first * CELL_MS,
    };
  }

  async #parts(): Promise<readonly StatusPart[]> {
    const { gateway, health, probes, acceptsOrders, canSignIn, clock } = this.#options;
    const [checks, latest] = await Promise.all([
      health.checks(),
      this.#read<readonly ProbeResult[]>(() => probes.latest()),
    ]);
    const now = clock.now();
    return describeParts({ gateway, checks, probes: latest ?? [], acceptsOrders, canSignIn: canSignIn(), now });
  }

  /** Undefined if the database does not answer in time. */
  async #read<Value>(read: () => Promise<Value>): Promise<Value | undefined> {
    let value: Value | undefined;
    const work = async () => {
      value = await read();
    };
    await endsWithin(TIMEOUT_MS, work, { clock: this.#options.clock }).catch(() => undefined);
    return value;
  }
}

/** The worst state of the gateway's own parts; providers and platforms that are down leave the rest of it usable. */
export function overallState(parts: readonly StatusPart[]): PartState {
  const own = worstOf(parts.filter(({ group }) => group === 'service').map(({ state }) => state));
  return own === 'ok' && parts.some(({ state }) => state !== 'ok') ? 'degraded' : own;
}

function historyOf(cells: readonly Cell[], first: number): PartHistory {
  const states = Array.from({ length: CELLS }, (_, index) => cells.find(({ cell }) => cell === first + index)?.state);
  const noted = cells.reduce((sum, cell) => sum + cell.noted, 0);
  const fine = cells.reduce((sum, cell) => sum + cell.fine, 0);
  return { states, fine: noted < MIN_NOTED ? undefined : fine / noted };
}
