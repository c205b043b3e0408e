/** Limits that users give to keys of their account, within the plan. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import { createManualClock } from 'mediagate/testing';
import type { PlanTerms } from '../../../server/plans/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedModel } from '../../support/images/invented-image.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import type { Answer } from '../http/listening-app.js';
import { imageClient } from '../images/client.js';
import { type AccountClient, newcomer } from './client.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const DAY_MS = 86_400_000;

const WIDE: PlanTerms = {
  planId: 'wide',
  grants: ['images', 'extract', 'text'],
  rpm: 20,
  models: null,
  imageDailyLimit: null,
  durationMs: 30 * DAY_MS,
  budget: null,
};

describeOnStacks('limits of keys by their users over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;
  let people = 0;

  before(async () => {
    app = await startSignInApp({
      stack,
      plugins: [
        ...['m-5.5', 'm-5.4'].map((model) => ({ id: model, use: echoText, options: { model } })),
        { use: inventedModel() },
      ],
      prices: createPrices({ currency: 'USD', models: { 'm-5.5': { input: 1, output: 10 } } }),
    });
  });
  after(() => app?.close());
  beforeEach(untilDayHasRoom);

  async function grant(client: AccountClient, terms: PlanTerms, on: SignInApp = app): Promise<void> {
    const { user } = (await client.get('/api/agent/session')).json;
    const { accountId = '' } = (await on.state.users.find(user.id)) ?? {};
    await on.state.accounts.grant({ accountId, terms, actor: 'operator:test' });
    await on.keys.refresh();
  }

  async function somebody(terms: PlanTerms = WIDE): Promise<AccountClient> {
    people += 1;
    const client = await newcomer(app, `person${people}@example.com`);
    await grant(client, terms);
    return client;
  }

  async function make(client: AccountClient, body: object = {}): Promise<{ apiKey: string; id: string; key: KeyJson }> {
    const { status, json, text } = await client.post('/api/user/keys', body);
    expect(status, text).to.equal(201);
    return { ...json, id: json.key.id };
  }

  const ask = (key: string, model = 'm-5.5'): Promise<Answer> =>
    app.request('/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] }),
    });
  const outcome = ({ status, json }: Answer) => json?.error?.code ?? status;
  const keyOf = async (client: AccountClient, id: string): Promise<KeyJson> =>
    (await client.get('/api/user')).json.keys.find((key: KeyJson) => key.id === id);
  const auditOf = async (id: string) =>
    (await app.state.audit.list({ subject: id, limit: 9 })).map(({ action, actor, from, to }) => {
      return { action, by: actor.split(':')[0], from, to };
    });

  once('hold for that key, within the plan', async () => {
    const ann = await somebody();
    const limits = { grants: ['text'], models: ['m-5.5'], rpm: 2, expiresInDays: 7, budgets: ['50 requests/day'] };
    const { apiKey, id, key } = await make(ann, { name: 'narrow', ...limits });
    expect(key).to.deep.include({ planId: 'wide', grants: ['text'], models: ['m-5.5'], rpm: 2 });
    expect(key.own).to.deep.include({ grants: ['text'], models: ['m-5.5'], rpm: 2, expiresAt: key.expiresAt });
    expect(Date.parse(key.expiresAt ?? '') - Date.now()).to.be.within(6.9 * DAY_MS, 7 * DAY_MS);
    expect(key.budgets).to.have.length(1);
    expect(key.budgets[0]).to.deep.include({
      of: 'key',
      unit: 'requests',
      limit: 50,
      used: 0,
      left: 50,
      resets: 'day',
    });

    expect(outcome(await ask(apiKey, 'm-5.4'))).to.equal('model_not_allowed');
    const models = await app.request('/v1/models', { headers: { authorization: `Bearer ${apiKey}` } });
    expect(models.json.data.map((model: { id: string }) => model.id)).to.deep.equal(['m-5.5']);
    const links = await app.request('/v1/capabilities', { headers: { authorization: `Bearer ${apiKey}` } });
    expect(outcome(links)).to.equal('route_not_allowed');

    const first = await ask(apiKey);
    expect([first.status, first.headers.get('x-ratelimit-limit-requests')], first.text).to.deep.equal([200, '2']);
    expect(outcome(await ask(apiKey))).to.equal(200);
    const refused = await ask(apiKey);
    expect(outcome(refused)).to.equal('rate_limit_exceeded');
    expect(refused.json.error.message).to.equal('This API key may make 2 requests in 60 seconds.');
    // Its requests count for the account; one that its own limit refused does not.
    const other = await make(ann, { name: 'other' });
    expect((await ask(other.apiKey)).headers.get('x-ratelimit-remaining-requests')).to.equal('17');
    expect(await keyOf(ann, id)).to.deep.nested.include({ 'budgets[0].used': 2, 'windows[0].limit': 2 });
    const { accountId = '' } = (await app.state.keys.find(id)) ?? {};
    const rows = await app.state.keys.listOf(accountId);
    expect(rows.map(({ own }) => own?.rpm)).to.deep.equal([2, undefined]);
    expect(await auditOf(id)).to.deep.equal([
      {
        action: 'key.created',
        by: 'user',
        from: null,
        to: `own grants text; own rpm 2; own models m-5.5; expires ${key.expiresAt}; budget 50 requests/day`,
      },
    ]);
  });

  it('count each request in both windows or in none, among simultaneous ones', async () => {
    const ann = await somebody({ ...WIDE, rpm: 12 });
    const narrow = await make(ann, { rpm: 5 });
    const wide = await make(ann);
    const all = Array.from({ length: 30 }, (_, index) => ask(index % 2 === 0 ? narrow.apiKey : wide.apiKey));
    const outcomes = (await Promise.all(all)).map(outcome);
    const accepted = (rest: number) => outcomes.filter((each, index) => index % 2 === rest && each === 200).length;
    expect(accepted(0) + accepted(1)).to.equal(12);
    expect(accepted(0)).to.be.at.most(5);
    // The rest of the account is used up, so the narrow key has none left either.
    const refused = await ask(narrow.apiKey);
    expect(outcome(refused)).to.equal('rate_limit_exceeded');
    expect(refused.json.error.message).to.match(accepted(0) < 5 ? /^This account may make 12/ : /^This /);
  });

  it('limit image jobs in the transaction that accepts them', async () => {
    const ann = await somebody({ ...WIDE, rpm: 3 });
    const { apiKey } = await make(ann, { rpm: 1, grants: ['images'] });
    const first = await imageClient(app, apiKey).submit();
    expect([first.status, first.headers.get('x-ratelimit-remaining-requests')], first.text).to.deep.equal([202, '0']);
    const refused = await imageClient(app, apiKey).submit();
    expect(outcome(refused)).to.equal('rate_limit_exceeded');
    expect(refused.json.error.message).to.equal('This API key may make one request in 60 seconds.');
    const wide = await make(ann);
    expect((await imageClient(app, wide.apiKey).submit()).headers.get('x-ratelimit-remaining-requests')).to.equal('1');
  });

  once('are refused with the field and what the plan allows', async () => {
    const ann = await somebody({ ...WIDE, grants: ['text', 'extract'], models: ['m-5.5'], rpm: 10 });
    const { id, key } = await make(ann);
    const late = new Date(Date.now() + 31 * DAY_MS).toISOString();
    const cases: [body: object, param: string, message: RegExp][] = [
      [{ grants: ['images'] }, 'grants', /among those of the plan wide: extract, text|text, extract/],
      [{ grants: ['everything'] }, 'grants', /a list of images, extract, text/],
      [{ grants: [] }, 'grants', /a list of/],
      [{ models: ['m-5.4'] }, 'models', /among those of the plan wide: m-5\.5\./],
      [{ models: ['m-none'] }, 'models', /There is no model m-none/],
      [{ models: [7] }, 'models', /a list of 1 to 50 ids/],
      [{ rpm: 11 }, 'rpm', /at most 10, as the plan wide allows/],
      [{ rpm: 0 }, 'rpm', /a whole number from 1/],
      [{ rpm: '5' }, 'rpm', /a whole number from 1/],
      [{ expiresAt: late }, 'expiresAt', /no later than the end of the plan wide, 20/],
      [{ expiresAt: '2020-01-01' }, 'expiresAt', /in the future/],
      [{ expiresAt: 'soon' }, 'expiresAt', /a time such as/],
      [{ expiresInDays: 31 }, 'expiresAt', /no later than the end/],
      [{ expiresInDays: 0.5 }, 'expiresInDays', /a whole number from 1/],
      [{ expiresInDays: 1, expiresAt: late }, 'expiresInDays', /without expiresAt/],
      [{ budgets: ['many'] }, 'budgets', /an amount such as "50 USD\/month"/],
      [{ budgets: ['5 EUR/month'] }, 'budgets', /in USD, as the prices are/],
      [{ budgets: ['5 requests', '6 requests'] }, 'budgets', /each unit and period once/],
      [{ budgets: ['1 requests', '1 tokens', '1 USD', '1 USD/day'] }, 'budgets', /at most 3 budgets/],
    ];
    for (const path of ['/api/user/keys', `/api/user/keys/${id}`]) {
      for (const [body, param, message] of cases) {
        const { status, json } = await ann.post(path, body);
        const about = `${path} ${JSON.stringify(body)}`;
        expect([status, json.error?.code, json.error?.param], about).to.deep.equal([400, 'invalid_value', param]);
        expect(json.error.message, about).to.match(message);
      }
      // At most 20 requests a second are answered.
      await new Promise((resolve) => setTimeout(resolve, 1_100));
    }
    const unknown = await ann.post(`/api/user/keys/${id}`, { grant: ['text'] });
    expect([outcome(unknown), unknown.json.error.param]).to.deep.equal(['unsupported_parameter', 'grant']);
    expect(outcome(await ann.post(`/api/user/keys/${id}`, {}))).to.equal('missing_required_parameter');
    expect(await keyOf(ann, id)).to.deep.include(key);
    expect((await ann.get('/api/user')).json.keys).to.have.length(1);
  });

  once('change one by one, and null is as the plan', async () => {
    const ann = await somebody();
    const { apiKey, id } = await make(ann, { rpm: 1, models: ['m-5.4'] });
    const change = async (body: object): Promise<KeyJson> => {
      const { status, json, text } = await ann.post(`/api/user/keys/${id}`, body);
      expect(status, text).to.equal(200);
      return json.key;
    };
    const renamed = await change({ name: 'Ann', grants: ['text', 'extract'] });
    expect(renamed).to.deep.include({ name: 'Ann', grants: ['extract', 'text'], models: ['m-5.4'], rpm: 1 });
    expect(outcome(await ask(apiKey))).to.equal('model_not_allowed');
    const wider = await change({ models: null, rpm: 3, expiresAt: new Date(Date.now() + DAY_MS).toISOString() });
    expect(wider).to.deep.include({ models: null, rpm: 3, grants: ['extract', 'text'] });
    expect([outcome(await ask(apiKey)), outcome(await ask(apiKey))]).to.deep.equal([200, 200]);
    const plain = await change({ grants: null, rpm: null, expiresAt: null });
    expect(plain.own).to.deep.equal({ grants: null, models: null, rpm: null, expiresAt: null });
    expect(plain).to.deep.include({ grants: WIDE.grants, rpm: 20 });
    expect(await keyOf(ann, id)).to.deep.include(plain);
    const audit = await auditOf(id);
    expect(audit[0]).to.deep.include({ from: `own grants extract,text; own rpm 3; expires ${wider.expiresAt}` });
    expect(audit[0]?.to).to.equal('own grants as the plan; own rpm as the plan; expires with the plan');
    expect(audit[2]).to.deep.include({ from: 'name; own grants as the plan', to: 'name; own grants extract,text' });
  });

  once('stay when the plan changes, and never exceed it', async () => {
    const ann = await somebody({ ...WIDE, durationMs: null });
    const { id, apiKey } = await make(ann, { grants: ['text', 'images'], models: ['m-5.4', 'm-5.5'], rpm: 15 });
    await grant(ann, { ...WIDE, planId: 'small', grants: ['text', 'audio'], models: ['m-5.5'], rpm: 5 });
    expect(await keyOf(ann, id)).to.deep.include({ planId: 'small', grants: ['text'], models: ['m-5.5'], rpm: 5 });
    expect([outcome(await ask(apiKey)), outcome(await ask(apiKey, 'm-5.4'))]).to.deep.equal([200, 'model_not_allowed']);
    await grant(ann, { ...WIDE, planId: 'large', rpm: 500 });
    const kept = await keyOf(ann, id);
    expect(kept).to.deep.include({ planId: 'large', models: ['m-5.4', 'm-5.5'], rpm: 15 });
    expect(kept.grants).to.have.members(['images', 'text']);
    expect(outcome(await ask(apiKey, 'm-5.4'))).to.equal(200);
  });

  once('hold in the plan that follows, too', async () => {
    const clock = createManualClock(Date.now());
    const own = await startSignInApp({
      clock,
      plugins: [{ use: echoText, options: { model: 'm-5.5' } }],
    });
    try {
      const ann = await newcomer(own, 'ann@example.com');
      await grant(ann, { ...WIDE, planId: 'month', rpm: 40, price: { amount: 1, currency: 'EUR' } }, own);
      await grant(ann, { ...WIDE, planId: 'week', durationMs: 7 * DAY_MS, rpm: 4 }, own);
      const { key } = (await ann.post('/api/user/keys', { rpm: 4, grants: ['text'] })).json;
      expect(key).to.deep.include({ planId: 'week', rpm: 4, grants: ['text'] });
      await clock.advance(8 * DAY_MS);
      const back = await newcomer(own, 'ann@example.com');
      const later = (await back.get('/api/user')).json.keys[0];
      expect(later).to.deep.include({ planId: 'month', rpm: 4, grants: ['text'], state: 'active' });
      // Its own limits are judged by the plan of the moment.
      const changed = await back.post(`/api/user/keys/${later.id}`, { rpm: 30 });
      expect(changed.json.key, changed.text).to.deep.include({ rpm: 30 });
    } finally {
      await own.close();
    }
  });

  it('move to the key that replaces it, with its budget', async () => {
    const ann = await somebody();
    const old = await make(ann, { grants: ['text'], rpm: 9, budgets: ['3 requests/day'], expiresInDays: 9 });
    expect(outcome(await ask(old.apiKey))).to.equal(200);
    const rotated = (await ann.post('/api/user/rotate', { keyId: old.id, overlapHours: 24 })).json;
    expect(rotated.key.own).to.deep.equal(old.key.own);
    expect(rotated.key).to.deep.include({ grants: ['text'], rpm: 9, expiresAt: old.key.expiresAt });
    expect([outcome(await ask(rotated.apiKey)), outcome(await ask(old.apiKey))]).to.deep.equal([200, 200]);
    expect(outcome(await ask(rotated.apiKey))).to.equal('insufficient_quota');
    const replaced = await ann.post(`/api/user/keys/${old.id}`, { expiresAt: null });
    expect(outcome(replaced)).to.equal('key_replaced');
    const changed = await ann.post(`/api/user/keys/${rotated.key.id}`, { budgets: ['4 requests/day', '1 USD/month'] });
    expect(changed.json.key.budgets, changed.text).to.have.length(2);
    expect(changed.json.key.budgets[0]).to.deep.include({ limit: 4, used: 3, left: 1 });
    // A key and the one that it replaces share their budgets.
    expect((await keyOf(ann, old.id)).budgets).to.have.length(2);
    expect([outcome(await ask(old.apiKey)), outcome(await ask(old.apiKey))]).to.deep.equal([200, 'insufficient_quota']);
    const freed = await ann.post(`/api/user/keys/${rotated.key.id}`, { budgets: [] });
    expect(freed.json.key.budgets).to.deep.equal([]);
    expect(outcome(await ask(old.apiKey))).to.equal(200);
  });

  once('change only for valid keys of the own account', async () => {
    const [ann, bob] = [await somebody(), await somebody()];
    const { id, key } = await make(ann, { rpm: 3 });
    for (const path of [`/api/user/keys/${id}`, '/api/user/keys/AAAAAAAA', '/api/user/keys/%00'])
      expect(outcome(await bob.post(path, { rpm: null })), path).to.equal('key_not_found');
    expect(await keyOf(ann, id)).to.deep.include(key);
    await ann.post(`/api/user/keys/${id}/revoke`);
    expect(outcome(await ann.post(`/api/user/keys/${id}`, { rpm: null }))).to.equal('key_not_found');
    const { accountId = '' } = (await app.state.keys.find(id)) ?? {};
    const internal = await app.state.keys.issueInternal({ accountId, otherwise: WIDE });
    expect(outcome(await ann.post(`/api/user/keys/${internal.id}`, { rpm: 1 }))).to.equal('key_not_found');
    const local = await app.makeKey({ grants: ['text'] });
    expect(outcome(await ann.post(`/api/user/keys/${local.slice(6, 14)}`, { rpm: null }))).to.equal('key_not_found');
  });

  once('make a repeated request the same only with the same limits', async () => {
    const ann = await somebody();
    const post = (body: object) => ann.post('/api/user/keys', body, { 'idempotency-key': 'one' });
    const first = await post({ rpm: 3, models: ['m-5.5'], expiresInDays: 3 });
    const again = await post({ rpm: 3, models: ['m-5.5'], expiresInDays: 3 });
    expect([again.status, again.json.apiKey]).to.deep.equal([201, first.json.apiKey]);
    for (const body of [{ rpm: 4, models: ['m-5.5'] }, { rpm: 3 }, { rpm: 3, models: ['m-5.4'] }, {}])
      expect(outcome(await post(body)), JSON.stringify(body)).to.equal('idempotency_key_reused');
  });
});

interface KeyJson {
  id: string;
  planId: string;
  grants: string[];
  models: string[] | null;
  rpm: number | null;
  expiresAt: string | null;
  own: { grants: string[] | null; models: string[] | null; rpm: number | null; expiresAt: string | null };
  budgets: object[];
}
