/** The key commands: create, update, rotate, show, usage, groups and budgets. */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import type { State } from '../../../server/state.js';
import { FREE, newKey, signUp } from '../../support/accounts/people.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { type CommandResult, runCommand } from '../../support/processes/command-line.js';

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

    it('list shows keys of pages only if they are asked for', async () => {
      const { accountId } = await signUp(state);
      const { id } = await state.keys.issueInternal({ accountId, otherwise: FREE });
      const listed = async (...args: string[]) => JSON.parse((await run('list', '--json', ...args)).stdout);
      const isIt = (key: { id: string }) => key.id === id;
      expect((await listed()).some(isIt)).to.equal(false);
      expect((await listed('--internal')).find(isIt)).to.include({ name: 'Playground', internal: true });
    });

    it('update changes a key, prints it, and records the change with a note', async () => {
      const { id, key } = await make('--name', 'laptop', '--models', 'm-5.5,qwen3:32b', '--allow-unknown-models');
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
        state: 'valid',
        expires_at: '2999-01-31T00:00:00.000Z',
      });
      expect(await state.keys.find(id)).to.deep.include({ name: 'Ann', rpm: null, models: null });
      const audit = await state.audit.list({ subject: id, limit: 9 });
      expect(audit.map(({ action, note }) => [action, note])).to.deep.equal([
        ['key.updated', null],
        ['key.updated', 'a load test'],
        ['key.created', null],
      ]);
      expect(audit[0]?.actor).to.match(/^operator:/);
    });

    it('create and revoke record the change once, without the secret', async () => {
      const { id, key } = await make('--name', 'Ann');
      for (const flags of [['--keep-jobs'], []]) expect((await run('revoke', id, ...flags)).code).to.equal(0);
      const audit = await state.audit.list({ subject: id, limit: 9 });
      expect(audit.map(({ number, action, from, to, note }) => [number, action, from, to, note])).to.deep.equal([
        [2, 'key.revoked', null, null, null],
        [1, 'key.created', null, null, null],
      ]);
      for (const { actor } of audit) expect(actor).to.match(/^operator:./);
      const shown = (await run('show', id)).stdout;
      expect(shown).to.contain('key.created').and.to.contain('key.revoked');
      expect(JSON.stringify(audit) + shown).not.to.contain(key.slice(15));
    });

    it('create and update set the priority of the jobs of a key', async () => {
      const { id, priority } = await make('--account', 'team', '--priority', 'low');
      expect([priority, (await state.keys.find(id))?.priority]).to.deep.equal(['low', 'low']);
      const { stdout } = await run('update', id, '--priority', 'high');
      expect(stdout).to.include('changed: priority high.');
      expect((await run('show', id)).stdout).to.match(/^priority +high$/m);
      const wrong = await run('create', '--priority', 'urgent');
      expect([wrong.code, wrong.stderr]).to.satisfy(
        ([code, text]: [number, string]) => code === 2 && text.includes('--priority must be low, normal, high.'),
      );
    });

    it('update keeps a key within its plan', async () => {
      const { id, plan_expires_at: end } = await make('--plan', 'month', '--grant', 'images');
      const cases: [string[], string][] = [
        [['--rpm', '21'], '--rpm must be a whole number from 0 to 20, which the plan allows.'],
        [['--rpm', 'unlimited'], '--rpm must be a whole number from 0 to 20'],
        [['--grant', 'text,extract'], '--grant must be among those of the plan (text, audio), without extract.'],
        [['--models', 'm-5.5,m-6'], '--models m-6 exceeds the plan of the key. It has: m-5.5.'],
        [['--expires', '2999-01-31'], `--expires must not be later than the end of the plan month, ${end}.`],
      ];
      for (const [flags, said] of cases) {
        const { code, stdout, stderr } = await run('update', id, ...flags);
        expect([code, stdout], flags.join(' ')).to.deep.equal([2, '']);
        expect(stderr).to.contain(said);
      }
      const audit = await state.audit.list({ subject: id, limit: 9 });
      expect(audit.map(({ action }) => action)).to.deep.equal(['key.created']);
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

    it('rotate replaces a key by one with the same properties, and keeps the old one for the overlap', async () => {
      const { id, key } = await make('--account', 'team-a', '--plan', 'month', '--name', 'ci', '--rpm', '7');
      const before = await state.keys.find(id);
      const { code, stdout, stderr } = await run('rotate', key, '--note', 'yearly');
      expect(code, stderr).to.equal(0);
      expect(stdout).to.match(/^sk-mg-[0-9A-Za-z]{8}-[0-9A-Za-z]{38}\n$/);
      const next = stdout.slice(6, 14);
      const until = /^Key (\w{8}) \(ci\) replaces (\w{8}), which works until (\S+)\. /.exec(stderr) ?? [];
      expect(until.slice(1, 3), stderr).to.deep.equal([next, id]);
      expect(Date.parse(until[3] ?? '') - Date.now()).to.be.closeTo(24 * 3_600_000, 60_000);
      const { accountId, budgetId, grants, models, rpm, planId, name, expiresAt } = before ?? {};
      const properties = { accountId, budgetId, grants, models, rpm, planId, name, expiresAt };
      expect(await state.keys.find(next)).to.deep.include({ ...properties, replacedBy: null });
      expect(await state.keys.find(id)).to.include({ replacedBy: next, expiresAt: Date.parse(until[3] ?? '') });
      const [row, ...more] = await state.audit.list({ subject: id, limit: 9 });
      expect(row).to.include({ action: 'key.rotated', to: next, note: 'yearly' });
      expect(more.map(({ action }) => action)).to.deep.equal(['key.created']);

      const again = await run('rotate', id);
      expect([again.code, again.stdout, again.stderr]).to.deep.equal([
        1,
        '',
        'mediagate: This key was rotated before.\n',
      ]);
      const third = JSON.parse((await run('rotate', next, '--overlap-hours', '0', '--json')).stdout);
      expect(third).to.deep.include({ account: 'team-a', plan: 'month', rpm: 7, replaces: next });
      const now = Date.now() + 1_000;
      expect((await state.keys.find(next))?.expiresAt).to.be.below(now);
      // The overlap that the first one was promised.
      expect((await state.keys.find(id))?.expiresAt).to.equal(Date.parse(until[3] ?? ''));
      expect((await state.keys.find(third.id))?.hash).to.match(/^[0-9a-f]{64}$/);
      expect(third.key.slice(6, 14)).to.equal(third.id);
      await run('revoke', third.id);
      expect((await run('rotate', third.id)).stderr).to.contain('no valid key');
      for (const hours of ['169', '-1', 'x']) {
        const refused = await run('rotate', third.id, `--overlap-hours=${hours}`);
        expect([refused.code, refused.stdout], hours).to.deep.equal([2, '']);
        expect(refused.stderr).to.contain('--overlap-hours must be a number from 0 to 168');
      }
    });

    it("rotate makes a successor of a user's key too, as the user would", async () => {
      const { accountId } = await signUp(state);
      const { id, budgetId } = await state.keys.issue({ accountId, otherwise: FREE, maxKeys: 10, key: newKey() });
      const { stdout } = await run('rotate', id, '--overlap-hours', '1.5', '--json');
      const made = JSON.parse(stdout);
      expect(made).to.deep.include({ account: accountId, plan: 'free', replaces: id });
      expect(await state.keys.find(made.id)).to.include({ accountId, budgetId });
      expect(Date.parse(made.replaced_key_expires_at) - Date.now()).to.be.closeTo(1.5 * 3_600_000, 60_000);
    });

    it('show prints all properties, the budget, the usage of today and the history', async () => {
      const { id } = await make('--plan', 'month', '--name', 'shown');
      const record = await state.keys.find(id);
      const request = { keyId: id, accountId: 'local', route: '/v1/chat/completions', model: 'm-5.5' };
      const reserve = { budgetId: record?.budgetId ?? '', tokens: 100 };
      const { reservation } = await state.admissions.admit({ ...request, reserve });
      const usage = { inputTokens: 200, outputTokens: 34 };
      const ended = { ...request, requestId: id, reservation, status: 200, latencyMs: 5, usage };
      state.admissions.settle({ ...ended, at: Date.now() });
      await state.admissions.flush();
      await run('update', id, '--rpm', '9', '--note', 'slower');

      const shown = JSON.parse((await run('show', id, '--json')).stdout);
      expect(shown).to.deep.include({ id, name: 'shown', account: 'local', plan: 'month', rpm: 9, replaced_by: null });
      expect(shown.budget).to.deep.include({ id: record?.budgetId, resets: 'never' });
      expect(shown.budget.tokens).to.deep.equal({ limit: 1_000, used: 234, reserved: 0, left: 766 });
      expect(shown.usage_today).to.include({ requests: 1, input_tokens: 200, output_tokens: 34 });
      expect(shown.state).to.equal('valid');
      expect(shown.audit.map(({ action }: { action: string }) => action)).to.deep.equal(['key.updated', 'key.created']);
      expect(shown).not.to.have.any.keys('hash', 'key', 'pepperVersion');
      const { stdout } = await run('show', id);
      for (const line of [
        /^key +\w{8}$/m,
        /^name +shown$/m,
        /^rpm +9$/m,
        /^left +766 tokens$/m,
        /^today +1 request, 200 tokens in, 34 out$/m,
        /^state +valid$/m,
        new RegExp(`^expires +${shown.expires_at}$`, 'm'),
        /key\.updated +rpm 10 → rpm 9 +slower/,
      ]) {
        expect(stdout).to.match(line);
      }
      expect(stdout).not.to.contain(record?.hash);
      const unknown = await run('show', 'nobody00');
      expect([unknown.code, unknown.stdout]).to.deep.equal([1, '']);
      expect(unknown.stderr).to.contain('There is no key with the id nobody00');
    });

    it('usage names the keys, and adds up by key, model, day or route', async () => {
      const keys = [await make('--name', '=1+1, "Ann"'), await make('--name', 'Bob'), { id: 'deleted0' }];
      const tricky = await make('--name', 'Eve;=2+5+cmd');
      const wide = await make('--name', '＝1+1');
      const settle = (keyId: string, model: string, day: number, route = '/v1/chat/completions') => {
        const request = { keyId, accountId: 'local', route, model, requestId: `${keyId}${model}${route}` };
        const usage = { inputTokens: 100, outputTokens: 10 };
        state.admissions.settle({ ...request, status: 200, latencyMs: 5, usage, at: Date.UTC(2026, 0, day) });
      };
      const [ann = '', bob = '', deleted = ''] = keys.map(({ id }) => id);
      settle(ann, 'm-5.5', 1);
      settle(bob, 'm-5.5', 1);
      settle(bob, 'm-6', 2);
      settle(bob, 'm-6', 2, '/v1/responses');
      settle(deleted, 'm-6', 2);
      for (const { id } of [tricky, wide]) settle(id, 'm-6', 3);
      await state.admissions.flush();
      const report = async (...args: string[]) => {
        const days = ['--from', '2026-01-01', '--to', '2026-01-02'];
        const { code, stdout, stderr } = await runCommand(['usage', ...days, ...args], environment);
        expect([code, stderr], args.join(' ')).to.deep.equal([0, '']);
        return stdout;
      };
      const byKey = JSON.parse(await report('--by', 'key', '--json'));
      expect(byKey[0]).to.include({ key: bob, name: 'Bob', account: 'local', requests: 3, input_tokens: 300 });
      expect(byKey).to.have.length(3);
      expect(byKey.find(({ key }: { key: string }) => key === deleted).name).to.equal(null);
      const table = await report('--by', 'key');
      expect(table)
        .to.match(/^KEY +NAME +ACCOUNT +REQUESTS +FAILED/)
        .and.to.match(/\nall +5 +0 +500 +50 +0\n$/);
      expect(table).to.match(new RegExp(`${bob} +Bob +local +3 +0 +300 +30`));
      expect(await report('--by', 'day')).to.match(/^DAY .*\n2026-01-02 +3 .*\n2026-01-01 +2 /);
      expect(await report('--by', 'model')).to.match(/^MODEL .*\nm-6 +3 .*\nm-5\.5 +2 /);
      expect(await report('--by', 'route')).to.match(/\n\/v1\/chat\/completions +4 .*\n\/v1\/responses +1 /);

      const [head, first, ...others] = (await report('--by', 'key', '--csv')).trimEnd().split('\n');
      expect(head).to.match(/^key,name,account,requests,failed,estimated,input_tokens,/);
      expect(first).to.match(new RegExp(`^${bob},Bob,local,3,0,0,300,`));
      // A spreadsheet takes neither the comma for the end of the name nor the name for a formula.
      for (const start of [`${ann},"'=1+1, ""Ann""",local,1,`, `${deleted},,local,1,`]) {
        expect(
          others.filter((line) => line.startsWith(start)),
          others.join('\n'),
        ).to.have.length(1);
      }
      // Nor where it separates cells by semicolons, or reads full-width signs.
      const later = await runCommand(
        ['usage', '--by', 'key', '--csv', '--from', '2026-01-03', '--to', '2026-01-03'],
        environment,
      );
      expect(later.stdout).to.contain(`\n${tricky.id},"Eve;'=2+5+cmd",local,1,`).and.to.contain(`\n${wide.id},'＝1+1,`);
      const all = await report('--csv', '--key', bob);
      expect(all).to.match(/^day,key,name,account,route,model,requests,.*\n(?:2026-01-0\d,.*\n){3}$/);
      for (const args of [
        ['--by', 'week'],
        ['--csv', '--json'],
      ]) {
        const { code, stderr } = await runCommand(['usage', ...args], environment);
        expect(code, stderr).to.equal(2);
      }
    });

    it('create and update give keys budgets of their own and of their group, without a plans file', async () => {
      const groups = (...args: string[]) => runCommand(['groups', ...args], environment);
      const created = await groups('create', 'research', '--budget', '100 USD/month');
      expect(created.stdout).to.contain('Group research is created with the budget 100 USD/month.');
      const flags = [
        '--name',
        'Ann',
        '--group',
        'research',
        '--budget',
        '20 USD/month',
        '--budget',
        '500 requests/day',
      ];
      const ann = await make('--grant', 'text', ...flags);
      expect(ann.group).to.equal('research');
      const own = {
        of: 'key',
        unit: 'money',
        currency: 'USD',
        limit: 20,
        used: 0,
        reserved: 0,
        left: 20,
        resets: 'month',
      };
      const shared = { ...own, of: 'group', name: 'research', limit: 100, left: 100 };
      const { budgets } = JSON.parse((await run('show', ann.id, '--json')).stdout);
      for (const each of [own, shared]) expect(budgets).to.containSubset([each]);
      expect(budgets).to.have.length(3);
      const changed = await run('update', ann.id, '--budget', '30 USD/month', '--note', 'a larger project');
      expect([changed.stderr, changed.stdout]).to.deep.equal([
        '',
        `Key ${ann.id} is changed: budget 30 USD/month. Running servers follow within 2 seconds.\n`,
      ]);
      const shown = (await run('show', ann.id)).stdout;
      expect(shown).to.contain('; 30 USD of 30 USD/month\n').and.contain('100 USD of 100 USD/month of group research');
      expect(shown).to.contain('20 USD/month, 500 requests/day → 30 USD/month').and.contain('a larger project');
      const { furtherBudgets } = (await state.keys.find(ann.id)) ?? {};
      expect(furtherBudgets).to.have.length(2);
      await run('update', ann.id, '--budget', 'none', '--group', 'none');
      expect(await state.keys.find(ann.id)).to.not.have.any.keys('furtherBudgets', 'groupName');
      expect((await groups('list')).stdout).to.match(/research +0 +100 USD of 100 USD\/month of group research/);
    });

    it('show prints the cost of today if there are prices, with budgets in their currency', async () => {
      const { id } = await make('--grant', 'text', '--budget', '5 EUR/month');
      await state.usage.setCurrency('USD');
      const request = { keyId: id, accountId: 'local', route: '/v1/chat/completions', model: 'm-5.5' };
      const ended = { ...request, requestId: `cost-${id}`, status: 200, latencyMs: 5, cost: 1_234 };
      state.admissions.settle({ ...ended, usage: { inputTokens: 20, outputTokens: 4 }, at: Date.now() });
      await state.admissions.flush();
      expect((await run('show', id)).stdout).to.match(/^today +1 request, 20 tokens in, 4 out, 0\.001234 USD$/m);
      const { usage_today } = JSON.parse((await run('show', id, '--json')).stdout);
      expect(usage_today).to.include({ cost: 0.001234, currency: 'USD' });
      const groups = (...args: string[]) => runCommand(['groups', ...args], environment);
      await groups('create', 'priced', '--budget', '7 USD/month');
      await run('update', id, '--group', 'priced');
      expect((await groups('show', 'priced')).stdout).to.contain('4 out, 0.001234 USD');
      const message = '--budget must be in USD, as the prices are (PRICES_FILE, PRICES_CURRENCY), and not in EUR.';
      for (const refused of [
        await run('update', id, '--budget', '50 EUR/month'),
        await groups('create', 'euros', '--budget', '50 EUR/month'),
      ]) {
        expect([refused.code, refused.stdout]).to.deep.equal([2, '']);
        expect(refused.stderr).to.contain(message);
      }
      expect((await state.budgets.groups()).map(({ name }) => name)).not.to.include('euros');
    });

    it('create and update refuse unknown names and list the known ones', async () => {
      const { id } = await make('--models', 'm-5.5');
      await runCommand(['groups', 'create', 'research'], environment);
      const cases: [string[], RegExp][] = [
        [['create', '--models', 'm-5.55'], /--models m-5\.55 is unknown\. Did you mean "m-5\.5"\? Known: .*gen-img-2/],
        [['update', id, '--models', 'm-5.5,gen-img-3'], /--models gen-img-3 is unknown\. Did you mean "gen-img-2"\?/],
        [['create', '--grant', 'txet'], /--grant txet is unknown\. Did you mean "text"\? Known: images, extract/],
        [['create', '--plan', 'mont'], /--plan mont is unknown\. Did you mean "month"\? Known: .*month/],
        [['create', '--group', 'reserch'], /--group: There is no group reserch\. .* Did you mean "research"\?/],
        [['update', id, '--group', 'reserch'], /--group: There is no group reserch\. .* Did you mean "research"\?/],
      ];
      const before = (await state.keys.list()).length;
      for (const [args, message] of cases) {
        const { code, stdout, stderr } = await run(...args);
        expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
        expect(stderr).to.match(message);
      }
      expect(await state.keys.list()).to.have.length(before);
      expect((await state.keys.find(id))?.models).to.deep.equal(['m-5.5']);
    });

    it('groups delete ends a group without keys, or takes them out', async () => {
      const groups = (...args: string[]) => runCommand(['groups', ...args], environment);
      await groups('create', 'short-lived', '--budget', '5 requests/month');
      const { id } = await make('--group', 'short-lived', '--budget', '9 requests/day');
      const refused = await groups('delete', 'short-lived');
      expect([refused.code, refused.stdout]).to.deep.equal([1, '']);
      expect(refused.stderr).to.contain('The group short-lived has 1 key. "keys update ID --group none" takes one out');
      const deleted = await groups('delete', 'short-lived', '--release-keys', '--note', 'over');
      expect([deleted.code, deleted.stdout]).to.deep.equal([
        0,
        'Group short-lived is deleted. Running servers follow within 2 seconds.\n',
      ]);
      const left = await state.budgets.ofKey((await state.keys.find(id)) ?? {});
      expect(left.map(({ scope, requestLimit }) => [scope, requestLimit])).to.deep.equal([['key', 9]]);
      expect((await state.keys.find(id))?.groupName).to.equal(undefined);
      expect((await state.budgets.all()).filter(({ subject }) => subject === 'short-lived')).to.deep.equal([]);
      const [row] = await state.audit.list({ subject: 'group:short-lived', limit: 1 });
      expect(row).to.include({ action: 'group.deleted', note: 'over' });
      const again = await groups('delete', 'short-livd');
      expect(again.code).to.equal(1);
      expect(again.stderr).to.contain('There is no group short-livd');
    });

    it('budgets set refuses an account that does not exist, and budgets list names keys', async () => {
      const { id } = await make('--account', 'lab-ann', '--name', 'laptop of Ann', '--budget', '3 requests/day');
      const budgets = (...args: string[]) => runCommand(['budgets', ...args], environment);
      const wrong = await budgets('set', 'lab-anm', '--budget', '5 requests/day');
      expect([wrong.code, wrong.stdout]).to.deep.equal([2, '']);
      expect(wrong.stderr).to.contain('There is no account lab-anm. Did you mean "lab-ann"?');
      expect((await state.budgets.all()).filter(({ subject }) => subject === 'lab-anm')).to.deep.equal([]);
      expect((await budgets('set', 'lab-ann', '--budget', '5 requests/day')).code).to.equal(0);
      expect((await budgets('list')).stdout).to.match(new RegExp(`^key +${id} +laptop of Ann +3 of 3 requests`, 'm'));
      const listed = JSON.parse((await budgets('list', '--json')).stdout);
      expect(listed.find((each: { id: string }) => each.id === id)).to.include({ key_name: 'laptop of Ann' });
    });

    it('update explains what is wrong', async () => {
      const { id } = await make();
      const cases: [string[], number, string][] = [
        [[id], 2, 'Give what changes: --name, --grant, --rpm, --models, --budget, --group, --priority or --expires.'],
        [[id, '--budget', '50 USD/week'], 2, '--budget must be an amount such as "50 USD/month"'],
        [[id, '--group', 'nobodys'], 2, '--group: There is no group nobodys. "mediagate groups create" creates one.'],
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
