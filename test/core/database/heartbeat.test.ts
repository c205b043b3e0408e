/** Heartbeats of processes, and the settings that they must share. */

import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import pg from 'pg';
import type { Fingerprint } from '../../../core/database/heartbeat.js';
import { readDifferences } from '../../../server/backup/maintenance.js';
import { engines, ListLogger, type Place } from '../../support/databases/engines.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const secret = (...hashes: string[]): Fingerprint => ({ setting: 'KEY_PEPPER', hashes, required: true });
const plans = (hash: string): Fingerprint => ({ setting: 'PLANS_FILE', hashes: [hash], required: false });

for (const engine of engines) {
  describe(`processes on ${engine.name}`, () => {
    let place: Place;

    beforeEach(async function () {
      place = await engine.place(this);
    });
    afterEach(() => place?.remove());

    it('start beside others with overlapping secrets, and not with different ones', async () => {
      const first = await place.open();
      await first.instances.join([secret('old')]);
      const second = await place.open();
      await second.instances.join([secret('new', 'old')]);
      const third = await place.open();
      const refused = await rejection(third.instances.join([secret('other')]));
      expect(refused).to.include({ code: 'invalid_value', param: 'KEY_PEPPER' });
      expect(String(refused)).to.contain('separated by a comma');
      // It left no row, so it keeps nobody out.
      await first.close();
      await second.close();
      const fourth = await place.open();
      await fourth.instances.join([secret('other')]);
    });

    it('start with different plans, and report that until they agree', async () => {
      const first = await place.open();
      await first.instances.join([secret('same'), plans('a')]);
      const logger = new ListLogger();
      const second = await place.open({ logger });
      await second.instances.join([secret('same'), plans('b')]);
      expect(await first.instances.differing()).to.deep.equal(['PLANS_FILE']);
      expect(await second.instances.differing()).to.deep.equal(['PLANS_FILE']);
      expect(logger.lines.map(({ level, message }) => [level, message.includes('PLANS_FILE')])).to.deep.equal([
        ['warn', true],
      ]);
      expect(await readDifferences(place)).to.deep.equal(['PLANS_FILE']);
      await second.close();
      expect(await first.instances.differing()).to.deep.equal([]);
      expect(await readDifferences(place)).to.deep.equal([]);
    });

    it('forget one that ended without a notice', async () => {
      const first = await place.open();
      await first.instances.join([secret('old')]);
      await age(place, 60_000);
      const second = await place.open();
      await second.instances.join([secret('new')]);
      expect(await second.instances.differing()).to.deep.equal([]);
    });

    it('notice that the database accepts no writes', async () => {
      const state = await place.open();
      await state.instances.join([]);
      await state.instances.beat();
      const write = await takeNoWrites(place);
      const refused = await until(() =>
        state.instances.beat().then(
          () => false as const,
          (error: unknown) => error,
        ),
      );
      expect(refused).to.have.property('code', 'upstream_unavailable');
      await write();
      await until(() =>
        state.instances.beat().then(
          () => true,
          () => false,
        ),
      );
    });
  });
}

async function onServer(databaseUrl: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

async function age({ databaseUrl, dataDir }: Place, ms: number): Promise<void> {
  const statement = `update instances set "beatAt" = "beatAt" - ${ms}`;
  if (databaseUrl !== undefined) return onServer(databaseUrl, [statement]);
  new Sqlite(`${dataDir}/state.sqlite`).exec(statement).close();
}

/** @returns What lets the database take writes again. */
async function takeNoWrites({ databaseUrl, dataDir }: Place): Promise<() => Promise<void>> {
  if (databaseUrl === undefined) {
    const other = new Sqlite(`${dataDir}/state.sqlite`);
    other.exec('begin immediate');
    return async () => void other.exec('rollback').close();
  }
  const name = new URL(databaseUrl).pathname.slice(1);
  const set = (value: string) => `alter database "${name}" set default_transaction_read_only = ${value}`;
  const end =
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
  await onServer(databaseUrl, [set('on'), end]);
  return () => onServer(databaseUrl, ['set default_transaction_read_only = off', set('off'), end]);
}
