/** The command line and the process. */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createLogger, systemClock } from 'mediagate';
import { PLUGIN_SETTING_DESCRIPTIONS, SETTING_DESCRIPTIONS } from '../../../server/settings/index.js';
import { openState } from '../../../server/state.js';
import { sharedPostgres } from '../../support/databases/postgres.js';
import { type Environment, runAlone, runCommand, startCommand } from '../../support/processes/command-line.js';
import { variants } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

/** A plugin as a file of its own, found by a path relative to the configuration. */
const PLUGIN = `export default {
  name: 'paper',
  apiVersion: 1,
  summary: 'An invented platform.',
  provides: ['extractor'],
  setup: () => ({ extractors: [{
    platform: 'paper', displayName: 'Paper', linkForms: ['https://paper.example/<id>'],
    probeLinks: [{ url: 'https://paper.example/7', fills: {} }],
    match: (url) => url.hostname === 'paper.example' ? { kind: 'post', id: url.pathname.slice(1), url: url.href } : undefined,
    extract: async ({ link }) => ({ method: 'invented', data: {
      common: { title: 'Item ' + link.id }, ids: {}, metrics: {}, media: { image_urls: [], video_urls: [] }, raw_stats: {},
    } }),
  }] }),
};`;

describe('the command line', () => {
  let folder: string;
  let environment: Environment;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-cli-'));
    await writeFile(path.join(folder, 'paper.mjs'), PLUGIN);
    const entries = [
      { id: 'paper', use: './paper.mjs' },
      { id: 'gone', use: './gone.mjs' },
    ];
    await writeFile(path.join(folder, 'plugins.config.json'), JSON.stringify({ plugins: entries }));
    environment = {
      DATA_DIR: path.join(folder, 'data'),
      PLUGINS_CONFIG: path.join(folder, 'plugins.config.json'),
      PORT: '0',
      BROWSER: 'off',
    };
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('lists the subcommands for a wrong one, also if the noun alone lists something', async () => {
    for (const [args, name, known] of [
      [['plans', 'show', 'team'], 'mediagate plans', 'list, grant'],
      [['groups', 'delte', 'x'], 'mediagate groups', 'create, list, show, update, delete'],
      [['keys', 'lst'], 'mediagate keys', 'create, list, update, show, rotate, revoke'],
      [['models', 'delete', 'x'], 'mediagate models', 'list, test, add, update, remove'],
      [['payments', 'sho'], 'mediagate payments', 'list, show'],
    ] as const) {
      const { code, stdout, stderr } = await runCommand(args, environment);
      expect([code, stdout], stderr).to.deep.equal([2, '']);
      expect(stderr).to.contain(`error: "${name}" has no command ${args[1]}.`).and.to.contain(`Known: ${known}`);
    }
    expect((await runCommand(['keys', 'lst'], environment)).stderr).to.contain('Did you mean "list"?');
    expect((await runCommand(['kyes'], environment)).stderr).to.contain('Did you mean "keys"?');
  });

  const run = (...args: string[]) => runCommand(args, environment);

  it('prints the same for commands in one process as for each in its own', async () => {
    const own = { ...environment, DATA_DIR: path.join(folder, 'own') };
    const all = [
      ['keys', 'create'],
      ['keys', 'list', '--nothing'],
      ['keys', 'list', '--json'],
      ['keys', 'revoke', 'nobody00'],
      ['keys', '--help'],
      ['--version'],
      [],
    ];
    for (const args of variants(all, (one) => all.indexOf(one) < 2)) {
      const [here, alone] = [await runCommand(args, own), await runAlone(args, own)];
      const secretless = (text: string) => text.replaceAll(/sk-mg-\S+|Key \w{8}/g, '');
      expect({ ...here, stdout: secretless(here.stdout), stderr: secretless(here.stderr) }).to.deep.equal({
        ...alone,
        stdout: secretless(alone.stdout),
        stderr: secretless(alone.stderr),
      });
    }
    await mkdir(path.join(folder, 'elsewhere'));
    await writeFile(path.join(folder, 'elsewhere', '.env'), '');
    const settingsIn = async (run: typeof runCommand) => {
      const { stdout } = await run(['doctor', '--json'], own, path.join(folder, 'elsewhere'));
      return JSON.parse(stdout).find(({ name }: { name: string }) => name === 'settings');
    };
    expect(await settingsIn(runCommand))
      .to.include({ level: 'warn' })
      .and.to.deep.equal(await settingsIn(runAlone));
  });

  it('creates nothing in a mistyped DATA_DIR, unless the command creates data folders', async () => {
    const nowhere = path.join(folder, 'nowhere');
    const own = { ...environment, DATA_DIR: nowhere };
    const refused = [
      ['keys', 'list'],
      ['keys', 'revoke', 'nobody00'],
      ['usage'],
      ['users', 'list'],
      ['users', 'suspend', 'user_none'],
      ['plans', 'grant', 'user_none', 'free'],
      ['payments', 'list'],
      ['payments', 'confirm', 'MG00000000'],
      ['payments', 'review'],
      ['backup', path.join(folder, 'backup')],
    ];
    for (const args of refused) {
      const { code, stdout, stderr } = await runCommand(args, own);
      const said = `mediagate: There is no database in ${nowhere}; set DATA_DIR to the data folder.\n`;
      expect([code, stdout, stderr], args.join(' ')).to.deep.equal([2, '', said]);
    }
    for (const args of [['plugins'], ['plans'], ['doctor']]) {
      expect((await runCommand(args, own)).code, args.join(' ')).to.equal(0);
    }
    expect((await runCommand(['doctor'], own)).stdout)
      .to.match(/ok +database +none yet: "mediagate serve" creates it\n/)
      .and.to.match(/ok +data folder +.*nowhere does not exist yet: "mediagate serve" creates it, [\d,]+ MiB free\n/);
    expect(existsSync(nowhere)).to.equal(false);
    expect(existsSync(path.join(folder, 'backup'))).to.equal(false);

    await mkdir(nowhere);
    expect((await runCommand(['keys', 'list'], own)).code).to.equal(2);
    expect(await readdir(nowhere)).to.deep.equal([]);
    expect((await runCommand(['keys', 'create'], own)).code).to.equal(0);
    expect((await runCommand(['keys', 'list'], own)).code).to.equal(0);
  });

  it('reads PostgreSQL without a data folder', async function () {
    const postgres = await sharedPostgres();
    if ('unavailable' in postgres) return this.skip();
    const DATABASE_URL = await postgres.createDatabase();
    const nowhere = path.join(folder, 'nowhere-beside-postgres');
    const own = { ...environment, DATABASE_URL, DATA_DIR: nowhere };
    const doctor = await runCommand(['doctor'], own);
    expect(doctor.stdout).to.match(/ok +database +PostgreSQL; the next start migrates it\n/);
    for (const args of [['keys', 'list'], ['usage'], ['users', 'list'], ['payments', 'list']]) {
      const { code, stderr } = await runCommand(args, own);
      expect([code, stderr], args.join(' ')).to.deep.equal([0, '']);
    }
    expect((await runCommand(['doctor'], own)).stdout).to.match(/ok +database +PostgreSQL\n/);
    expect(existsSync(nowhere)).to.equal(false);
  });

  it('makes, lists and revokes keys', async () => {
    const made = await run(
      'keys',
      'create',
      '--name',
      'one',
      '--grant',
      'extract',
      '--grant',
      'text',
      '--rpm',
      '7',
      '--expires',
      '2999-01-31',
      '--json',
    );
    expect(made.code, made.stderr).to.equal(0);
    const key = JSON.parse(made.stdout);
    expect(key).to.have.all.keys('id', 'key', 'name', 'plan', 'grants', 'models', 'rpm', 'expires_at');
    expect(key).to.include({ name: 'one', plan: null, models: null, rpm: 7, expires_at: '2999-01-31T00:00:00.000Z' });
    expect(key.grants).to.deep.equal(['extract', 'text']);

    const listed = await run('keys', 'create', '--name', 'all', '--grant', 'text, audio,images', '--grant', 'extract');
    expect(listed.stderr).to.contain('may use: images, extract, text, audio.');
    const whole = listed.stdout.trim();

    const bare = await run('keys', 'create', '--rpm', 'unlimited');
    expect(bare.stdout).to.match(/^sk-mg-[0-9A-Za-z]{8}-[0-9A-Za-z]{38}\n$/);

    const list = await run('keys', 'list', '--json');
    expect(
      JSON.parse(list.stdout).map(({ name, rpm, state }: Record<string, unknown>) => [name, rpm, state]),
    ).to.have.deep.members([
      ['one', 7, 'valid'],
      ['all', 30, 'valid'],
      ['key', null, 'valid'],
    ]);
    const table = await run('keys', 'list');
    for (const { stdout } of [list, table]) {
      expect(stdout).to.contain(key.id).and.not.to.contain(key.key).and.not.to.contain(key.key.slice(15, 47));
    }

    expect((await run('keys', 'revoke', key.id)).stdout).to.contain('is revoked');
    expect((await run('keys', 'revoke', key.id)).code).to.equal(0);
    const pasted = await run('keys', 'revoke', whole);
    expect(pasted.stdout).to.equal(`Key ${whole.slice(6, 14)} is revoked.\n`);
    const used = await run('usage', '--key', whole);
    expect([used.code, used.stderr]).to.deep.equal([0, '']);
    for (const args of [
      ['keys', 'revoke', `${whole}x`],
      ['usage', '--key', ` ${whole} `],
    ]) {
      const mistaken = await run(...args);
      expect([mistaken.code, mistaken.stdout]).to.deep.equal([2, '']);
      expect(mistaken.stderr).to.contain('8 letters and digits').and.not.to.contain(whole.slice(15));
    }
    const unknown = await run('keys', 'revoke', 'nobody00');
    expect([unknown.code, unknown.stdout]).to.deep.equal([1, '']);
    expect(unknown.stderr).to.contain('no key with the id nobody00');
  });

  it('creates keys of named accounts, except names of users', async () => {
    const own = { ...environment, DATA_DIR: path.join(folder, 'accounts') };
    const create = (...args: string[]) => runCommand(['keys', 'create', '--json', ...args], own);
    const made = [
      await create('--account', 'team-a'),
      await create('--account', 'team-a', '--plan', 'token_30m'),
      await create(),
    ];
    expect(made.map(({ code, stdout }) => [code, JSON.parse(stdout).account])).to.deep.equal([
      [0, 'team-a'],
      [0, 'team-a'],
      [0, undefined],
    ]);
    const listed = JSON.parse((await runCommand(['keys', 'list', '--json'], own)).stdout);
    const accounts = listed.map(({ account, plan }: Record<string, unknown>) => [account, plan]);
    expect(accounts).to.have.deep.members([
      ['team-a', null],
      ['team-a', 'token_30m'],
      ['local', null],
    ]);
    expect((await runCommand(['keys', 'list'], own)).stdout).to.match(/ACCOUNT[\s\S]*team-a/);
    for (const name of ['acct_0123', 'local', '', 'Team', 'a b', '-a', 'x'.repeat(65)]) {
      const { code, stdout, stderr } = await create(`--account=${name}`);
      expect([code, stdout], name).to.deep.equal([2, '']);
      expect(stderr).to.contain('--account must have 1 to 64');
    }
    const logger = createLogger({ level: 'silent' });
    const state = await openState({ dataDir: own.DATA_DIR, clock: systemClock, logger });
    const records = await state.keys.listOf('team-a');
    const budgetId = records.find(({ planId }) => planId !== null)?.budgetId ?? '';
    expect(await state.budgets.find(budgetId)).to.include({ accountId: 'team-a' });
    await state.close();
  });

  it('creates keys of plans, and lists what is left and used', async () => {
    const own = { ...environment, DATA_DIR: path.join(folder, 'plans') };
    const made = await runCommand(['keys', 'create', '--plan', 'free', '--grant', 'extract', '--json'], own);
    expect(made.code, made.stderr).to.equal(0);
    const key = JSON.parse(made.stdout);
    expect(key).to.deep.include({ plan: 'free', grants: ['extract', 'text'], models: ['m-5.5'], rpm: 30 });
    const paid = await runCommand(['keys', 'create', '--plan', 'token_30m', '--rpm', '7'], own);
    expect(paid.stderr).to.contain('may use: text, audio.');
    const nothing = await runCommand(['usage'], own);
    expect(nothing.stdout).to.match(/^There is no usage from \d{4}-\d\d-\d\d to \d{4}-\d\d-\d\d\.\n$/);

    const logger = createLogger({ level: 'silent' });
    const state = await openState({ dataDir: own.DATA_DIR, clock: systemClock, logger });
    const free = await state.keys.find(key.id);
    const request = { keyId: key.id, accountId: 'local', route: '/v1/chat/completions', model: 'm-5.5' };
    const reserve = { budgetId: free?.budgetId ?? '', tokens: 100 };
    for (const at of [Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 2)]) {
      const { reservation } = await state.admissions.admit({ ...request, reserve });
      const usage = { inputTokens: 1_200, outputTokens: 34, seconds: 2.5 };
      state.admissions.settle({ ...request, requestId: `${at}`, reservation, status: 200, latencyMs: 5, usage, at });
    }
    await state.close();

    const list = await runCommand(['keys', 'list'], own);
    expect(list.stdout).to.match(/free +extract,text +30 +48 requests +valid/);
    expect(list.stdout).to.match(/token_30m +text,audio +7 +30,000,000 tokens +valid/);
    const listed = JSON.parse((await runCommand(['keys', 'list', '--json'], own)).stdout);
    expect(listed[0]).to.deep.include({ plan: 'free', models: ['m-5.5'], left: { requests: 48 } });

    const days = ['--from', '2026-01-01', '--to', '2026-01-31'];
    const table = await runCommand(['usage', '--key', key.id, ...days], own);
    expect(table.stdout).to.match(
      /2026-01-02 +\w{8} +key +\/v1\/chat\/completions +m-5\.5 +1 +0 +1,200 +34 +2\.5 s +0\n/,
    );
    expect(table.stdout).to.match(/\nall +2 +0 +2,400 +68 +5 s +0\n$/);
    const rows = JSON.parse((await runCommand(['usage', ...days, '--json'], own)).stdout);
    expect(rows[0]).to.include({
      day: '2026-01-02',
      key: key.id,
      name: 'key',
      requests: 1,
      input_tokens: 1_200,
      seconds: 2.5,
    });
    expect((await runCommand(['usage', '--key', 'nobody00'], own)).stderr).to.contain('no key with the id nobody00');
  });

  it('shows when a key expires with its plan, or that it never does', async () => {
    const file = path.join(folder, 'month.json');
    await writeFile(file, JSON.stringify({ plans: [{ id: 'month', durationDays: 30, tokenLimit: 1_000 }] }));
    const own = { ...environment, DATA_DIR: path.join(folder, 'ends'), PLANS_FILE: file };
    const create = (...args: string[]) => runCommand(['keys', 'create', ...args], own);
    const made = await create('--plan', 'month');
    const end = /^It expires at (\S+), with its plan month\.$/m.exec(made.stderr)?.[1] ?? '';
    expect(Date.parse(end) - Date.now(), made.stderr).to.be.closeTo(30 * 24 * 3_600_000, 60_000);
    const later = JSON.parse((await create('--plan', 'month', '--expires', '2999-01-31', '--json')).stdout);
    expect(later.expires_at).to.equal(later.plan_expires_at).and.to.match(/^20/);
    const sooner = await create('--plan', 'month', '--expires', new Date(Date.now() + 86_400_000).toISOString());
    expect(sooner.stderr).to.contain('may use').and.not.to.contain('with its plan');
    expect((await create('--plan', 'token_30m')).stderr).not.to.contain('expires');

    const listed = JSON.parse((await runCommand(['keys', 'list', '--json'], own)).stdout);
    expect(listed[0].expires_at).to.equal(end);
    const { stdout } = await runCommand(['keys', 'list'], own);
    expect(stdout)
      .to.match(/CREATED +EXPIRES +LAST USED\n/)
      .and.to.contain(`${end}  never\n`);
    expect(stdout).to.match(/token_30m .* never +never\n/);
  });

  it('lists the plans of the service document and of the operator', async () => {
    const file = path.join(folder, 'plans.json');
    await writeFile(file, JSON.stringify({ plans: [{ id: 'pictures', imageOnly: true, durationDays: 30 }] }));
    const own = { ...environment, PLANS_FILE: file };
    const { stdout } = await runCommand(['plans'], own);
    expect(stdout).to.match(/token_30m +30M tokens +30,000,000 +unlimited +no end +30 +text,audio +all/);
    expect(stdout).to.match(/pictures +pictures +unlimited +unlimited +30 +30 +images +all/);
    expect(stdout).to.match(/free +Free +unlimited +50 +no end +30 +text +m-5\.5/);
    const catalogue = JSON.parse((await runCommand(['plans', '--json'], own)).stdout);
    expect(catalogue.plans).to.have.length(4);
    expect(catalogue.freeTier).to.include({ requestLimit: 50 });
    await writeFile(file, '{"plans": {}}');
    const refused = await runCommand(['plans'], own);
    expect([refused.code, refused.stdout]).to.deep.equal([2, '']);
    expect(refused.stderr).to.equal(`mediagate: ${file}: plans must be array.\n`);
  });

  it('explains a wrong command and exits with 2', async () => {
    const at = (name: string) => path.join(folder, name);
    const cases: [string[], string][] = [
      [['frobnicate'], 'frobnicate'],
      [['extract', 'https://paper.example/7', '--clip-sort', 'best'], '--clip-sort must be'],
      [['extract', 'https://paper.example/7', '--clip-review-limit', '500'], '--clip-review-limit must be'],
      [['image', 'a tug', '--size', 'big'], '--size must be'],
      [['image', 'a tug', '--model', 'none'], '--model: There is no image model'],
      [['image', 'a tug', '--ref', at('none.png')], '--ref'],
      [['image', 'a tug', '--mask', at('none.png')], '--mask'],
      [['image', 'a tug', '-o', at('tug.gif')], 'must end in .png, .jpg, .jpeg or .webp'],
      [['image', 'a tug', '-o', at('tug')], 'must end in .png'],
      [['image', 'a tug', '-o', at('none/tug.png')], `there is no folder ${at('none')}`],
      [['image', 'a tug', '-o', `${at('none')}/`], 'there is no such folder'],
      [['image', 'a tug', '-o', at('paper.mjs/tug.png')], 'there is no folder'],
      [['users', 'list', '--limit', 'x'], '--limit'],
      [['payments', 'list', '--state', 'lost'], '--state'],
      [['payments', 'import', at('none.csv')], 'none.csv'],
      [['plans', 'grant', 'user_none', 'gold'], 'gold'],
      [['backup', folder], 'exists already'],
      [['restore', at('none')], 'is not a backup'],
      [['probe', '--platform', 'none'], 'none'],
      [['keys', 'create', '--grant', 'everything'], 'everything'],
      [['keys', 'create', '--rpm', '-5'], '--rpm'],
      [['keys', 'create', '--expires', 'tomorrow'], '--expires'],
      [['keys', 'create', '--expires', '2001-01-01'], 'past'],
      [['keys', 'create', '--expires', '2030-02-31'], '--expires must be a date'],
      [['keys', 'create', '--name', 'a\u001b[31m'], '--name must have'],
      [['keys', 'create', '--plan', 'gold'], 'free'],
      [['keys', 'create', '--plan', 'free', '--rpm', '31'], '--rpm'],
      [['keys', 'create', '--plan', 'free', '--rpm', 'unlimited'], '--rpm'],
      [['usage', '--from', 'monday'], '--from'],
      [['usage', '--from', '2026-02-02', '--to', '2026-02-01'], '--from'],
      [['keys', 'list', '--nonsense'], '--nonsense'],
      [['extract'], 'url'],
      [['serve', '--port', '9000'], '(PORT=… in the environment sets it)\n(see mediagate serve --help)'],
      [['doctor', '--image-upstream-url=x'], '(IMAGE_UPSTREAM_URL=… in the environment sets it)'],
      [['keys', 'mend'], '(see mediagate keys --help)'],
    ];
    for (const [args, said] of cases) {
      const { code, stdout, stderr } = await run(...args);
      expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
      expect(stderr).to.contain(said).and.not.to.contain('    at ');
      expect(stderr).to.match(/\(see mediagate( [a-z]+)* --help\)\n$/);
    }
  });

  it('extracts a link without a server, as the route would answer', async () => {
    const { code, stdout, stderr } = await run('extract', 'https://paper.example/7', '--clip-sort', 'latest');
    expect(code, stderr).to.equal(0);
    const body = JSON.parse(stdout);
    expect(body).to.include({ ok: true, platform: 'paper', input_url: 'https://paper.example/7' });
    expect(body.data.common.title).to.equal('Item 7');
    expect(body.data.metrics.views).to.equal(null);
    expect(body.limitations).to.deep.equal(['review_options_ignored: only shop links have reviews']);
    const refused = await run('extract', 'https://other.example/7');
    expect(refused.code).to.equal(2);
    expect(JSON.parse(refused.stdout)).to.nested.include({ ok: false, 'error.code': 'unsupported_platform' });
    expect(refused.stderr).to.match(/mediagate: No platform .*\n\(see mediagate extract --help\)\n$/);
  });

  it('lists the plugins with their states', async () => {
    const table = await run('plugins');
    expect(table.stdout)
      .to.match(/paper +ready/)
      .and.to.match(/gone +failed/);
    const states = JSON.parse((await run('plugins', '--json')).stdout).map(({ id, state }: Record<string, string>) => [
      id,
      state,
    ]);
    expect(states).to.deep.equal([
      ['paper', 'ready'],
      ['gone', 'failed'],
    ]);
  });

  it('examines the machine', async () => {
    const { code, stdout, stderr } = await run('doctor', '--json');
    expect(code, stdout + stderr).to.equal(0);
    const findings = new Map(JSON.parse(stdout).map((one: { name: string }) => [one.name, one]));
    expect([...findings.keys()]).to.deep.equal([
      'node',
      'settings',
      'address',
      'database',
      'data folder',
      'secrets',
      'files',
      'browser',
      'ffmpeg',
      'egress proxy',
      'clock',
      'plugins',
      'sign-in',
    ]);
    expect(findings.get('plugins')).to.include({ level: 'warn' });
    expect(findings.get('browser')).to.include({ level: 'ok' });
    const own = await runCommand(['doctor'], { DATA_DIR: environment.DATA_DIR ?? '', BROWSER: 'off' });
    expect(own.stdout).to.match(/ok +plugins +clip_shop \(without browser\), .*vidsite \(without data_api\)/);
    // Nothing listens on port 1; the password must not be shown.
    const shut = await runCommand(['doctor'], { ...environment, EGRESS_PROXY_URL: 'http://user:unspoken@127.0.0.1:1' });
    expect(shut.code).to.equal(1);
    expect(shut.stdout)
      .to.match(/fail +egress proxy +127\.0\.0\.1:1 /)
      .and.not.to.contain('unspoken');
  });

  it('warns of misspelt settings, a .env file, and links that others cannot use', async () => {
    const place = await mkdtemp(path.join(folder, 'warned-'));
    const plugins = path.join(place, 'plugins.json');
    await writeFile(path.join(place, '.env'), 'PORT=9000\n');
    await writeFile(
      plugins,
      JSON.stringify({ plugins: [{ use: '../paper.mjs', enabled: { $env: 'IMAGE_UPSTREAM_URLS' } }] }),
    );
    const own = { ...environment, PLUGINS_CONFIG: plugins, IMAGE_UPSTREAM_URLS: 'x' };
    const wrong = { HOST: '0.0.0.0', IMAGE_UPSTREM_URL: 'unspoken' };
    const findings = async (more: Environment, where: string) => {
      const { stdout } = await runCommand(['doctor', '--json'], { ...own, ...more }, where);
      expect(stdout).not.to.contain('unspoken');
      return new Map(JSON.parse(stdout).map((one: { name: string }) => [one.name, one])) as Map<
        string,
        Record<string, string>
      >;
    };
    const warned = await findings(wrong, place);
    expect(warned.get('settings')).to.deep.equal({
      name: 'settings',
      level: 'warn',
      detail:
        'IMAGE_UPSTREM_URL is not a setting. Did you mean IMAGE_UPSTREAM_URL? The .env file in this folder is not read.',
      advice:
        'Correct or remove these variables. Put the settings into mediagate.env, or load it: set -a; . ./.env; set +a',
    });
    expect(warned.get('address'))
      .to.include({ level: 'warn' })
      .and.to.have.property('advice')
      .that.contains('BASE_URL');
    const proxied = await findings({ TRUSTED_PROXIES: '127.0.0.1' }, folder);
    expect(proxied.get('address')).to.include({ level: 'warn' });
    const fine = await findings({ HOST: '0.0.0.0', BASE_URL: 'https://gateway.example' }, folder);
    expect(fine.get('settings')).to.include({ level: 'ok' });
    expect(fine.get('address'))
      .to.include({ level: 'ok' })
      .and.to.have.property('detail')
      .that.contains('links begin with https://gateway.example');
  });

  it('names the variable of a key that no header can carry', async () => {
    const own = { DATA_DIR: environment.DATA_DIR ?? '', BROWSER: 'off' };
    for (const kind of ['TEXT', 'IMAGE', 'TRANSCRIPTION']) {
      const upstream = { [`${kind}_UPSTREAM_URL`]: 'http://127.0.0.1:9/v1', [`${kind}_UPSTREAM_KEY`]: 'unspoken…' };
      const table = await runCommand(['plugins'], { ...own, ...upstream });
      expect(table.stdout).to.contain(`${kind}_UPSTREAM_KEY must be a key of printable ASCII characters`);
      expect(table.stdout + table.stderr).not.to.contain('unspoken');
    }
    const table = await runCommand(['plugins'], {
      ...own,
      ELEVENLABS_API_KEY: 'unspoken…',
      VIDSITE_API_KEY: 'unspoken…',
    });
    expect(table.stdout)
      .to.contain('ELEVENLABS_API_KEY must be a key of printable ASCII characters')
      .and.to.contain('VIDSITE_API_KEY must be a key of printable ASCII characters');
    expect(table.stdout + table.stderr).not.to.contain('unspoken');
  });

  it('names a variable with an invalid value, and never the value', async () => {
    const own = { DATA_DIR: environment.DATA_DIR ?? '', BROWSER: 'off', TEXT_UPSTREAM_URL: 'unspoken.example' };
    const said = 'TEXT_UPSTREAM_URL must be an http or https address, such as https://api.example.com/v1';
    const table = await runCommand(['plugins'], own);
    expect(table.stdout)
      .to.match(/openai_text +failed +text +TEXT_UPSTREAM_URL /)
      .and.to.contain(said);
    expect(table.stderr.trim().split('\n'), 'one line for one mistake').to.have.length(1);
    expect(JSON.parse(table.stderr)).to.have.property('message', `plugin entry failed: ${said}`);
    expect(table.stdout + table.stderr).not.to.match(/unspoken|pattern|checkOptions/);
    const doctor = await runCommand(['doctor'], own);
    expect(doctor.stdout)
      .to.contain(said)
      .and.to.match(/\n +Correct TEXT_UPSTREAM_URL in the environment\.\n/);
    const file = path.join(folder, 'own-upstream.json');
    const entry = { use: 'mediagate/plugins/openai_image', options: { upstreams: [{ url: 'unspoken.example' }] } };
    await writeFile(file, JSON.stringify({ plugins: [entry] }));
    const mine = await runCommand(['plugins'], { ...own, PLUGINS_CONFIG: file });
    expect(mine.stdout)
      .to.contain('option upstreams.0.url must be an http or https address')
      .and.not.to.contain('unspoken');
  });

  it('lists every setting, also the settings of real models', async () => {
    const { stdout } = await runCommand(['serve', '--help'], environment);
    for (const { name } of [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS])
      expect(stdout).to.contain(`\n  ${name} `);
  });

  it('refuses settings that cannot be used, all at once, with 2', async () => {
    const { code, stdout, stderr } = await runCommand(['serve'], { ...environment, PORT: 'x', LOG_LEVEL: 'loud' });
    expect([code, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.contain('PORT must be').and.to.contain('LOG_LEVEL must be').and.not.to.contain('    at ');
  });

  it('explains in one line why it cannot start', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await once(blocker, 'listening');
    const address = blocker.address();
    const port = typeof address === 'object' && address ? String(address.port) : '';
    await mkdir(path.join(folder, 'file'), { recursive: true });
    await writeFile(path.join(folder, 'file', 'plain'), '');
    const cases: [Environment, number, string][] = [
      [{ PORT: port }, 1, `Port ${port}`],
      [{ DATA_DIR: path.join(folder, 'file', 'plain') }, 2, 'DATA_DIR'],
      [{ PLUGINS_CONFIG: path.join(folder, 'none.json') }, 2, 'none.json'],
      [{ FILES_URL: 's3://bucket' }, 2, 'object store'],
      [
        { DATABASE_URL: 'postgres://unspoken:unspoken@127.0.0.1:1/x' },
        1,
        'The database that DATABASE_URL names, at 127.0.0.1:1, cannot be used: connection refused',
      ],
    ];
    await Promise.all(
      cases.map(async ([change, exitCode, said]) => {
        const { code, stdout, stderr } = await runCommand(['serve'], {
          ...environment,
          LOG_LEVEL: 'silent',
          ...change,
        });
        expect([code, stdout], `${JSON.stringify(change)}: ${stderr}`).to.deep.equal([exitCode, '']);
        expect(stderr)
          .to.contain(said)
          .and.not.to.match(/ {4}at |unspoken/);
        expect(stderr.trim().split('\n')).to.have.length(1);
      }),
    );
    blocker.close();
  });
});

describe('the process', () => {
  let folder: string;
  let environment: Environment;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-process-'));
    await writeFile(path.join(folder, 'paper.mjs'), PLUGIN);
    await writeFile(path.join(folder, 'plugins.config.json'), JSON.stringify({ plugins: [{ use: './paper.mjs' }] }));
    environment = {
      DATA_DIR: path.join(folder, 'data'),
      PLUGINS_CONFIG: path.join(folder, 'plugins.config.json'),
      PORT: '0',
    };
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  function start(...args: string[]) {
    const child = startCommand(args, environment, folder);
    const said = { stdout: '', stderr: '' };
    child.stdout?.on('data', (chunk) => {
      said.stdout += chunk;
    });
    child.stderr?.on('data', (chunk) => {
      said.stderr += chunk;
    });
    const ended = once(child, 'close') as Promise<[number | null]>;
    /** What the pattern's first group finds in what the process says. */
    const says = (pattern: RegExp): Promise<string> =>
      Promise.race([
        until(() => pattern.exec(said.stdout)?.[1]),
        ended.then(() => Promise.reject(new Error(`it ended: ${said.stdout} ${said.stderr}`))),
      ]);
    return { child, said, ended, says };
  }

  it('prints a curl with its first key that works, once, and drains on SIGINT', async () => {
    const first = start('serve', '--first-run');
    const key = await first.says(/Bearer (sk-mg-[0-9A-Za-z-]+)'/);
    const address = await first.says(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
    expect(first.said.stdout)
      .to.contain(`-d '{"url":"https://paper.example/7"}'`)
      .and.to.match(/paper +ready +Paper\n/)
      .and.to.contain(`\n  site     ${address}\n`)
      .and.to.contain(environment.DATA_DIR ?? '');
    const answer = await fetch(`${address}/v1/extract`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: 'https://paper.example/7' }),
    });
    expect([answer.status, answer.headers.get('ratelimit-policy')]).to.deep.equal([200, '"rpm";q=30;w=60']);
    await answer.text();

    const doctor = await runCommand(['doctor'], { ...environment, PORT: new URL(address).port });
    expect(doctor.stdout).to.contain(
      `ok    running       a gateway runs on ${address}; this command cannot see its settings`,
    );

    const beside = await runCommand(['keys', 'create', '--json'], environment);
    const made = JSON.parse(beside.stdout).key;
    const capabilities = await fetch(`${address}/v1/capabilities`, { headers: { 'x-api-key': made } });
    expect(capabilities.status, 'a key made beside the server works at once').to.equal(200);
    await capabilities.text();

    first.child.kill('SIGINT');
    expect((await first.ended)[0]).to.equal(0);
    expect(first.said.stderr).not.to.contain(key);

    const second = start('serve', '--first-run');
    await second.says(/(keys create)/);
    expect(second.said.stdout).not.to.contain('sk-mg-');
    second.child.kill('SIGTERM');
    expect((await second.ended)[0]).to.equal(0);
  });

  it('offers only requests that the plugins support', async () => {
    const offered = async (plugins: readonly object[]) => {
      await writeFile(path.join(folder, 'plugins.config.json'), JSON.stringify({ plugins }));
      const { child, said, ended, says } = start('serve', '--first-run');
      await says(/(Ctrl-C stops it)/);
      child.kill('SIGTERM');
      await ended;
      await rm(environment.DATA_DIR ?? '', { recursive: true });
      return said.stdout;
    };
    const sketch = { use: 'mediagate/plugins/sketch_image', options: { models: ['my-pictures'] } };
    const pictures = await offered([sketch]);
    expect(pictures)
      .to.match(/curl -s http:\S+\/v1\/images\/generations \\/)
      .and.to.contain('"model":"my-pictures"');
    expect(pictures).not.to.match(/v1\/extract|v1\/chat|youtube|another route/);
    const echo = { use: 'mediagate/plugins/echo_text', options: { model: 'my-words' } };
    const more = await offered([{ use: './paper.mjs' }, sketch, echo]);
    expect(more, 'what works offline comes first')
      .to.match(/curl -s http:\S+\/v1\/chat\/completions \\\n.+\n.+\n {2}-d '\{"model":"my-words"/)
      .and.to.match(/\/v1\/images\/generations.+\n.+"url":"https:\/\/paper\.example\/7"\}' {2}# needs the network\n/);
    expect(await offered([]))
      .to.match(/It is not shown again:\n\nsk-mg-\S+\n/)
      .and.not.to.contain('curl');
  });

  it('survives an unhandled broken connection, and ends on any other uncaught error', async () => {
    const throwing = `${PLUGIN}
      const thrown = (message, more) => () => { throw Object.assign(new Error(message), more); };
      process.on('SIGUSR1', thrown('read ECONNRESET', { code: 'ECONNRESET', syscall: 'read' }));
      process.on('SIGUSR2', thrown('anything else', {}));`;
    await writeFile(path.join(folder, 'paper.mjs'), throwing);
    const { child, said, ended, says } = start('serve');
    const address = await says(/listens on (http:\/\/127\.0\.0\.1:\d+)/);
    child.kill('SIGUSR1');
    await until(() => said.stderr.includes('unhandled connection error'));
    expect((await fetch(`${address}/health/live`)).status).to.equal(200);
    child.kill('SIGUSR2');
    expect((await ended)[0]).to.equal(1);
    expect(said.stderr).to.contain('uncaught error outside of a request');
  });

  it('names the missing required plugin in one line', async () => {
    const plugins = [{ use: './gone.mjs', id: 'gone', required: true }];
    await writeFile(path.join(folder, 'plugins.config.json'), JSON.stringify({ plugins }));
    const { said, ended } = start('serve');
    expect((await ended)[0]).to.equal(2);
    expect(said.stderr).to.match(/^mediagate: The required plugin entry "gone" failed: Cannot find module .*\n$/m);
    expect(said.stderr).not.to.contain('failed unexpectedly');
  });

  it('reports unexpected files, addresses and links', async () => {
    // The one of the package is read then.
    await rm(path.join(folder, 'plugins.config.json'));
    await writeFile(path.join(folder, '.env'), 'PORT=9000\n');
    const wrong = { HOST: '0.0.0.0', PROT: '9000', IMAGE_UPSTREM_URL: 'unspoken', BROWSER: 'off' };
    const { DATA_DIR = '' } = environment;
    environment = { DATA_DIR, PORT: '0', ...wrong, TEXT_UPSTREAM_URL: 'unspoken.example' };
    for (const args of [['serve'], ['serve', '--first-run']]) {
      const { child, said, ended, says } = start(...args);
      const address = await says(/mediagate listens on (http:\/\/127\.0\.0\.1:\d+), and on that port of every other/);
      await says(/(sound effects +ELEVENLABS_API_KEY\n)/);
      expect(said.stdout).to.contain(`begin with ${address}, which other machines cannot use: BASE_URL is not set\n`);
      expect(said.stdout).to.contain('PROT is not a setting. Did you mean PORT?\n');
      expect(said.stdout).to.contain('IMAGE_UPSTREM_URL is not a setting. Did you mean IMAGE_UPSTREAM_URL?\n');
      expect(said.stdout).to.contain(
        'The .env file in this folder is not read. Put the settings into mediagate.env, or load it: set -a;',
      );
      // No stand-in answers for text.
      expect(said.stdout).to.match(
        /real models:\n {2}images +IMAGE_UPSTREAM_URL\n {2}transcription +TRANSCRIPTION_UPSTREAM_URL\n {2}speech +SPEECH_UPSTREAM_URL or ELEVENLABS_API_KEY\n {2}voice changer +ELEVENLABS_API_KEY\n {2}sound effects +ELEVENLABS_API_KEY\n/,
      );
      const { checks } = (await (await fetch(`${address}/health`)).json()) as {
        checks: { plugins: { entries: { id: string; reason?: string }[] } };
      };
      expect(checks.plugins.entries.find(({ id }) => id === 'openai_text')?.reason).to.match(
        /^TEXT_UPSTREAM_URL must be/,
      );
      child.kill('SIGTERM');
      await ended;
      expect(said.stdout + said.stderr).not.to.contain('unspoken');
    }
    environment = { DATA_DIR, PORT: '0', BROWSER: 'off', BASE_URL: 'https://gateway.example' };
    const fine = start('serve');
    await fine.says(/(sound effects +ELEVENLABS_API_KEY\n)/);
    expect(fine.said.stdout)
      .to.contain('\nLinks begin with https://gateway.example\n')
      .and.not.to.contain('not a setting');
    fine.child.kill('SIGTERM');
    await fine.ended;
  });
});
