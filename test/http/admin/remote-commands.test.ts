/** Commands with `--server`: they describe and change the gateway that runs there, and fail with one clear line. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { optionOf } from '../../../server/cli/define-command.js';
import { COMMANDS } from '../../../server/cli/program.js';
import { REMOTE_COMMANDS } from '../../../server/cli/remote/remote-commands.js';
import { invented } from '../../support/links/invented-plugin.js';
import { runCommand } from '../../support/processes/command-line.js';
import { type PaymentApp, startPaymentApp } from '../payments/app.js';

describe('mediagate --server', () => {
  let app: PaymentApp;
  let key: string;

  before(async () => {
    app = await startPaymentApp({ plugins: [{ use: invented() }] });
    key = await app.makeKey({ name: 'operators', grants: ['admin'] });
  });
  after(() => app?.close());

  const runWith = (given: Record<string, string>, ...args: string[]) =>
    // A data folder that does not exist: nothing of this machine is read.
    runCommand(args, { DATA_DIR: '/nonexistent/mediagate', ...given });
  const run = (...args: string[]) => runWith({ MEDIAGATE_KEY: key }, '--server', app.url, ...args);

  async function json(...args: string[]) {
    const { code, stdout, stderr } = await run(...args, '--json');
    expect(code, stderr).to.equal(0);
    return JSON.parse(stdout);
  }

  it('lists what the running gateway has', async () => {
    await app.customer('ann@example.com');
    const users = await json('users', 'list');
    expect(users.map(({ email }: { email: string }) => email)).to.include('ann@example.com');
    const { stdout } = await run('users', 'list', '--limit', '1');
    expect(stdout.split('\n')[0]).to.match(/^ID +ACCOUNT +EMAIL/);
    expect(await json('models', 'list')).to.be.an('array');
    expect((await json('plugins'))[0]).to.include({ state: 'ready' });
    expect(await json('jobs', 'list', '--state', 'failed')).to.deep.equal([]);
    expect((await json('doctor'))[0]).to.include({ name: 'database', level: 'ok' });
    expect((await json('keys', 'list')).map(({ name }: { name: string }) => name)).to.deep.equal(['operators']);
    await app.state.alerts.note([{ kind: 'disk_low', subject: 'n', detail: { percent: 1 } }]);
    const [alert] = await json('alerts', 'list');
    expect(alert).to.include({ kind: 'disk_low', state: 'open' });
    expect(await json('alerts', 'acknowledge', alert.id)).to.include({ state: 'acknowledged' });
    expect(await json('usage', '--by', 'model')).to.be.an('array');
  });

  it('reads groups, blocked items and transfers as the commands on its machine', async () => {
    await app.customer('bob@example.com');
    const none = await run('balances', 'show', 'bob@example.com');
    expect([none.code, none.stderr]).to.deep.equal([1, 'mediagate: This account has no prepaid balance.\n']);
    await json('groups', 'create', 'research', '--budget', '50 requests/day');
    await json('keys', 'create', '--name', 'first', '--grant', 'text', '--group', 'research');
    const group = await json('groups', 'show', 'research');
    expect(group).to.deep.include({ name: 'research' });
    expect(group.keys).to.have.length(1);
    expect(group.keys[0]).to.include({ name: 'first' });
    expect((await run('groups', 'show', 'nothing')).stderr).to.contain('There is no group nothing');
    await app.state.blockedLinks.block('https://invented.example/item/1', { actor: 'operator:test', note: 'asked' });
    expect(await json('links', 'list')).to.deep.include.members([
      { ...(await json('links', 'list'))[0], url: 'https://invented.example/item/1', note: 'asked' },
    ]);
    const plans = await json('plans', 'list');
    expect(plans.plans.map(({ id }: { id: string }) => id)).to.include('token_30m');
    expect((await run('plans', 'list')).stdout).to.contain('token_30m');
    expect(await json('payments', 'review')).to.deep.equal([]);
    expect((await run('payments', 'review', 'bank:none')).code).to.equal(1);
  });

  it('changes it, with the key of the command line too', async () => {
    const made = await json('keys', 'create', '--name', 'bot', '--grant', 'text,images', '--rpm', 'unlimited');
    expect(made).to.deep.include({ name: 'bot', rpm: null, grants: ['images', 'text'] });
    const changed = await json('keys', 'update', made.id, '--rpm', '7', '--budget', '10 requests/day');
    expect(changed).to.include({ rpm: 7 });
    const revoked = await runWith({}, '--server', app.url, '--key', key, 'keys', 'revoke', made.id);
    expect([revoked.code, revoked.stdout]).to.deep.equal([0, `Key ${made.id} is revoked.\n`]);
    await json('users', 'suspend', 'ann@example.com', '--note', 'trial');
    expect((await json('users', 'show', 'ann@example.com')).state).to.equal('suspended');
    await json('users', 'resume', 'ann@example.com');
    expect(await json('plans', 'grant', 'ann@example.com', 'token_30m')).to.include({ plan: 'token_30m' });
  });

  it('says in one line what is wrong', async () => {
    const other = await app.makeKey({ grants: ['text'] });
    const stopped = createServer().listen(0, '127.0.0.1');
    await once(stopped, 'listening');
    const closed = `http://127.0.0.1:${(stopped.address() as AddressInfo).port}`;
    await new Promise((done) => stopped.close(done));
    const cases: readonly (readonly [Record<string, string>, readonly string[], number, RegExp])[] = [
      [
        { MEDIAGATE_KEY: other },
        ['--server', app.url, 'users', 'list'],
        1,
        /does not accept this key: the grant admin/,
      ],
      [
        { MEDIAGATE_KEY: key },
        ['--server', closed, 'users', 'list'],
        1,
        /127\.0\.0\.1:\d+ does not answer \(ECONNREFUSED\)/,
      ],
      [{}, ['--server', app.url, 'users', 'list'], 2, /needs a key with the grant admin.*MEDIAGATE_KEY/],
      [{ MEDIAGATE_KEY: key }, ['--server', 'gateway', 'users', 'list'], 2, /--server must be the address/],
      [
        { MEDIAGATE_KEY: key },
        ['--server', app.url, 'backup', '/tmp/none'],
        2,
        /"mediagate backup" works on this machine/,
      ],
      [
        { MEDIAGATE_KEY: key },
        ['--server', app.url, 'keys', 'list', '--internal'],
        2,
        /--internal cannot be used with --server/,
      ],
      [
        { MEDIAGATE_KEY: key },
        ['--server', app.url, 'keys', 'create', '--rpm', 'fast'],
        2,
        /--rpm must be a number, or unlimited/,
      ],
      [
        { MEDIAGATE_KEY: key },
        ['--server', app.url, 'keys', 'create', '--plan', 'token_30n'],
        1,
        /Did you mean "token_30m"/,
      ],
      [{ MEDIAGATE_KEY: key }, ['--server', app.url, 'users', 'show', 'user_none'], 1, /There is no such user/],
    ];
    for (const [given, args, code, message] of cases) {
      const result = await runWith(given, ...args);
      expect(result.code, `${args.join(' ')}: ${result.stderr}`).to.equal(code);
      expect(result.stderr).to.match(message);
      expect(result.stderr + result.stdout).not.to.contain(key);
    }
  });

  it('never sends the key on to another address', async () => {
    const seen: (string | undefined)[] = [];
    const elsewhere = createServer((request, response) => {
      seen.push(request.headers.authorization);
      response.end('{}');
    }).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const target = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    const redirecting = createServer((_request, response) => {
      response.writeHead(307, { location: target }).end();
    }).listen(0, '127.0.0.1');
    await once(redirecting, 'listening');
    const server = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
    try {
      const { code, stderr } = await runWith({ MEDIAGATE_KEY: key }, '--server', server, 'users', 'list');
      expect(code).to.equal(1);
      expect(stderr).to.match(/is no gateway with an admin API\. It redirects elsewhere/);
      expect(seen).to.deep.equal([]);
    } finally {
      elsewhere.close();
      redirecting.close();
    }
  });

  it('has only commands that exist, with options that they have', () => {
    for (const [name, { options }] of Object.entries(REMOTE_COMMANDS)) {
      const declared = COMMANDS.find((command) => command.name === name);
      expect(declared, name).not.to.equal(undefined);
      const flags = Object.entries(declared?.options ?? {}).map(([flag, option]) => {
        expect(optionOf(option).text).not.to.equal('');
        return /--(?:no-)?([a-z-]+)/
          .exec(flag)?.[1]
          ?.replace(/-([a-z])/g, (_all, letter: string) => letter.toUpperCase());
      });
      // A list on this machine is whole where the API has pages.
      for (const option of options) if (option !== 'limit') expect(flags, `${name} --${option}`).to.include(option);
    }
  });
});
