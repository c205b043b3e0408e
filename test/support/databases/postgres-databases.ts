/** Empty databases, lent to tests and emptied again. */

import pg from 'pg';
import type { TestPostgres } from './postgres.js';
import { RESET } from './postgres-sessions.js';

export interface LentDatabase {
  /** Of an empty database, until {@link giveBack}. */
  readonly url: string;
  giveBack(): Promise<void>;
}

/**
 * Databases that are lent out again and again: making one and bringing it up to date takes ten times as long as emptying it.
 * Those of a server that all processes of a run share go from one process to the next.
 */
export function postgresDatabases(server: TestPostgres): { take(): Promise<LentDatabase> } {
  // Others' server keeps nothing of ours.
  if (server.source === 'environment') return { take: async () => lendOnce(server) };
  return server.isCommon ? commonDatabases(server) : ownDatabases(server);
}

async function lendOnce(server: TestPostgres): Promise<LentDatabase> {
  const url = await server.createDatabase();
  return { url, giveBack: () => server.dropDatabase(url) };
}

function ownDatabases(server: TestPostgres): { take(): Promise<LentDatabase> } {
  const free: string[] = [];
  return {
    async take() {
      const url = free.pop() ?? (await server.createDatabase());
      return {
        url,
        async giveBack() {
          await empty(url);
          free.push(url);
        },
      };
    },
  };
}

interface CommonDatabase {
  id: number;
  url: string;
  /** False while it is lent, and after a process that ended without giving it back. */
  clean: boolean;
}

/** Who holds the lock of a row has that database: the server frees it when the process is gone, whatever has ended it. */
function commonDatabases(server: TestPostgres): { take(): Promise<LentDatabase> } {
  let connected: Promise<pg.Client> | undefined;
  // A connection may take a lock that it has once more.
  const held = new Set<number>();

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: server.url });
    client.on('error', () => undefined);
    await client.connect();
    await client.query(`select pg_advisory_lock(0)`);
    await client.query(
      'create table if not exists lent_databases (id serial primary key, url text not null, clean boolean not null)',
    );
    await client.query(`select pg_advisory_unlock(0)`);
    return client;
  }

  async function lock(client: pg.Client, id: number): Promise<boolean> {
    if (held.has(id)) return false;
    held.add(id);
    const { rows } = await client.query<{ got: boolean }>('select pg_try_advisory_lock($1) as got', [id]);
    if (rows[0]?.got) return true;
    held.delete(id);
    return false;
  }

  async function findFree(client: pg.Client): Promise<CommonDatabase | undefined> {
    const { rows } = await client.query<Pick<CommonDatabase, 'id'>>('select id from lent_databases order by id');
    for (const { id } of rows) {
      if (!(await lock(client, id))) continue;
      // Read under the lock: another process may have had it until now.
      const found = await client.query<CommonDatabase>('select * from lent_databases where id = $1', [id]);
      return found.rows[0];
    }
    return undefined;
  }

  async function make(client: pg.Client): Promise<CommonDatabase> {
    const insert = `insert into lent_databases (url, clean) values ('', false) returning id`;
    const { rows } = await client.query<Pick<CommonDatabase, 'id'>>(insert);
    const id = rows[0]?.id ?? 0;
    // Another process may be faster; what it makes of the row is as good for it.
    if (!(await lock(client, id))) return make(client);
    return { id, url: '', clean: false };
  }

  return {
    async take() {
      connected ??= connect();
      const client = await connected;
      const { id, url: last, clean } = (await findFree(client)) ?? (await make(client));
      if (!clean && last !== '') await server.dropDatabase(last).catch(() => undefined);
      const url = clean ? last : await server.createDatabase();
      await client.query('update lent_databases set url = $2, clean = false where id = $1', [id, url]);
      return {
        url,
        async giveBack() {
          await empty(url);
          await client.query('update lent_databases set clean = true where id = $1', [id]);
          await client.query('select pg_advisory_unlock($1)', [id]);
          held.delete(id);
        },
      };
    },
  };
}

/** Leaves sessions that nobody has, what migrations have made, and what they remember of themselves; functions and their triggers are of tests. */
const EMPTY = `
do $$
declare
  one text;
  has_rows boolean;
  used text[] := '{}';
  routine regprocedure;
begin
  -- One that commits meanwhile would leave rows in a table that was empty when it was looked at, so each is waited for.
  perform pg_terminate_backend(pid, 10000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query <> '${RESET}';
  for one in select quote_ident(tablename) from pg_tables
    where schemaname = 'public' and tablename not like 'kysely_%'
  loop
    execute 'select exists (select from ' || one || ')' into has_rows;
    if has_rows then used := used || one; end if;
  end loop;
  if used <> '{}' then execute 'truncate ' || array_to_string(used, ', ') || ' restart identity cascade'; end if;
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
