import type { Tables } from '../database/index.js';
import { type CompiledQuery, createListScript, type Kysely, rowsOf, type Script, sql } from '../database/index.js';
import type { JobKind } from './jobs.js';

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
  /** @param keyId One of those that were named. */
  next(keyId: string): number;
}

export type TurnStatements = ReturnType<typeof compileTurnStatements>;

/** Run for each group of jobs that is accepted, so built once; see statements.ts. */
export function compileTurnStatements(queries: Kysely<Tables>, kind: JobKind) {
  const active = () => queries.selectFrom('jobs').select('place').where('kind', '=', sql.lit(kind)).where(ACTIVE);
  return {
    firstQueued: active().where(QUEUED).orderBy('place').limit(ONE).compile(),
    lastActive: active().orderBy('place', 'desc').limit(ONE).compile(),
    // Key by key at the end of the index: a key may have many jobs.
    lastOfKeys: createListScript((length) => {
      const keys = sql.join(Array.from({ length }, () => sql`(${''})`));
      return sql<{ key_id: string; place: number | null }>`with wanted (key_id) as (values ${keys})
        select key_id, (
          select place from jobs where kind = ${sql.lit(kind)} and ${ACTIVE} and jobs.key_id = wanted.key_id
          order by place desc limit ${ONE}) as place
        from wanted`.compile(queries);
    }),
  };
}

/** Reads where the queue stands, and these keys in it. */
export function* openTurns(statements: TurnStatements, keyIds: readonly string[]): Script<Turns> {
  function* readPlace(query: CompiledQuery<{ place: number }>): Script<number | undefined> {
    return (yield* rowsOf(query))[0]?.place;
  }

  // The place of the next job to run; where none waits, of the youngest that runs.
  const front = (yield* readPlace(statements.firstQueued)) ?? (yield* readPlace(statements.lastActive)) ?? 1;
  const rows = yield* statements.lastOfKeys([...new Set(keyIds)].map((keyId) => [keyId]));
  const last = new Map(rows.map(({ key_id, place }) => [key_id, place ?? 0]));
  return {
    next(keyId) {
      const place = Math.max(front, (last.get(keyId) ?? 0) + 1);
      last.set(keyId, place);
      return place;
    },
  };
}
