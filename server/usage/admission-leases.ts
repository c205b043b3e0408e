import { randomUUID } from 'node:crypto';
import {
  createHeartbeat,
  DATABASE_PATIENCE_MS,
  type Database,
  filled,
  hasEnded,
  play,
  processId,
  rowsOf,
  type Script,
} from '../../core/database/index.js';
import { startPollLoop } from '../../core/runtime/index.js';
import type { ReservationsTable } from './tables.js';
import type { UsageSweeper } from './usage-sweep.js';

/*
 * Whose reservations are whose. As jobs do it (see job-claims.ts): a process that holds reservations counts its row's `beat`
 * up, three times per lease; whoever sees the same beat for a whole lease, by its own steady clock and while it could
 * look, takes the process for dead, unless a sign of life comes first. One whose end can be told from here is not waited for.
 * A process that was taken for dead and is not finds its reservations settled, and changes nothing any more.
 */

export interface AdmissionLeasesOptions {
  database: Database;
  leaseMs: number;
  /** Has its turn after each look at the leases. */
  sweeper: UsageSweeper;
  /** Reservations that this process holds or asks for. */
  held: ReadonlySet<string>;
  /** Settles what a dead process held, in the transaction that deleted it. */
  cutOff(reservations: readonly ReservationsTable[]): Script<void>;
  /** The same for what this process holds and does not know of. */
  giveBack(reservations: readonly ReservationsTable[]): Script<void>;
  report(error: unknown): void;
}

export interface AdmissionLeases {
  /** Who holds what this process reserves. */
  readonly id: string;
  /** Writes that name down, in a transaction that reserves. */
  sign(): Script<void>;
  /** An admission failed, and may have been committed all the same. */
  doubt(): void;
  stop(): Promise<void>;
}

interface Runner {
  id: string;
  /** Null where only its reservations are there. */
  runner: string | null;
  beat: number | null;
}

export function createAdmissionLeases(options: AdmissionLeasesOptions): AdmissionLeases {
  const { database, leaseMs, sweeper, held, cutOff, giveBack, report } = options;
  const id = randomUUID();
  const runner = processId();
  const insert = database.queries
    .insertInto('admission_runners')
    .values({ id, runner, beat: 0 })
    .onConflict((conflict) => conflict.doNothing())
    .compile();
  let signed = false;
  let doubtedAt: number | undefined;
  const beats = createHeartbeat(leaseMs);

  async function look(): Promise<void> {
    if (held.size > 0) await beat();
    if (doubtedAt !== undefined) await endDoubts(doubtedAt);
    await endTheDead();
    await sweeper.sweep();
  }

  async function beat(): Promise<void> {
    await database.run((queries) =>
      queries
        .updateTable('admission_runners')
        .set(({ eb }) => ({ beat: eb('beat', '+', 1) }))
        .where('id', '=', id)
        .execute(),
    );
  }

  /** What is in the database and held by nobody was reserved for a request that was told it could not be. */
  async function endDoubts(since: number): Promise<void> {
    const begun = performance.now();
    await database.transaction(async (transaction) => {
      const rows = await transaction.selectFrom('reservations').select('id').where('runnerId', '=', id).execute();
      const unheard = rows.flatMap((row) => (held.has(row.id) ? [] : [row.id]));
      if (unheard.length === 0) return;
      const deleted = transaction.deleteFrom('reservations').where('runnerId', '=', id).where('id', 'in', unheard);
      await play(transaction, giveBack(await deleted.returningAll().execute()));
    });
    // By then the database has come to all it was asked.
    if (begun - since > 2 * DATABASE_PATIENCE_MS && doubtedAt === since) doubtedAt = undefined;
  }

  async function endTheDead(): Promise<void> {
    const runners = await database.run(async (queries) => {
      const known = await queries.selectFrom('admission_runners').select(['id', 'runner', 'beat']).execute();
      const holders = await queries.selectFrom('reservations').select('runnerId').distinct().execute();
      const ids = new Set(known.map((each) => each.id));
      const unknown = holders.flatMap(({ runnerId }) => (ids.has(runnerId) ? [] : [runnerId]));
      return [...known, ...unknown.map((each): Runner => ({ id: each, runner: null, beat: null }))];
    });
    const isSilent = beats.look();
    for (const other of runners) {
      if (other.id === id) continue;
      if (isSilent(other.id, `${other.beat}`) || (other.runner !== null && hasEnded(other.runner))) await end(other);
    }
  }

  async function end(dead: Runner): Promise<void> {
    await database.transaction(async (transaction) => {
      let forget = transaction.deleteFrom('admission_runners').where('id', '=', dead.id);
      if (dead.beat !== null) forget = forget.where('beat', '=', dead.beat);
      const { numDeletedRows } = await forget.executeTakeFirstOrThrow();
      // It has shown life meanwhile, or another process was quicker.
      if (dead.beat !== null && numDeletedRows === 0n) return;
      const deleted = transaction.deleteFrom('reservations').where('runnerId', '=', dead.id).returningAll();
      await play(transaction, cutOff(await deleted.execute()));
    });
  }

  const rounds = startPollLoop({ intervalMs: leaseMs / 3, work: look, report });

  return {
    id,
    *sign() {
      signed = true;
      yield* rowsOf(filled(insert, [id, runner, 0]));
    },
    doubt() {
      doubtedAt = performance.now();
    },
    async stop() {
      await rounds.stop();
      // What is still held stays with its holder's name, for those who come after.
      if (!signed || held.size > 0) return;
      const forget = database.queries.deleteFrom('admission_runners').where('id', '=', id);
      await database.run(() => forget.execute()).catch(report);
    },
  };
}
