/** Keys of an account over HTTP. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import type { Clock } from 'mediagate';
import echoText from 'mediagate/plugins/echo_text';
import { createManualClock } from 'mediagate/testing';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import type { Answer } from '../http/listening-app.js';
import { type AccountClient, newcomer } from './client.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const KEY = /^sk-mg-[0-9A-Za-z]{8}-[0-9A-Za-z]{38}$/;
const HOUR_MS = 3_600_000;
const WRITING = [
  ['POST', '/api/user'],
  ['DELETE', '/api/user'],
  ['POST', '/api/user/keys'],
  ['POST', '/api/user/keys/AAAAAAAA'],
  ['POST', '/api/user/rotate'],
  ['POST', '/api/user/keys/AAAAAAAA/revoke'],
] as const;

describeOnStacks('keys of an account over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;
  let people = 0;

  const start = (clock?: Clock) =>
    startSignInApp({
      stack,
      plugins: ['m-5.5', 'm-5.4'].map((model) => ({ id: model, use: echoText, options: { model } })),
      clock,
    });

  beforeEach(untilDayHasRoom);
  before(async () => {
    app = await start();
  });
  after(() => app?.close());

  const somebody = () => {
    people += 1;
    return newcomer(app, `person${people}@example.com`);
  };

  const ask = (key: string, model = 'm-5.5'): Promise<Answer> =>
    app.request('/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }] }),
    });

  const code = ({ status, json }: Answer) => [status, json?.error?.code];

  const keysOf = async (client: AccountClient) => (await client.get('/api/user')).json.keys;

  once('creates a key with the free tier, shows it once, and accepts it at once', async () => {
    const ann = await somebody();
    const before = (await ann.get('/api/user')).json;
    expect(before).to.deep.include({ plan: null, budget: null, key: null, keys: [] });
    const made = await ann.post('/api/user', { name: 'laptop' });
    expect(made.status, made.text).to.equal(201);
    expect(Object.fromEntries(made.headers))
      .to.include({ 'cache-control': 'no-store' })
      .and.not.to.have.property('idempotency-replayed');
    const { apiKey, key } = made.json;
    expect(apiKey).to.match(KEY);
    expect(key).to.include({ id: apiKey.slice(6, 14), name: 'laptop', state: 'active', planId: 'free', rpm: 30 });
    expect(key).to.deep.include({
      grants: ['text'],
      models: ['m-5.5'],
      expiresAt: null,
      maskedKey: `${apiKey.slice(0, 15)}…`,
    });

    const first = await ask(apiKey);
    expect(first.status, first.text).to.equal(200);
    expect(code(await ask(apiKey, 'm-5.4'))).to.deep.equal([403, 'model_not_allowed']);

    const read = await ann.get('/api/user');
    expect(read.text).not.to.contain(apiKey.slice(15)).and.not.to.contain('hash');
    const { user, account, plan, budget, keys, usage } = read.json;
    expect(user).to.have.all.keys('id', 'email', 'name', 'createdAt');
    expect(account.id).to.match(/^acct_/);
    expect(plan).to.include({ id: 'free', name: 'Free', state: 'active', expiresAt: null });
    expect(budget.requests).to.deep.equal({ limit: 50, used: 1, left: 49 });
    expect(keys).to.have.length(1);
    expect(read.json.key).to.deep.equal(keys[0]);
    expect(keys[0].windows).to.have.length(1);
    expect(keys[0].windows[0]).to.include({ family: 'model', limit: 30, remaining: 29 });
    expect(usage).to.have.all.keys('from', 'to', 'total', 'days');
    // What it used is written a moment later.
    let settled = read;
    await until(async () => {
      const before = settled.headers.get('etag');
      settled = await ann.get('/api/user');
      return settled.json.usage.total.requests > 0 && settled.headers.get('etag') === before;
    });
    const etag = settled.headers.get('etag') ?? '';
    const again = await ann.get('/api/user', { 'if-none-match': etag });
    expect([again.status, again.text, again.headers.get('etag')]).to.deep.equal([304, '', etag]);
    expect((await ann.get('/api/user', { 'if-none-match': `"other", ${etag}` })).status).to.equal(304);
    expect((await ann.get('/api/user', { 'if-none-match': '"other"' })).status).to.equal(200);
    expect(read.headers.get('cache-control')).to.equal('private, no-cache');
  });

  once('counts usage by day', async () => {
    const ann = await somebody();
    const { apiKey } = (await ann.post('/api/user')).json;
    await ask(apiKey);
    let days: { requests: number; models: Record<string, unknown>[] }[] = [];
    for (let tries = 0; days.length === 0 && tries < 100; tries += 1) {
      days = (await ann.get('/api/user')).json.usage.days;
      if (days.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(days[0]).to.include({ requests: 1, day: new Date().toISOString().slice(0, 10) });
    expect(days[0]?.models[0]).to.include({ model: 'm-5.5', keyId: apiKey.slice(6, 14) });
    expect((await ann.get('/api/user?from=2020-01-01&to=2020-01-31')).json.usage.days).to.deep.equal([]);
    expect(code(await ann.get('/api/user?from=yesterday'))).to.deep.equal([400, 'invalid_value']);
  });

  once('refuses a second key, but not a repeated request', async () => {
    const ann = await somebody();
    const again = { 'idempotency-key': 'first-key' };
    const [one, other] = await Promise.all([
      ann.post('/api/user', { name: 'cli' }, again),
      ann.post('/api/user', { name: 'cli' }, again),
    ]);
    expect([one.status, other.status]).to.deep.equal([201, 201]);
    expect(one.json.apiKey).to.match(KEY).and.to.equal(other.json.apiKey);
    const replayed = [one, other].map(({ headers }) => headers.get('idempotency-replayed'));
    expect(replayed.filter((value) => value === 'true')).to.have.length(1);
    const third = await ann.post('/api/user', { name: 'cli' }, { 'idempotency-key': '"first-key"' });
    expect([third.status, third.json.apiKey]).to.deep.equal([201, one.json.apiKey]);
    expect(third.headers.get('idempotency-replayed')).to.equal('true');
    expect(await keysOf(ann)).to.have.length(1);

    const other1 = await ann.post('/api/user', { name: 'another name' }, again);
    expect(code(other1)).to.deep.equal([422, 'idempotency_key_reused']);
    const second = await ann.post('/api/user', { name: 'cli' }, { 'idempotency-key': 'second-key' });
    expect(code(second)).to.deep.equal([409, 'key_exists']);
    expect(second.headers.get('x-should-retry')).to.equal('false');
    expect(code(await ann.post('/api/user'))).to.deep.equal([409, 'key_exists']);
    const bad = await ann.post('/api/user', {}, { 'idempotency-key': 'x'.repeat(256) });
    expect(code(bad)).to.deep.equal([400, 'invalid_idempotency_key']);

    // The same words of another person make another key.
    const bob = await somebody();
    const his = await bob.post('/api/user', { name: 'cli' }, again);
    expect(his.json.apiKey).to.match(KEY).and.not.to.equal(one.json.apiKey);
  });

  it('allows ten keys with one shared budget', async () => {
    const ann = await somebody();
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, index) => ann.post('/api/user/keys', { name: `key ${index}` })),
    );
    const statuses = made.map(({ status }) => status).sort();
    expect(statuses).to.deep.equal([...Array(10).fill(201), 409, 409]);
    expect(code(made.find(({ status }) => status === 409) as Answer)).to.deep.equal([409, 'too_many_keys']);
    const keys = made.filter(({ status }) => status === 201).map(({ json }) => json.apiKey as string);
    for (const key of keys.slice(0, 3)) expect((await ask(key)).status).to.equal(200);
    expect((await ann.get('/api/user')).json.budget.requests.used).to.equal(3);
  });

  it('allows ten keys when successors are revoked, and twenty new ones a minute', async () => {
    const clock = createManualClock(Date.now());
    const timed = await start(clock);
    try {
      const ann = await newcomer(timed, 'ann@example.com');
      const post = async (path: string, body?: unknown) => {
        // No faster than one may poll.
        await clock.advance(100);
        return ann.post(path, body);
      };
      const codes: unknown[] = [];
      for (let turn = 0; turn < 10; turn += 1) {
        const { key } = (await post('/api/user/keys')).json;
        const successor = (await post('/api/user/rotate', { keyId: key.id, overlapHours: 168 })).json.key;
        codes.push(code(await post(`/api/user/keys/${successor.id}/revoke`)));
      }
      expect(codes).to.deep.equal(Array(10).fill([200, undefined]));
      for (const path of ['/api/user', '/api/user/keys', '/api/user/rotate']) {
        const further = await post(path);
        expect(code(further), path).to.deep.equal([429, 'rate_limit_exceeded']);
        expect(Number(further.headers.get('retry-after')), path).to.be.within(50, 60);
      }
      await clock.advance(60_000);
      expect(code(await post('/api/user/keys'))).to.deep.equal([409, 'too_many_keys']);
      // What ends keys is never too much.
      const valid = (await keysOf(ann)).filter(({ revokedAt }: { revokedAt: string | null }) => revokedAt === null);
      expect(valid).to.have.length(10);
      for (const { id } of valid)
        expect(code(await post(`/api/user/keys/${id}/revoke`))).to.deep.equal([200, undefined]);
    } finally {
      await timed.close();
    }
  });

  once('cancels queued jobs of a revoked key unless they are to be kept', async () => {
    const ann = await somebody();
    const {
      key: { id },
    } = (await ann.post('/api/user', { name: 'laptop' })).json;
    const { json } = await ann.post('/api/user/keys', { name: 'phone' });
    const { id: owner } = (await ann.get('/api/user')).json.account;
    const queue = async (keyId: string) => {
      const job = { kind: 'image', owner, keyId, input: null, maxActive: 100 } as const;
      return (await app.state.jobs.accept({ job })).job?.id ?? '';
    };
    const stateOf = async (job: string) => (await app.state.jobs.find(job, owner))?.state;
    const [cancelled, kept] = [await queue(id), await queue(json.key.id)];
    expect(code(await ann.post(`/api/user/keys/${id}/revoke`, { jobs: 'sell' }))).to.deep.equal([400, 'invalid_value']);
    expect((await ann.post(`/api/user/keys/${json.key.id}/revoke`, { jobs: 'keep' })).status).to.equal(200);
    expect((await ann.post(`/api/user/keys/${id}/revoke`)).status).to.equal(200);
    expect([await stateOf(cancelled), await stateOf(kept)]).to.deep.equal(['cancelled', 'queued']);
  });

  once('restores the old key when its successor is revoked', async () => {
    const ann = await somebody();
    const { key } = (await ann.post('/api/user')).json;
    const successor = (await ann.post('/api/user/rotate')).json.key;
    await ann.post(`/api/user/keys/${successor.id}/revoke`);
    expect(code(await ann.post('/api/user'))).to.deep.equal([409, 'key_exists']);
    const again = await ann.post('/api/user/rotate', { overlapHours: 168 });
    expect(again.json.replaced).to.include({ id: key.id, replacedBy: again.json.key.id });
    const audit = await app.state.audit.list({ subject: key.id, limit: 9 });
    expect(audit.map(({ action, to }) => [action, to])).to.deep.equal([
      ['key.rotated', again.json.key.id],
      ['key.rotated', successor.id],
      ['key.created', null],
    ]);
    const [revoked] = await app.state.audit.list({ subject: successor.id, limit: 9 });
    expect(revoked).to.include({ number: 1, action: 'key.revoked' });
    for (const { actor } of [...audit, revoked ?? { actor: '' }]) expect(actor).to.match(/^user:user_\w+$/);
    expect(Date.parse(again.json.replaced.expiresAt) - Date.now()).to.be.below(24 * HOUR_MS);
  });

  once('rotates a key: the old one works for a day, or as long as requested', async () => {
    const ann = await somebody();
    const old = (await ann.post('/api/user', { name: 'server' })).json.apiKey;
    const again = { 'idempotency-key': 'rotate-1' };
    const rotated = await ann.post('/api/user/rotate', {}, again);
    expect(rotated.status, rotated.text).to.equal(201);
    const { apiKey, key, replaced } = rotated.json;
    expect(key).to.include({ name: 'server', state: 'active', planId: 'free' });
    expect(replaced).to.include({ id: old.slice(6, 14), state: 'rotated', replacedBy: key.id });
    expect(Date.parse(replaced.expiresAt) - Date.now()).to.be.within(23.9 * HOUR_MS, 24 * HOUR_MS);
    expect((await ask(old)).status).to.equal(200);
    expect((await ask(apiKey)).status).to.equal(200);
    expect((await ann.get('/api/user')).json.budget.requests.used).to.equal(2);
    expect((await ann.get('/api/user')).json.key.id).to.equal(key.id);

    const replay = await ann.post('/api/user/rotate', {}, again);
    expect([replay.status, replay.json.apiKey]).to.deep.equal([201, apiKey]);
    const named = await ann.post('/api/user/rotate', { keyId: key.id }, again);
    expect(code(named)).to.deep.equal([422, 'idempotency_key_reused']);
    const twice = await ann.post('/api/user/rotate', { keyId: old.slice(6, 14) });
    expect(code(twice)).to.deep.equal([409, 'key_replaced']);

    const atOnce = await ann.post('/api/user/rotate', { keyId: key.id, overlapHours: 0 });
    expect(atOnce.status, atOnce.text).to.equal(201);
    expect(code(await ask(apiKey))).to.deep.equal([401, 'expired_api_key']);
    expect((await ask(atOnce.json.apiKey)).status).to.equal(200);
  });

  once('requires the id of a key if there are several, and finds only those of the account', async () => {
    const [ann, bob] = [await somebody(), await somebody()];
    expect(code(await ann.post('/api/user/rotate'))).to.deep.equal([404, 'key_not_found']);
    const first = (await ann.post('/api/user')).json.apiKey;
    const second = (await ann.post('/api/user/keys')).json.apiKey;
    const unnamed = await ann.post('/api/user/rotate');
    expect([...code(unnamed), unnamed.json.error.param]).to.deep.equal([400, 'missing_required_parameter', 'keyId']);
    const id = second.slice(6, 14);
    expect(code(await bob.post('/api/user/rotate', { keyId: id }))).to.deep.equal([404, 'key_not_found']);
    expect(code(await bob.post(`/api/user/keys/${id}/revoke`))).to.deep.equal([404, 'key_not_found']);
    expect(code(await bob.post('/api/user/keys/nobody00/revoke'))).to.deep.equal([404, 'key_not_found']);
    expect((await bob.delete('/api/user')).json.complete).to.equal(true);
    for (const key of [first, second]) expect((await ask(key)).status).to.equal(200);
  });

  once('revokes one key, which is refused from that answer on', async () => {
    const ann = await somebody();
    const keys = [(await ann.post('/api/user')).json.apiKey];
    for (const name of ['two', 'three']) keys.push((await ann.post('/api/user/keys', { name })).json.apiKey);
    for (const key of keys) expect((await ask(key)).status).to.equal(200);
    const id = keys[0].slice(6, 14);
    const revoked = await ann.post(`/api/user/keys/${id}/revoke`);
    expect([revoked.status, revoked.json.key.state, revoked.json.key.id]).to.deep.equal([200, 'revoked', id]);
    expect(code(await ask(keys[0]))).to.deep.equal([401, 'revoked_api_key']);
    const again = await ann.post(`/api/user/keys/${id}/revoke`);
    expect(again.json.key.revokedAt).to.equal(revoked.json.key.revokedAt);
    for (const other of ['AAAAAAAA', '%00', '..%2F..', 'x'.repeat(3_000)]) {
      expect(code(await ann.post(`/api/user/keys/${other}/revoke`)), other).to.deep.equal([404, 'key_not_found']);
    }

    for (const key of keys.slice(1)) await ann.post(`/api/user/keys/${key.slice(6, 14)}/revoke`);
    for (const key of keys) expect(code(await ask(key))).to.deep.equal([401, 'revoked_api_key']);
    expect((await ann.get('/api/user')).json.key).to.equal(null);
    // Whoever has none may make one again, and the free tier goes on as it stood.
    expect((await ann.post('/api/user')).status).to.equal(201);
    expect((await ann.get('/api/user')).json.budget.requests.used).to.equal(3);
  });

  once('answers 401 and the sign-in address without a session', async () => {
    const ann = await somebody();
    const { apiKey } = (await ann.post('/api/user')).json;
    const strangers: Record<string, string>[] = [
      {},
      { cookie: `mediagate=${'A'.repeat(43)}` },
      { authorization: `Bearer ${apiKey}` },
      { authorization: `Bearer mgd_${'A'.repeat(43)}`, cookie: ann.headers.cookie ?? '' },
    ];
    for (const [method, path] of [['GET', '/api/user'] as const, ...WRITING]) {
      for (const headers of strangers) {
        const answer = await app.request(path, {
          method,
          headers: { 'content-type': 'application/json', ...headers },
          ...(method === 'POST' && { body: '{}' }),
        });
        expect(code(answer), `${method} ${path}`).to.deep.equal([401, 'not_signed_in']);
        expect(answer.json).to.include({ loginUrl: `${app.url}/signin` });
        expect(answer.json.instruction).to.contain('device flow');
      }
    }
    // A session is no key either.
    expect(code(await app.request('/v1/models', { headers: { ...ann.headers } }))).to.deep.equal([
      401,
      'missing_api_key',
    ]);
  });

  once('refuses requests from other sites and of forms', async () => {
    const ann = await somebody();
    const { apiKey } = (await ann.post('/api/user')).json;
    const cookie = ann.headers.cookie ?? '';
    const elsewhere: Record<string, string>[] = [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: app.url, 'sec-fetch-site': 'cross-site' },
      { origin: app.url, 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
      { origin: `${app.url}.evil.example` },
    ];
    for (const [method, path] of WRITING) {
      for (const headers of elsewhere) {
        const answer = await app.request(path, {
          method,
          headers: { cookie, 'content-type': 'application/json', ...headers },
          ...(method === 'POST' && { body: '{}' }),
        });
        expect(code(answer), `${method} ${path} ${JSON.stringify(headers)}`).to.deep.equal([403, 'cross_site_request']);
      }
      if (method === 'DELETE') continue;
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
        const answer = await ann.post(path, {}, { 'content-type': type });
        expect(code(answer), type).to.deep.equal([415, 'unsupported_media_type']);
      }
    }
    expect((await ask(apiKey)).status).to.equal(200);
    expect(await keysOf(ann)).to.have.length(1);
  });

  once('names the wrong field of a request', async () => {
    const ann = await somebody();
    const cases: [path: string, body: unknown, code: string, param: string | null][] = [
      ['/api/user', { name: '' }, 'invalid_value', 'name'],
      ['/api/user', { name: '   ' }, 'invalid_value', 'name'],
      ['/api/user', { name: 'x'.repeat(101) }, 'invalid_value', 'name'],
      ['/api/user', { name: 'a\u001b[31m' }, 'invalid_value', 'name'],
      ['/api/user', { name: 'a\u0000' }, 'invalid_value', 'name'],
      ['/api/user', { name: 7 }, 'invalid_value', 'name'],
      ['/api/user', { plan: 'token_300m' }, 'unsupported_parameter', 'plan'],
      ['/api/user/keys', { priority: 'high' }, 'unsupported_parameter', 'priority'],
      ['/api/user/keys', [], 'invalid_json', null],
      ['/api/user/rotate', { overlapHours: -1 }, 'invalid_value', 'overlapHours'],
      ['/api/user/rotate', { overlapHours: 169 }, 'invalid_value', 'overlapHours'],
      ['/api/user/rotate', { overlapHours: '24' }, 'invalid_value', 'overlapHours'],
      ['/api/user/rotate', { keyId: 'x' }, 'invalid_value', 'keyId'],
      ['/api/user/keys/AAAAAAAA/revoke', { now: true }, 'unsupported_parameter', 'now'],
    ];
    for (const [path, body, expected, param] of cases) {
      const { status, json } = await ann.post(path, body);
      expect([status, json.error.code, json.error.param], JSON.stringify(body)).to.deep.equal([400, expected, param]);
    }
    expect((await ann.post('/api/user', { name: 'x'.repeat(20_000) })).status).to.equal(413);
    expect(await keysOf(ann)).to.have.length(0);
    expect((await ann.post('/api/user', { name: null })).json.key.name).to.equal('default');
  });

  it('ends keys with their plan and restores the free tier', async () => {
    const clock = createManualClock(Date.now());
    const own = await start(clock);
    try {
      const ann = await newcomer(own, 'late@example.com');
      const { apiKey } = (await ann.post('/api/user')).json;
      const [user] = await own.state.users.findByEmail('late@example.com');
      const terms = { planId: 'week', grants: ['text'], rpm: 60, models: null, imageDailyLimit: null } as const;
      const week = { ...terms, durationMs: 7 * 24 * HOUR_MS, budget: null };
      await own.state.accounts.grant({ accountId: user?.accountId ?? '', terms: week, actor: 'operator:test' });
      await own.keys.refresh();
      expect((await ann.get('/api/user')).json.plan).to.include({ id: 'week', name: 'week', state: 'active' });
      expect((await ann.get('/api/user')).json.key).to.include({ planId: 'week', rpm: 60 });
      const use = () => own.request('/v1/models', { headers: { authorization: `Bearer ${apiKey}` } });
      expect((await use()).status).to.equal(200);
      await clock.advance(8 * 24 * HOUR_MS);
      expect(code(await use())).to.deep.equal([401, 'expired_api_key']);
      const back = await newcomer(own, 'late@example.com');
      const then = (await back.get('/api/user')).json;
      expect(then.plan).to.include({ id: 'week', state: 'ended' });
      expect(then.key).to.equal(null);
      expect((await back.post('/api/user')).json.key).to.include({ planId: 'free', state: 'active' });
    } finally {
      await own.close();
    }
  });

  once('writes no key to logs or tables', async () => {
    const ann = await somebody();
    const { apiKey } = (await ann.post('/api/user', {}, { 'idempotency-key': 'canary-idempotency' })).json;
    await ask(apiKey);
    await ann.post(`/api/user/keys/${apiKey.slice(6, 14)}/revoke`);
    expect(JSON.stringify(app.log)).not.to.contain(apiKey.slice(15));
    const kept = JSON.stringify(await app.state.keys.find(apiKey.slice(6, 14)));
    expect(kept).to.contain(apiKey.slice(6, 14)).and.not.to.contain(apiKey.slice(15));
    if (app.state.engine === 'postgres') return;
    const files = (await readdir(app.dataDir)).filter((name) => name.startsWith('state.sqlite'));
    const bytes = await Promise.all(files.map((name) => readFile(path.join(app.dataDir, name), 'latin1')));
    expect(bytes.join('')).to.contain(apiKey.slice(6, 14));
    for (const secret of [apiKey.slice(15), 'canary-idempotency', ann.headers.cookie?.slice(10) ?? '']) {
      expect(bytes.join('')).not.to.contain(secret);
    }
  });
});
