/** Who reaches the admin API: every route, with every other kind of key, session and role, is a path without a route. */

import { expect } from 'chai';
import { OPERATOR_TERMS } from '../../../server/plans/index.js';
import type { BrowserSession } from '../../support/accounts/browser-session.js';
import { variants } from '../../support/runner/variants.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';

const ALL = ['images', 'extract', 'text', 'audio', 'vendor_ids', 'paid_tools'] as const;

type Caller = readonly [who: string, headers: Record<string, string>];

describe('access to the admin API', () => {
  let app: SignInApp;
  let admin: string;
  let member: BrowserSession;
  let operator: BrowserSession;
  let routes: { method: string; path: string }[];
  let callers: readonly Caller[];
  /** Those that count as guesses, so that the address is blocked after some. */
  let guesses: readonly Caller[];

  before(async () => {
    app = await startSignInApp();
    const { state } = app;
    admin = await app.makeKey({ grants: ['admin'] });
    member = await app.signedIn('member@example.com');
    operator = await app.signedIn('operator@example.com');
    const [person] = await state.users.findByEmail('operator@example.com');
    await state.users.setRole({ userId: person!.id, role: 'operator', actor: 'operator:test' });
    const [user] = await state.users.findByEmail('member@example.com');
    const ended = { expiresAt: Date.now() - 1_000 };
    const keys: readonly (readonly [string, string])[] = [
      ['a key of every other grant', await app.makeKey({ grants: ALL })],
      ['a key with the grant and a plan', await app.makeKey({ grants: ['admin'] }, { planId: 'token_30m' })],
      ['a key of a user with the grant', await app.makeKey({ grants: ['admin'], accountId: user!.accountId })],
      ["a key of an operator's account", await app.makeKey({ grants: ['admin'], accountId: person!.accountId })],
      ['a revoked key', await app.makeKey({ grants: ['admin'] }, { revokedAt: Date.now() - 1_000 })],
      ['an expired key', await app.makeKey({ grants: ['admin'] }, ended)],
      ['a suspended key', await app.makeKey({ grants: ['admin'] }, { suspendedAt: Date.now() - 1_000 })],
      ['a key without requests', await app.makeKey({ grants: ['admin'], rpm: 0 })],
      ['an internal key', await app.makeKey({ grants: ['admin'] }, { isInternal: true })],
    ];
    await app.keys.refresh();
    const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
    const cookie = (browser: BrowserSession) => `mediagate=${browser.cookie(app.url, 'mediagate')}`;
    callers = [
      ['nobody', {}],
      ...keys.map(([who, key]) => [who, bearer(key)] as const),
      ['the key in X-API-Key', { 'x-api-key': admin }],
      ['the key beside another one', { ...bearer(admin), 'x-api-key': keys[0]![1] }],
      ['the key as Basic', { authorization: `Basic ${Buffer.from(`:${admin}`).toString('base64')}` }],
      ['the session of a member', { cookie: cookie(member), 'sec-fetch-site': 'same-origin' }],
    ];
    guesses = [
      ['an invented key', bearer('sk-mg-AAAAAAAA-wrong')],
      ['an operator whose key is wrong', { cookie: cookie(operator), ...bearer('sk-mg-AAAAAAAA-wrong') }],
      ['a session token as a key', bearer(operator.cookie(app.url, 'mediagate') ?? '')],
    ];
    routes = app.declaredRoutes().filter(({ grant }) => grant === 'admin');
  });
  after(() => app?.close());

  const send = (method: string, path: string, headers: Record<string, string>) =>
    app.request(path.replace(/:\w+/g, 'none'), {
      method,
      headers: { ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
      ...(method === 'POST' && { body: '{}' }),
    });

  async function expectNone([who, headers]: Caller, { method, path }: { method: string; path: string }) {
    const target = path.replace(/:\w+/g, 'none');
    const { status, json, headers: answered } = await send(method, path, headers);
    expect([status, json?.error?.code], `${who}: ${method} ${path}`).to.deep.equal([404, 'route_not_found']);
    expect(json.error.message, `${who}: ${method} ${path}`).to.equal(`There is no ${method} ${target}.`);
    expect(answered.has('allow'), `${who}: ${method} ${path}`).to.equal(false);
  }

  it('is 404 for everybody else, on every route, as on a path that does not exist', async () => {
    expect(routes.length).to.be.at.least(30);
    // Every run has each route with two callers, who take turns.
    for (const [index, route] of routes.entries()) {
      const turns = [index % callers.length, (index + 1) % callers.length];
      const some = variants(callers, (caller) => turns.includes(callers.indexOf(caller)));
      for (const caller of some) await expectNone(caller, route);
    }
  });

  it('gives no hint of a route by another method, a slash, a doubled version or an upgrade', async () => {
    const tries = [
      ['DELETE', '/v1/admin/users'],
      ['GET', '/v1/admin/users/'],
      ['GET', '/admin/users'],
      ['GET', '/v1/v1/admin/users'],
      ['GET', '/v1//admin/users'],
    ] as const;
    for (const [method, path] of tries) {
      const { status, json } = await app.request(path, { method });
      expect([status, json?.error?.message], path).to.deep.equal([404, `There is no ${method} ${path}.`]);
    }
    const upgrade =
      'GET /v1/admin/users/none/suspend HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
    expect(await app.raw(upgrade)).to.match(/^HTTP\/1\.1 404 /);
  });

  it('is not reached through the playground, with the session of an operator either', async () => {
    for (const browser of [member, operator]) {
      const headers = { 'sec-fetch-site': 'same-origin' };
      const { status } = await browser.send(`${app.url}/api/play/v1/admin/users`, { headers });
      expect(status).to.equal(404);
    }
  });

  it('is not reached by a session of the device flow', async () => {
    const [person] = await app.state.users.findByEmail('operator@example.com');
    const { createHash, randomBytes } = await import('node:crypto');
    const token = `mgd_${randomBytes(32).toString('base64url')}`;
    const hash = createHash('sha256').update(token).digest('hex');
    const hour = 3_600_000;
    await app.state.sessions.create({ hash, userId: person!.id, kind: 'device', idleMs: hour, lifetimeMs: hour });
    const { status } = await app.request('/v1/admin/users', { headers: { authorization: `Bearer ${token}` } });
    expect(status).to.equal(404);
  });

  it('is reached by a key with the grant, and by the browser of an operator', async () => {
    const byKey = await app.request('/v1/admin/users', { headers: { authorization: `Bearer ${admin}` } });
    expect(byKey.status, byKey.text).to.equal(200);
    const byBrowser = await operator.send(`${app.url}/v1/admin/users`);
    expect(byBrowser.status, byBrowser.text).to.equal(200);
    expect(byKey.headers.get('cache-control')).to.equal('no-store');
  });

  it('takes changes of a session from pages of the site alone', async () => {
    const path = `${app.url}/v1/admin/incidents`;
    const json = { title: 'Trial' };
    for (const headers of [
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-site' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': '' },
    ]) {
      const { status, text } = await operator.send(path, { json, headers });
      expect([status, JSON.parse(text).error.code], JSON.stringify(headers)).to.deep.equal([403, 'cross_site_request']);
    }
    expect(await app.state.incidents.list({ since: 0, limit: 10 })).to.deep.equal([]);
    const { status } = await operator.send(path, { json });
    expect(status).to.equal(200);
    const [person] = await app.state.users.findByEmail('operator@example.com');
    const [row] = await app.state.audit.list({ action: 'incident.added', limit: 1 });
    expect(row?.actor).to.equal(`operator:${person!.id}`);
  });

  it('ends with the role of an operator, not with the plan, and with the key', async () => {
    const other = await app.signedIn('former@example.com');
    const [person] = await app.state.users.findByEmail('former@example.com');
    const { id: userId, accountId } = person!;
    const by = { userId, actor: 'operator:test' };
    await app.state.users.setRole({ ...by, role: 'operator' });
    expect((await other.send(`${app.url}/v1/admin/users`)).status).to.equal(200);
    await app.state.accounts.endPlans({ accountId, actor: 'operator:test' });
    expect((await other.send(`${app.url}/v1/admin/users`)).status).to.equal(200);
    await app.state.users.setRole({ ...by, role: 'billing' });
    expect((await other.send(`${app.url}/v1/admin/users`)).status).to.equal(404);
    await app.state.accounts.grant({ accountId, terms: OPERATOR_TERMS, actor: 'operator:test' });
    expect((await other.send(`${app.url}/v1/admin/users`)).status).to.equal(404);
    const key = await app.makeKey({ grants: ['admin'] });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const revoked = await app.request(`/v1/admin/keys/${key}/revoke`, { method: 'POST', headers, body: '{}' });
    expect(revoked.status, revoked.text).to.equal(200);
    expect((await app.request('/v1/admin/users', { headers })).status).to.equal(404);
  });

  it('stops checking keys of an address that guesses', async () => {
    const headers = (key: string) => ({ authorization: `Bearer ${key}` });
    const [first] = routes;
    for (const caller of guesses) await expectNone(caller, first!);
    expect((await app.request('/v1/admin/users', { headers: headers(admin) })).status).to.equal(200);
    for (let count = 0; count < 40; count++) {
      const wrong = headers(`sk-mg-${String(count).padStart(8, '0')}-wrong`);
      expect((await app.request('/v1/admin/users', { headers: wrong })).status).to.equal(404);
    }
    expect((await app.request('/v1/admin/users', { headers: headers(admin) })).status).to.equal(404);
  });
});
