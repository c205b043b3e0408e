/** Prepaid balances and invitations by the admin API: what they list, change, refuse and write to ledger and audit log. */

import { expect } from 'chai';
import { signUp, topUpOrder } from '../../support/accounts/people.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { runCommand } from '../../support/processes/command-line.js';
import type { Answer } from '../http/listening-app.js';
import { type PaymentApp, startPaymentApp } from '../payments/app.js';

describeOnStacks('money and people by the admin API', (stack) => {
  let app: PaymentApp;
  let key: string;
  let actor: string;

  before(async () => {
    app = await startPaymentApp({ stack });
    key = await app.makeKey({ name: 'operators', grants: ['admin'] });
    actor = `operator:key:${key.slice(6, 14)}`;
  });
  after(() => app?.close());

  const send = (method: string, path: string, body?: object): Promise<Answer> =>
    app.request(`/v1/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  async function read(path: string): Promise<Answer['json']> {
    const { status, json, text } = await send('GET', path);
    expect(status, text).to.equal(200);
    return json;
  }
  async function post(path: string, body: object = {}): Promise<Answer['json']> {
    const { status, json, text } = await send('POST', path, body);
    expect(status, `${path}: ${text}`).to.equal(200);
    return json;
  }
  async function refused(path: string, body: object = {}) {
    const { status, json } = await send('POST', path, body);
    return [status, json.error?.code, json.error?.param];
  }

  /** An account with 10 EUR of a top-up. */
  async function customer() {
    const { accountId, id } = await signUp(app.state);
    const { code } = await topUpOrder(app.state, accountId);
    await post(`/orders/${code}/confirm`);
    return { accountId, id, code, path: `/balances/${accountId}` };
  }

  it('list every balance once, in pages', async () => {
    const all = [await customer(), await customer(), await customer()].map(({ accountId }) => accountId);
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const page = await read(`/balances?limit=2${after && `&after=${after}`}`);
      seen.push(...page.data.map(({ account }: { account: string }) => account));
      if (page.next === null) break;
      after = page.next;
    }
    expect(seen).to.deep.equal([...all].sort());
    const sum = { currency: 'EUR', balances: 3, amount: 30_000_000, reserved: 0, held: 0 };
    expect(await app.state.balances.sums()).to.deep.equal([sum]);
    const { data } = await read('/balances?limit=1');
    expect(data[0]).to.deep.include({ may_top_up: null });
    expect(data[0].balance).to.deep.equal({
      ...{ account: data[0].account, currency: 'EUR', amount: '10', reserved: '0', free: '10', on_hold_since: null },
    });
  });

  it('add and take money with a reason, as movements of two rows', async () => {
    const { accountId, path, id } = await customer();
    expect(await post(`${path}/adjust`, { amount: '5 EUR', note: 'goodwill' })).to.deep.equal({
      account: accountId,
      moved: '5',
    });
    expect((await post(`${path}/adjust`, { amount: '-2.5 EUR', note: 'a gift card' })).moved).to.equal('-2.5');
    // At most what is free.
    expect((await post(`/balances/${id}/adjust`, { amount: '-50 EUR', note: 'closing' })).moved).to.equal('-12.5');
    const { data, has_more, next } = await read(`${path}/movements?limit=2`);
    expect(data.map((row: Record<string, string>) => [row.kind, row.amount, row.left, row.reference])).to.deep.equal([
      ['adjustment', '-12.5', '0', 'closing'],
      ['adjustment', '-2.5', '12.5', 'a gift card'],
    ]);
    expect(has_more).to.equal(true);
    const older = await read(`${path}/movements?limit=2&after=${next}`);
    expect(older.data.map(({ kind }: { kind: string }) => kind)).to.deep.equal(['adjustment', 'top_up']);
    expect(older.next).to.equal(null);
    expect(data.map(({ note }: { note: string }) => note)).to.deep.equal([actor, actor]);
    // The account reads the reason, and no id of an operator.
    const own = await app.state.ledger.statement({ accountId, limit: 2 });
    expect(own.map(({ reference, note }) => [reference, note])).to.deep.equal([
      ['closing', ''],
      ['a gift card', ''],
    ]);
    const audit = await read(`/audit?subject=${accountId}&limit=1`);
    expect(audit.data[0]).to.include({
      action: 'balance.adjusted',
      actor,
      note: 'closing',
      amount: '-12.5',
      currency: 'EUR',
    });
    const { unbalanced, different } = await app.state.ledger.sums();
    expect({ unbalanced, different }).to.deep.equal({ unbalanced: [], different: [] });
  });

  it('refuse amounts, reasons, fields and cursors that are none', async () => {
    const { path } = await customer();
    const other = await customer();
    expect(await refused(`${path}/adjust`, { amount: '5 EUR' })).to.deep.equal([
      400,
      'missing_required_parameter',
      'note',
    ]);
    for (const amount of ['5', '5 USD', '0 EUR', '5 EUR/month', '1e9 EUR', '5000 tokens', '', '9999999999 EUR']) {
      expect(await refused(`${path}/adjust`, { amount, note: 'x' }), amount).to.deep.equal([
        400,
        'invalid_value',
        'amount',
      ]);
    }
    for (const body of [
      { amount: '5 EUR', note: 'x', currency: 'USD' },
      { amount: '5 EUR', note: 'x', actor: 'me' },
    ]) {
      expect((await refused(`${path}/adjust`, body))[1]).to.equal('unsupported_parameter');
    }
    expect(await refused('/balances/acct_none/adjust', { amount: '5 EUR', note: 'x' })).to.deep.equal([
      404,
      'user_not_found',
      'id',
    ]);
    const fresh = await signUp(app.state);
    expect((await refused(`/balances/${fresh.accountId}/adjust`, { amount: '5 EUR', note: 'x' }))[1]).to.equal(
      'invalid_value',
    );
    expect(await read(`/balances/${fresh.id}`)).to.deep.equal({ account: fresh.accountId, balance: null });
    // The cursor of another account is a place, and gives no access to that account.
    await post(`${other.path}/adjust`, { amount: '1 EUR', note: 'theirs' });
    const { next } = await read(`${other.path}/movements?limit=1`);
    expect(
      (await read(`${path}/movements?after=${next}`)).data.map(({ note }: { note: string }) => note),
    ).not.to.include('theirs');
    const invented = Buffer.from('1 2;drop').toString('base64url');
    for (const after of [invented, 'x', Buffer.from(`1 ${"'"}`).toString('base64url')]) {
      const { status, json } = await send('GET', `${path}/movements?after=${after}`);
      expect([status, json.error.param]).to.deep.equal([400, 'after']);
    }
  });

  it('give back a top-up as a reversal, and end top-ups and holds', async () => {
    const { accountId, path, code } = await customer();
    expect(await post(`${path}/allow`, { note: 'asked' })).to.deep.equal({ account: accountId, may_top_up: true });
    await post(`/orders/${code}/refund`, { note: 'wrong account' });
    const { data } = await read(`${path}/movements`);
    expect(data.map((row: Record<string, string>) => [row.kind, row.amount, row.reference])).to.deep.equal([
      ['refund', '-10', code],
      ['top_up', '10', code],
    ]);
    expect((await read(path)).balance.free).to.equal('0');
    expect(await post(`${path}/resume`)).to.deep.equal({ account: accountId, changed: false });
    expect(await post(`${path}/refuse`)).to.deep.equal({ account: accountId, may_top_up: false });
    expect((await app.state.ledger.sums()).different).to.deep.equal([]);
  });

  it('invite people by links that are answered once, and withdraw them', async () => {
    expect(await refused('/invitations', { name: 'Ann' }), 'at an IP address').to.deep.equal([
      503,
      'sign_in_unavailable',
      null,
    ]);
    const real = app.identity.status();
    const passkeys = { state: 'ready', host: 'localhost' } as const;
    Object.defineProperty(app.identity, 'status', { value: () => ({ ...real, passkeys }) });
    const made = await post('/invitations', { role: 'billing', name: 'Ben', hours: 2, note: 'new colleague' });
    expect(made.link).to.match(/\/invite#[\w-]{43}$/);
    expect(made).to.include({ role: 'billing', name: 'Ben', user: null });
    const audit = await read(`/audit?subject=${made.id}`);
    expect(audit.data[0]).to.include({ action: 'invitation.created', actor, note: 'new colleague' });
    for (const name of ['One', 'Two']) await post('/invitations', { name });
    const pages: { name: string }[] = [];
    for (let after = ''; ; ) {
      const page = await read(`/invitations?limit=2${after && `&after=${after}`}`);
      pages.push(...page.data);
      expect(JSON.stringify(page)).not.to.contain(made.link.split('#')[1]);
      if (page.next === null) break;
      after = page.next;
    }
    expect(pages.map(({ name }) => name).sort()).to.deep.equal(['Ben', 'One', 'Two']);
    for (const [body, code, param] of [
      [{ role: 'admin' }, 'invalid_value', 'role'],
      [{ hours: 721 }, 'invalid_value', 'hours'],
      [{ userId: 'user_1' }, 'unsupported_parameter', 'userId'],
      [{ user: 'user_none' }, 'user_not_found', 'id'],
    ] as const) {
      expect((await refused('/invitations', body)).slice(1), JSON.stringify(body)).to.deep.equal([code, param]);
    }
    expect(await post(`/invitations/${made.id}/withdraw`)).to.deep.equal({ id: made.id, withdrawn: true });
    expect((await post(`/invitations/${made.id}/withdraw`)).withdrawn).to.equal(false);
  });

  it('are commands with --server', async () => {
    const { accountId } = await customer();
    const run = (...args: string[]) =>
      runCommand(['--server', app.url, ...args], { DATA_DIR: '/nonexistent/mediagate', MEDIAGATE_KEY: key });
    const done = await run('balances', 'adjust', accountId, '5 EUR', '--note', 'goodwill', '--json');
    expect(JSON.parse(done.stdout), done.stderr).to.deep.equal({ account: accountId, moved: '5' });
    const without = await run('balances', 'adjust', accountId, '5 EUR');
    expect([without.code, without.stderr]).to.satisfy(
      ([code, words]: [number, string]) => code === 2 && words.includes('--note'),
    );
    expect((await run('balances', 'list')).stdout).to.match(new RegExp(`${accountId} +- +EUR +15 +0`));
    await post(`/balances/${accountId}/adjust`, { amount: '-1.5 EUR', note: 'a "mistake", mended' });
    const shown = JSON.parse((await run('balances', 'show', accountId, '--json')).stdout);
    expect(shown).to.include({ account: accountId, amount: '13.5', currency: 'EUR' });
    expect(shown.statement.map(({ amount }: { amount: string }) => amount)).to.deep.equal(['-1.5', '5', '10']);
    const { csv } = JSON.parse((await run('balances', 'statement', accountId, '--json')).stdout);
    let whole = '';
    for await (const part of app.state.ledger.csv(accountId)) whole += part;
    expect(csv).to.equal(whole);
    const check = await run('balances', 'check', '--json');
    expect([check.code, JSON.parse(check.stdout)], check.stderr).to.deep.equal([0, await read('/ledger')]);
    expect((await run('balances', 'check')).stdout).to.contain('All sums agree.');
    const invited = await run('users', 'invite', '--operator', '--hours', '4');
    expect(invited.stdout, invited.stderr).to.match(/\/invite#[\w-]{43}\n$/);
    const listed = await run('users', 'invitations', '--json');
    const [newest] = JSON.parse(listed.stdout);
    expect(newest).to.include({ role: 'operator', invited_by: actor });
    expect((await run('users', 'uninvite', newest.id)).code).to.equal(0);
    expect((await run('users', 'uninvite', newest.id)).code).to.equal(1);
  });
});
