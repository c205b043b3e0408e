import { type Kysely, SqliteAdapter, sql } from '../../core/database/index.js';

/**
 * Each request looks for its window by its key, changes it and adds a slot. SQLite finds a row of a table without row ids by
 * its key alone; otherwise it would look up the row's number first, and keep two trees where one does. PostgreSQL has no such
 * tables.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  if (!(db.getExecutor().adapter instanceof SqliteAdapter)) return;
  await sql`
    create table keyed_windows (
      key_id text not null, family text not null, time bigint not null, reader text not null, wall bigint not null,
      steady bigint not null, next_seq bigint not null, tail_seq bigint not null, tail_at bigint not null,
      last_at bigint not null, primary key (key_id, family)
    ) without rowid`.execute(db);
  await sql`
    create table keyed_slots (
      key_id text not null, family text not null, seq bigint not null, at bigint not null,
      primary key (key_id, family, seq)
    ) without rowid`.execute(db);
  await sql`
    insert into keyed_windows (key_id, family, time, reader, wall, steady, next_seq, tail_seq, tail_at, last_at)
    select key_id, family, time, reader, wall, steady, next_seq, tail_seq, tail_at, last_at from rate_windows`.execute(
    db,
  );
  await sql`insert into keyed_slots (key_id, family, seq, at) select key_id, family, seq, at from rate_slots`.execute(
    db,
  );
  await db.schema.dropTable('rate_windows').execute();
  await db.schema.dropTable('rate_slots').execute();
  await db.schema.alterTable('keyed_windows').renameTo('rate_windows').execute();
  await db.schema.alterTable('keyed_slots').renameTo('rate_slots').execute();
}
