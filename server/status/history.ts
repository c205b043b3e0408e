/*
 * The states of the parts over the last 24 hours. Each process notes the states that it sees once a minute; a row is the
 * worst state of a part within five minutes, over all processes. Minutes without any row are those in which no process
 * ran or the database did not answer. Rows older than a day are deleted. Pages read spans of half an hour.
 */

import { type Database, type Migrations, sql, sqlMigration } from '../../core/database/index.js';
import { createThrottledWarning, type Logger, type PollLoop, startPollLoop } from '../../core/runtime/index.js';

/** From the best to the worst; the place is what is stored. */
export const PART_STATES = ['ok', 'degraded', 'down'] as const;
export type PartState = (typeof PART_STATES)[number];

const SLOT_MS = 5 * 60_000;
const SLOTS_PER_CELL = 6;
/** Span that pages show as one. */
export const CELL_MS = SLOT_MS * SLOTS_PER_CELL;
/** Spans of a day, of which the last one is now. */
export const CELLS = 48;
const EVERY_MS = 60_000;

interface StatusSamplesTable {
  /** Id of the part. */
  part: string;
  /** Five minutes, counted since 1970. */
  slot: number;
  /** Place in {@link PART_STATES}. */
  state: number;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    status_samples: StatusSamplesTable;
  }
}

export const historyMigrations: Migrations = {
  '0001-status-samples': sqlMigration(
    `create table status_samples (part text not null, slot integer not null, state integer not null,
    primary key (slot, part))`,
  ),
};

/** A span of a part. */
export interface Cell {
  /** Counted since 1970, in units of {@link CELL_MS}. */
  cell: number;
  /** The worst one. */
  state: PartState;
  /** Five-minute spans that were noted, and those of them that were fine. */
  noted: number;
  fine: number;
}

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class StatusHistory {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Notes the states of now, and deletes what is older than a day. @param now Milliseconds since 1970. */
  async record(parts: readonly { id: string; state: PartState }[], now: number): Promise<void> {
    if (parts.length === 0) return;
    const slot = Math.floor(now / SLOT_MS);
    const rows = parts.map(({ id, state }) => ({ part: id, slot, state: PART_STATES.indexOf(state) }));
    await this.#database.transaction(async (transaction) => {
      await transaction
        .insertInto('status_samples')
        .values(rows)
        .onConflict((conflict) =>
          conflict
            .columns(['slot', 'part'])
            .doUpdateSet({ state: sql<number>`excluded.state` })
            .whereRef('status_samples.state', '<', sql<number>`excluded.state`),
        )
        .execute();
      await transaction.deleteFrom('status_samples').where('slot', '<', firstSlot(now)).execute();
    });
  }

  /** Of the last 24 hours, by the id of the part. @param now Milliseconds since 1970. */
  async read(now: number): Promise<ReadonlyMap<string, readonly Cell[]>> {
    const rows = await this.#database.run((queries) =>
      queries
        .selectFrom('status_samples')
        .select((one) => [
          'part',
          sql<number>`slot / ${sql.lit(SLOTS_PER_CELL)}`.as('cell'),
          one.fn.max('state').as('worst'),
          sql<number>`count(*)`.as('noted'),
          sql<number>`sum(case when state = 0 then 1 else 0 end)`.as('fine'),
        ])
        .where('slot', '>=', firstSlot(now))
        .groupBy(['part', sql`slot / ${sql.lit(SLOTS_PER_CELL)}`])
        .orderBy('cell')
        .execute(),
    );
    const cells = rows.map(({ part, cell, worst, noted, fine }) => ({
      part,
      cell: Number(cell),
      state: PART_STATES[Number(worst)] ?? 'ok',
      noted: Number(noted),
      fine: Number(fine),
    }));
    return Map.groupBy(cells, ({ part }) => part);
  }
}

/** The first slot of the spans of a day. */
function firstSlot(now: number): number {
  return (Math.floor(now / CELL_MS) - CELLS + 1) * SLOTS_PER_CELL;
}

/** Notes the states once a minute until it is stopped. */
export function startStatusHistory(note: () => Promise<void>, logger: Logger): PollLoop {
  const report = createThrottledWarning(logger, 'the state of the service could not be noted for the status page');
  return startPollLoop({ intervalMs: EVERY_MS, work: note, report });
}
