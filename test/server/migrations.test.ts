/** Migrations on full disks and busy databases. */

import { expect } from 'chai';
import pg from 'pg';
import { withSchema } from '../../core/database/database.js';
import { type Kysely, Migrator, sql } from '../../core/database/kysely.js';
import { type Migrations, migrate, sqlMigration } from '../../core/database/schema-migration.js';
import type { Tables } from '../../core/database/tables.js';
import { migrations } from '../../server/migrations.js';
import { engines, ListLogger, type Place, postgresEngine, sqliteEngine } from '../support/databases/engines.js';
import { rejection } from '../support/rejection.js';
import { until } from '../support/until.js';

const NAMES = Object.keys(migrations).sort();
const EARLIER = NAMES.at(-1) ?? '';
const LATEST = '0900-more';

/** What a later release may bring: it changes a table that every node uses, and adds one. */
const laterMigrations: Migrations = {
  ...migrations,
  [LATEST]: {
    ...sqlMigration('alter table jobs add column more text', 'create table more_things (id text primary key)'),
    changes: ['jobs'],
  },
};

/** As a release has left it whose latest migration that was. */
async function migrateTo(queries: Kysely<Tables>, name: string): Promise<void> {
  const migrator = new Migrator({ db: queries, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateTo(name);
  if (error) throw error;
}

const insertJob = sql`
  insert into jobs (id, kind, "dedupeHash", state, priority, summary, input, "keyId", "queueGroup", owner, attempts, "crashCount",
    "createdAt", "webhookTries")
  values ('job', 'extraction', '', 'queued', 1, 'null', 'null', '', '', '', 0, 0, 1, 0)`;

for (const engine of engines) {
  describe(`migrations on ${engine.name}`, () => {
    let place: Place;

    beforeEach(async function () {
      place = await engine.place(this);
    });

    afterEach(() => place?.remove());

    it('bring an earlier schema up to date, and keep its rows', async () => {
      const rows = await withSchema(place, async (queries) => {
        await migrateTo(queries, EARLIER);
        await insertJob.execute(queries);
        expect(await migrate(queries, laterMigrations)).to.deep.equal([LATEST]);
        return (await sql`select id, summary, more from jobs`.execute(queries)).rows;
      });
      expect(rows).to.deep.equal([{ id: 'job', summary: 'null', more: null }]);
    });
  });
}

describe('migrations on a full disk', () => {
  it('change nothing, report it, and finish after space is freed', async () => {
    const place = await sqliteEngine.place({} as Mocha.Context);
    await withSchema(place, async (queries) => {
      await migrateTo(queries, EARLIER);
      await sql`pragma max_page_count = 1`.execute(queries);
      expect(await rejection(migrate(queries, laterMigrations))).to.include({
        code: 'upstream_unavailable',
        message: `The database is at ${EARLIER} and was left there; the migration to ${LATEST} failed: its disk is full.`,
      });
      await sql`pragma max_page_count = 1000000`.execute(queries);
      expect(await migrate(queries, laterMigrations)).to.include(LATEST);
    });
    await place.remove();
  });
});

describe('migrations of a shared PostgreSQL', () => {
  let place: Place;
  let databaseUrl: string;
  const clients: pg.Client[] = [];

  beforeEach(async function () {
    place = await postgresEngine.place(this);
    databaseUrl = place.databaseUrl ?? '';
  });

  afterEach(async () => {
    for (const client of clients.splice(0)) await client.end();
    await place?.remove();
  });

  async function connect(url = databaseUrl): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    clients.push(client);
    await client.connect();
    return client;
  }

  /** Whether somebody waits for a lock in this database. */
  async function isWaitedFor(client: pg.Client): Promise<boolean> {
    const { rows } = await client.query(
      `select 1 from pg_locks join pg_database on pg_database.oid = pg_locks.database
       where datname = current_database() and not granted`,
    );
    return rows.length > 0;
  }

  it('wait for a transaction that still writes', async () => {
    const [node, watcher] = [await connect(), await connect()];
    const logger = new ListLogger();
    await withSchema(place, async (queries) => {
      await migrateTo(queries, EARLIER);
      await insertJob.execute(queries);
      // As a node takes a job: it looks for one, and then writes that it has it.
      await node.query('begin');
      await node.query(`select id from jobs where state = 'queued' for update skip locked`);
      const migrated = migrate(queries, laterMigrations, logger);
      await until(() => isWaitedFor(watcher));
      await node.query(`update jobs set state = 'running' where id = 'job'`);
      // Others wait for no more than the attempt that is under way.
      const other = await connect();
      await other.query('set statement_timeout = 2000');
      await other.query(`select count(*) from jobs`);
      await until(async () => logger.lines.length > 0);
      await node.query('commit');
      expect(await migrated).to.include(LATEST);
    });
    expect(logger.lines).to.have.length(1);
    expect(logger.lines[0]?.message).to.equal('the schema is not up to date yet: other sessions use its tables');
  });

  it('leave tables with the same names in other schemas alone', async () => {
    const other = await connect();
    await other.query('create schema other');
    await other.query('create table other.jobs ()');
    await other.query('begin');
    await other.query('lock table other.jobs in access exclusive mode');
    await withSchema(place, async (queries) => expect(await migrate(queries, migrations)).to.deep.equal(NAMES));
    await other.query('rollback');
  });

  it('name each earlier table that they change', async () => {
    const watcher = await connect();
    const changed: Record<string, unknown> = {};
    await withSchema(place, async (queries) => {
      for (const name of NAMES) {
        const before = new Set((await queries.introspection.getTables()).map((table) => table.name));
        await queries.transaction().execute(async (transaction) => {
          await migrations[name]?.up(transaction);
          const { rows } = await watcher.query(
            `select distinct relname from pg_locks join pg_class on pg_class.oid = relation
             join pg_database on pg_database.oid = pg_locks.database
             where datname = current_database() and relkind = 'r' and relnamespace = 'public'::regnamespace
             and mode not in ('AccessShareLock', 'RowShareLock')`,
          );
          const locked = rows.map(({ relname }) => String(relname)).filter((table) => before.has(table));
          changed[name] = locked.sort();
        });
      }
    });
    expect(changed).to.deep.equal(Object.fromEntries(NAMES.map((name) => [name, migrations[name]?.changes ?? []])));
  });

  it('name the needed owner if the user may not change tables, and change nothing', async () => {
    const owner = await connect();
    await withSchema(place, (queries) => migrateTo(queries, EARLIER));
    const role = `user_${Date.now()}`;
    await owner.query(`create role ${role} login`);
    await owner.query(`grant select, insert, update, delete on all tables in schema public to ${role}`);
    const url = new URL(databaseUrl);
    url.username = role;
    const refused = { ...place, databaseUrl: url.href };
    expect(await rejection(withSchema(refused, (queries) => migrate(queries, laterMigrations)))).to.include({
      code: 'upstream_unavailable',
      message:
        `The database is at ${EARLIER} and was left there; the migration to ${LATEST} failed: its user may not create or ` +
        'change tables. Run "mediagate migrate" with a DATABASE_URL of a user who may, and start again.',
    });
    await withSchema(place, (queries) => migrate(queries, laterMigrations));
    expect(await withSchema(refused, (queries) => migrate(queries, laterMigrations))).to.deep.equal([]);
    await owner.query(`drop owned by ${role}`);
    await owner.query(`drop role ${role}`);
  });
});
