/** Changes by the admin API: what they do, that each is audited with its operator, and what they refuse. */

import { expect } from 'chai';
import type { Answer } from '../http/listening-app.js';
import { type Customer, type PaymentApp, PRICE, startPaymentApp } from '../payments/app.js';

describe('changes by the admin API', () => {
  let app: PaymentApp;
  let authorization: string;
  let actor: string;
  let customer: Customer;
  let user: { id: string; accountId: string };

  before(async () => {
    app = await startPaymentApp();
    const key = await app.makeKey({ name: 'operators', grants: ['admin'] });
    authorization = `Bearer ${key}`;
    actor = `operator:key:${key.slice(6, 14)}`;
    customer = await app.customer('ann@example.com');
    const [ann] = await app.state.users.findByEmail('ann@example.com');
    user = ann!;
  });
  after(() => app?.close());

  const send = (method: string, path: string, body?: object): Promise<Answer> =>
    app.request(`/v1/admin${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const get = (path: string) => send('GET', path);

  async function post(path: string, body: object = {}): Promise<Answer['json']> {
    const { status, json, text } = await send('POST', path, body);
    expect(status, `${path}: ${text}`).to.equal(200);
    return json;
  }

  async function refused(path: string, body: object, code: string, param: string | null, status = 400) {
    const answer = await send('POST', path, body);
    expect([answer.status, answer.json.error?.code, answer.json.error?.param], `${path} ${answer.text}`).to.deep.equal([
      status,
      code,
      param,
    ]);
    return String(answer.json.error.message);
  }

  async function lastAudit(subject: string) {
    const { json } = await get(`/audit?limit=1&subject=${encodeURIComponent(subject)}`);
    const [{ action, actor: by, note }] = json.data;
    return [action, by, note];
  }

  it('make, change, rotate and revoke a key', async () => {
    const made = await post('/keys', {
      name: 'bot',
      grants: ['text', 'images'],
      rpm: 5,
      budgets: ['1000 requests/day'],
    });
    expect(made.key).to.match(/^sk-mg-/);
    expect(made).to.include({ name: 'bot', rpm: 5 });
    expect(made.budgets[0]).to.include({ unit: 'requests', limit: 1000, resets: 'day' });
    // At once, on this node.
    const used = await app.request('/v1/usage', { headers: { authorization: `Bearer ${made.key}` } });
    expect(used.status).to.equal(200);
    expect(await lastAudit(made.id)).to.deep.equal(['key.created', actor, null]);
    const changed = await post(`/keys/${made.id}`, { rpm: null, name: 'bot 2', note: 'load test' });
    expect(changed).to.include({ name: 'bot 2', rpm: null });
    expect(changed.grants).to.deep.equal(['images', 'text']);
    expect(await lastAudit(made.id)).to.deep.equal(['key.updated', actor, 'load test']);
    const rotated = await post(`/keys/${made.id}/rotate`, { overlap_hours: 0 });
    expect(rotated).to.include({ replaces: made.id, name: 'bot 2' });
    expect((await app.request('/v1/usage', { headers: { authorization: `Bearer ${made.key}` } })).status).to.equal(401);
    expect(await post(`/keys/${rotated.id}/revoke`)).to.deep.equal({ id: rotated.id, revoked: true });
    expect(await lastAudit(rotated.id)).to.deep.equal(['key.revoked', actor, null]);
    const { json } = await get(`/keys/${rotated.id}`);
    expect(json).to.include({ state: 'revoked' });
    expect(JSON.stringify(json)).not.to.contain(rotated.key);
  });

  it('give the grant admin only to a key without a plan and without a user', async () => {
    const made = await post('/keys', { name: 'other operator', grants: ['admin'] });
    expect(
      (await app.request('/v1/admin/users', { headers: { authorization: `Bearer ${made.key}` } })).status,
    ).to.equal(200);
    await refused('/keys', { plan: 'token_30m', grants: ['admin'] }, 'invalid_value', 'grants');
    const ofPlan = await post('/keys', { plan: 'token_30m' });
    await refused(`/keys/${ofPlan.id}`, { grants: ['admin'] }, 'invalid_value', 'grants');
    await refused('/keys', { account: user.accountId, grants: ['admin'] }, 'invalid_value', 'account');
    const own = await customer.post('/api/user', { name: 'own' });
    expect(own.status, own.text).to.equal(201);
    await refused(`/keys/${own.json.key.id}`, { grants: ['admin'] }, 'invalid_value', 'id');
    // Neither by the page of the account's own keys, which names what is accepted.
    const asked = await customer.post('/api/user/keys', { name: 'sneaky', grants: ['admin'] });
    expect([asked.status, asked.json.error.code, asked.json.error.param]).to.deep.equal([
      400,
      'invalid_value',
      'grants',
    ]);
    expect(asked.json.error.message).not.to.contain('admin');
  });

  it('take no field that is not theirs', async () => {
    const more: readonly (readonly [string, unknown])[] = [
      ['id', 'AAAAAAAA'],
      ['hash', 'x'],
      ['accountId', user.accountId],
      ['planId', 'operator'],
      ['budgetId', 'budget_1'],
      ['internal', true],
      ['isInternal', true],
      ['revokedAt', null],
      ['actor', 'operator:ann'],
      ['createdAt', 0],
      ['constructor', {}],
    ];
    for (const [name, value] of more) {
      const field = { [name]: value };
      await refused('/keys', { name: 'x', ...field }, 'unsupported_parameter', name);
      await refused(`/users/${user.id}/plan`, { plan: 'token_30m', ...field }, 'unsupported_parameter', name);
      await refused(`/users/${user.id}/suspend`, { ...field }, 'unsupported_parameter', name);
      await refused('/groups', { name: 'g', ...field }, 'unsupported_parameter', name);
      await refused('/incidents', { title: 'x', ...field }, 'unsupported_parameter', name);
      await refused('/orders/MG00000000/confirm', { ...field }, 'unsupported_parameter', name);
    }
    const { json } = await get('/users');
    expect(json.data.every(({ state }: { state: string }) => state === 'active')).to.equal(true);
    const polluted = await app.request('/v1/admin/keys', {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: '{"name":"x","__proto__":{"grants":["admin"]}}',
    });
    expect([polluted.status, polluted.json.error.param]).to.deep.equal([400, '__proto__']);
  });

  it('name the field and what is accepted, and suggest the closest name', async () => {
    expect(await refused('/keys', { plan: 'token_30n' }, 'invalid_value', 'plan')).to.contain(
      'Did you mean "token_30m"?',
    );
    expect(await refused('/keys', { grants: ['txt'] }, 'invalid_value', 'grants')).to.contain('text');
    expect(await refused('/keys', { rpm: -1 }, 'invalid_value', 'rpm')).to.equal(
      'rpm must be a whole number from 0 to 1000000 or null.',
    );
    expect(await refused('/keys', { nmae: 'x' }, 'unsupported_parameter', 'nmae')).to.contain('Did you mean "name"?');
    expect(await refused('/keys', { budgets: ['50 XXX'] }, 'invalid_value', 'budgets')).to.contain('50 USD/month');
    expect(await refused('/keys', { expires_at: '2020-01-01' }, 'invalid_value', 'expires_at')).to.contain('future');
    const [model] = app.gateway.models();
    if (model)
      expect(await refused('/keys', { models: [`${model.id}x`] }, 'invalid_value', 'models')).to.contain(model.id);
    await post('/groups', { name: 'research' });
    expect(await refused('/keys', { group: 'reserch' }, 'invalid_value', 'group')).to.contain(
      'Did you mean "research"?',
    );
    expect(await refused('/groups/researh/budgets', { budgets: [] }, 'invalid_value', 'name')).to.contain('"research"');
    expect(await refused(`/users/${user.id}/plan`, { plan: 'token30m' }, 'invalid_value', 'plan')).to.contain(
      '"token_30m"',
    );
    expect(await refused(`/users/${user.id}/plan`, {}, 'missing_required_parameter', 'plan')).to.contain(
      'plan is missing',
    );
    await refused(`/keys/AAAAAAAA`, { rpm: 1 }, 'key_not_found', 'id', 404);
    await refused('/users/user_none/suspend', {}, 'user_not_found', 'id', 404);
  });

  it('never give the plan of operators', async () => {
    await refused(`/users/${user.id}/plan`, { plan: 'operator' }, 'invalid_value', 'plan');
    await refused('/keys', { plan: 'operator' }, 'invalid_value', 'plan');
  });

  it('make groups, set budgets and delete them', async () => {
    await post('/groups', { name: 'sales', budgets: ['2M tokens/month'] });
    const key = await post('/keys', { name: 'crm', group: 'sales' });
    expect(key.group).to.equal('sales');
    const { json: groups } = await get('/groups');
    expect(groups.data.find(({ name }: { name: string }) => name === 'sales')).to.deep.include({ keys: 1 });
    await post('/groups/sales/budgets', { budgets: ['3M tokens/month'], note: 'more' });
    expect(await lastAudit('group:sales')).to.deep.equal(['budget.changed', actor, 'more']);
    await post(`/accounts/${user.accountId}/budgets`, { budgets: ['10 requests/day'] });
    const { json: budgets } = await get('/budgets');
    expect(budgets.data.map(({ of }: { of: string }) => of)).to.include.members(['group', 'account']);
    expect((await send('DELETE', '/groups/sales')).status).to.equal(400);
    expect((await send('DELETE', '/groups/sales?release_keys=true')).json).to.deep.equal({
      name: 'sales',
      deleted: true,
    });
    expect((await get(`/keys/${key.id}`)).json.group).to.equal(undefined);
    await post(`/accounts/${user.accountId}/budgets`, { budgets: [] });
  });

  it('set, extend and end the plan of a user', async () => {
    const day = 24 * 3_600_000;
    const set = await post(`/users/${user.id}/plan`, { plan: 'token_30m', days: 3, note: 'goodwill' });
    expect(Date.parse(set.expires_at) - Date.now()).to.be.within(3 * day - 60_000, 3 * day + 60_000);
    expect(await lastAudit(user.accountId)).to.deep.equal(['plan.granted', actor, 'goodwill']);
    const extended = await post(`/users/${user.accountId}/plan`, { plan: 'token_30m', days: 2 });
    expect(Date.parse(extended.expires_at) - Date.parse(set.expires_at)).to.be.within(
      2 * day - 60_000,
      2 * day + 60_000,
    );
    const { json } = await get(`/users/${user.id}`);
    expect(json.plan).to.equal('token_30m');
    expect(json.left.tokens).to.be.greaterThan(0);
    expect(await post(`/users/${user.id}/plan/end`, { note: 'fraud' })).to.include({ plan: null, expires_at: null });
    expect(await lastAudit(user.accountId)).to.deep.equal(['plan.taken-back', actor, 'fraud']);
    const plan = (await app.state.accounts.find(user.accountId))?.plan;
    expect(plan?.expiresAt).to.be.at.most(Date.now());
    // Again: nothing changes, and nothing is recorded.
    await post(`/users/${user.id}/plan/end`);
    expect(await lastAudit(user.accountId)).to.deep.equal(['plan.taken-back', actor, 'fraud']);
  });

  it('suspend a user, who is signed out, and resume', async () => {
    const other = await app.customer('suspended@example.com');
    const [person] = await app.state.users.findByEmail('suspended@example.com');
    expect(await post(`/users/${person!.id}/suspend`, { note: 'spam' })).to.deep.equal({
      id: person!.id,
      state: 'suspended',
      changed: true,
    });
    expect((await other.get('/api/user')).status).to.equal(401);
    expect(await lastAudit(person!.id)).to.deep.equal(['user.suspended', actor, 'spam']);
    expect((await post(`/users/${person!.id}/suspend`)).changed).to.equal(false);
    expect((await post(`/users/${person!.id}/resume`)).state).to.equal('active');
  });

  it('confirm, refund and cancel orders', async () => {
    const code = await customer.order();
    expect(await post(`/orders/${code.toLowerCase()}/confirm`, { note: 'cash' })).to.include({ code, state: 'paid' });
    const { json } = await get(`/orders/${code}`);
    expect(json.audit.map(({ action }: { action: string }) => action)).to.include('order.confirmed');
    await refused(`/orders/${code}/cancel`, {}, 'order_state_conflict', null, 409);
    expect((await post(`/orders/${code}/refund`)).state).to.equal('refunded');
    expect(await lastAudit(code)).to.deep.equal(['order.refunded', actor, null]);
    expect((await post(`/orders/${await customer.order()}/cancel`)).state).to.equal('cancelled');
    await refused('/orders/MG00000000/confirm', {}, 'order_not_found', null, 404);
  });

  it('match money without a code to an order, once', async () => {
    const code = await customer.order();
    const money = { provider: 'generic', id: 'B-1', amount: PRICE, currency: 'VND', text: 'no code', at: Date.now() };
    await app.state.orders.record(money);
    const { json: waiting } = await get('/transfers?review=true');
    expect(waiting.data[0]).to.include({ id: 'B-1', order: null, review: 'unmatched' });
    const { json: overview } = await get('/overview');
    expect(overview.waiting.transfers[0]).to.include({ id: 'B-1' });
    const matching = { provider: 'generic', id: 'B-1', order: code, note: 'the payer called' };
    expect(await post('/transfers/match', matching)).to.include({ code, state: 'paid', paid_amount: PRICE });
    const audit = (await get(`/orders/${code}`)).json.audit;
    expect(audit[0]).to.include({ action: 'order.money', actor, to: 'paid' });
    expect(audit[0].note).to.contain('the payer called');
    expect((await get('/transfers?review=true')).json.data).to.deep.equal([]);
    await refused('/transfers/match', matching, 'invalid_value', 'id');
    expect((await app.state.orders.find(code))?.paidAmount).to.equal(PRICE);
    await refused('/transfers/match', { ...matching, id: 'B-2' }, 'invalid_value', 'id');
    await app.state.orders.record({ ...money, id: 'B-3' });
    expect((await post('/transfers/settle', { provider: 'generic', id: 'B-3', note: 'sent back' })).settled).to.equal(
      true,
    );
    expect((await post('/transfers/settle', { provider: 'generic', id: 'B-3' })).settled).to.equal(false);
  });

  it('acknowledge alerts', async () => {
    const [{ id } = { id: '' }] = await app.state.alerts.note([
      { kind: 'disk_low', subject: 'n', detail: { percent: 1 } },
    ]);
    const answer = await post(`/alerts/${id}/acknowledge`, { note: 'known' });
    expect(answer).to.include({ state: 'acknowledged', acknowledged_by: actor, subject: 'n' });
    expect(await lastAudit(id)).to.deep.equal(['alert.acknowledged', actor, 'known']);
    expect((await get('/overview')).json.waiting).to.deep.include({ alert_count: 1 });
    await refused('/alerts/alr_none/acknowledge', {}, 'invalid_value', 'id');
  });

  it('report, update, rename and close incidents', async () => {
    const { id } = await post('/incidents', { title: 'Images are slow', kind: 'outage' });
    expect(await lastAudit(id)).to.deep.equal(['incident.added', actor, 'Images are slow']);
    const path = `/incidents/${id}`;
    const identified = await post(`${path}/updates`, { text: 'A disk is full.', state: 'identified' });
    expect([identified.state, identified.updates[0].text]).to.deep.equal(['identified', 'A disk is full.']);
    expect(await lastAudit(id)).to.deep.equal(['incident.updated', actor, 'A disk is full.']);
    await refused(`${path}/updates`, { text: 'x', state: 'ended' }, 'invalid_value', 'state');
    await refused(`${path}/updates`, { state: 'monitoring' }, 'missing_required_parameter', 'text');
    expect((await post(path, { title: 'Images wait' })).title).to.equal('Images wait');
    expect(await lastAudit(id)).to.deep.equal(['incident.renamed', actor, null]);
    const closed = await post(`${path}/close`, { outcome: 'Mended.' });
    expect([closed.outcome, closed.state]).to.deep.equal(['Mended.', 'resolved']);
    expect(closed.updates.map((one: { text: string }) => one.text)).to.deep.equal(['Mended.', 'A disk is full.']);
    await refused(`${path}/updates`, { text: 'Again.' }, 'invalid_value', 'id');
    await refused('/incidents/inc_none/updates', { text: 'x' }, 'invalid_value', 'id');
    await refused('/incidents/inc_none', { title: 'x' }, 'invalid_value', 'id');
    await refused('/incidents/inc_none/close', {}, 'invalid_value', 'id');
  });
});
