/*
 * Every table with data of a person is declared by the folder that owns it, and its erasure deletes or clears the rows.
 */

import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import { sql } from '../../../core/database/index.js';
import { personalRecords } from '../../../server/personal-data/folders.js';
import type { PersonalRecords } from '../../../server/personal-records/index.js';
import { engines, type Place } from '../../support/databases/engines.js';

/** Names of columns that refer to a person, an account or a key, or name a person. */
const PERSONAL_COLUMN = /account|owner|mail|^userId$|^keyId$|^subject$/i;

const records = personalRecords({ cancel: async () => undefined });
const declared = records.flatMap(({ tables }) => Object.keys(tables));

for (const engine of engines) {
  describe(`tables with data of a person on ${engine.name}`, () => {
    let place: Place;
    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      await (await place.open()).close();
    });
    afterEach(() => place?.remove());

    /** Tables of the migrated schema, by the columns that say so. */
    async function readTables(change?: string): Promise<{ all: string[]; personal: string[] }> {
      const database = await openDatabase(place);
      try {
        if (change) await sql.raw(change).execute(database.queries);
        const tables = await database.queries.introspection.getTables();
        const personal = tables.filter(({ columns }) => columns.some(({ name }) => PERSONAL_COLUMN.test(name)));
        return { all: tables.map(({ name }) => name), personal: personal.map(({ name }) => name) };
      } finally {
        if (change) await sql.raw('drop table visits').execute(database.queries);
        await database.close();
      }
    }

    it('are erased, cleared or knowingly retained by their folder', async () => {
      const { all, personal } = await readTables();
      expect(personal.filter((name) => !declared.includes(name))).to.deep.equal([]);
      expect(declared.filter((name) => !all.includes(name))).to.deep.equal([]);
      expect(personal).to.include.members(['users', 'api_keys', 'jobs', 'rate_slots', 'audit_entries']);
    });

    it('are found when a new one is added', async () => {
      const { personal } = await readTables('create table visits (id text primary key, "accountId" text not null)');
      expect(personal.filter((name) => !declared.includes(name))).to.deep.equal(['visits']);
    });
  });
}

describe('folders with data of a person', () => {
  it('declare each table once', () => {
    expect(declared).to.deep.equal([...new Set(declared)]);
  });

  it('erase what they declare as deleted or cleared', () => {
    const silent = records.filter(
      ({ tables, erase, eraseWork }: PersonalRecords) =>
        !erase && !eraseWork && Object.values(tables).some((effect) => effect === 'deleted' || effect === 'cleared'),
    );
    expect(silent).to.deep.equal([]);
  });
});
