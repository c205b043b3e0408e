import pg from 'pg';
import type { TestPostgres } from './postgres.js';

export interface LentDatabase {
  /** Of an empty database, until {@link giveBack}. */
  readonly url: string;
  giveBack(): Promise<void>;
}

/** Databases that are lent out again and again: making one and bringing it up to date takes ten times as long as emptying it. */
export function postgresDatabases(server: TestPostgres): { take(): Promise<LentDatabase> } {
  const free: string[] = [];
  return {
    async take() {
      const url = free.pop() ?? (await server.createDatabase());
      return {
        url,
        async giveBack() {
          // Others' server keeps nothing of ours; one of the tests' own takes its databases with it.
          if (server.source === 'environment') return server.dropDatabase(url);
          await empty(url);
          free.push(url);
        },
      };
    },
  };
}

/** Leaves what migrations have made, and what they remember of themselves; functions and their triggers are of tests. */
const EMPTY = `
do $$
declare
  tables text;
  routine regprocedure;
begin
  perform pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid();
  select string_agg(quote_ident(tablename), ', ') into tables
    from pg_tables where schemaname = 'public' and tablename not like 'kysely_%';
  if tables is not null then execute 'truncate ' || tables || ' restart identity'; end if;
  for routine in select oid from pg_proc where pronamespace = 'public'::regnamespace loop
    execute 'drop routine ' || routine || ' cascade';
  end loop;
end $$`;

async function empty(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(EMPTY);
  } finally {
    await client.end();
  }
}
