import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import type { State } from '../../server/state.js';
import { type CommandResult, runCommand } from '../support/command-line.js';
import { engines, type Place } from '../support/engines.js';
import { FREE, newKey, signUp } from '../support/people.js';

const PLANS = {
  plans: [{ id: 'month', durationDays: 30, tokenLimit: 1_000, allModels: false, includedRpm: 10, maxRpm: 20 }],
};

for (const engine of engines) {
  describe(`mediagate keys on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let environment: Record<string, string>;

    before(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open();
      const file = path.join(place.dataDir, 'plans.json');
      await writeFile(file, JSON.stringify(PLANS));
      const { dataDir, databaseUrl } = place;
      const pepper = 'an-invented-pepper-of-the-key-commands';
      environment = { DATA_DIR: dataDir, PLANS_FILE: file, KEY_PEPPER: pepper };
      if (databaseUrl) environment.DATABASE_URL = databaseUrl;
    });

    after(() => place?.remove());

    const run = (...args: string[]): Promise<CommandResult> => runCommand(['keys', ...args], environment);

    async function make(...args: string[]) {
      const { code, stdout, stderr } = await run('create', '--json', ...args);
      expect(code, stderr).to.equal(0);
      return JSON.parse(stdout);
    }

    it('update changes a key, says what it has now, and is in the history with a note', async () => {
      const { id, key } = await make('--name', 'laptop', '--models', 'm-5.5,qwen3:32b');
      expect((await state.keys.find(id))?.models).to.deep.equal(['m-5.5', 'qwen3:32b']);
      const changed = await run('update', key, '--rpm', '300', '--grant', 'text,extract', '--note', 'a load test');
      expect([changed.code, changed.stdout, changed.stderr]).to.deep.equal([
        0,
        `Key ${id} is changed: grants extract,text; rpm 300. Running servers follow within 2 seconds.\n`,
        '',
      ]);
      const flags = ['--name', 'Ann', '--models', 'all', '--expires', '2999-01-31', '--rpm', 'unlimited', '--json'];
      const { code, stdout } = await run('update', id, ...flags);
      expect(code).to.equal(0);
      expect(JSON.parse(stdout)).to.deep.include({
        id,
        name: 'Ann',
        grants: ['extract', 'text'],
        models: null,
        rpm: null,
        state: 'good',
        expires_at: '2999-01-31T00:00:00.000Z',
      });
      expect(await state.keys.find(id)).to.deep.include({ name: 'Ann', rpm: null, models: null });
      const audit = await state.audit.list({ subject: id, limit: 9 });
      expect(audit.map(({ action, note }) => [action, note])).to.deep.equal([
        ['key.updated', null],
        ['key.updated', 'a load test'],
      ]);
      expect(audit[0]?.actor).to.match(/^operator:/);
    });

    it('update keeps a key within its plan', async () => {
      const { id, plan_expires_at: end } = await make('--plan', 'month', '--grant', 'images');
      const cases: [string[], string][] = [
        [['--rpm', '21'], '--rpm must be a whole number from 0 to 20, which the plan allows.'],
        [['--rpm', 'unlimited'], '--rpm must be a whole number from 0 to 20'],
        [['--grant', 'text,extract'], '--grant extract exceeds the plan of the key. It has: text,audio.'],
        [['--models', 'm-5.5,m-6'], '--models m-6 exceeds the plan of the key. It has: m-5.5.'],
        [['--expires', '2999-01-31'], `--expires must not be later than the end of the plan month, ${end}.`],
      ];
      for (const [flags, said] of cases) {
        const { code, stdout, stderr } = await run('update', id, ...flags);
        expect([code, stdout], flags.join(' ')).to.deep.equal([2, '']);
        expect(stderr).to.contain(said);
      }
      expect(await state.audit.list({ subject: id, limit: 9 })).to.deep.equal([]);
      const changed = await run('update', id, '--rpm', '20', '--grant', 'text,images', '--expires', 'never');
      expect(changed.stdout, changed.stderr).to.contain(
        `grants images,text; rpm 20; expires ${end}, with its plan month.`,
      );
      const without = { ...environment, PLANS_FILE: '' };
      const gone = await runCommand(['keys', 'update', id, '--rpm', '5'], without);
      expect([gone.code, gone.stdout]).to.deep.equal([1, '']);
      expect(gone.stderr).to.contain('The plan month of key').and.to.contain('only its name and expiry can change');
    });

    it("update leaves the limits of a user's key to the plan of the account", async () => {
      const { accountId } = await signUp(state);
      const { id } = await state.keys.issue({ accountId, otherwise: FREE, maxKeys: 10, key: newKey() });
      const refused = await run('update', id, '--rpm', '300');
      expect([refused.code, refused.stdout]).to.deep.equal([1, '']);
      expect(refused.stderr).to.contain(accountId).and.to.contain('"mediagate plans grant" changes the plan');
      expect((await run('update', id, '--expires', '2999-01-31')).code).to.equal(0);
      expect(await state.keys.find(id)).to.include({ rpm: FREE.rpm, expiresAt: Date.UTC(2999, 0, 31) });
    });

    it('update says what is wrong', async () => {
      const { id } = await make();
      const cases: [string[], number, string][] = [
        [[id], 2, 'Give what changes: --name, --grant, --rpm, --models or --expires.'],
        [[id, '--rpm', '-5'], 2, '--rpm must be'],
        [[id, '--grant', 'everything'], 2, '--grant everything is unknown'],
        [[id, '--models', 'a,,b'], 2, '--models must be ids of models'],
        [[id, '--expires', '2001-01-01'], 2, '--expires is in the past'],
        [[id, '--name', ''], 2, '--name must have'],
        [['mistyped', '--rpm', '5'], 1, 'There is no key with the id mistyped'],
        [['x', '--rpm', '5'], 2, '8 letters and digits'],
      ];
      for (const [args, exit, said] of cases) {
        const { code, stdout, stderr } = await run('update', ...args);
        expect([code, stdout], args.join(' ')).to.deep.equal([exit, '']);
        expect(stderr).to.contain(said);
      }
      await run('revoke', id);
      const revoked = await run('update', id, '--rpm', '5');
      expect([revoked.code, revoked.stderr]).to.deep.equal([
        2,
        `mediagate: Key ${id} is revoked and cannot be changed.\n`,
      ]);
    });
  });
}
