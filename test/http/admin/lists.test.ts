/** Lists of the admin API: pages, cursors and filters of each, and what they refuse. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { invented } from '../../support/links/invented-plugin.js';
import { onceIt } from '../../support/runner/variants.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import type { Answer } from '../http/listening-app.js';

describeOnStacks('lists of the admin API', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;
  let authorization: string;

  before(async () => {
    app = await startSignInApp({ stack, plugins: [{ use: invented() }] });
    authorization = `Bearer ${await app.makeKey({ name: 'operators', grants: ['admin'] })}`;
    for (let count = 0; count < 5; count++) {
      const identity = {
        issuer: 'urn:test',
        subject: `s${count}`,
        email: `Person${count}@Example.com`,
        name: `Name ${count}`,
      };
      await app.state.users.signIn(identity);
      await app.makeKey({ name: `Key ${count}`, grants: ['extract'] });
    }
    await app.keys.refresh();
  });
  after(() => app?.close());

  const get = (path: string): Promise<Answer> => app.request(`/v1/admin${path}`, { headers: { authorization } });
  const post = (path: string, body: object): Promise<Answer> =>
    app.request(`/v1/admin${path}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  /** Every row of a list, in pages of two. */
  async function readAll(path: string): Promise<Record<string, unknown>[]> {
    const rows: Record<string, unknown>[] = [];
    const join = path.includes('?') ? '&' : '?';
    for (let after = '', more = true; more; ) {
      const { status, json, text } = await get(`${path}${join}limit=2${after && `&after=${after}`}`);
      expect(status, text).to.equal(200);
      expect(json.object).to.equal('list');
      expect(json.data.length).to.be.at.most(2);
      rows.push(...json.data);
      more = json.has_more;
      expect(json.next === null, 'the last page has no cursor').to.equal(!more);
      after = json.next ?? '';
    }
    return rows;
  }

  it('have every row once, newest first, in pages', async () => {
    const users = await readAll('/users');
    expect(users.map(({ id }) => id)).to.deep.equal((await app.state.users.list({ limit: 100 })).map(({ id }) => id));
    const keys = await readAll('/keys');
    expect(keys.map(({ name }) => name)).to.have.members(['operators', 'Key 0', 'Key 1', 'Key 2', 'Key 3', 'Key 4']);
    expect(JSON.stringify(keys)).not.to.contain('hash');
    await post('/incidents', { title: 'One' });
    await post('/incidents', { title: 'Two', started_at: '2026-01-01T00:00:00Z' });
    await post('/incidents', { title: 'Three', started_at: '2026-01-01T00:00:00Z' });
    expect((await readAll('/incidents')).map(({ title }) => title)).to.have.members(['One', 'Two', 'Three']);
    await app.state.alerts.note(
      ['a', 'b', 'c'].map((subject) => ({ kind: 'probe_failed' as const, subject, detail: { failed: 1 } })),
    );
    expect((await readAll('/alerts')).map(({ subject }) => subject)).to.have.members(['a', 'b', 'c']);
    expect(await readAll('/alerts?state=closed')).to.deep.equal([]);
    const audit = await readAll('/audit');
    const times = audit.map(({ at }) => String(at));
    expect(times).to.deep.equal(times.toSorted().reverse());
    expect(new Set(audit.map(({ subject, number }) => `${subject} ${number}`)).size).to.equal(audit.length);
    expect((await readAll('/audit?action=incident.added')).length).to.equal(3);
    const today = new Date().toISOString().slice(0, 10);
    expect((await readAll(`/audit?from=${today}&to=${today}&action=incident.added`)).length).to.equal(3);
    expect(await readAll('/audit?from=2026-01-01&to=2026-01-02')).to.deep.equal([]);
    expect((await get('/audit?from=2026-06-15&to=2026-06-14')).status).to.equal(400);
  });

  once('stay right while rows are deleted between two pages', async () => {
    for (const name of ['team-a', 'team-b', 'team-c'])
      await app.makeKey({ name, accountId: name, grants: ['extract'] });
    const identity = (subject: string) => ({ issuer: 'urn:gone', subject, email: null, name: subject });
    const [older, gone, newer] = [
      await app.state.users.signIn(identity('older')),
      await app.state.users.signIn(identity('gone')),
      await app.state.users.signIn(identity('newer')),
    ];
    const { json: first } = await get('/users?limit=1');
    const { json: second } = await get(`/users?limit=1&after=${first.next}`);
    expect([first.data[0].id, second.data[0].id]).to.deep.equal([newer.id, gone.id]);
    await app.state.erasures.begin({ userId: gone.id, actor: 'operator:test' });
    // The row of the cursor is gone: its place remains.
    const { json: third } = await get(`/users?limit=1&after=${second.next}`);
    expect(third.data[0].id).to.equal(older.id);
  });

  it('find users by the beginning of an address, of a word of a name or of an id, in any letters', async () => {
    const names = async (query: string) =>
      (await readAll(`/users?q=${encodeURIComponent(query)}`)).map(({ name }) => name);
    expect(await names('person')).to.have.length(5);
    expect(await names('PERSON3@')).to.deep.equal(['Name 3']);
    expect(await names('name 4')).to.deep.equal(['Name 4']);
    expect(await names('erson')).to.deep.equal([]);
    for (const [index, name] of ['Nguyen Van Linh', 'Cher', 'Lee Ann Lee'].entries()) {
      await app.state.users.signIn({ issuer: 'urn:words', subject: String(index), email: null, name });
    }
    for (const part of ['nguyen v', 'van', 'Van Li', 'linh']) {
      expect(await names(part), part).to.deep.equal(['Nguyen Van Linh']);
    }
    expect(await names('cher')).to.deep.equal(['Cher']);
    expect(await names('lee')).to.deep.equal(['Lee Ann Lee']);
    expect(await names('inh')).to.deep.equal([]);
    expect(await names('%')).to.deep.equal([]);
    expect(await names("' or 1=1 --")).to.deep.equal([]);
    const [user] = await readAll('/users?q=person2');
    expect(await names(String(user?.id).slice(0, 20))).to.deep.equal(['Name 2']);
    expect(await names(String(user?.account))).to.deep.equal(['Name 2']);
    await post(`/users/${user?.id}/suspend`, { note: 'trial' });
    expect((await readAll('/users?state=suspended')).map(({ id }) => id)).to.deep.equal([user?.id]);
    expect((await readAll('/users?state=active')).map(({ id }) => id)).not.to.include(user?.id);
    await post(`/users/${user?.id}/resume`, {});
    expect((await readAll(`/audit?subject=${user?.id}`)).map(({ action }) => action)).to.deep.equal([
      'user.resumed',
      'user.suspended',
    ]);
  });

  once('find keys by id, and by the beginning of a name', async () => {
    const [key] = await readAll('/keys?q=key%203');
    expect(key?.name).to.equal('Key 3');
    expect((await readAll(`/keys?q=${key?.id}`)).map(({ name }) => name)).to.deep.equal(['Key 3']);
    expect((await readAll(`/keys?q=sk-mg-${key?.id}-%E2%80%A6`)).map(({ name }) => name)).to.deep.equal(['Key 3']);
    expect(await readAll('/keys?account=acct_none')).to.deep.equal([]);
  });

  it('have the requests of all keys, by outcome, code and id', async () => {
    const key = await app.makeKey({ grants: ['extract'] });
    await app.extract(key, { url: 'https://invented.example/item/7' });
    await app.extract(key, { url: 'https://invented.example/item/7' });
    const refused = await app.extract(key, { url: 'https://unknown.example/' });
    await app.state.usage.flushCounts();
    const rows = await readAll('/requests');
    expect(rows.filter(({ outcome }) => outcome === 'succeeded')).to.have.length(2);
    const id = refused.headers.get('x-request-id');
    const [row, ...others] = await readAll(`/requests?request_id=${id}`);
    expect(others).to.deep.equal([]);
    expect(row).to.include({ request_id: id, outcome: 'refused', error_code: refused.json.error.code });
    expect(await readAll(`/requests?code=${refused.json.error.code}`)).to.have.length(1);
    expect(await readAll(`/requests?key=${row?.key}`)).to.have.length(3);
    expect(await readAll('/requests?key=AAAAAAAA')).to.deep.equal([]);
    const { json: usage } = await get('/usage?by=platform');
    expect(usage.total.requests).to.equal(2);
    expect(usage.data[0]).to.include({ requests: 2 });
    const { json: byKey } = await get('/usage?by=key');
    expect(byKey.data.map(({ name }: { name: string }) => name)).to.include(row?.key);
    const days = { from: '2000-01-01', to: '2100-01-01', platforms: [], limit: 10 };
    const named = await app.state.usageSums.read({ by: 'key', keyIds: [row?.key as string, 'AAAAAAAA'], ...days });
    expect(named.map(({ name, counts }) => [name, counts.requests])).to.deep.equal([[row?.key, 2]]);
    const { json: overview } = await get('/overview');
    expect(overview.today.requests).to.equal(2);
    expect(overview.problems).to.deep.equal([]);
  });

  once('refuse what they do not know, and say what is accepted', async () => {
    const cases: readonly (readonly [string, string, string])[] = [
      ['/users?limit=0', 'limit', 'limit must be a whole number from 1 to 200.'],
      ['/users?limit=201', 'limit', 'limit must be a whole number from 1 to 200.'],
      ['/users?limit=2.5', 'limit', 'limit must be a whole number from 1 to 200.'],
      ['/users?limit=1&limit=2', 'limit', 'limit is given twice.'],
      ['/users?state=gone', 'state', 'state must be active or suspended.'],
      [
        '/orders?state=paied',
        'state',
        'state must be pending, underpaid, paid, expired, cancelled, refunded or needs_review.',
      ],
      ['/jobs?kind=video', 'kind', 'kind must be image, extraction, batch or transcript.'],
      ['/requests?from=yesterday', 'from', 'from must be a day such as 2026-06-15.'],
      ['/usage?by=moon', 'by', 'by must be day, key, account, group, model, platform or route.'],
      [`/users?q=${'x'.repeat(201)}`, 'q', 'q must be at most 200 characters.'],
      ['/users?q=%00', 'q', 'q must be at most 200 characters.'],
    ];
    for (const [path, param, message] of cases) {
      const { status, json } = await get(path);
      expect([status, json.error.code, json.error.param], path).to.deep.equal([400, 'invalid_value', param]);
      expect(json.error.message, path).to.equal(message);
    }
    const { status, json } = await get('/users?stat=active');
    expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'unsupported_parameter', 'stat']);
    expect(json.error.message).to.contain('Did you mean "state"?');
  });

  once('refuse cursors that somebody made up', async () => {
    const made = (text: string) => Buffer.from(text).toString('base64url');
    const wrong = [
      'x',
      made('1'),
      made('-1 a'),
      made("1 a' or 1"),
      made('1e9 a'),
      made('12 a\0'),
      made(`1 ${'a'.repeat(300)}`),
    ];
    for (const list of ['/users', '/orders', '/keys', '/requests', '/audit', '/transfers', '/incidents', '/alerts']) {
      for (const cursor of wrong) {
        const { status, json } = await get(`${list}?after=${encodeURIComponent(cursor)}`);
        expect([status, json.error?.param], `${list} ${cursor}`).to.deep.equal([400, 'after']);
      }
      // One of another list is a place like any other: it gives the rows of this list alone.
      const { status, json } = await get(`${list}?after=${made('99999999999999 zzz')}`);
      expect(status, list).to.equal(200);
      expect(json.object).to.equal('list');
    }
    const { status, json } = await get(`/jobs?after=${made('1 imgjob_none')}`);
    expect([status, json.error.param]).to.deep.equal([400, 'after']);
  });
});
