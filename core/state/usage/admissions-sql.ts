import { randomUUID } from 'node:crypto';
import type { Clock, Logger } from '../../contracts/services.js';
import type { Database, Script } from '../../database/index.js';
import { createLanes, createRareWarning, createWriteBehind } from '../../database/index.js';
import { createJobClock } from '../../jobs/job-clock.js';
import { isGatewayError } from '../../runtime/index.js';
import type { SlotTable } from '../limits/slots.js';
import { createBackgroundTable } from '../models/background-table.js';
import { type AdmissionWish, admitGroup, type ReservationRow } from './admission-group.js';
import { createAdmissionLeases } from './admission-leases.js';
import type { Admission, AdmissionRequest, Admissions } from './admissions.js';
import { createBudgetTable } from './budget-table.js';
import { countOldestTogether, type Settled, writeCutOffs, writeSettlements, writeUnheard } from './settlements.js';
import { createUsageSweeper } from './usage-sweep.js';
import { createUsageTable } from './usage-table.js';

/** A third of it goes by between two signs of life. */
const LEASE_MS = 15_000;
/** Settlements that wait for the database. */
const CAPACITY = 100_000;

export interface AdmissionsOptions {
  database: Database;
  /** The one of the rolling windows: slots that are taken here and there are the same. */
  slots: SlotTable;
  /** What periods and days of budgets go by. Default: the database's own clock. */
  clock?: Clock;
  /** Default 15,000. */
  leaseMs?: number;
  logger: Logger;
}

export interface ClosableAdmissions extends Admissions {
  /** Writes down what was settled. */
  close(): Promise<void>;
}

/** Admissions in SQL, all that arrive while a transaction runs in the next one; and the ledger of what they used. */
export function createAdmissions({
  database,
  slots,
  clock,
  leaseMs = LEASE_MS,
  logger,
}: AdmissionsOptions): ClosableAdmissions {
  const { engine, queries } = database;
  const budgetTable = createBudgetTable({ engine, queries, clock });
  const usageTable = createUsageTable(queries);
  const tables = { budgetTable, usageTable, backgroundTable: createBackgroundTable(queries) };
  const held = new Set<string>();
  const report = createRareWarning(logger, 'reservations and old usage wait for the database');

  const leases = createAdmissionLeases({
    database,
    leaseMs,
    sweeper: createUsageSweeper(database, createJobClock(clock)),
    held,
    cutOff: (reservations) => writeCutOffs(reservations, tables),
    giveBack: (reservations) => writeUnheard(reservations, tables),
    report,
  });

  function* hold(rows: readonly ReservationRow[]): Script<void> {
    yield* leases.sign();
    yield* usageTable.insertReservations(rows.map((row) => ({ ...row, runner_id: leases.id })));
  }

  const lanes = createLanes<AdmissionWish, Admission>({
    database,
    // A power cut ends the requests too, and forgets the slots of the last moment with them.
    survives: 'process-end',
    script: (wishes) => admitGroup(wishes, { slots, budgetTable, hold }),
  });

  const writing = createWriteBehind<Settled>({
    database,
    name: 'settlements of requests',
    capacity: CAPACITY,
    shed: (waiting) => countOldestTogether(waiting, CAPACITY / 10),
    write: (items) => writeSettlements(items, tables),
    done(items) {
      for (const item of items)
        if ('reservation' in item && item.reservation !== undefined) held.delete(item.reservation);
    },
    logger,
  });

  async function admitReserving(
    request: AdmissionRequest,
    reserve: NonNullable<AdmissionRequest['reserve']>,
  ): Promise<Admission> {
    const id = randomUUID();
    // Before the database has it: what is there and not held here is given back.
    held.add(id);
    try {
      const admission = await lanes.submit(request.keyId, { ...request, reserve: { ...reserve, id } });
      if (admission.reservation === undefined) held.delete(id);
      return admission;
    } catch (error) {
      held.delete(id);
      if (!isGatewayError(error) || error.code !== 'insufficient_quota') leases.doubt();
      throw error;
    }
  }

  return {
    admit(request) {
      const { keyId, slot, reserve } = request;
      if (reserve) return admitReserving(request, reserve);
      return slot ? lanes.submit(keyId, { ...request, reserve }) : Promise.resolve({});
    },
    settle: (settlement) => writing.push(settlement),
    correct(correction) {
      if (correction.usage || correction.final) writing.push(correction);
    },
    flush: () => writing.flush(),
    flushInTime: () => writing.flushInTime(),
    async close() {
      await writing.close();
      await leases.stop();
    },
  };
}
