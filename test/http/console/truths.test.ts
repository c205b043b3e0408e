/** What the console states of money, keys, incidents and what waits agrees with what customers read. */

import { expect } from 'chai';
import { type ExtractCall, GatewayError } from 'mediagate';
import { FREE, newKey, order, signUp, topUpOrder, transfer } from '../../support/accounts/people.js';
import { acceptJob } from '../../support/jobs/job-acceptance.js';
import { invented } from '../../support/links/invented-plugin.js';
import { type ConsoleApp, startConsoleApp } from './console-app.js';

describe('the facts of the console', () => {
  let its: ConsoleApp;

  before(async () => {
    const extract = ({ link }: ExtractCall) =>
      Promise.reject(
        link.id === '404'
          ? new GatewayError('private', 'The item is private.')
          : new GatewayError('upstream_error', 'The server could not be reached.'),
      );
    its = await startConsoleApp({ plugins: [{ use: invented({ extract }) }] });
  });
  after(() => its?.app.close());

  const inVietnamese = async <Found>(look: () => Promise<Found>): Promise<Found> => {
    const { app, operatorId } = its;
    await app.state.users.setLanguage(operatorId, 'vi');
    return look().finally(() => app.state.users.setLanguage(operatorId, 'en'));
  };

  it('say that all is well only while nothing waits', async () => {
    const { app, read } = its;
    const first = await read('/admin');
    expect(first.page('.notice-good').text()).to.contain('All is well.');
    expect(first.page('.notice-warn')).to.have.length(0);
    const detail = { of: 'key', name: 'night', unit: 'tokens', limit: 9, used: 8, resets: 'day' };
    await app.state.alerts.note([{ kind: 'budget_low', subject: 'night', detail }]);
    for (let index = 0; index < 6; index += 1) await app.state.orders.record(transfer('no code'));
    const { page } = await read('/admin');
    expect(page('.notice-good')).to.have.length(0);
    expect(page('.notice-warn strong').text()).to.equal('Running, more than 6 things wait for you.');
    const other = await inVietnamese(() => read('/admin'));
    expect(other.page('.notice-warn strong').text()).to.equal('Đang chạy, hơn 6 việc đang chờ bạn.');
  });

  it('say what fails again and again, before any alert opens', async () => {
    const { app, read } = its;
    const key = await app.makeKey({ grants: ['extract'] });
    const warned = async () => {
      await app.state.usage.flushCounts();
      return (await read('/admin')).page('.notice-warn li').text();
    };
    // What is wrong with an item is no failure of the gateway.
    for (let index = 0; index < 4; index += 1) await app.extract(key, { url: 'https://invented.example/item/404' });
    for (const item of [1, 2]) await app.extract(key, { url: `https://invented.example/item/${item}` });
    expect(await warned()).to.equal('');
    const { status } = await app.extract(key, { url: 'https://invented.example/item/3' });
    expect(status).to.equal(502);
    expect(await warned()).to.equal('invented failed with upstream_error 3 times in the last 15 minutes');
  });

  it('write amounts of transfers in units of their currency', async () => {
    const { app, read } = its;
    const { accountId } = await signUp(app.state);
    const sent = [
      { amount: 2_400, currency: 'EUR', wanted: '€24.00' },
      { amount: 299_000, currency: 'VND', wanted: '₫299,000' },
    ];
    for (const { wanted, ...money } of sent) {
      const { code } = await order(app.state, accountId, money);
      await app.state.orders.record(transfer(code, { ...money, id: `B-${money.currency}` }));
      for (const path of [`/admin/orders/${code}`, '/admin/audit?action=order.money']) {
        expect((await read(path)).page('main').text(), path).to.match(
          new RegExp(`${wanted.replaceAll('.', '\\.')} · (?:Reason: )?bank B-${money.currency}`),
        );
      }
    }
    const lost = transfer('no code', { amount: 900, id: 'B-lost' });
    await app.state.orders.record(lost);
    const { code } = await order(app.state, accountId, { amount: 900 });
    await app.state.orders.match(lost, { code, actor: 'operator:test', note: 'asked' });
    const [row] = (await app.state.audit.list({ subject: code, limit: 5 })).filter(
      ({ action }) => action === 'order.money',
    );
    expect(row).to.include({ note: 'bank B-lost; asked', amount: '9.00', currency: 'EUR' });
  });

  it('show a rotated key with the badge and the day of its owner', async () => {
    const { app, read, member } = its;
    const [user] = await app.state.users.findByEmail('member@example.com');
    const made = await app.state.keys.issue({
      accountId: user!.accountId,
      key: newKey(),
      otherwise: FREE,
      maxKeys: 3,
    });
    const { status } = await its.post(`/admin/keys/${made.id}/rotate`, { hours: '24' });
    expect(status).to.equal(200);
    const own = (await read('/keys', member)).page(`#key-${made.id}`);
    expect(own.find('.badge').first().text()).to.equal('Rotated');
    const day = own.find('time').last().text();
    for (const path of ['/admin/keys', `/admin/users/${user!.id}`]) {
      const { page } = await read(path);
      const cells = page(`a[href="/admin/keys/${made.id}"]`).closest('tr');
      expect(cells.find('.badge').text(), path).to.equal('Rotated');
      expect(cells.text(), path).to.contain(`Expires ${day}`);
    }
    const facts = (await read(`/admin/keys/${made.id}`)).page('.console-facts');
    expect(facts.find('.badge').text()).to.equal('Rotated');
    expect(facts.text()).to.contain(`Expires ${day}`);
  });

  it('say how far the money of an order is from its price, and what its review can do', async () => {
    const { app, read } = its;
    const { accountId } = await signUp(app.state);
    const over = await order(app.state, accountId);
    await app.state.orders.record(transfer(over.code, { amount: 1_500, id: 'B-over' }));
    const { page } = await read(`/admin/orders/${over.code}`);
    expect(page('.totals').text()).to.contain('€5.00 too much');
    expect(page('.notice-warn').text())
      .to.contain('More money arrived than the order costs.')
      .and.to.contain('Refund records');
    const { page: list } = await read('/admin/transfers');
    const row = list(`a[href="/admin/orders/${over.code}"]`).closest('tr').text();
    expect(row).to.contain('Expected: €10.00').and.to.contain('€5.00 too much').and.to.contain('Open the order');
    const under = await order(app.state, accountId);
    await app.state.orders.record(transfer(under.code, { amount: 400 }));
    const facts = (await read(`/admin/orders/${under.code}`)).page('.totals').text();
    expect(facts).to.contain('€6.00 too little');
    const other = await inVietnamese(() => read(`/admin/orders/${over.code}`));
    expect(other.page('.totals').text()).to.match(/Thừa\s5,00/);
  });

  it('name the people who acted, with their ids as titles', async () => {
    const { app, operatorId, post, read } = its;
    const actor = `operator:${operatorId}`;
    const name = (await app.state.users.find(operatorId))?.name ?? 'operator@example.com';
    const other = await signUp(app.state);
    await post(`/admin/users/${other.id}/suspend`);
    await app.state.invitations.invite({ role: 'member', name: 'Ben', actor });
    for (const path of ['/admin/audit?action=user.suspended', `/admin/users/${other.id}`, '/admin/invitations']) {
      expect((await read(path)).page(`bdi[title="${actor}"]`).first().text(), path).to.equal(name);
    }
  });

  it('offer to allow or to end top-ups, and write movements with a sign', async () => {
    const { app, post, read } = its;
    const { accountId } = await signUp(app.state);
    const path = `/admin/balances/${accountId}`;
    const offers = async () => {
      const { page } = await read(path);
      return ['allow', 'refuse'].filter((verb) => page(`form[action="${path}/${verb}"]`).length > 0);
    };
    expect(await offers()).to.deep.equal(['allow']);
    await post(`${path}/allow`);
    expect(await offers()).to.deep.equal(['refuse']);
    const { code } = await topUpOrder(app.state, accountId);
    await post(`/admin/orders/${code}/confirm`);
    await post(`${path}/adjust`, { amount: '-2.5 EUR' });
    await post(`${path}/refuse`);
    expect(await offers()).to.deep.equal(['allow']);
    const rows = (await read(path)).page('#movements').closest('section').find('tbody').text();
    expect(rows).to.contain('+€10.00').and.to.contain('−€2.50');
  });

  it('list jobs of all states unless one is chosen', async () => {
    const chosen = async (path: string) => {
      const { page } = await its.read(path);
      const options = page('select[name="state"] option');
      return [options.first().text(), options.filter('[selected]').attr('value') ?? ''];
    };
    expect(await chosen('/admin/jobs')).to.deep.equal(['All', '']);
    expect(await chosen('/admin/jobs?state=active')).to.deep.equal(['All', 'active']);
  });

  it('sum up jobs in a line of figures above the whole list, without a table', async () => {
    const summary = { model: 'gen-img-2' };
    const job = { kind: 'image', owner: 'one', keyId: 'one', input: null, maxActive: 9, summary } as const;
    await acceptJob(its.app.state.jobs, { job });
    const { page } = await its.read('/admin/jobs');
    const figures = page('.totals-line > div')
      .toArray()
      .map((one) => page(one).children('dt').text() + page(one).find('dd').contents().first().text());
    expect(figures.slice(0, 2)).to.deep.equal(['Queued1 show the jobs', 'Running0']);
    expect(page('.totals-line a').first().attr('href')).to.equal('/admin/jobs?state=queued');
    expect(page('#queues, .compact')).to.have.length(0);
    expect((await its.read('/admin/jobs?state=queued')).page('.totals-line')).to.have.length(0);
  });

  it('call an incident that begins later planned', async () => {
    const { app, read } = its;
    const startedAt = Date.now() + 86_400_000;
    const planned = { title: 'New disks', kind: 'maintenance', message: null, startedAt } as const;
    await app.state.incidents.add({ ...planned, actor: 'operator:test' });
    await app.state.incidents.add({ ...planned, title: 'Slow', startedAt: Date.now() - 1, actor: 'operator:test' });
    const { page } = await read('/admin/incidents');
    const badges = page('main .rows > li').toArray();
    expect(badges.map((one) => page(one).find('.incident-head .badge').text())).to.deep.equal(['Open', 'Planned']);
    const waiting = (await read('/admin')).page('#waiting').closest('section').text();
    expect(waiting).to.contain('Planned incident').and.to.contain('Open incident');
  });
});
