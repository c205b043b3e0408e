/** The database on both engines: opening, full disks, locks and lost connections. */

import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import pg from 'pg';
import { type Database, type Ending, openDatabase } from '../../../core/database/database.js';
import { translateDatabaseError } from '../../../core/database/database-errors.js';
import { sql } from '../../../core/database/kysely.js';
import type { State } from '../../../server/state.js';
import { createPlace, engines, type Place, postgresEngine } from '../../support/databases/engines.js';
import { holdCommits } from '../../support/databases/held-commits.js';
import { until } from '../../support/until.js';

const request = { keyId: 'key', family: 'image', count: 1, limit: 5 } as const;

/** What a server answers that takes nobody in, in PostgreSQL's protocol. */
function refusalOf(code: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0Mno, unspoken\0\0`);
  const head = Buffer.alloc(5, 'E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}

const OPENERS = 3;

/** Opens each file at the same moment as the others do, and tells how many it could not open. */
const OPENER = `
import { workerData, parentPort } from 'node:worker_threads';
const { openSqlite } = await import(workerData.module);
const arrived = new Int32Array(workerData.arrived);
let failed = 0;
for (const [index, file] of workerData.files.entries()) {
  Atomics.add(arrived, 0, 1);
  while (Atomics.load(arrived, 0) < (index + 1) * ${OPENERS});
  try {
    const { dialect } = await openSqlite(file);
    await dialect.createDriver().destroy();
  } catch (error) {
    failed += 1;
  }
}
parentPort.postMessage(failed);
`;

/**
 * That all of them fail as the database is away, before a timer of this process ends, which is as late as everything else in
 * it where it is held up.
 */
async function expectAway(failures: readonly Promise<unknown>[], withinMs: number): Promise<void> {
  const outcomes = await Promise.race([Promise.all(failures), sleep(withinMs, [] as unknown[], { ref: false })]);
  expect(outcomes).to.have.length(failures.length);
  for (const outcome of outcomes) expect(outcome).to.include({ code: 'upstream_unavailable' });
}

for (const engine of engines) {
  describe(`state on ${engine.name}`, () => {
    let place: Place;

    beforeEach(async function () {
      place = await engine.place(this);
    });

    afterEach(() => place?.remove());

    it('is migrated once by many simultaneous openers, and opens again', async () => {
      const states = await Promise.all(Array.from({ length: 4 }, () => place.open()));
      for (const state of states) {
        expect(state.engine).to.equal(engine.name);
        await state.ping();
      }
      await (await place.open()).ping();
    });

    it('closes repeatedly, and refuses later calls', async () => {
      const state = await place.open();
      const begun = state.keys.list();
      await Promise.all([state.close(), state.close()]);
      await state.close();
      expect(await begun).to.deep.equal([]);
      for (const work of [state.ping(), state.keys.list(), state.rateLimits.consume(request)]) {
        expect(await failure(work)).to.include({
          code: 'upstream_unavailable',
          message: 'The database did not answer.',
        });
      }
    });
  });
}

describe('state in a folder', () => {
  let place: Place;

  beforeEach(async () => {
    place = await createPlace();
  });

  afterEach(() => place.remove());

  it('opens for all processes that start at once', async () => {
    await place.open();
    const files = Array.from({ length: 60 }, (_, index) => path.join(place.dataDir, `new-${index}.sqlite`));
    const module = new URL('../../../core/database/database-sqlite.js', import.meta.url).href;
    const workerData = { module, files, arrived: new SharedArrayBuffer(4) };
    const script = new URL(`data:text/javascript,${encodeURIComponent(OPENER)}`);
    const openers = Array.from({ length: OPENERS }, () => new Worker(script, { workerData }));
    const failed = await Promise.all(openers.map(async (opener) => (await once(opener, 'message'))[0]));
    expect(failed).to.deep.equal([0, 0, 0]);
  });

  it('is readable only by its owner', async () => {
    const dataDir = path.join(place.dataDir, 'made', 'here');
    const state = await place.open({ dataDir });
    expect((await stat(dataDir)).mode & 0o777).to.equal(0o700);
    for (const name of ['state.sqlite', 'state.sqlite-wal', 'state.sqlite-shm']) {
      expect((await stat(path.join(dataDir, name))).mode & 0o777, name).to.equal(0o600);
    }
    await state.close();
  });

  it('refuses settings that it cannot use', async () => {
    expect(await failure(place.open({ filesUrl: 'ftp://key:hunter2@store/bucket' }))).to.include({
      code: 'invalid_value',
      param: 'filesUrl',
    });
    const refusal = await failure(place.open({ databaseUrl: 'mysql://user:hunter2@127.0.0.1/x' }));
    expect(refusal).to.include({ code: 'invalid_value', param: 'databaseUrl' });
    expect((refusal as Error).message).not.to.contain('hunter2');
  });

  it('fails in time while another process holds the lock, without blocking the event loop', async () => {
    const state = await place.open();
    await state.rateLimits.consume(request);
    const other = new Sqlite(path.join(place.dataDir, 'state.sqlite'));
    other.exec('begin immediate');
    const begun = performance.now();
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 2);
    const takes = Array.from({ length: 10_000 }, () => failure(state.rateLimits.consume(request)));
    const tooMany = await failure(state.rateLimits.consume(request));
    expect(tooMany).to.include({ code: 'upstream_unavailable', message: 'Too many requests wait for the database.' });
    const touch = failure(state.keys.touch(new Map([['key', 1]])));
    const late = sleep(1_000).then(() => failure(state.rateLimits.consume({ ...request, keyId: 'other' })));
    await expectAway([...takes, touch, late], 10_000);
    expect(performance.now() - begun).to.be.at.least(1_500);
    clearInterval(counting);
    expect(turns).to.be.greaterThan(30);
    expect(await state.keys.list()).to.deep.equal([]);

    other.exec('rollback');
    other.close();
    expect(await state.rateLimits.consume(request)).to.include({ accepted: true, remaining: 3 });
  });

  it('reports a full disk, still reads, and recovers', async () => {
    const database = await openDatabase({ dataDir: place.dataDir, migrations: place.migrations });
    try {
      const fill = () =>
        database.transaction(async (transaction) => {
          const value = 'x'.repeat(100_000);
          await transaction
            .insertInto('cache_entries')
            .values({ key: `${Math.random()}`, value, expiresAt: 1 })
            .execute();
        });
      const count = () => database.run((queries) => queries.selectFrom('cache_entries').select('key').execute());
      const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.queries);
      // Room for one more of them, not for two.
      const most = (rows[0]?.page_count ?? 0) + 40;
      await sql`pragma max_page_count = ${sql.lit(most)}`.execute(database.queries);
      await fill();
      const refusal = await failure(fill());
      const message = 'The disk of the database is full, so nothing can be stored. The operator must free space.';
      expect(refusal).to.include({ code: 'upstream_unavailable', message });
      expect(refusal).to.have.property('cause').with.property('code', 'SQLITE_FULL');
      expect(await count()).to.have.length(1);
      await sql`pragma max_page_count = 1000000`.execute(database.queries);
      await fill();
      expect(await count()).to.have.length(2);
    } finally {
      await database.close();
    }
  });

  it('reports a full disk of PostgreSQL', () => {
    const full = Object.assign(new Error('could not extend file'), { code: '53100' });
    expect(translateDatabaseError(full)).to.include({ code: 'upstream_unavailable', cause: full });
    expect((translateDatabaseError(full) as Error).message).to.match(/^The disk of the database is full/);
  });

  it('rolls back running work whose caller got an error', async () => {
    const database = await openDatabase({ dataDir: place.dataDir, migrations: place.migrations });
    try {
      const endings: Ending[] = [];
      const late = database.transaction(
        async (transaction, onEnd) => {
          onEnd((ending) => endings.push(ending));
          await transaction.insertInto('cache_entries').values({ key: 'late', value: '', expiresAt: 1 }).execute();
          await sleep(120);
        },
        { timeoutMs: 50 },
      );
      expect(await failure(late)).to.include({ code: 'upstream_unavailable' });
      // The next one waits for its end.
      await database.transaction(async (_, onEnd) => onEnd((ending) => endings.push(ending)));
      expect(endings).to.deep.equal(['failed', 'committed']);
      const rows = await database.run((queries) => queries.selectFrom('cache_entries').select('key').execute());
      expect(rows).to.deep.equal([]);
    } finally {
      await database.close();
    }
  });
});

describe('state on a PostgreSQL under faults', () => {
  let place: Place;
  let state: State;
  let observer: pg.Client;

  beforeEach(async function () {
    place = await postgresEngine.place(this);
    state = await place.open();
    observer = new pg.Client({ connectionString: place.databaseUrl });
    await observer.connect();
  });

  afterEach(async () => {
    await observer?.end();
    await place?.remove();
  });

  async function backends(): Promise<number[]> {
    const { rows } = await observer.query<{ pid: number }>(
      `select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
    );
    return rows.map(({ pid }) => pid);
  }

  it('reports a transaction as committed if only its confirmation was lost', async () => {
    const goOn = await holdCommits(observer, 'cache_entries');
    // The commit is to last longer than its caller waits, not longer than it may.
    const database = await openDatabase({ ...place, statementMs: 60_000 });
    try {
      const ending = Promise.withResolvers<Ending>();
      const late = database.transaction(
        async (transaction, onEnd) => {
          onEnd(ending.resolve);
          await transaction.insertInto('cache_entries').values({ key: 'late', value: '', expiresAt: 1 }).execute();
        },
        { timeoutMs: 2_000 },
      );
      expect(await failure(late)).to.include({ code: 'upstream_unavailable' });
      await goOn();
      expect(await ending.promise).to.equal('late');
      const rows = await database.run((queries) => queries.selectFrom('cache_entries').select('key').execute());
      expect(rows).to.deep.equal([{ key: 'late' }]);
    } finally {
      await database.close();
    }
  });

  it('waits for the configured time', async () => {
    const [hasty, patient] = await Promise.all([200, 60_000].map((timeoutMs) => openDatabase({ ...place, timeoutMs })));
    try {
      const slow = (database?: Database) => database?.run((queries) => sql`select pg_sleep(3)`.execute(queries));
      const outcomes = await Promise.allSettled([slow(hasty), slow(patient)]);
      expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'fulfilled']);
    } finally {
      await Promise.all([hasty?.close(), patient?.close()]);
    }
  });

  it('survives connections that are closed while idle', async () => {
    await Promise.all([state.ping(), state.ping(), state.keys.list()]);
    const ended = await backends();
    expect(ended).not.to.deep.equal([]);
    for (const pid of ended) await observer.query('select pg_terminate_backend($1)', [pid]);
    await until(async () => !(await backends()).some((pid) => ended.includes(pid)));
    // Each said goodbye before it was gone, which this process has read by the time of another answer.
    await observer.query('select 1');
    await state.ping();
    expect(await state.rateLimits.consume(request)).to.include({ accepted: true });
  });

  it('fails in time when a connection is silent or a window is locked, and recovers', async function () {
    // What goes on beside the test may have a connection at that moment; of these two, both are stopped.
    await state.close();
    const lean = await place.open({ databaseConnections: 2 });
    await Promise.all([lean.ping(), lean.ping(), lean.ping()]);
    const stopped = await backends();
    const other = await place.open();
    await other.rateLimits.consume({ ...request, keyId: 'held' });
    expect(stopped).not.to.deep.equal([]);
    await observer.query('begin');
    await observer.query(`select * from rate_windows where "keyId" = 'held' for update`);
    const silenced: number[] = [];
    for (const pid of stopped) {
      try {
        process.kill(pid, 'SIGSTOP');
        silenced.push(pid);
      } catch (error) {
        // A server that others started cannot be stopped by this user. One that has ended meanwhile need not be.
        if ((error as NodeJS.ErrnoException).code === 'EPERM') this.skip();
      }
    }
    expect(silenced).not.to.deep.equal([]);
    try {
      const held = Array.from({ length: 20 }, () => failure(other.rateLimits.consume({ ...request, keyId: 'held' })));
      const silent = failure(lean.rateLimits.consume(request));
      await expectAway([...held, silent], 5_000);
      await observer.query('rollback');
      expect(await other.rateLimits.consume({ ...request, keyId: 'held' })).to.include({
        accepted: true,
        remaining: 3,
      });
      // Each silent connection is found out by whoever gets it.
      const answers: unknown[] = [];
      for (const _pid of stopped) answers.push(await lean.rateLimits.consume(request).catch(() => undefined));
      expect(answers.find(Boolean)).to.include({ accepted: true, remaining: 4 });
    } finally {
      for (const pid of silenced) process.kill(pid, 'SIGCONT');
    }
  });

  it('reports why it cannot be opened, without user or password', async () => {
    const refusals: [answer: string | undefined, said: string][] = [
      ['28P01', 'wrong password'],
      ['3D000', 'no database with that name'],
      [undefined, 'it did not answer in time'],
    ];
    await Promise.all(
      refusals.map(async ([code, said]) => {
        const held: Socket[] = [];
        const server = createServer((socket) => {
          held.push(socket);
          socket.on('error', () => undefined);
          if (code !== undefined) socket.once('data', () => socket.end(refusalOf(code)));
        }).listen(0, '127.0.0.1');
        await once(server, 'listening');
        const { port } = server.address() as AddressInfo;
        const error = await failure(place.open({ databaseUrl: `postgres://unspoken:unspoken@127.0.0.1:${port}/x` }));
        for (const socket of held) socket.destroy();
        server.close();
        const message = `The database that DATABASE_URL names, at 127.0.0.1:${port}, cannot be used: ${said}.`;
        expect(error).to.include({ code: 'upstream_unavailable', message });
      }),
    );
  });

  it('fails without a server, and hides the password', async () => {
    const error = await failure(place.open({ databaseUrl: 'postgres://user:hunter2@127.0.0.1:1/x' }));
    const message = `The database that DATABASE_URL names, at 127.0.0.1:1, cannot be used: connection refused.`;
    expect(error).to.include({ code: 'upstream_unavailable', message });
    const shown = JSON.stringify({ ...(error as Error), cause: `${((error as Error).cause as Error).stack}` });
    expect(shown).not.to.contain('hunter2');
  });
});
