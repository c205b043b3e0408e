/** A prepaid balance from the order of a top-up to its refund, as a client and an operator see it. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { readCatalogue } from '../../../server/plans/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { scriptedText } from '../../support/models/scripted-text.js';
import { until } from '../../support/until.js';
import { type Customer, genericNotice, type PaymentApp, startPaymentApp } from './app.js';

/** A token of output costs 10 millionths. */
const prices = createPrices({
  currency: 'USD',
  models: { 'm-5.5': { input: 1, output: 10 }, 'm-6': { input: 2, output: 20 } },
});
const USAGE = { prompt_tokens: 20, completion_tokens: 300, total_tokens: 320 };
const COST = 0.00302;
const PRICE = 26_000;

const PLANS = {
  publicPriceTablesVisible: true,
  freeTier: { requestLimit: 1 },
  payAsYouGo: {
    packages: [{ id: 'topup_1', name: '1 USD', price: { amount: PRICE, currency: 'VND' }, credit: '1 USD' }],
    grants: ['text'],
    lowBalance: '0.5 USD',
  },
};

describe('a prepaid balance', () => {
  let folder: string;
  let app: PaymentApp;
  let ann: Customer;
  let accountId: string;
  let key: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-plans-'));
    await writeFile(path.join(folder, 'plans.json'), JSON.stringify(PLANS));
    const catalogue = await readCatalogue(path.join(folder, 'plans.json'));
    const text = scriptedText(
      ({ model }) => {
        const choices = [{ index: 0, message: { role: 'assistant', content: 'Ostend.' }, finish_reason: 'stop' }];
        const answer = { id: 'c', object: 'chat.completion', created: 1, model, choices, usage: USAGE };
        return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(answer))] };
      },
      { models: ['m-5.5', 'm-6'].map((id) => ({ id, routes: ['chat_completions'], efforts: [] })) },
    );
    app = await startPaymentApp({ catalogue, prices, prepaidBalance: 'chosen', plugins: [{ use: text.plugin }] });
    ann = await app.customer('ann@example.com');
    const { json } = await ann.post('/api/user/keys', { name: 'laptop' });
    key = json.apiKey;
    accountId = (await app.state.keys.list()).find(({ name }) => name === 'laptop')?.accountId ?? '';
  });

  after(async () => {
    await app?.close();
    await rm(folder, { recursive: true, force: true });
  });

  const chat = (model = 'm-5.5') =>
    app.request('/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 400, messages: [{ role: 'user', content: 'Where?' }] }),
    });

  async function topUp(): Promise<string> {
    const { json } = await ann.post('/api/agent/payment', { planId: 'topup_1' });
    const { code } = json.payment;
    expect(json.payment).to.deep.include({
      planId: 'topup_1',
      topUp: { credit: '1', currency: 'USD' },
      resultingPlan: null,
    });
    const { body, headers } = genericNotice({ id: `T-${code}`, text: code, amount: PRICE });
    expect((await app.webhook('generic', body, headers)).status).to.equal(200);
    return code;
  }

  it('is offered in the manifest with its packages and rates', async () => {
    const { json } = await app.request('/api/agent/manifest');
    const creditCurrency = 'USD';
    expect(json.payAsYouGo).to.deep.equal({
      eligible: false,
      packages: [{ id: 'topup_1', name: '1 USD', amount: PRICE, currency: 'VND', credit: '1', creditCurrency }],
      ratesPerMillionTokens: [
        { model: 'm-5.5', currency: 'USD', input: 1, output: 10 },
        { model: 'm-6', currency: 'USD', input: 2, output: 20 },
      ],
    });
  });

  it('cannot be topped up by an account that no operator chose', async () => {
    const refused = await ann.post('/api/agent/payment', { planId: 'topup_1' });
    expect([refused.status, refused.json.error.code]).to.deep.equal([403, 'top_up_not_allowed']);
    expect((await ann.get('/api/agent/balance')).json).to.include({ balance: null, eligible: false });
    expect((await ann.get('/orders')).text).not.to.contain('topup_1');
    await app.state.balances.setEligible({ accountId, actor: 'operator:bob' }, true);
    expect((await ann.get('/orders')).text).to.contain('value="topup_1"');
  });

  it('pays after the plan, and for models that the plan does not have', async () => {
    expect((await chat()).status).to.equal(200);
    expect((await chat()).json.error.code).to.equal('insufficient_quota');
    expect((await chat('m-6')).json.error.code).to.equal('model_not_allowed');
    await topUp();
    await app.keys.refresh();
    expect((await chat()).status).to.equal(200);
    expect((await chat('m-6')).status).to.equal(200);
    const left = 1 - COST - 2 * COST;
    await until(
      async () => Number((await ann.get('/api/agent/balance')).json.balance.amount) === Number(left.toFixed(6)),
    );
    const { balance, eligible, statement } = (await ann.get('/api/agent/balance')).json;
    expect({ balance, eligible }).to.deep.equal({
      balance: { currency: 'USD', amount: '0.99094', reserved: '0', free: '0.99094', onHoldSince: null },
      eligible: true,
    });
    expect(statement.map(({ kind, amount, note }: Record<string, string>) => [kind, amount, note])).to.deep.equal([
      ['usage', '-0.00604', 'm-6'],
      ['usage', '-0.00302', 'm-5.5'],
      ['top_up', '1', 'topup_1'],
    ]);
  });

  it('is on the page of orders, and its statement is a CSV file', async () => {
    expect((await ann.get('/dashboard')).text)
      .to.contain('id="balance"')
      .and.to.contain('$0.99094');
    const page = (await ann.get('/orders')).text;
    expect(page).to.contain('0.99094').and.to.contain('balance/statement.csv');
    const csv = await ann.get('/api/agent/balance/statement.csv');
    const [head, first, ...others] = csv.text.trimEnd().split('\r\n');
    expect(head).to.equal('number,time,kind,amount,balance,currency,reference,note');
    expect(first).to.match(/^1,[^,]+,top_up,1,1,USD,MG[0-9A-Z]{8},topup_1$/);
    expect(others).to.have.length(2);
    expect((await ann.get('/api/agent/balance?before=2')).json.statement).to.have.length(1);
    expect((await ann.get('/api/agent/balance?before=no')).json.error).to.include({
      code: 'invalid_value',
      param: 'before',
    });
    const signedOut = await app.request('/api/agent/balance');
    expect(signedOut.status).to.equal(401);
  });

  it('gives back what is left when a top-up is refunded, and refuses requests then', async () => {
    const code = await topUp();
    expect((await ann.get(`/pay/${code}/receipt`)).text).to.contain('1 USD');
    const { state } = await app.state.orders.refund({ code, actor: 'operator:bob' });
    expect(state).to.equal('refunded');
    expect((await ann.get('/api/agent/balance')).json.balance.amount).to.equal('0.99094');
    const [first] = (await app.state.orders.list({ accountId, limit: 10 })).toReversed();
    await app.state.orders.refund({ code: first?.code ?? '', actor: 'operator:bob' });
    expect((await ann.get('/api/agent/balance')).json.balance.amount).to.equal('0');
    const audit = await app.state.audit.list({ subject: accountId, limit: 20 });
    const taken = audit
      .filter(({ action }) => action === 'balance.taken-back')
      .map(({ amount, currency }) => [amount, currency]);
    expect(taken).to.deep.equal([
      ['-0.99094', 'USD'],
      ['-1', 'USD'],
    ]);
    const refused = await chat('m-6');
    expect([refused.status, refused.json.error.code]).to.deep.equal([429, 'insufficient_quota']);
    expect(refused.json.error.message).to.contain('prepaid balance').and.to.contain('Top it up');
    const { different, unbalanced } = await app.state.ledger.sums();
    expect({ different, unbalanced }).to.deep.equal({ different: [], unbalanced: [] });
  });
});
