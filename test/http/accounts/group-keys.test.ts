/** What members of a group see of its keys: by the operator's choice, without secrets, and not after they left. */

import { expect } from 'chai';
import { load } from 'cheerio';
import type { BrowserSession } from '../../support/accounts/browser-session.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

describeOnStacks('keys of a group', (stack) => {
  let app: SignInApp;
  let ann: BrowserSession;
  let bob: BrowserSession;
  let admin: string;
  let annKey: { id: string; key: string };
  let bobKey: { id: string; key: string };

  before(async () => {
    app = await startSignInApp({ stack });
    admin = await app.makeKey({ grants: ['admin'] });
    ann = await app.signedIn('ann@example.com');
    bob = await app.signedIn('bob@example.com');
    annKey = await makeKey(ann, 'laptop');
    bobKey = await makeKey(bob, '<img src=x onerror=alert(1)>');
    await post('/groups', { name: 'research', budgets: ['500 requests/day'] });
    for (const { id } of [annKey, bobKey]) await post(`/keys/${id}`, { group: 'research' });
    await post(`/keys/${bobKey.id}`, { budgets: ['1000 tokens/month'] });
  });
  after(() => app?.close());

  async function makeKey(browser: BrowserSession, name: string) {
    const { text } = await browser.send(`${app.url}/api/user/keys`, { json: { name } });
    const { apiKey: key, key: record } = JSON.parse(text);
    return { id: record.id, key };
  }
  const send = (path: string, body: object, token = admin) =>
    app.request(`/v1/admin${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  async function post(path: string, body: object) {
    const { status, json, text } = await send(path, body);
    expect(status, text).to.equal(200);
    return json;
  }
  async function groupsOf(browser: BrowserSession) {
    const { status, text } = await browser.send(`${app.url}/api/user/groups`);
    expect(status, text).to.equal(200);
    for (const { key } of [annKey, bobKey]) expect(text).not.to.contain(key.slice(15));
    expect(text).not.to.match(/hash|example\.com|acct_/);
    return JSON.parse(text).groups;
  }

  it('are hidden until an operator shows them', async () => {
    expect(await groupsOf(ann)).to.deep.equal([]);
    expect((await send('/groups/research/members', { see_keys: true }, annKey.key)).status).to.equal(404);
    const unknown = await send('/groups/reserch/members', { see_keys: true });
    expect([unknown.status, unknown.json.error.message]).to.satisfy(
      ([status, words]: [number, string]) => status === 400 && words.includes('research'),
    );
    expect(await post('/groups/research/members', { see_keys: true, note: 'asked by the team' })).to.deep.equal({
      name: 'research',
      members_see_keys: true,
    });
    const [row] = await app.state.audit.list({ subject: 'group:research', limit: 1 });
    expect(row).to.include({ action: 'group.shown', note: 'asked by the team' });
  });

  it('are names, ids, last use and budgets', async () => {
    const [group, ...others] = await groupsOf(ann);
    expect(others).to.deep.equal([]);
    expect(group.name).to.equal('research');
    expect(group.budgets.map(({ limit }: { limit: number }) => limit)).to.deep.equal([500]);
    const keys = Object.fromEntries(group.keys.map((key: { id: string }) => [key.id, key]));
    expect(Object.keys(keys)).to.have.members([annKey.id, bobKey.id]);
    expect(keys[annKey.id]).to.include({ name: 'laptop', own: true, lastUsedAt: null, state: 'active' });
    expect(keys[bobKey.id]).to.include({ own: false, masked: `sk-mg-${bobKey.id}-…` });
    expect(keys[bobKey.id].budgets[0]).to.include({ of: 'key', unit: 'tokens', limit: 1000 });
    const { text } = await ann.send(`${app.url}/keys`);
    const page = load(text);
    expect(page('#group-research').closest('section').find('li')).to.have.length(2);
    expect(page('[onerror]')).to.have.length(0);
    expect(text).not.to.contain(bobKey.key.slice(15));
  });

  it('are seen by nobody else, and no longer without a key of the group', async () => {
    const eve = await app.signedIn('eve@example.com');
    await makeKey(eve, 'other');
    expect(await groupsOf(eve)).to.deep.equal([]);
    expect((await app.request('/api/user/groups')).status).to.equal(401);
    const byKey = await app.request('/api/user/groups', { headers: { authorization: `Bearer ${annKey.key}` } });
    expect(byKey.status).to.equal(401);
    await post(`/keys/${annKey.id}`, { group: null });
    expect(await groupsOf(ann)).to.deep.equal([]);
    expect((await groupsOf(bob))[0].keys).to.have.length(1);
    await post(`/keys/${annKey.id}`, { group: 'research' });
    await post(`/keys/${annKey.id}/revoke`, {});
    expect(await groupsOf(ann)).to.deep.equal([]);
    await post('/groups/research/members', { see_keys: false });
    expect(await groupsOf(bob)).to.deep.equal([]);
  });
});
