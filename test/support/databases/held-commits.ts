/** Commits that wait until a test lets them go. */

import type pg from 'pg';

/** Key of a lock of the database that the tests hold. */
const HELD = 7;

/**
 * From now on transactions that insert such rows stand in the middle of their COMMIT.
 * @param client A connection that does nothing in a transaction meanwhile.
 * @param condition Of SQL, about `new`. Default: all rows of the table.
 * @returns lets them go on.
 */
export async function holdCommits(client: pg.Client, table: string, condition = 'true'): Promise<() => Promise<void>> {
  await client.query(`
    select pg_advisory_lock(${HELD});
    create function linger() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(${HELD}); return null; end $$;
    create constraint trigger lingers after insert on ${table} deferrable initially deferred
      for each row when (${condition}) execute function linger()`);
  return async () => {
    await client.query(`select pg_advisory_unlock(${HELD})`);
  };
}

/** Whether a transaction stands in its COMMIT. Others may wait for other locks at the same time. */
export async function isCommitHeld(client: pg.Client): Promise<boolean> {
  const { rowCount } = await client.query(
    `select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
     where datname = current_database() and locktype = 'advisory' and objid = ${HELD} and not granted`,
  );
  return rowCount === 1;
}
