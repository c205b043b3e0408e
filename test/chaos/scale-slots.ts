/** Records every taken slot in PostgreSQL, and checks that no window exceeded its limit. */

import pg from 'pg';

const WINDOW_MS = 60_000;

/**
 * From now on every slot that is taken is written down, by the database itself and in the transaction that takes it: the
 * gateway forgets slots once they have passed, and jobs tell their times only roughly where the way to the database is slow.
 */
export function watchSlots(databaseUrl: string): Promise<void> {
  return withClient(databaseUrl, async (client) => {
    await client.query(`
      create table taken_slots ("keyId" text, family text, seq bigint, at bigint);
      create index on taken_slots ("keyId", family, seq);
      create function watch_slots() returns trigger language plpgsql as $$
        begin
          insert into taken_slots values (new."keyId", new.family, new.seq, new.at);
          return null;
        end
      $$;
      create trigger watch_slots after insert on rate_slots for each row execute function watch_slots();
    `);
  });
}

/** Slots of pictures that were taken less than 60 s after the one which many slots before them. @param rpm how many. */
export function countEarlySlots(databaseUrl: string, rpm: number): Promise<number> {
  return withClient(databaseUrl, async (client) => {
    // Slots that were taken together have one row, of the first.
    const { rows } = await client.query<{ early: number }>(
      `with slots as (
         select windows."keyId", number.seq,
           (select at from taken_slots taken
             where taken."keyId" = windows."keyId" and taken.family = 'image' and taken.seq <= number.seq
             order by taken.seq desc limit 1) as at
         from rate_windows windows, generate_series(0, windows."nextSeq" - 1) as number(seq)
         where windows.family = 'image'
       )
       select count(*)::int as early from slots one join slots other
         on other."keyId" = one."keyId" and other.seq = one.seq + $1 where other.at - one.at < $2`,
      [rpm, WINDOW_MS],
    );
    return rows[0]?.early ?? 0;
  });
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
