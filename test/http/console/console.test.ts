/** The console: who reaches it, what its pages show, what its forms do, and that stored markup stays text. */

import { expect } from 'chai';
import { load } from 'cheerio';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { FREE, newKey, order, signUp, topUpOrder, transfer } from '../../support/accounts/people.js';
import { type ConsoleApp, fillHostile, HOSTILE, startConsoleApp } from './console-app.js';

/** Bytes of the markup of a page; styles and fonts are shared with other pages. */
const MAX_BYTES = 44_000;

describe('the console', () => {
  let its: ConsoleApp;
  let filled: Awaited<ReturnType<typeof fillHostile>>;
  let paths: readonly string[];

  before(async () => {
    its = await startConsoleApp();
    filled = await fillHostile(its.app);
    const { user, orders, review } = filled;
    paths = [
      ...['/admin', '/admin/users', '/admin/users?state=suspended', `/admin/users/${user.id}`],
      ...[`/admin/users/${its.operatorId}`, '/admin/orders', '/admin/orders?state=needs_review'],
      ...[...orders, review].map(({ code }) => `/admin/orders/${code}`),
      ...['/admin/transfers', '/admin/transfers?review=all', '/admin/keys', `/admin/keys/${filled.key.id}`],
      ...['/admin/models', '/admin/models?q=none', '/admin/requests', '/admin/requests?outcome=failed'],
      ...[
        '/admin/jobs',
        '/admin/jobs?state=failed',
        '/admin/alerts',
        '/admin/groups',
        '/admin/invitations',
        '/admin/balances',
        '/admin/applications',
        `/admin/balances?q=${user.id}`,
        `/admin/orders?q=${review.code}`,
        `/admin/balances/${user.accountId}`,
        '/admin/alerts?state=all',
        '/admin/incidents',
        '/admin/audit',
        '/admin/audit?action=job.cancelled',
      ],
      ...[`/admin/audit?subject=${filled.user.id}`, `/admin/requests?account=${user.accountId}`],
    ];
  });
  after(() => its?.app.close());

  const rowsOf = (page: ReturnType<typeof load>) => page('tbody tr').length;

  it('is a path without a route for everybody but operators, by every method', async () => {
    const { app, member } = its;
    const routes = app.declaredRoutes().filter(({ path }) => path.startsWith('/admin'));
    expect(routes.length).to.be.at.least(14);
    const key = await app.makeKey({ grants: ['admin'] });
    for (const { method, path } of routes) {
      const target = app.url + path.replace(/:\w+/g, 'none');
      const form = method === 'POST' ? {} : undefined;
      for (const browser of [createBrowserSession(), member]) {
        const answer = await browser.send(target, { method, ...(form && { form }) });
        expect([answer.status, load(answer.text)('h1').text()], path).to.deep.equal([404, 'Page not found']);
      }
      const foreign = { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' };
      const { status } = await member.send(target, { method, ...(form && { form }), headers: foreign });
      expect(status, `${path} from another site`).to.equal(404);
      const headers = { authorization: `Bearer ${key}`, 'sec-fetch-site': 'same-origin' };
      const byKey = await createBrowserSession().send(target, { method, ...(form && { form }), headers });
      expect(byKey.status, `${path} by a key`).to.equal(404);
    }
  });

  it('is linked from the header for operators alone', async () => {
    const { read, member } = its;
    expect((await read('/dashboard')).page('header a[href="/admin"]')).to.have.length(1);
    expect((await read('/plans')).page('header a[href="/admin"]')).to.have.length(1);
    expect((await read('/dashboard', member)).page('header a[href="/admin"]')).to.have.length(0);
    expect((await read('/plans', createBrowserSession())).page('header a[href="/admin"]')).to.have.length(0);
  });

  it('shows stored markup as text, on every page, with headers against frames', async () => {
    for (const language of ['en', 'vi']) {
      its.operator.setCookie(its.app.url, 'language', language);
      await its.app.state.users.setLanguage(its.operatorId, language);
      for (const path of paths) {
        const { status, text, headers, page } = await its.read(path);
        expect(status, path).to.equal(200);
        expect(page('html').attr('lang'), path).to.equal(language);
        expect(text, path).not.to.contain('<script>alert').and.not.to.contain('<img src=x');
        expect(page('[onerror]'), path).to.have.length(0);
        expect(Buffer.byteLength(text), path).to.be.below(MAX_BYTES);
        expect(headers.get('content-security-policy'), path)
          .to.contain("frame-ancestors 'none'")
          .and.to.contain("script-src 'self'");
        expect(headers.get('cache-control'), path).to.equal('no-store');
        const ids = page('[id]')
          .toArray()
          .map((one) => page(one).attr('id'));
        expect(new Set(ids).size, `${path}: an id twice`).to.equal(ids.length);
      }
    }
    await its.app.state.users.setLanguage(its.operatorId, 'en');
    const { page } = await its.read(`/admin/users/${filled.user.id}`);
    expect(page('h1').text()).to.equal(HOSTILE);
  });

  it('refuses forms of other sites, and changes nothing', async () => {
    const { app, operator } = its;
    const other = await signUp(app.state);
    for (const headers of [
      { origin: 'https://other.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://other.example', 'sec-fetch-site': 'same-site' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ]) {
      const { status } = await operator.send(`${app.url}/admin/users/${other.id}/suspend`, { form: {}, headers });
      expect(status).to.equal(403);
    }
    expect((await app.state.users.find(other.id))?.suspendedAt).to.equal(null);
  });

  it('answers what waits, who uses it and what runs on its first page', async () => {
    const { page } = await its.read('/admin');
    expect(page('#waiting').closest('section').text())
      .to.contain(filled.review.code)
      .and.to.contain('Bank transfer')
      .and.to.contain('Open incident');
    expect(page('#accounts').closest('section').find(`a[href="/admin/users/${filled.user.id}"]`)).to.have.length(1);
    expect(page('#queues').closest('section').text()).to.contain('Nothing waits');
    expect(page('nav.console-nav [aria-current]').text()).to.equal('Overview');
  });

  it('finds users, and suspends and resumes one with a reason in the audit log', async () => {
    const { app, read, post } = its;
    const other = await signUp(app.state);
    const { page: found } = await read(`/admin/users?q=${encodeURIComponent((other.email ?? '').slice(0, 12))}`);
    expect(found(`a[href="/admin/users/${other.id}"]`)).to.have.length(1);
    expect(rowsOf(found)).to.equal(1);
    const { status, location } = await post(`/admin/users/${other.id}/suspend`, { note: '  asked by mail ' });
    expect([status, location]).to.deep.equal([303, `${app.url}/admin/users/${other.id}?done=suspend`]);
    const { page } = await read(`/admin/users/${other.id}?done=suspend`);
    expect(page('.notice-good').text()).to.equal('The user is suspended.');
    expect(page('.console-facts').text()).to.contain('Suspended');
    expect(page(`form[action="/admin/users/${other.id}/resume"]`)).to.have.length(1);
    const [row] = await app.state.audit.list({ subject: other.id, limit: 1 });
    expect(row).to.include({
      action: 'user.suspended',
      actor: `operator:${its.operatorId}`,
      note: 'asked by mail',
    });
    await post(`/admin/users/${other.id}/resume`);
    expect((await app.state.users.find(other.id))?.suspendedAt).to.equal(null);
  });

  it('gives and ends plans, and says why not', async () => {
    const { app, read, post } = its;
    const other = await signUp(app.state);
    const path = `/admin/users/${other.id}/plan`;
    const wrong = await post(path, { plan: 'token_30', days: '' });
    expect(wrong.status).to.equal(400);
    expect(wrong.page('.problem').text()).to.contain('token_30m');
    expect(wrong.page(`form[action="${path}"]`).closest('dialog').attr('open')).not.to.equal(undefined);
    expect(wrong.page('dialog .problem').length).to.equal(1);
    expect((await post(path, { plan: 'token_30m', days: '1e3' })).page('.problem').text()).to.contain('whole number');
    await post(path, { plan: 'token_30m', days: '14' });
    const { page } = await read(`/admin/users/${other.id}`);
    expect(page('#plan').closest('section').find('.console-facts').text()).to.contain('30M tokens');
    await post(`${path}/end`);
    expect((await app.state.accounts.find(other.accountId))?.plan?.expiresAt ?? 0).to.be.at.most(Date.now());
  });

  it('makes a key that is shown once, changes, rotates and revokes it', async () => {
    const { app, read, post } = its;
    const sent = {
      name: 'night jobs',
      grant_text: 'on',
      rpm: '7',
      budgets: '100 requests/day, 2M tokens/month',
    };
    const made = await post('/admin/keys', sent);
    const text = made.page('#new-key-text').text();
    expect([made.status, text.slice(0, 6)], made.page('.problem').text()).to.deep.equal([200, 'sk-mg-']);
    const id = text.slice(6, 14);
    const path = `/admin/keys/${id}`;
    expect((await read(path)).text).not.to.contain(text);
    const lines = { budgets: 'other', budget_0_amount: 'much', budget_0_unit: 'tokens', budget_0_period: 'day' };
    const wrong = await post(`${path}/change`, { name: 'x', rpm: '7', ...lines, grant_text: 'on' });
    expect([wrong.status, wrong.page('#key-budget-0').attr('value')]).to.deep.equal([400, 'much']);
    expect(wrong.page('[name="budget_0_unit"] [selected]').attr('value')).to.equal('tokens');
    const limits = { expires: 'other', expires_other: '2031-05-06', ...lines, budget_0_amount: '5000' };
    await post(`${path}/change`, { name: 'renamed', rpm: '', ...limits, grant_text: 'on', grant_images: 'on' });
    const record = await app.state.keys.find(id);
    expect(record?.expiresAt).to.equal(Date.parse('2031-05-06T23:59:59Z'));
    expect((await app.state.budgets.of({ scope: 'key', subject: id }))[0]).to.include({
      tokenLimit: 5_000,
      resets: 'day',
    });
    expect(record).to.include({ name: 'renamed', rpm: null });
    expect((await read(`/admin/keys?q=${id}`)).page('tbody').text()).to.match(/5.* of 5.*Tokens · a day/);
    expect(record?.grants).to.have.members(['text', 'images']);
    const rotated = await post(`${path}/rotate`, { hours: '0' });
    const next = rotated.page('#new-key-text').text();
    expect(next)
      .to.match(/^sk-mg-/)
      .and.not.equal(text);
    await post(`/admin/keys/${next.slice(6, 14)}/revoke`, { jobs: 'cancel' });
    expect((await app.state.keys.find(next.slice(6, 14)))?.revokedAt).to.be.a('number');
  });

  it('sets budgets of an account, and publishes, updates and closes an incident', async () => {
    const { app, read, post } = its;
    const other = await signUp(app.state);
    await post(`/admin/users/${other.id}/budgets`, { budgets: '500 requests/day' });
    expect((await read(`/admin/users/${other.id}`)).page('#budgets-of').closest('section').text()).to.contain('500');
    expect((await post(`/admin/users/${other.id}/budgets`, { budgets: 'many' })).status).to.equal(400);
    await post('/admin/incidents', { title: 'Images are slow', kind: 'outage', message: '', starts: '' });
    const [incident] = await app.state.incidents.list({ since: 0, limit: 1 });
    expect(incident).to.include({ title: 'Images are slow', kind: 'outage', endedAt: null });
    const path = `/admin/incidents/${incident?.id}`;
    await post(`${path}/updates`, { text: 'A disk is full.', state: 'identified' });
    await post(`${path}/updates`, { text: 'It is being emptied.', state: '' });
    await post(`${path}/rename`, { new_title: 'Images wait' });
    const failed = await post(`${path}/updates`, { text: ' ', state: 'monitoring' });
    expect([failed.status, failed.page('dialog[open] select').attr('name')]).to.deep.equal([400, 'state']);
    const { page: shown } = await read('/admin/incidents');
    expect(shown('.incident-head').first().text()).to.equal('Images waitIdentified');
    await post(`${path}/close`, { outcome: 'Fixed.' });
    const { page: status } = await read('/status', createBrowserSession());
    const one = status('.incident').filter((_, incident) => status(incident).find('h3').text() === 'Images wait');
    const steps = one.find('.incident-steps').children().toArray();
    expect(steps.map((step) => status(step).find('strong').text())).to.deep.equal([
      ...['Resolved', 'Update', 'Identified', 'Began'],
    ]);
    expect(one.find('.incident-steps').text()).to.contain('Fixed.');
  });

  it('makes groups with budgets, changes and deletes them', async () => {
    const { app, read, post } = its;
    const wrong = await post('/admin/groups', { name: 'Not Good', budgets: '' });
    expect([wrong.status, wrong.page('#name').attr('value')]).to.deep.equal([400, 'Not Good']);
    await post('/admin/groups', { name: 'night', budgets: '20 USD/month, 5 requests/day' });
    expect((await app.state.budgets.of({ scope: 'group', subject: 'night' })).length).to.equal(2);
    const bad = await post('/admin/groups/night/budgets', { budgets: 'a lot' });
    expect([bad.status, bad.page('#budgets-night-0').attr('value')]).to.deep.equal([400, 'a lot']);
    await post('/admin/groups/night/budgets', { budgets: '7 requests/day' });
    expect((await read('/admin/groups?q=night')).page('main li').text()).to.contain('7 of 7');
    await post('/admin/groups/night/delete');
    expect((await app.state.budgets.groups()).map(({ name }) => name)).not.to.include('night');
    expect((await post('/admin/groups/night/delete')).status).to.equal(400);
  });

  it('invites a person by a link that is shown once, and withdraws it', async () => {
    const { app, read, post } = its;
    const refused = await post('/admin/invitations', { role: 'member' });
    expect(refused.status, 'at an IP address').to.equal(503);
    const real = app.identity.status();
    const passkeys = { state: 'ready', host: 'localhost' } as const;
    Object.defineProperty(app.identity, 'status', { value: () => ({ ...real, passkeys }) });
    const made = await post('/admin/invitations', { role: 'operator', name: 'Ben', hours: '2', note: 'new colleague' });
    const link = made.page('#new-link-text').text();
    expect([made.status, link], made.page('.problem').text()).to.satisfy(
      ([status, text]: [number, string]) => status === 200 && /\/invite#[\w-]{43}$/.test(text),
    );
    const invitation = (await app.state.invitations.list()).find(({ name }) => name === 'Ben');
    expect(invitation).to.include({ role: 'operator', invitedBy: `operator:${its.operatorId}` });
    const { text } = await read('/admin/invitations');
    expect(text).to.contain('Ben').and.not.contain(link.split('#')[1]);
    expect((await post('/admin/invitations', { role: 'member', hours: '9999' })).status).to.equal(400);
    expect((await post('/admin/invitations', { role: 'member', user: 'user_none' })).status).to.equal(404);
    expect((await post('/admin/invitations', { role: 'operator', plan: 'token_30m' })).status).to.equal(400);
    const fresh = await post('/admin/invitations', { role: 'member', name: 'Cem', plan: 'token_30m', hours: '72' });
    expect(fresh.page('tbody').text()).to.contain('30M tokens').and.contain('3 d left');
    expect(fresh.page('main').text()).to.contain(
      'The free tier: 50 model requests in all, 30 requests a minute, m-5.5.',
    );
    await post(`/admin/invitations/${invitation?.id}/withdraw`);
    expect((await app.state.invitations.list()).some(({ name }) => name === 'Ben')).to.equal(false);
  });

  it('allows top-ups, adjusts a balance, and gives its statement as CSV', async () => {
    const { app, read, post, operator } = its;
    const other = await signUp(app.state);
    const path = `/admin/balances/${other.accountId}`;
    const unknown = await post('/admin/balances', { user: 'user_none' });
    expect([unknown.status, unknown.page('#user').attr('value')]).to.deep.equal([404, 'user_none']);
    await post('/admin/balances', { user: other.id, note: 'asked' });
    expect((await read('/admin/balances')).page(`a[href="${path}"]`)).to.have.length(1);
    expect((await post(`${path}/adjust`, { amount: '5 EUR' })).status, 'without a balance').to.equal(400);
    const { code } = await topUpOrder(app.state, other.accountId);
    await post(`/admin/orders/${code}/confirm`);
    const wrong = await post(`${path}/adjust`, { amount: '5 USD' });
    expect([wrong.status, wrong.page('#amount').attr('value')]).to.deep.equal([400, '5 USD']);
    await post(`${path}/adjust`, { amount: '-2.5 EUR', note: 'a gift card' });
    const { page } = await read(path);
    expect(page('main .totals').text()).to.contain('€7.50');
    expect((await read('/admin/balances')).page('main .totals').text()).to.contain('€7.50');
    expect(page('#movements').closest('section').find('tbody tr')).to.have.length(2);
    expect(page('#top-ups').closest('section').find(`a[href="/admin/orders/${code}"]`).length).to.be.at.least(1);
    const csv = await operator.send(`${app.url}${path}/statement.csv`);
    expect(csv.headers.get('content-type')).to.contain('text/csv');
    expect(csv.text.trimEnd().split('\r\n')).to.have.length(3);
    expect((await read(`/admin/users/${other.id}`)).page(`a[href="${path}"]`)).to.have.length(1);
    await post(`/admin/orders/${code}/refund`, { note: 'wrong account' });
    expect((await read(path)).page('main .totals').text()).to.contain('€0.00');
    expect((await post(`${path}/resume`)).location).to.equal(`${app.url}${path}?done=nothing`);
    await post(`${path}/refuse`);
    expect(
      (await app.state.balances.list(100)).find(({ accountId }) => accountId === other.accountId)?.topsUp,
    ).to.equal(false);
    expect((await app.state.ledger.sums()).different).to.deep.equal([]);
  });

  it('shows orders, bank money and balances alone to users who see to payments', async () => {
    const { app } = its;
    const browser = await app.signedIn('billing@example.com');
    const [person] = await app.state.users.findByEmail('billing@example.com');
    await app.state.users.setRole({ userId: person!.id, role: 'billing', actor: 'operator:test' });
    const routes = app.declaredRoutes().filter(({ grant }) => grant === 'admin');
    const seen: string[] = [];
    for (const { method, path, forBilling } of routes) {
      const target = path.replace(':code', filled.review.code).replace(/:\w+/g, filled.user.accountId);
      const { status, text } = await browser.send(app.url + target, { method, ...(method === 'POST' && { form: {} }) });
      if (forBilling !== true) expect(status, `${method} ${path}`).to.equal(404);
      else if (method === 'GET') {
        expect(status, path).to.equal(200);
        expect(text, path).not.to.contain('href="/admin/users');
        seen.push(path);
      }
    }
    expect(seen).to.have.members([
      ...['/admin/orders', '/admin/orders/:code', '/admin/transfers', '/admin/balances', '/admin/balances/:id'],
      '/admin/balances/:id/statement.csv',
    ]);
    const { page } = await its.read('/admin/orders', browser);
    const links = page('nav.console-nav a').toArray();
    expect(links.map((one) => page(one).attr('href'))).to.deep.equal([
      ...['/admin/orders', '/admin/transfers', '/admin/balances'],
    ]);
    expect(page('header a[href="/admin/orders"]')).to.have.length(1);
    const { code } = await order(app.state, filled.user.accountId);
    await browser.send(`${app.url}/admin/orders/${code}/cancel`, { form: { note: 'asked by mail' } });
    const [row] = await app.state.audit.list({ subject: code, limit: 1 });
    expect(row).to.include({ action: 'order.cancelled', actor: `billing:${person!.id}`, note: 'asked by mail' });
  });

  it('shows alerts on both pages, and acknowledges one with a reason', async () => {
    const { app, read, post } = its;
    const { id } = filled.alert;
    const { page: first } = await read('/admin');
    expect(first('#waiting').closest('section').find('a[href="/admin/alerts"]').last().text()).to.contain('has used 8');
    expect(first('#waiting').parent().text()).to.contain('1 alert');
    // A name ends its own direction of text.
    const shown = first('#waiting').closest('section').find('a[href="/admin/alerts"]').last().text();
    expect(shown).to.match(/\u2068[^\u2069]*\u202e[^\u2069]*\u2069/);
    const { page } = await read('/admin/alerts');
    expect(page('main li strong').text()).to.contain('The key');
    const { location } = await post(`/admin/alerts/${id}/acknowledge`, { note: 'known' });
    expect(location).to.equal(`${app.url}/admin/alerts?done=alert`);
    const after = await read('/admin/alerts');
    expect(after.page(`form[action="/admin/alerts/${id}/acknowledge"]`)).to.have.length(0);
    expect(after.page('main .badge').text()).to.equal('Acknowledged');
    const [row] = await app.state.audit.list({ subject: id, limit: 1 });
    expect(row).to.include({ action: 'alert.acknowledged', actor: `operator:${its.operatorId}`, note: 'known' });
    expect((await post('/admin/alerts/alr_none/acknowledge')).status).to.equal(400);
  });

  it('confirms and refunds orders, and shows a conflict beside the order', async () => {
    const { app, read, post } = its;
    const { code } = await order(app.state, filled.user.accountId);
    const { page } = await read(`/admin/orders/${code}`);
    expect(page(`form[action="/admin/orders/${code}/confirm"] p`).text()).to.contain('€10.00');
    expect(page(`form[action="/admin/orders/${code}/refund"]`)).to.have.length(0);
    await post(`/admin/orders/${code}/confirm`);
    expect((await app.state.orders.find(code))?.state).to.equal('paid');
    const conflict = await post(`/admin/orders/${code}/cancel`);
    expect([conflict.status, conflict.page('.problem').length, conflict.page('h1').text()]).to.deep.equal([
      409,
      1,
      `Order ${code}`,
    ]);
    const { location } = await post(`/admin/orders/${code}/refund`, { note: 'wrong plan' });
    expect((await read(new URL(location ?? '').pathname)).page('.console-facts').text()).to.contain('Refunded');
    expect((await post('/admin/orders/MG00000000/confirm')).status).to.equal(404);
  });

  it('matches bank money to an order, and ends reviews', async () => {
    const { app, read, post } = its;
    const { code } = await order(app.state, filled.user.accountId);
    const money = transfer('no code here');
    await app.state.orders.record(money);
    const { provider, id } = money;
    const wrong = await post('/admin/transfers/match', { provider, id, order: 'MG00000000' });
    expect([wrong.status, wrong.page('.problem').length]).to.deep.equal([404, 1]);
    const { location } = await post('/admin/transfers/match', { provider, id, order: code.toLowerCase() });
    expect(location).to.equal(`${app.url}/admin/orders/${code}?done=matched`);
    expect((await app.state.orders.find(code))?.state).to.equal('paid');
    const { provider: of, id: number } = filled.unmatched;
    await post('/admin/transfers/settle', { provider: of, id: number });
    expect((await read('/admin/transfers')).text).not.to.contain(number);
    expect((await read('/admin/transfers?review=all')).text).to.contain(number);
  });

  it('finds orders by code, and what is of a user by name or address; of several users it asks which', async () => {
    const { app, read } = its;
    const [one, two] = [await signUp(app.state, { name: 'Quill One' }), await signUp(app.state, { name: 'Quill Two' })];
    const { code } = await order(app.state, one.accountId);
    const codesOf = (page: ReturnType<typeof load>) =>
      page('main tbody a[href^="/admin/orders/"]')
        .toArray()
        .map((each) => page(each).text());
    for (const q of [code, code.toLowerCase(), one.email ?? '', 'quill one', 'Quill O', one.accountId])
      expect(codesOf((await read(`/admin/orders?q=${encodeURIComponent(q)}`)).page), q).to.deep.equal([code]);
    for (const list of ['orders?q', 'balances?q', 'jobs?account', 'keys?account', 'requests?account']) {
      const { page } = await read(`/admin/${list}=quill`);
      const links = page('.empty a').toArray();
      expect(
        links.map((each) => page(each).text()),
        list,
      ).to.have.members(['Quill One', 'Quill Two']);
      expect(page(links[0]).attr('href')).to.contain(encodeURIComponent('acct_').slice(0, 5));
    }
    // A list without rows leads back to all of them.
    const { page } = await read(`/admin/orders?q=${encodeURIComponent(two.email ?? '')}&state=paid`);
    expect(page('.empty a, a.button[href="/admin/orders"]')).to.have.length(1);
    expect((await read(`/admin/balances?q=${two.id}`)).page('.empty a').attr('href')).to.equal('/admin/balances');
  });

  it('shows the audit log by days and by persons, in words', async () => {
    const { app, read, post } = its;
    const one = await signUp(app.state, { name: 'Mara Audited' });
    await post(`/admin/users/${one.id}/plan`, { plan: 'token_30m', days: '14' });
    const today = new Date().toISOString().slice(0, 10);
    const { page } = await read(`/admin/audit?subject=Mara%20Audited&from=${today}&to=${today}`);
    expect(rowsOf(page)).to.be.at.least(2);
    expect(page('tbody').text()).to.contain('30M tokens').and.to.contain('Mara Audited');
    expect(page(`tbody a[href="/admin/users/${one.accountId}"]`).length).to.be.at.least(1);
    const past = await read('/admin/audit?from=2001-01-01&to=2001-01-02&subject=Mara%20Audited');
    expect([rowsOf(past.page), past.page('.empty a').attr('href')]).to.deep.equal([0, '/admin/audit']);
    expect((await read('/admin/audit?from=soon')).status).to.equal(400);
    const { accountId } = one;
    const key = await app.state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 3 });
    const properties = { own: { grants: ['text' as const], rpm: 12 } };
    await app.state.budgets.changeKey({ id: key.id, accountId, properties, actor: 'user:ann' });
    const changed = (await read(`/admin/audit?subject=${key.id}&action=key.updated`)).page('tbody').text();
    expect(changed).to.contain('Grants: As the plan → Text models · Requests a minute: As the plan → 12');
    const [operator] = await app.state.users.ofIds([its.operatorId]);
    const name = operator?.name ?? operator?.email ?? '';
    const by = await read(`/admin/audit?actor=${encodeURIComponent(name)}`);
    expect(rowsOf(by.page)).to.be.at.least(2);
  });

  it('lists in pages that miss none', async () => {
    for (let index = 0; index < 30; index += 1) await signUp(its.app.state);
    const found: string[] = [];
    for (let path: string | undefined = '/admin/users'; path !== undefined; ) {
      const { page, text } = await its.read(path);
      expect(Buffer.byteLength(text)).to.be.below(MAX_BYTES);
      found.push(
        ...page('tbody th a')
          .toArray()
          .map((one) => page(one).attr('href') ?? ''),
      );
      path = page('a[rel="next"]').attr('href');
    }
    const all = await its.app.state.users.list({ limit: 1_000 });
    expect(found).to.deep.equal(all.map(({ id }) => `/admin/users/${id}`));
    expect((await its.read('/admin/users?after=x')).status).to.equal(400);
  });
});
