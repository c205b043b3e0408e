/** The transfer of a state from SQLite to PostgreSQL. */

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import pg from 'pg';
import { withSchema } from '../../../core/database/database.js';
import { migrate } from '../../../core/database/schema-migration.js';
import { systemClock } from '../../../core/runtime/time.js';
import { backUpState, type ImportOptions, importState, migrateState } from '../../../server/backup/maintenance.js';
import { MOVED_TABLES } from '../../../server/backup/transfer.js';
import { migrations } from '../../../server/migrations.js';
import { openState } from '../../../server/state.js';
import { ListLogger, ManualClock, type Place, postgresEngine } from '../../support/databases/engines.js';
import { BUCKET, KEY, type ObjectServer, startObjectServer } from '../../support/storage/object-server.js';

type Row = Record<string, unknown>;

interface Column {
  name: string;
  type: string;
  notnull: number;
  pk: number;
}

/** More than one statement takes, and more than are read at once. */
const ROWS = 600;
const TEXT = 'Grüße, "quoted" \\ {"a":[1]} – 漢字 🙂';

describe('transfer of a state from SQLite to PostgreSQL', () => {
  let place: Place;
  let folder: string;
  let client: pg.Client;

  beforeEach(async function () {
    place = await postgresEngine.place(this);
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-transfer-'));
    await migrateState({ dataDir: folder });
    client = new pg.Client({ connectionString: place.databaseUrl });
    client.setTypeParser(20, Number);
    await client.connect();
  });

  afterEach(async () => {
    await client?.end();
    await place?.remove();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  function bring(options: Partial<ImportOptions> = {}) {
    const { databaseUrl = '', dataDir } = place;
    const settings = { from: folder, databaseUrl, dataDir, clock: systemClock, logger: new ListLogger() };
    const signal = new AbortController().signal;
    return importState({ ...settings, signal, report: () => undefined, ...options });
  }

  const openSource = () => new Sqlite(path.join(folder, 'state.sqlite'));

  /** Every column of every table, with what it may hold: also nothing, where that is allowed. */
  function fill(sqlite: Sqlite.Database, rows = ROWS): string[] {
    sqlite.pragma('foreign_keys = off');
    const tables = tablesOf(sqlite);
    for (const table of tables) {
      const references = sqlite.pragma(`foreign_key_list("${table}")`) as { from: string; to: string }[];
      const columns = (sqlite.pragma(`table_info("${table}")`) as Column[]).map((column) => ({
        ...column,
        name:
          table === 'ledger_entries'
            ? column.name
            : (references.find(({ from }) => from === column.name)?.to ?? column.name),
      }));
      const places = columns.map(() => '?').join(', ');
      const insert = sqlite.prepare(`insert into "${table}" values (${places})`);
      const write = () => {
        // Both rows of a movement, or none.
        const count = table === 'ledger_entries' ? rows - (rows % 2) : rows;
        for (let number = 0; number < count; number += 1) {
          const row: Row = table === 'ledger_entries' ? movementRow(number) : {};
          insert.run(columns.map((column) => row[column.name] ?? valueFor(column, number)));
        }
      };
      sqlite.transaction(write)();
    }
    return tables;
  }

  it('copies every row of every table unchanged', async () => {
    const sqlite = openSource();
    const tables = fill(sqlite);
    const left = [
      'cache_entries',
      'instances',
      'status_samples',
      'alert_messages',
      'alert_turns',
      'usage_days',
      'usage_today',
      'model_latencies',
    ];
    expect([...MOVED_TABLES, ...left]).to.have.members(tables);
    const steps = new Set<string>();
    sqlite.close();
    const report = await bring({ report: ({ step }) => steps.add(step) });
    expect([...steps]).to.include.members(MOVED_TABLES);

    const source = openSource();
    for (const table of MOVED_TABLES) {
      expect(report.tables[table], table).to.equal(ROWS);
      const before = source.prepare(`select * from "${table}"`).all() as Row[];
      const after = (await client.query<Row>(`select * from "${table}"`)).rows;
      expect(sorted(after), table).to.deep.equal(sorted(before));
    }
    source.close();
    const { rows } = await client.query('select * from cache_entries');
    expect(rows).to.deep.equal([]);
    expect(report.peppers.reduce((sum, { keys }) => sum + keys, 0)).to.be.within(1, ROWS);
    expect((await readdir(place.dataDir)).filter((name) => name.startsWith('.'))).to.deep.equal([]);

    const again = await failure(bring());
    expect(again).to.include({ code: 'invalid_value', param: 'databaseUrl' });
    expect((again as Error).message).to.contain(`accounts (${ROWS})`);
  });

  it('keeps the slots of each window, to the millisecond', async () => {
    const clock = new ManualClock();
    const settings = { clock: systemClock, rateLimitClock: clock, logger: new ListLogger() };
    const wish = { keyId: 'key_1', family: 'image', count: 1, limit: 30 } as const;
    const source = await openState({ dataDir: folder, ...settings });
    // Fewer than a window's row holds, and more.
    for (const keyId of ['key_1', 'key_2']) {
      const taken = keyId === 'key_1' ? 3 : 30;
      for (let slot = 0; slot < taken; slot += 1) {
        await source.rateLimits.consume({ ...wish, keyId, limit: taken });
        clock.advance(100);
      }
    }
    await source.close();
    await bring();
    const target = await place.open(settings);
    const few = { ...wish, limit: 3 };
    expect(await target.rateLimits.consume(few)).to.include({ accepted: false, retryAfterMs: 60_000 - 3_300 });
    expect(await target.rateLimits.consume({ ...wish, keyId: 'key_2' })).to.include({ retryAfterMs: 60_000 - 3_000 });
    clock.advance(60_000 - 3_300);
    expect(await target.rateLimits.consume(few)).to.include({ accepted: true, remaining: 0 });
    expect(await target.rateLimits.consume(few)).to.include({ accepted: false, retryAfterMs: 100 });
    clock.advance(300);
    expect(await target.rateLimits.consume({ ...wish, keyId: 'key_2' })).to.include({ accepted: true, remaining: 0 });
    expect(await target.rateLimits.consume({ ...wish, keyId: 'key_2' })).to.include({
      accepted: false,
      retryAfterMs: 100,
    });
  });

  it('transfers nothing if one row does not fit, and can be repeated', async () => {
    const sqlite = openSource();
    fill(sqlite, 3);
    sqlite.exec(`update usage_entries set "latencyMs" = 1.5 where rowid = 2`);
    sqlite.close();
    const refusal = await failure(bring());
    expect(refusal).to.include({ code: 'internal_error' });
    expect((refusal as Error).message).to.match(/^A row of usage_entries, behind the first 0, could not be copied: /);
    for (const table of MOVED_TABLES) {
      expect((await client.query(`select 1 from "${table}"`)).rowCount, table).to.equal(0);
    }
    const mended = openSource();
    mended.exec(`update usage_entries set "latencyMs" = 2 where rowid = 2`);
    mended.close();
    const { tables } = await bring();
    expect(tables.usage_entries).to.equal(3);
  });

  it('transfers nothing if it is interrupted', async () => {
    const sqlite = openSource();
    fill(sqlite, 3);
    sqlite.close();
    const cut = new AbortController();
    const report: ImportOptions['report'] = ({ step }) => step === 'jobs' && cut.abort(new Error('cut off'));
    expect(((await failure(bring({ signal: cut.signal, report }))) as Error).message).to.equal('cut off');
    expect((await client.query('select 1 from accounts')).rowCount).to.equal(0);
    expect((await readdir(place.dataDir)).filter((name) => name.startsWith('.'))).to.deep.equal([]);
  });

  it('runs one of two simultaneous transfers, and refuses the other', async () => {
    const sqlite = openSource();
    fill(sqlite, 30);
    sqlite.close();
    const backup = `${folder}-backup`;
    const signal = new AbortController().signal;
    const options = { release: '0', secrets: false, clock: systemClock, signal, report: () => undefined };
    await backUpState({ dataDir: folder, folder: backup, ...options });
    const outcomes = await Promise.all([1, 2].map(() => failure(bring({ from: backup }))));
    await rm(backup, { recursive: true });
    const refused = outcomes.filter((outcome) => outcome !== 'no failure');
    expect(refused).to.have.length(1);
    expect(refused[0]).to.include({ code: 'invalid_value', param: 'databaseUrl' });
    expect((await client.query('select 1 from jobs')).rowCount).to.equal(30);
  });

  it('accepts a single file, and an older schema, which stays unchanged', async () => {
    await rm(path.join(folder, 'state.sqlite'));
    const first = Object.fromEntries(Object.entries(migrations).filter(([name]) => name.startsWith('0001-')));
    await withSchema({ dataDir: folder }, (queries) => migrate(queries, first, new ListLogger()));
    const sqlite = openSource();
    sqlite.exec(`insert into accounts (id, "createdAt") values ('acct_1', 5)`);
    sqlite.close();
    const before = await readFile(path.join(folder, 'state.sqlite'));
    const { tables, files } = await bring({ from: path.join(folder, 'state.sqlite') });
    expect([tables.accounts, files]).to.deep.equal([1, undefined]);
    expect(before.equals(await readFile(path.join(folder, 'state.sqlite')))).to.equal(true);
  });

  it('refuses sources that are in use, foreign, damaged or missing', async () => {
    await migrateState({ dataDir: place.dataDir, databaseUrl: place.databaseUrl });
    const used = openSource();
    used.prepare('select * from jobs').all();
    const refusal = await failure(bring());
    expect(refusal).to.include({ code: 'invalid_value', param: 'from' });
    expect((refusal as Error).message)
      .to.contain('Another process has')
      .and.to.contain(folder);
    used.close();

    const foreign = path.join(folder, 'foreign.sqlite');
    new Sqlite(foreign).exec('create table jobs (id text)').close();
    await writeFile(path.join(folder, 'text.sqlite'), 'no database at all'.repeat(100));
    await mkdir(path.join(folder, 'empty'));
    for (const name of ['foreign.sqlite', 'text.sqlite', 'empty', 'nowhere']) {
      expect(await failure(bring({ from: path.join(folder, name) })), name).to.include({ code: 'invalid_value' });
    }

    const backup = path.join(place.dataDir, 'backup');
    const signal = new AbortController().signal;
    const options = { release: '0', secrets: false, clock: systemClock, signal, report: () => undefined };
    await backUpState({ dataDir: folder, folder: backup, ...options });
    const changed = new Sqlite(path.join(backup, 'state.sqlite'));
    changed.exec(`insert into accounts (id, "createdAt") values ('acct_1', 5)`);
    changed.close();
    expect(await failure(bring({ from: backup }))).to.include({ code: 'internal_error' });
    expect((await client.query('select 1 from accounts')).rowCount).to.equal(0);
  });

  describe('with files', () => {
    let objects: ObjectServer;
    const names = ['kept.txt', 'due.txt'];

    before(async () => {
      objects = await startObjectServer();
    });
    after(() => objects.stop());

    beforeEach(async () => {
      const { openDiskFiles } = await import('../../../core/storage/files-disk.js');
      const files = await openDiskFiles(path.join(folder, 'files'), systemClock);
      for (const name of names) {
        const expiresAt = name === 'due.txt' ? new Date(Date.UTC(2099, 0, 1)) : undefined;
        await files.write({ name, contentType: 'text/plain', body: Buffer.from(name.repeat(50_000)), expiresAt });
      }
      const over = new Date(Date.now() + 1);
      await files.write({ name: 'over.txt', contentType: 'text/plain', body: Buffer.from('over'), expiresAt: over });
      files.close();
      await writeFile(path.join(folder, 'files', 'odd.txt'), 'none of ours');
      const flipped = path.join(folder, 'files', 'flipped.txt');
      const bytes = await readFile(path.join(folder, 'files', 'due.txt'));
      bytes.write('!', 100_000);
      await writeFile(flipped, bytes);
    });

    const stores: [string, () => string | undefined][] = [
      ['the disk', () => undefined],
      ['an object store', () => `s3://${KEY}:${KEY}@${new URL(objects.url).host}/${BUCKET}?tls=off`],
    ];
    for (const [title, url] of stores) {
      it(`copies them to ${title}, and leaves the source unchanged`, async () => {
        const { files } = await bring({ filesUrl: url() });
        expect(files).to.deep.equal({ copied: 2, unreadable: 2 });
        expect(await readdir(path.join(folder, 'files'))).to.include.members(names);
        const left = await readdir(path.join(place.dataDir, 'files'));
        expect(left).to.have.members(url() === undefined ? names : []);
        const state = await place.open({ filesUrl: url() });
        for (const name of names) {
          const stat = await state.files.stat(name);
          expect(stat?.size).to.equal(name.length * 50_000);
          expect(stat?.expiresAt?.getTime()).to.equal(name === 'due.txt' ? Date.UTC(2099, 0, 1) : undefined);
        }
      });
    }

    it('leaves them in place if the data folder stays the same', async () => {
      const { files } = await bring({ dataDir: folder });
      expect(files).to.equal(undefined);
      expect(await readdir(path.join(folder, 'files'))).to.include.members(names);
    });
  });
});

function tablesOf(sqlite: Sqlite.Database): string[] {
  const query = `select name from sqlite_schema where type = 'table' and name not like 'kysely%' and name not like 'sqlite%'`;
  return sqlite.prepare(query).pluck().all() as string[];
}

/** Different for each row, so that it may be part of any key; the largest of its type among them. */
function valueFor({ name, type, notnull, pk }: Column, number: number): unknown {
  if (notnull === 0 && pk === 0 && number % 3 === 1) return null;
  if (/bigint/i.test(type)) return number === 0 ? Number.MAX_SAFE_INTEGER : Date.UTC(2026, 0, 1) + number;
  if (/int/i.test(type)) return number === 0 ? 2_147_483_647 : number;
  if (/double/i.test(type)) return number + 0.1;
  return `${name} ${number} ${TEXT}`;
}

/** One side of a movement of the ledger, whose other side is the row before or after it. */
function movementRow(number: number): Row {
  const line = number % 2;
  const amount = (1 + Math.floor(number / 2)) * (line === 0 ? 1 : -1);
  return { id: `movement ${Math.floor(number / 2)} ${TEXT}`, line, pair: 1 - line, amount, opposite: -amount };
}

/** As text, in an order that says nothing of the engine. */
function sorted(rows: readonly Row[]): string[] {
  return rows.map((row) => JSON.stringify(Object.entries(row).sort())).sort();
}

function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => 'no failure',
    (error: unknown) => error,
  );
}
