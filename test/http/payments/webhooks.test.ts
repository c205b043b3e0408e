/** Bank webhooks: signatures, amounts and repetitions. */

import { randomInt } from 'node:crypto';
import { expect } from 'chai';
import { createManualClock } from 'mediagate/testing';
import { grantsOf } from '../../support/accounts/people.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import {
  type Customer,
  genericNotice,
  type PaymentApp,
  PRICE,
  payosNotice,
  SECRETS,
  type SignedNotice,
  sepayNotice,
  startPaymentApp,
  type ToldTransfer,
} from './app.js';

const MINUTE_MS = 60_000;
const FORMATS: Readonly<Record<string, (transfer: ToldTransfer, options?: { secret?: string }) => SignedNotice>> = {
  generic: genericNotice,
  payos: payosNotice,
  sepay: sepayNotice,
};

/** Whole numbers, which every provider takes for an id. */
function newId(): string {
  return String(randomInt(1, 2 ** 47));
}

describeOnStacks('bank webhooks', (stack) => {
  const once = onceIt(stack);
  let app: PaymentApp;
  let customer: Customer;
  let number = 0;

  before(async () => {
    app = await startPaymentApp({ stack });
  });
  after(() => app.close());
  beforeEach(async () => {
    number += 1;
    customer = await app.customer(`customer-${number}@example.com`);
  });

  const tell = (provider: string, { body, headers }: SignedNotice) => app.webhook(provider, body, headers);
  const statusOf = async (code: string) => (await app.status(code)).json.payment;
  const find = async (code: string) => {
    const order = await app.state.orders.find(code);
    if (!order) throw new Error(`no order ${code}`);
    return order;
  };
  const grants = async (code: string) => (await grantsOf(app.state, await find(code))).granted;
  const reviewOf = async (id: string) => {
    const waiting = await app.state.orders.transactions({ review: true }, 1_000);
    return waiting.find((each) => each.id === id)?.review;
  };

  for (const [provider, notice] of Object.entries(FORMATS)) {
    once(`pay an order and grant its plan, in the format of ${provider}`, async () => {
      const code = await customer.order();
      const text = `Thanh toan ${code.toLowerCase().slice(0, 4)} ${code.slice(4)}-FT26166`;
      const answer = await tell(provider, notice({ id: newId(), text }));
      expect([answer.status, answer.json]).to.deep.equal([200, { success: true }]);
      expect(await statusOf(code)).to.include({ status: 'paid', paidAmount: PRICE });
      expect(await grants(code)).to.equal(1);
    });

    once(`are refused if they are forged, in the format of ${provider}`, async () => {
      const code = await customer.order();
      const real = notice({ id: newId(), text: code, amount: 1 });
      const forged: SignedNotice[] = [
        { body: real.body, headers: {} },
        { ...real, body: real.body.replace(/("(?:amount|transferAmount)":)1,/, `$1${PRICE},`) },
        { ...real, body: `${real.body.slice(0, -1)},"x":1}` },
        notice({ id: newId(), text: code }, { secret: 'another-secret-of-at-least-32-characters' }),
        // The secret of one provider is of no use with another.
        notice({ id: newId(), text: code }, { secret: provider === 'generic' ? SECRETS.sepay : SECRETS.generic }),
        { ...real, headers: { authorization: 'Apikey wrong' } },
        { ...real, headers: { authorization: `Bearer ${SECRETS.sepay}` } },
      ];
      // What payOS signs is `data` alone.
      const refused = provider === 'payos' ? forged.filter((_, index) => [1, 3, 4].includes(index)) : forged;
      for (const each of refused) {
        expect(each.body).not.to.equal(JSON.stringify({}));
        const { status, json } = await tell(provider, each);
        expect([status, json.error?.code]).to.deep.equal([401, 'invalid_signature']);
      }
      expect(await statusOf(code)).to.include({ status: 'pending', paidAmount: 0 });
    });

    it(`count once when they are repeated, in the format of ${provider}`, async () => {
      const code = await customer.order();
      const told = notice({ id: newId(), text: code });
      const answers = await Promise.all(Array.from({ length: 8 }, () => tell(provider, told)));
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 200));
      expect((await tell(provider, told)).status).to.equal(200);
      expect(await statusOf(code)).to.include({ status: 'paid', paidAmount: PRICE });
      expect(await grants(code)).to.equal(1);
    });
  }

  once('are refused if they were signed more than five minutes ago, or in five minutes', async () => {
    const code = await customer.order();
    for (const minutes of [-6, 6, -100_000]) {
      const at = Date.now() + minutes * MINUTE_MS;
      for (const [provider, notice] of [
        ['generic', genericNotice({ id: newId(), text: code }, { at })],
        ['sepay', sepayNotice({ id: newId(), text: code }, { at })],
      ] as const) {
        expect((await tell(provider, notice)).json.error.code).to.equal('invalid_signature');
      }
    }
    expect(
      (await tell('generic', genericNotice({ id: newId(), text: code }, { at: Date.now() - 4 * MINUTE_MS }))).status,
    ).to.equal(200);
    expect(await statusOf(code)).to.include({ status: 'paid' });
  });

  once('are refused if they state a day that does not exist', async () => {
    const code = await customer.order();
    for (const [provider, notice, member] of [
      ['generic', genericNotice({ id: newId(), text: code }, { told: '2026-02-31T18:25:00Z' }), 'at'],
      ['sepay', sepayNotice({ id: newId(), text: code }, { told: '2026-02-30 18:25:00' }), 'transactionDate'],
    ] as const) {
      const { status, json } = await tell(provider, notice);
      expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', member]);
    }
    expect(await statusOf(code)).to.include({ status: 'pending', paidAmount: 0 });
  });

  once('accept the API key of SePay, which does not sign', async () => {
    const code = await customer.order();
    const { body } = sepayNotice({ id: newId(), text: code });
    expect((await app.webhook('sepay', body, { authorization: `Apikey ${SECRETS.sepay}` })).status).to.equal(200);
    expect(await statusOf(code)).to.include({ status: 'paid' });
  });

  once('are no payment for outgoing money, or a failure of payOS', async () => {
    const code = await customer.order();
    const { body } = sepayNotice({ id: newId(), text: code });
    const out = body.replace('"transferType":"in"', '"transferType":"out"');
    expect((await app.webhook('sepay', out, { authorization: `Apikey ${SECRETS.sepay}` })).status).to.equal(200);
    expect((await tell('payos', payosNotice({ id: newId(), text: code }, { code: '01' }))).status).to.equal(200);
    expect(await statusOf(code)).to.include({ status: 'pending', paidAmount: 0 });
  });

  once('are no payment unless SePay states incoming money', async () => {
    const code = await customer.order();
    const { body } = sepayNotice({ id: newId(), text: code });
    for (const direction of [
      '"transferType":"IN"',
      '"transferType":""',
      '"transferType":null',
      '"transferType":"unknown"',
      '"other":"in"',
    ]) {
      const told = body.replace('"transferType":"in"', direction);
      const answer = await app.webhook('sepay', told, { authorization: `Apikey ${SECRETS.sepay}` });
      expect([answer.status, answer.json], direction).to.deep.equal([200, { success: true }]);
    }
    expect(await statusOf(code)).to.include({ status: 'pending', paidAmount: 0 });
    expect(await app.state.orders.transactions({ code }, 10)).to.deep.equal([]);
  });

  once('store the time of the bank, which is Vietnamese without a time zone', async () => {
    const code = await customer.order();
    const text = `of ${code}`;
    for (const [provider, notice] of [
      ['sepay', sepayNotice({ id: newId(), text, amount: 1 }, { told: '2026-06-15 18:25:00' })],
      ['sepay', sepayNotice({ id: newId(), text, amount: 1 }, { told: '2026-01-01 00:30:00' })],
      ['payos', payosNotice({ id: newId(), text, amount: 1 })],
      ['generic', genericNotice({ id: newId(), text, amount: 1 }, { told: '2026-06-15T18:25:00Z' })],
      ['generic', genericNotice({ id: newId(), text, amount: 1 }, { told: '2026-06-15T18:25:00+07:00' })],
    ] as const)
      expect((await tell(provider, notice)).status).to.equal(200);
    const times = (await app.state.orders.transactions({ code }, 10)).map(({ provider, at }) => [provider, at]);
    const inVietnam = Date.UTC(2026, 5, 15, 11, 25);
    expect(times).to.have.deep.members([
      ['sepay', inVietnam],
      ['sepay', Date.UTC(2025, 11, 31, 17, 30)],
      ['payos', inVietnam],
      ['generic', Date.UTC(2026, 5, 15, 18, 25)],
      ['generic', inVietnam],
    ]);
  });

  once('grant a plan that applies to the next request of a key', async () => {
    // Keys are read anew every 2 s in any case; hardly so between the two requests, three times.
    for (const attempt of [1, 2, 3]) {
      const ann = await app.customer(`at-once-${attempt}-${number}@example.com`);
      const { apiKey } = (await ann.post('/api/user', {})).json;
      const planOf = async () => {
        const headers = { authorization: `Bearer ${apiKey}` };
        return (await app.request('/v1/usage', { headers })).json.key.plan;
      };
      expect(await planOf()).to.equal('free');
      const code = await ann.order();
      expect((await tell('generic', genericNotice({ id: newId(), text: code }))).status).to.equal(200);
      expect(await planOf()).to.equal('token_30m');
    }
  });

  once('are refused if their signature matches other fields too, in the format of payos', async () => {
    const code = await customer.order();
    const memo = `${code}&orderCode=1&reference=again`;
    const { status, json } = await tell('payos', payosNotice({ id: newId(), text: memo, amount: 1 }));
    expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', 'data.description']);
    // Who sees a signed body cannot move words of it: neither into a field of their own, nor into one that they invent.
    const real = payosNotice({ id: newId(), text: `${code}&Sons & more`, amount: 1 });
    expect((await tell('payos', real)).status).to.equal(200);
    expect((await tell('payos', real)).status).to.equal(200);
    const { data, ...rest } = JSON.parse(real.body);
    const { description, orderCode, reference, ...others } = data;
    for (const altered of [
      { ...others, description: `${description}&orderCode=${orderCode}`, reference },
      { ...others, [`description=${code}`]: '', orderCode, reference },
      { ...others, 'description=': description, orderCode, reference },
    ]) {
      const answer = await tell('payos', { ...real, body: JSON.stringify({ ...rest, data: altered }) });
      expect(answer.status).to.be.oneOf([400, 401]);
    }
    expect(await statusOf(code)).to.include({ status: 'underpaid', paidAmount: 1 });
  });

  once('are not found for providers without a secret, and have 64 KiB at most', async () => {
    expect((await app.webhook('stripe', '{}')).status).to.equal(404);
    expect((await app.webhook('constructor', '{}')).status).to.equal(404);
    expect((await app.webhook('generic', JSON.stringify({ text: 'x'.repeat(70_000) }))).status).to.equal(413);
    expect((await app.webhook('generic', '[]')).json.error.code).to.equal('invalid_json');
  });

  once('are refused if their amount is invalid, so that the bank repeats them', async () => {
    const code = await customer.order();
    for (const amount of [0, -PRICE, 1.5, 2 ** 53, 1e300]) {
      const { status, json } = await tell('generic', genericNotice({ id: newId(), text: code, amount }));
      expect([status, json.error.code]).to.deep.equal([400, 'invalid_value']);
    }
    expect((await tell('generic', genericNotice({ id: '', text: code }))).status).to.equal(400);
    expect((await tell('generic', genericNotice({ id: 'x'.repeat(201), text: code }))).status).to.equal(400);
    expect(await statusOf(code)).to.include({ status: 'pending', paidAmount: 0 });
  });

  it('leave an order open until all its money has arrived', async () => {
    const code = await customer.order();
    await tell('sepay', sepayNotice({ id: newId(), text: code, amount: PRICE - 9_000 }));
    expect(await statusOf(code)).to.include({ status: 'underpaid', paidAmount: PRICE - 9_000, paidAt: null });
    const { payment } = (await customer.get(`/api/agent/payment/${code}`)).json;
    expect(payment.transfer.amount).to.equal(9_000);
    expect(payment.qr.payload).to.contain('54049000');
    expect(await grants(code)).to.equal(0);
    await tell('payos', payosNotice({ id: newId(), text: code, amount: 9_000 }));
    expect(await statusOf(code)).to.include({ status: 'paid', paidAmount: PRICE });
    expect(await grants(code)).to.equal(1);
  });

  once('mark excess amounts, other currencies and cancelled orders for review', async () => {
    const [over, foreign] = [await customer.order(), await customer.order()];
    const ids = [newId(), newId(), newId()] as const;
    await tell('generic', genericNotice({ id: ids[0], text: over, amount: PRICE + 1 }));
    await tell('generic', genericNotice({ id: ids[1], text: foreign, currency: 'EUR' }));
    const cancelled = await customer.order();
    await customer.post(`/api/agent/payment/${cancelled}/cancel`, {});
    await tell('generic', genericNotice({ id: ids[2], text: cancelled }));
    expect(await Promise.all(ids.map(reviewOf))).to.deep.equal(['overpaid', 'wrong_currency', 'cancelled']);
    for (const code of [over, foreign, cancelled]) {
      expect(await statusOf(code)).to.include({ status: 'needs_review', paidAt: null });
      expect(await grants(code)).to.equal(0);
    }
  });

  once('store transfers with no order, or two, for review, and are acknowledged', async () => {
    const [one, two] = [await customer.order(), await customer.order()];
    const [unknown, both] = [newId(), newId()];
    expect((await tell('generic', genericNotice({ id: unknown, text: 'MG00000000 thanks' }))).status).to.equal(200);
    expect((await tell('generic', genericNotice({ id: both, text: `${one} ${two}` }))).status).to.equal(200);
    expect(await Promise.all([unknown, both].map(reviewOf))).to.deep.equal(['unmatched', 'unmatched']);
    expect([await statusOf(one), await statusOf(two)].map(({ status }) => status)).to.deep.equal([
      'pending',
      'pending',
    ]);
  });

  once('distinguish providers: one id of two is two transfers', async () => {
    const code = await customer.order();
    const id = newId();
    await tell('sepay', sepayNotice({ id, text: code, amount: 99_000 }));
    await tell('payos', payosNotice({ id, text: code, amount: PRICE - 99_000 }));
    expect(await statusOf(code)).to.include({ status: 'paid', paidAmount: PRICE });
    expect(await app.state.orders.transactions({ code }, 10)).to.have.length(2);
  });

  once('change nothing when they repeat an id with another amount', async () => {
    const code = await customer.order();
    const id = newId();
    await tell('generic', genericNotice({ id, text: code, amount: 1_000 }));
    await tell('generic', genericNotice({ id, text: code, amount: PRICE - 1_000 }));
    expect(await statusOf(code)).to.include({ status: 'underpaid', paidAmount: 1_000 });
  });

  it('grant once if two transfers and an operator confirm at the same moment', async () => {
    const code = await customer.order();
    await Promise.all([
      tell('sepay', sepayNotice({ id: newId(), text: code })),
      tell('payos', payosNotice({ id: newId(), text: code })),
      app.state.orders.confirm({ code, actor: 'operator:test' }),
    ]);
    expect(await statusOf(code)).to.include({ status: 'paid', paidAmount: 2 * PRICE });
    expect(await grants(code)).to.equal(1);
  });

  once('end a wait for the order', async () => {
    const code = await customer.order();
    const waiting = app.status(code, '&wait=30');
    await tell('sepay', sepayNotice({ id: newId(), text: code }));
    expect((await waiting).json.payment.status).to.equal('paid');
  });

  once('leave no secret, signature or transfer text in the log', async () => {
    const code = await customer.order();
    await tell('generic', genericNotice({ id: newId(), text: `${code} rent of Ann` }));
    const log = JSON.stringify(app.log);
    for (const text of [...Object.values(SECRETS), 'sha256=', 'rent of Ann', customer.email]) {
      expect(log).not.to.contain(text);
    }
    expect(log).to.contain('a transfer was counted');
  });
});

describe('a signature over a time', () => {
  it('is valid for five minutes before and after, and no second longer', async () => {
    const clock = createManualClock(Math.floor(Date.now() / 1_000) * 1_000);
    const app = await startPaymentApp({ clock });
    try {
      const statuses: number[] = [];
      for (const seconds of [-301, -300, 300, 301]) {
        const at = clock.now() + seconds * 1_000;
        for (const [provider, notice] of [
          ['generic', genericNotice({ id: newId(), text: 'none' }, { at })],
          ['sepay', sepayNotice({ id: newId(), text: 'none' }, { at })],
        ] as const)
          statuses.push((await app.webhook(provider, notice.body, notice.headers)).status);
      }
      expect(statuses).to.deep.equal([401, 401, 200, 200, 200, 200, 401, 401]);
    } finally {
      await app.close();
    }
  });
});

describe('wrong signatures', () => {
  it('are slowed down after 60 a minute of an address, while valid ones are accepted', async () => {
    const app = await startPaymentApp();
    try {
      const { body } = genericNotice({ id: newId(), text: 'MG00000000' });
      for (let asked = 0; asked < 60; asked += 1) expect((await app.webhook('generic', body)).status).to.equal(401);
      const { status, headers } = await app.webhook('generic', body);
      expect([status, headers.get('retry-after') === null]).to.deep.equal([429, false]);
      const customer = await app.customer('ann@example.com');
      const code = await customer.order();
      const right = genericNotice({ id: newId(), text: code });
      expect((await app.webhook('generic', right.body, right.headers)).status).to.equal(200);
      expect((await app.status(code)).json.payment.status).to.equal('paid');
      expect((await app.webhook('generic', body)).status).to.equal(429);
    } finally {
      await app.close();
    }
  });
});
