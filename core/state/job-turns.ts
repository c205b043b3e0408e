import { type CompiledQuery, type Kysely, sql } from 'kysely';
import type { JobKind } from './jobs.js';
import type { Tables } from './schema.js';
import { filled, first } from './statements.js';

/*
 * How keys take turns. Queued jobs run in the order of their places, those of one place by age. The jobs of one key have
 * places one after the other; a key that had none queued begins where the queue has come to. So the first of each key come
 * before the second of any: a key with one job waits for one job of each other key at most, however many they have. (It is
 * start-time fair queueing, with each job counted as one.) Places are given at acceptance, under the lock of the kind, and
 * kept over restarts.
 */

/*
 * Written out, as kinds and limits are in statements that run often: where a table has partial indexes, SQLite plans a
 * statement anew each time that it compares a column with a parameter, unless the parameter stands in a list.
 */
export const ACTIVE = sql<boolean>`state in ('queued', 'running')`;
export const QUEUED = sql<boolean>`state = 'queued'`;
export const RUNNING = sql<boolean>`state = 'running'`;
export const ONE = sql.lit(1);

/** Gives places to jobs of one kind, within the transaction that accepts them. */
export interface Turns {
  next(keyId: string): Promise<number>;
}

export type TurnStatements = ReturnType<typeof compileTurnStatements>;

/** Run for each job that is accepted, so built once; see statements.ts. */
export function compileTurnStatements(queries: Kysely<Tables>, kind: JobKind) {
  const active = () => queries.selectFrom('jobs').select('place').where('kind', '=', sql.lit(kind)).where(ACTIVE);
  return {
    firstQueued: active().where(QUEUED).orderBy('place').limit(ONE).compile(),
    lastActive: active().orderBy('place', 'desc').limit(ONE).compile(),
    lastOfKey: active().where('key_id', 'in', ['']).orderBy('place', 'desc').limit(ONE).compile(),
  };
}

export function createTurns(queries: Kysely<Tables>, statements: TurnStatements): Turns {
  const last = new Map<string, number>();
  let front: number | undefined;

  async function readPlace(query: CompiledQuery<{ place: number }>): Promise<number | undefined> {
    return first(await queries.executeQuery(query))?.place;
  }

  /** The place of the next job to run; where none waits, of the youngest that runs. */
  async function readFront(): Promise<number> {
    return (await readPlace(statements.firstQueued)) ?? (await readPlace(statements.lastActive)) ?? 1;
  }

  async function readLast(keyId: string): Promise<number> {
    return (await readPlace(filled(statements.lastOfKey, [keyId]))) ?? 0;
  }

  return {
    async next(keyId) {
      front ??= await readFront();
      const place = Math.max(front, (last.get(keyId) ?? (await readLast(keyId))) + 1);
      last.set(keyId, place);
      return place;
    },
  };
}
