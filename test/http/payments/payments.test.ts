/** Orders over HTTP: amounts, limits, polls, expiry and plans that follow. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { PlansFileError } from 'mediagate/server';
import { createManualClock, createRecordingLogger } from 'mediagate/testing';
import { parse } from 'promptparse';
import { PaymentService, readReceiver } from '../../../server/payments/index.js';
import { startPaymentSweep } from '../../../server/payments/payment-service.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import type { SignInAppOptions } from '../accounts/sign-in-app.js';
import { DONG_ACCOUNT, EURO_ACCOUNT, genericNotice, type PaymentApp, PRICE, PRICED, startPaymentApp } from './app.js';

const CODE = /^MG[0-9A-HJKMNP-TV-Z]{8}$/;

describeOnStacks('payment orders', (stack) => {
  const once = onceIt(stack);
  let app: PaymentApp;

  before(async () => {
    app = await startPaymentApp({ stack });
  });
  after(() => app.close());

  once('state the amount and the receiving account, at the price of the plan', async () => {
    const ann = await app.customer('ann@example.com');
    const answer = await ann.post('/api/agent/payment', { planId: 'token_30m' });
    expect(answer.status).to.equal(201);
    const { payment } = answer.json;
    const { code, qr, createdAt, expiresAt } = payment;
    expect(code).to.match(CODE);
    expect(payment).to.deep.include({
      status: 'pending',
      planId: 'token_30m',
      amount: PRICE,
      currency: 'VND',
      method: 'bank_transfer_qr',
      paidAt: null,
      paidAmount: 0,
      statusUrl: `${app.url}/api/payment/gateway?code=${code}`,
      payUrl: `${app.url}/pay/${code}`,
      support: PRICED.support,
    });
    expect(answer.headers.get('location')).to.equal(payment.statusUrl);
    expect(payment.transfer).to.deep.equal({
      bankName: 'Vietcombank',
      bankBin: '970436',
      accountNumber: '1234567890',
      accountName: 'CONG TY TNHH MEDIAGATE',
      content: code,
      amount: PRICE,
    });
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).to.equal(24 * 3_600_000);
    const read = parse(qr.payload, true);
    expect([read?.getTagValue('54'), read?.getTagValue('62', '08')]).to.deep.equal([String(PRICE), code]);
    expect(qr.svg).to.match(/^<svg /);
    const { cookie = '' } = ann.headers;
    for (const [url, type] of [
      [qr.svgUrl, 'image/svg+xml'],
      [qr.pngUrl, 'image/png'],
    ]) {
      const picture = await fetch(url, { headers: { cookie } });
      expect(picture.status).to.equal(200);
      expect(picture.headers.get('content-type')).to.equal(type);
      expect((await picture.arrayBuffer()).byteLength).to.be.above(500);
    }
    expect((await fetch(qr.svgUrl)).status).to.equal(401);
  });

  once('refuse amounts, other fields and unknown plans', async () => {
    const bob = await app.customer('bob@example.com');
    for (const [body, code, param] of [
      [{ planId: 'token_30m', amount: 1 }, 'unsupported_parameter', 'amount'],
      [{ planId: 'token_30m', currency: 'EUR' }, 'unsupported_parameter', 'currency'],
      [{}, 'missing_required_parameter', 'planId'],
      [{ planId: 7 }, 'invalid_value', 'planId'],
      [{ planId: 'token_31m' }, 'invalid_value', 'planId'],
      [{ planId: 'free' }, 'invalid_value', 'planId'],
    ]) {
      const { status, json } = await bob.post('/api/agent/payment', body);
      expect([status, json.error.code, json.error.param]).to.deep.equal([400, code, param]);
    }
    expect((await bob.get('/api/agent/payment')).json).to.deep.equal({ payments: [] });
  });

  once('are refused for a plan without a price, with the support contact', async () => {
    const { status, json } = await (await app.customer('bob@example.com')).post('/api/agent/payment', {
      planId: 'token_100m',
    });
    expect([status, json.error.code]).to.deep.equal([409, 'price_not_configured']);
    expect(json.error.message).to.contain('Write to us. (help@example.com)');
  });

  it('are one for one Idempotency-Key, and refused with another body', async () => {
    const cleo = await app.customer('cleo@example.com');
    const post = (body: object, key = 'one') => cleo.post('/api/agent/payment', body, { 'idempotency-key': key });
    const answers = await Promise.all([1, 2, 3].map(() => post({ planId: 'token_30m' })));
    expect(new Set(answers.map(({ json }) => json.payment.code)).size).to.equal(1);
    expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 201]);
    expect(answers.filter(({ headers }) => headers.get('idempotency-replayed') === 'true')).to.have.length(2);
    const other = await (await app.customer('dan@example.com')).post(
      '/api/agent/payment',
      { planId: 'token_30m' },
      { 'idempotency-key': 'one' },
    );
    expect(other.json.payment.code).not.to.equal(answers[0]?.json.payment.code);
    expect((await post({ planId: 'token_30m' }, 'x\u00e4')).json.error.code).to.equal('invalid_idempotency_key');
  });

  once('are limited to five until one is cancelled', async () => {
    const eve = await app.customer('eve@example.com');
    const codes = [];
    for (let index = 0; index < 5; index += 1) codes.push(await eve.order());
    const sixth = await eve.post('/api/agent/payment', { planId: 'token_30m' });
    expect([sixth.status, sixth.json.error.code]).to.deep.equal([409, 'too_many_open_orders']);
    const cancelled = await eve.post(`/api/agent/payment/${codes[2]}/cancel`, {});
    expect(cancelled.json.payment).to.deep.include({ status: 'cancelled', transfer: null, qr: null });
    expect((await eve.post(`/api/agent/payment/${codes[2]}/cancel`, {})).status).to.equal(200);
    expect((await eve.get(`/api/agent/payment/${codes[2]}/qr.svg`)).status).to.equal(409);
    await eve.order();
    const { payments } = (await eve.get('/api/agent/payment')).json;
    expect(payments.map(({ status }: { status: string }) => status)).to.deep.equal([
      'pending',
      'pending',
      'pending',
      'cancelled',
      'pending',
      'pending',
    ]);
  });

  once('are hidden from other accounts', async () => {
    const [fay, gus] = [await app.customer('fay@example.com'), await app.customer('gus@example.com')];
    const code = await fay.order();
    const answers = [
      await gus.get(`/api/agent/payment/${code}`),
      await gus.get(`/api/agent/payment/${code}/qr.svg`),
      await gus.get(`/api/agent/payment/${code}/qr.png`),
      await gus.post(`/api/agent/payment/${code}/cancel`, {}),
      await gus.get(`/api/agent/payment/${encodeURIComponent("' or 1=1")}`),
    ];
    expect(answers.map(({ status, json }) => [status, json.error.code])).to.deep.equal(
      answers.map(() => [404, 'order_not_found']),
    );
    expect((await fay.get(`/api/agent/payment/${code}`)).json.payment.status).to.equal('pending');
  });

  once('need a session of the site, not a key or another page', async () => {
    const hal = await app.customer('hal@example.com');
    const code = await hal.order();
    const key = await app.makeKey();
    for (const path of ['/api/agent/payment', `/api/agent/payment/${code}/cancel`]) {
      const body = path.endsWith('cancel') ? {} : { planId: 'token_30m' };
      const send = (headers: Record<string, string>) =>
        app.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
      const type = { 'content-type': 'application/json' };
      const nobody = await send({ ...type, origin: app.url });
      expect([nobody.status, nobody.json.loginUrl]).to.deep.equal([401, `${app.url}/signin`]);
      expect((await send({ ...type, authorization: `Bearer ${key}` })).status).to.equal(401);
      const elsewhere = await send({ ...hal.headers, origin: 'https://evil.example' });
      expect([elsewhere.status, elsewhere.json.error.code]).to.deep.equal([403, 'cross_site_request']);
      expect((await send({ ...hal.headers, 'content-type': 'text/plain' })).status).to.equal(415);
    }
    expect((await hal.get('/api/agent/payment')).json.payments).to.have.length(1);
  });
});

describeOnStacks('a plan bought while another one runs', (stack) => {
  const once = onceIt(stack);
  let app: PaymentApp;

  const days = (id: string, name: string) => ({ ...PRICED.plans[0]!, id, name, durationDays: 30 });

  before(async () => {
    const plans = [...PRICED.plans, days('cheap', 'Cheap'), days('rich', 'Rich')];
    const prices = [
      { planId: 'token_30m', amount: 5_000, currency: 'VND' },
      { planId: 'cheap', amount: 300, currency: 'VND' },
      { planId: 'rich', amount: 3_000, currency: 'VND' },
    ];
    app = await startPaymentApp({ stack, catalogue: { ...PRICED, plans, prices } });
  });
  after(() => app.close());

  once('shows its end before it is paid, and ends then', async () => {
    const ann = await app.customer('ann@example.com');
    const order = async (planId: string) => (await ann.post('/api/agent/payment', { planId })).json.payment;
    const pay = async ({ code, amount }: { code: string; amount: number }) => {
      const { body, headers } = genericNotice({ id: `pay-${code}`, text: code, amount });
      expect((await app.webhook('generic', body, headers)).status).to.equal(200);
      return (await ann.get(`/api/agent/payment/${code}`)).json.payment;
    };
    const lasts = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 86_400_000;

    const cheap = await order('cheap');
    const { asOf, expiresAt, ...outcome } = cheap.resultingPlan;
    const nothing = { creditedDays: 0, replacesPlanId: null, endsReplacedPlan: false, nextPlanId: null };
    expect(outcome).to.deep.equal({ planId: 'cheap', ...nothing });
    expect(lasts(asOf, expiresAt)).to.equal(30);
    const paid = await pay(cheap);
    expect(paid.resultingPlan).to.equal(null);
    const { plan } = (await ann.get('/api/user')).json;
    expect([plan.id, lasts(paid.paidAt, plan.expiresAt)]).to.deep.equal(['cheap', 30]);

    const rich = await order('rich');
    // Less than three days, since moments have passed.
    expect(rich.resultingPlan).to.include({
      planId: 'rich',
      creditedDays: 2,
      replacesPlanId: 'cheap',
      nextPlanId: null,
    });
    expect(lasts(rich.resultingPlan.asOf, rich.resultingPlan.expiresAt)).to.equal(32);
    for (const page of ['/plans', `/pay/${rich.code}`]) {
      expect((await ann.get(page)).text, page).to.contain('That includes 2 days for what is left of Cheap.');
    }
    expect((await ann.get('/plans')).text).to.contain('Cheap ends at once; its remaining time is not credited');
    const tokens = await order('token_30m');
    expect(tokens.resultingPlan).to.include({ expiresAt: null, replacesPlanId: 'cheap', endsReplacedPlan: true });
    const { paidAt } = await pay(rich);
    const after = (await ann.get('/api/user')).json.plan;
    expect([after.id, lasts(paidAt, after.expiresAt)]).to.deep.equal(['rich', 32]);
    await pay(tokens);
    expect((await ann.get('/api/user')).json.plan).to.include({ id: 'token_30m', expiresAt: null });
    const again = await order('cheap');
    expect(again.resultingPlan).to.include({ planId: 'cheap', nextPlanId: 'token_30m', endsReplacedPlan: false });
    expect((await ann.get(`/pay/${again.code}`)).text).to.contain('Then 30M tokens continues.');
  });
});

describeOnStacks('order status', (stack) => {
  const once = onceIt(stack);
  let app: PaymentApp;

  // The limits of an address are among what is tested.
  beforeEach(async () => {
    app = await startPaymentApp({ stack });
  });
  afterEach(() => app.close());

  once('is shown to callers with its code, without the account', async () => {
    const code = await (await app.customer('ann@example.com')).order();
    const answer = await app.status(code);
    expect(answer.headers.get('cache-control')).to.equal('no-store');
    expect(Object.keys(answer.json.payment)).to.have.members([
      'code',
      'status',
      'amount',
      'currency',
      'paidAmount',
      'createdAt',
      'expiresAt',
      'paidAt',
    ]);
    expect(answer.text).not.to.contain('ann@').and.not.to.contain('acct_');
    for (const other of ['MG00000000', 'nothing', `${code}%27`]) {
      const { status, json } = await app.status(other);
      expect([status, json.error.code]).to.deep.equal([404, 'order_not_found']);
    }
    expect((await app.request('/api/payment/gateway')).json.error.param).to.equal('code');
    expect((await app.status(code, '&wait=61')).json.error.param).to.equal('wait');
  });

  it('is held until the order is paid or expired', async () => {
    const code = await (await app.customer('ann@example.com')).order();
    expect((await app.status(code, '&wait=1')).json.payment.status).to.equal('pending');
    const waiting = app.status(code, '&wait=20');
    await app.state.orders.confirm({ code, actor: 'operator:test' });
    const { payment } = (await waiting).json;
    expect([payment.status, payment.paidAt === null]).to.deep.equal(['paid', false]);
    expect((await app.status(code, '&wait=20')).json.payment.status).to.equal('paid');
  });

  once('is limited to 600 polls a minute of an address', async () => {
    let refused: number | undefined;
    for (let asked = 0; asked < 700 && refused === undefined; asked += 50) {
      const answers = await Promise.all(Array.from({ length: 50 }, () => app.status('MG00000000')));
      if (answers.some(({ status }) => status === 429)) refused = asked + 50;
    }
    expect(refused).to.be.within(550, 650);
  });
});

describeOnStacks('a wait for an order', (stack) => {
  const once = onceIt(stack);
  once('ends when the gateway drains', async () => {
    const app = await startPaymentApp({ stack });
    try {
      const code = await (await app.customer('ann@example.com')).order();
      const waiting = app.status(code, '&wait=60');
      await sleep(100);
      app.health.startDraining();
      expect((await waiting).json.payment.status).to.equal('pending');
    } finally {
      await app.close();
    }
  });
});

describeOnStacks('expired order', (stack) => {
  it('expires within a minute, and a later transfer still pays it', async () => {
    const clock = createManualClock(Date.now());
    const app = await startPaymentApp({ stack, clock });
    try {
      const code = await (await app.customer('ann@example.com')).order();
      await clock.advance(24 * 3_600_000);
      expect((await app.status(code)).json.payment.status).to.equal('expired');
      const sweep = startPaymentSweep(app.state.orders, createRecordingLogger());
      await sweep.first;
      await sweep.stop();
      const audit = await app.state.audit.list({ subject: code, limit: 10 });
      const lines = audit.map(({ actor, action }) => [actor, action]);
      expect(lines).to.deep.include(['gateway', 'order.expired']);
      const { body, headers } = genericNotice({ id: 'late', text: code }, { at: clock.now() });
      expect((await app.webhook('generic', body, headers)).status).to.equal(200);
      expect((await app.status(code)).json.payment.status).to.equal('paid');
    } finally {
      await app.close();
    }
  });
});

describeOnStacks('an account that orders and cancels in a loop', (stack) => {
  const once = onceIt(stack);
  once('is stopped at 20 orders a minute, and others are not', async () => {
    const app = await startPaymentApp({ stack });
    try {
      const [ann, bob] = [await app.customer('ann@example.com'), await app.customer('bob@example.com')];
      for (let made = 0; made < 20; made += 1) {
        const code = await ann.order();
        await ann.post(`/api/agent/payment/${code}/cancel`, {});
        // Twenty requests in a second are another limit.
        await sleep(120);
      }
      expect((await ann.post('/api/agent/payment', { planId: 'token_30m' })).status).to.equal(429);
      await bob.order();
    } finally {
      await app.close();
    }
  });
});

describe('prices', () => {
  it('end the start if the account cannot receive them', () => {
    const orders = { create: never, find: never, list: never, cancel: never, preview: never };
    const plans = { orders, catalogue: PRICED, freeTierPeriod: 'lifetime' } as const;
    const desk = (settings: typeof DONG_ACCOUNT) => () =>
      new PaymentService({ ...plans, receiver: readReceiver(settings).receiver });
    expect(desk(DONG_ACCOUNT)).not.to.throw();
    expect(desk(EURO_ACCOUNT)).to.throw(PlansFileError, /PLANS_FILE: the price of token_30m must be .* EUR/);
  });
});

describe('the page of an order', () => {
  const labelOfAccount = async (options: SignInAppOptions) => {
    const app = await startPaymentApp(options);
    try {
      const ann = await app.customer('ann@example.com');
      const { text } = await ann.get(`/pay/${await ann.order()}`);
      return /<dt[^>]*>([^<]+)<\/dt>\s*<dd[^>]*>(?:<[^>]+>)*(?:DE89|1234)/.exec(text)?.[1];
    } finally {
      await app.close();
    }
  };

  it('names the account as banking apps of the country do', async () => {
    const prices = [{ planId: 'token_30m', amount: 1900, currency: 'EUR' }];
    const { receiver: paymentReceiver } = readReceiver(EURO_ACCOUNT);
    expect(await labelOfAccount({ catalogue: { ...PRICED, prices }, paymentReceiver })).to.equal('IBAN');
    expect(await labelOfAccount({})).to.equal('Account number');
  });
});

function never(): never {
  throw new Error('nobody asks the database');
}
