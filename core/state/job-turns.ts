import { type Kysely, sql } from 'kysely';
import type { JobKind } from './jobs.js';
import type { Tables } from './schema.js';

/*
 * How keys take turns. Queued jobs run in the order of their places, those of one place by age. The jobs of one key have
 * places one after the other; a key that had none queued begins where the queue has come to. So the first of each key come
 * before the second of any: a key with one job waits for one job of each other key at most, however many they have. (It is
 * start-time fair queueing, with each job counted as one.) Places are given at acceptance, under the lock of the kind, and
 * kept over restarts.
 */

/*
 * Written out: where a parameter is compared with a column that a partial index is made of, SQLite plans the statement anew
 * each time it runs.
 */
export const ACTIVE = sql<boolean>`state in ('queued', 'running')`;
export const QUEUED = sql<boolean>`state = 'queued'`;
export const RUNNING = sql<boolean>`state = 'running'`;

/** Gives places to jobs of one kind, within the transaction that accepts them. */
export interface Turns {
  next(keyId: string): Promise<number>;
}

export function createTurns(queries: Kysely<Tables>, kind: JobKind): Turns {
  const last = new Map<string, number>();
  let front: number | undefined;

  function active() {
    return queries.selectFrom('jobs').select('place').where('kind', '=', kind).where(ACTIVE).limit(1);
  }

  /** The place of the next job to run; where none waits, of the youngest that runs. */
  async function readFront(): Promise<number> {
    const queued = await active().where(QUEUED).orderBy('place').executeTakeFirst();
    const running = queued ?? (await active().orderBy('place', 'desc').executeTakeFirst());
    return running?.place ?? 1;
  }

  async function readLast(keyId: string): Promise<number> {
    const row = await active().where('key_id', '=', keyId).orderBy('place', 'desc').executeTakeFirst();
    return row?.place ?? 0;
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
