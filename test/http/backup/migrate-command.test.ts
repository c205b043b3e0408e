/** The command migrate: checks, repeated runs, schemas of newer releases. */

import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import pg from 'pg';
import { migrations } from '../../../server/migrations.js';
import { createPlace, engines, type Place } from '../../support/databases/engines.js';
import { type CommandResult, type Environment, runCommand } from '../../support/processes/command-line.js';
import { startGatewayProcess } from '../../support/processes/gateway-process.js';

const NAMES = Object.keys(migrations).sort();
const LATEST = NAMES.at(-1);

for (const engine of engines) {
  describe(`the command migrate on ${engine.name}`, () => {
    let place: Place;
    let environment: Environment;

    beforeEach(async function () {
      place = await engine.place(this);
      const { dataDir, databaseUrl } = place;
      environment = { DATA_DIR: path.join(dataDir, 'data'), ...(databaseUrl && { DATABASE_URL: databaseUrl }) };
    });

    afterEach(() => place?.remove());

    const migrate = (...args: string[]): Promise<CommandResult> => runCommand(['migrate', ...args], environment);

    async function execute(statement: string): Promise<void> {
      if (place.databaseUrl === undefined) {
        const sqlite = new Sqlite(path.join(place.dataDir, 'data/state.sqlite'));
        sqlite.exec(statement);
        sqlite.close();
        return;
      }
      const client = new pg.Client({ connectionString: place.databaseUrl });
      await client.connect();
      await client.query(statement);
      await client.end();
    }

    const note = (name: string) =>
      execute(`insert into kysely_migration (name, timestamp) values ('${name}', '2099-01-01T00:00:00.000Z')`);

    it('checks without changes, and exits with 1 if a migration is pending', async () => {
      const empty = await migrate('--check');
      expect([empty.code, empty.stderr]).to.deep.equal([1, '']);
      expect(empty.stdout.match(/(?<=to be done: )\S+/g)).to.deep.equal(NAMES);
      expect(await readdir(place.dataDir)).to.deep.equal([]);

      expect((await migrate()).code).to.equal(0);
      const done = await migrate('--check');
      expect([done.code, done.stdout]).to.deep.equal([0, `The database is up to date, at ${LATEST}.\n`]);

      await execute(`delete from kysely_migration where name = '${LATEST}'`);
      const behind = await migrate('--check');
      expect([behind.code, behind.stdout.split('\n', 1)[0]]).to.deep.equal([1, `to be done: ${LATEST}`]);
    });

    it('runs each migration once among many processes', async () => {
      const servers = Promise.all(
        [1, 2].map(() => startGatewayProcess({ environment, dataFolder: environment.DATA_DIR })),
      );
      const results = await Promise.all(Array.from({ length: 4 }, () => migrate()));
      for (const gateway of await servers) expect(await gateway.stop()).to.equal(0);
      for (const { code, stderr } of results) expect([code, stderr]).to.deep.equal([0, '']);
      const done = results.flatMap(({ stdout }) => stdout.match(/(?<=^done: )\S+/gm) ?? []);
      // All of them by one process, or none where a server was the first.
      expect(done).to.deep.equal(done.length === 0 ? [] : NAMES);
      expect((await migrate('--check')).code).to.equal(0);
    });

    it('accepts a schema that a newer release only extended, as all commands do', async () => {
      await migrate();
      await execute('alter table jobs add column more text');
      await execute('alter table api_keys add column more text');
      await note('9998-more');
      const status = await migrate();
      expect([status.code, status.stderr]).to.deep.equal([0, '']);
      expect(status.stdout).to.contain('at 9998-more, which a newer release created');
      const gateway = await startGatewayProcess({ environment, dataFolder: environment.DATA_DIR });
      const { key } = await gateway.makeKey({ grants: ['images'] });
      const { status: answer } = await gateway.request('/v1/images/jobs', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gen-img-2', prompt: 'a lighthouse', size: '64x64' }),
      });
      expect(answer).to.equal(202);
      expect(await gateway.stop()).to.equal(0);
    });

    it('refuses a schema from which a newer release removed something', async () => {
      await migrate();
      await note('9998-more');
      await note('9999-less-needs-9998');
      for (const args of [['migrate', '--check'], ['serve']]) {
        const { code, stdout, stderr } = await runCommand(args, { ...environment, PORT: '0', LOG_LEVEL: 'silent' });
        expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
        expect(stderr).to.match(/^mediagate: A newer release migrated the database to 9999-less-needs-9998; .+\.\n$/);
        expect(stderr).to.contain(LATEST);
      }
      await execute(`delete from kysely_migration where name = '9999-less-needs-9998'`);
      await note(`9999-less-needs-${LATEST?.slice(0, 4)}`);
      expect((await migrate()).code).to.equal(0);
    });
  });
}

describe('the command migrate', () => {
  it('waits for a process that migrates the same file for longer than a request may take', async () => {
    const place = await createPlace();
    const file = new Sqlite(path.join(place.dataDir, 'state.sqlite'));
    file.pragma('journal_mode = wal');
    file.exec('begin immediate');
    const result = runCommand(['migrate'], { DATA_DIR: place.dataDir });
    await sleep(4_000);
    file.exec('commit');
    file.close();
    const { code, stdout, stderr } = await result;
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(stdout).to.contain(`done: ${LATEST}`);
    await place.remove();
  });

  it('does not wait if no migration is pending', async () => {
    const place = await createPlace();
    const environment = { DATA_DIR: place.dataDir };
    await runCommand(['migrate'], environment);
    const file = new Sqlite(path.join(place.dataDir, 'state.sqlite'));
    file.exec('begin immediate');
    const { code, stdout } = await runCommand(['migrate'], environment);
    expect([code, stdout]).to.deep.equal([0, `The database is up to date, at ${LATEST}.\n`]);
    file.exec('rollback');
    file.close();
    await place.remove();
  });
});
