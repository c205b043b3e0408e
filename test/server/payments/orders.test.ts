/** Orders in the database: codes, transfers, limits, expiry and refunds. */

import { expect } from 'chai';
import { withSchema } from '../../../core/database/database.js';
import { orderCodesIn } from '../../../server/payments/order-changes.js';
import type { OrderRecord } from '../../../server/payments/order-records.js';
import type { State } from '../../../server/state.js';
import {
  DAY_MS,
  FREE,
  grantsOf,
  IMAGES,
  newKey,
  order,
  signUp,
  TOKENS,
  transfer,
} from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';

const OPERATOR = { actor: 'operator:bob', note: 'seen on the statement' };

describe('order codes in bank texts', () => {
  it('are found in any case, with blanks and marks, between words and inside one', () => {
    for (const text of [
      'MG7K3M9QXD',
      'mg 7k3m-9qxd',
      'order/MG7K3M9QXD.',
      'THANHTOANMG7K3M9QXDCAMON',
      'M\u0000G 7K3M9QXD',
    ]) {
      expect(orderCodesIn(text), text).to.deep.equal(['MG7K3M9QXD']);
    }
    expect(orderCodesIn('MG1O0LI234')).to.deep.equal(['MG10011234']);
    expect(orderCodesIn('MG7K3M9QXD and MG00000000')).to.have.members(['MG7K3M9QXD', 'MG00000000']);
    expect(orderCodesIn('MGMG7K3M9QXD')).to.include('MG7K3M9QXD');
  });

  it('are not found with a missing or foreign character', () => {
    for (const text of ['', 'MG', 'MG7K3M9QX', 'MG7K3M9QUX', 'G7K3M9QXDA', `${' '.repeat(500)}MG7K3M9QXD`]) {
      expect(orderCodesIn(text), text).to.deep.equal([]);
    }
  });
});

for (const engine of engines) {
  describe(`payment orders on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let accountId: string;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock });
    });

    beforeEach(async () => {
      ({ accountId } = await signUp(state));
      clock.advance(1);
    });

    after(() => place?.remove());

    const stateOf = async ({ code }: OrderRecord) => (await state.orders.find(code))?.state;
    const auditOf = async ({ code }: OrderRecord) =>
      (await state.audit.list({ subject: code, limit: 100 })).toReversed().map(({ action, to }) => `${action} ${to}`);

    it('are created pending, once for each Idempotency-Key of an account', async () => {
      const wanted = { accountId, terms: TOKENS, amount: 5, currency: 'VND', actor: 'user:x', lifetimeMs: DAY_MS };
      const idempotency = { key: 'one', fingerprint: 'token_30m' };
      const answers = await Promise.all(
        Array.from({ length: 4 }, () => state.orders.create({ ...wanted, idempotency })),
      );
      expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
      const [{ order: made }] = answers as [(typeof answers)[number]];
      const now = clock.now();
      const { code } = made;
      expect(code).to.match(/^MG[0-9A-HJKMNP-TV-Z]{8}$/);
      const money = { amount: 5, currency: 'VND', paidAmount: 0, paidAt: null, receiptYear: null, receiptNumber: null };
      const times = { createdAt: now, expiresAt: now + DAY_MS };
      expect(made).to.deep.equal({ code, accountId, planId: 'token_30m', state: 'pending', ...money, ...times });
      for (const each of answers) expect(each.order).to.deep.equal(made);
      expect(await state.orders.find(code)).to.deep.equal(made);
      const reused = state.orders.create({ ...wanted, idempotency: { ...idempotency, fingerprint: 'token_100m' } });
      expect(await codeOf(reused)).to.equal('idempotency_key_reused');
      const other = await signUp(state);
      expect((await state.orders.create({ ...wanted, accountId: other.accountId, idempotency })).replayed).to.equal(
        false,
      );
      expect(await auditOf(made)).to.deep.equal(['order.created pending']);
    });

    it('are refused with an invalid amount, or for a missing or suspended account', async () => {
      for (const amount of [0, -1, 1.5, Number.NaN, 2 ** 53]) {
        expect(await codeOf(order(state, accountId, { amount })), `${amount}`).to.equal('invalid_value');
      }
      expect(await codeOf(order(state, accountId, { currency: 'euro' }))).to.equal('invalid_value');
      expect(await codeOf(order(state, 'acct_none'))).to.equal('account_not_found');
      const user = await state.users.findByAccount(accountId);
      await state.users.suspend({ userId: user?.id ?? '', actor: 'operator:bob' });
      expect(await codeOf(order(state, accountId))).to.equal('account_suspended');
    });

    it('are limited to five open ones, also for simultaneous requests', async () => {
      const asked = await Promise.all(Array.from({ length: 8 }, () => codeOf(order(state, accountId))));
      expect(asked.filter((code) => code === 'ok')).to.have.length(5);
      expect(asked.filter((code) => code === 'too_many_open_orders')).to.have.length(3);
      const [first, second] = (await state.orders.list({ accountId, limit: 9 })) as [OrderRecord, OrderRecord];
      await state.orders.cancel({ code: first.code, actor: 'user:x', accountId });
      await state.orders.record(transfer(second.code));
      expect(await codeOf(order(state, accountId))).to.equal('ok');
      expect(await codeOf(order(state, accountId))).to.equal('ok');
      expect(await codeOf(order(state, accountId))).to.equal('too_many_open_orders');
      clock.advance(DAY_MS);
      expect(await codeOf(order(state, accountId))).to.equal('ok');
    });

    it('are limited to five also if part of the money has arrived, until one ends', async () => {
      const made: OrderRecord[] = [];
      for (let count = 0; count < 5; count += 1) made.push(await order(state, accountId));
      for (const { code } of made) await state.orders.record(transfer(code, { amount: 1 }));
      expect(await codeOf(order(state, accountId))).to.equal('too_many_open_orders');
      // Money has come: time does not close them.
      clock.advance(2 * DAY_MS);
      expect(await codeOf(order(state, accountId))).to.equal('too_many_open_orders');
      const [paid, refunded, reviewed] = made as [OrderRecord, OrderRecord, OrderRecord];
      await state.orders.record(transfer(paid.code, { amount: 999 }));
      expect(await codeOf(order(state, accountId))).to.equal('ok');
      expect(await codeOf(order(state, accountId))).to.equal('too_many_open_orders');
      await state.orders.refund({ code: refunded.code, ...OPERATOR });
      expect(await codeOf(order(state, accountId))).to.equal('ok');
      await state.orders.record(transfer(reviewed.code, { amount: 1_000 }));
      expect(await codeOf(order(state, accountId))).to.equal('ok');
      expect(await codeOf(order(state, accountId))).to.equal('too_many_open_orders');
    });

    it('are paid by exactly their amount; plan, keys and audit log follow', async () => {
      const key = await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 3 });
      const made = await order(state, accountId);
      clock.advance(1_000);
      const money = transfer(`thanks, ${made.code.toLowerCase()} !`);
      const { transaction, order: paid, replayed } = await state.orders.record(money);
      const at = clock.now();
      expect(replayed).to.equal(false);
      expect(transaction).to.deep.equal({ ...money, recordedAt: at, orderCode: made.code, review: null });
      expect(paid).to.deep.include({
        ...made,
        state: 'paid',
        paidAmount: 1_000,
        paidAt: at,
        receiptYear: 2026,
        receiptNumber: paid?.receiptNumber,
      });
      expect(await state.orders.find(made.code)).to.deep.equal(paid);
      expect(await state.keys.find(key.id)).to.include({ planId: 'token_30m' });
      expect(await grantsOf(state, made)).to.deep.equal({ granted: 1, tokens: 30_000_000 });
      const [entry] = await state.audit.list({ subject: made.code, limit: 1 });
      const note = `bank ${money.id}`;
      const states = { from: 'pending', to: 'paid' };
      const what = { subject: made.code, number: 2, at, actor: 'bank:bank', action: 'order.money', note };
      expect(entry).to.deep.equal({ ...what, ...states, amount: '10.00', currency: 'EUR' });
    });

    it('show amounts of early rows, which had them in their words', async () => {
      const made = await order(state, accountId);
      const early = [
        { action: 'order.money', to: 'paid', note: 'bank B-1: 1,224.50 EUR; asked: 2 EUR' },
        { action: 'balance.credited', to: '20 USD', note: made.code },
        { action: 'balance.taken-back', to: '0.99 USD', note: made.code },
        { action: 'balance.adjusted', to: '-12.5 EUR', note: null },
        { action: 'order.refunded', to: 'refunded', note: 'bank B-2: 3.00 EUR' },
      ] as const;
      await withSchema(place, (queries) =>
        queries
          .insertInto('audit_entries')
          .values(
            early.map((row, index) => ({
              ...row,
              subject: made.code,
              number: 2 + index,
              at: 0,
              actor: 'x',
              from: null,
            })),
          )
          .execute(),
      );
      const rows = (await state.audit.list({ subject: made.code, limit: 5 })).toReversed();
      expect(rows.map(({ to, amount, currency, note }) => [to, amount, currency, note])).to.deep.equal([
        ['paid', '1224.50', 'EUR', 'bank B-1; asked: 2 EUR'],
        [null, '20', 'USD', made.code],
        [null, '-0.99', 'USD', made.code],
        [null, '-12.5', 'EUR', null],
        ['refunded', null, null, 'bank B-2: 3.00 EUR'],
      ]);
    });

    it('count a transfer once for any number and source of reports', async () => {
      const made = await order(state, accountId);
      const other = await place.open({ clock, rateLimitClock: clock });
      const money = transfer(made.code, { amount: 400 });
      const told = await Promise.all([state, other, state, other].map(({ orders }) => orders.record(money)));
      expect(told.filter(({ replayed }) => !replayed)).to.have.length(1);
      for (const each of told) expect(each.order).to.include({ state: 'underpaid', paidAmount: 400 });
      // The same id with another amount is the same transfer; that of another bank is not.
      expect(await state.orders.record({ ...money, amount: 600 })).to.deep.include({ replayed: true });
      const { order: paid } = await state.orders.record({ ...money, provider: 'other', amount: 600 });
      expect(paid).to.include({ state: 'paid', paidAmount: 1_000 });
      expect(await state.orders.transactions({ code: made.code }, 10)).to.have.length(2);
      expect(await auditOf(made)).to.deep.equal(['order.created pending', 'order.money underpaid', 'order.money paid']);
    });

    it('are granted once if several confirm them and money arrives at the same moment', async () => {
      const other = await place.open({ clock, rateLimitClock: clock });
      for (let round = 0; round < 5; round += 1) {
        const user = await signUp(state);
        const made = await order(state, user.accountId);
        const confirm = ({ orders }: State) => orders.confirm({ code: made.code, ...OPERATOR });
        const confirmed = await Promise.all([
          confirm(state),
          confirm(other),
          state.orders.record(transfer(made.code)),
          confirm(other),
          confirm(state),
        ]);
        expect(confirmed).to.have.length(5);
        expect(await stateOf(made)).to.equal('paid');
        expect(await grantsOf(state, made)).to.deep.equal({ granted: 1, tokens: 30_000_000 });
      }
    });

    it('send excess, foreign, cancelled and unassigned money to review', async () => {
      const [over, foreign, cancelled] = [
        await order(state, accountId),
        await order(state, accountId),
        await order(state, accountId),
      ];
      await state.orders.cancel({ code: cancelled.code, actor: 'user:x' });
      const reviewed = [
        transfer(over.code, { amount: 1_001 }),
        transfer(foreign.code, { currency: 'USD' }),
        transfer(cancelled.code),
        transfer('rent'),
        transfer(`${over.code} ${foreign.code}`),
      ];
      const reasons = ['overpaid', 'wrong_currency', 'cancelled', 'unmatched', 'unmatched'];
      for (const [index, money] of reviewed.entries()) {
        const { transaction } = await state.orders.record(money);
        expect(transaction.review).to.equal(reasons[index]);
      }
      for (const each of [over, foreign, cancelled]) {
        expect(await stateOf(each)).to.equal('needs_review');
        expect((await grantsOf(state, each)).granted).to.equal(0);
      }
      const waiting = await state.orders.transactions({ review: true }, 100);
      expect(waiting.map(({ id }) => id)).to.include.members(reviewed.map(({ id }) => id));
      expect(await state.orders.confirm({ code: over.code, ...OPERATOR })).to.include({ state: 'paid' });
      expect(await state.orders.refund({ code: foreign.code, ...OPERATOR })).to.include({ state: 'refunded' });
      const unmatched = reviewed[3] as (typeof reviewed)[number];
      expect(await state.orders.settleReview(unmatched, OPERATOR)).to.equal(true);
      expect(await state.orders.settleReview(unmatched, OPERATOR)).to.equal(false);
      const left = (await state.orders.transactions({ review: true }, 100)).map(({ id }) => id);
      expect(left).to.include.members([reviewed[2]?.id, reviewed[4]?.id]);
      for (const index of [0, 1, 3]) expect(left).not.to.include(reviewed[index]?.id);
    });

    it('keep their plan if they are paid twice, and send the second transfer to review', async () => {
      const made = await order(state, accountId);
      await state.orders.record(transfer(made.code));
      const { transaction, order: after } = await state.orders.record(transfer(made.code));
      expect(transaction.review).to.equal('duplicate');
      expect(after).to.include({ state: 'paid', paidAmount: 2_000 });
      expect(await grantsOf(state, made)).to.deep.equal({ granted: 1, tokens: 30_000_000 });
    });

    it('expire at the exact instant, and are paid by partial transfers', async () => {
      const made = await order(state, accountId, { lifetimeMs: 1_000 });
      clock.advance(999);
      expect(await stateOf(made)).to.equal('pending');
      clock.advance(1);
      expect(await stateOf(made)).to.equal('expired');
      for (const [amount, expected] of [
        [999, 'underpaid'],
        [1, 'paid'],
      ] as const) {
        await state.orders.record(transfer(made.code, { amount }));
        expect(await stateOf(made)).to.equal(expected);
      }
    });

    it('expire by time, stored or not, and late money still counts', async () => {
      const [late, part, gone] = [
        await order(state, accountId),
        await order(state, accountId),
        await order(state, accountId),
      ];
      clock.advance(DAY_MS - 1);
      expect(await stateOf(late)).to.equal('pending');
      expect([
        await state.orders.countIn('pending', 2),
        (await state.orders.countIn('pending', 100)) >= 3,
      ]).to.deep.equal([2, true]);
      clock.advance(1);
      expect(await stateOf(late)).to.equal('expired');
      const listed = await state.orders.list({ accountId, state: 'expired', limit: 10 });
      expect(listed.map(({ code }) => code)).to.have.members([late, part, gone].map(({ code }) => code));
      expect(await state.orders.list({ accountId, state: 'pending', limit: 10 })).to.deep.equal([]);
      expect(await state.orders.countIn('pending', 100)).to.equal(0);
      expect(await codeOf(state.orders.cancel({ code: late.code, ...OPERATOR }))).to.equal('order_state_conflict');
      await state.orders.record(transfer(part.code, { amount: 999 }));
      const nodes = [state, await place.open({ clock, rateLimitClock: clock })];
      const swept = await Promise.all(nodes.map(({ orders }) => orders.sweep()));
      expect(swept.reduce((sum, { expired }) => sum + expired, 0)).to.be.at.least(2);
      expect(await auditOf(gone)).to.deep.equal(['order.created pending', 'order.expired expired']);
      expect(await stateOf(part)).to.equal('underpaid');
      expect((await state.orders.record(transfer(late.code))).order).to.include({ state: 'paid' });
      clock.advance(91 * DAY_MS);
      expect((await state.orders.sweep()).forgotten).to.be.at.least(1);
      expect(await state.orders.find(gone.code)).to.equal(undefined);
      expect(await auditOf(gone)).to.deep.equal([]);
      expect([await stateOf(late), await stateOf(part)]).to.deep.equal(['paid', 'underpaid']);
    });

    it('change only as their states allow, and not by another account', async () => {
      const made = await order(state, accountId);
      const { code } = made;
      const change = { code, ...OPERATOR };
      expect(await codeOf(state.orders.refund(change))).to.equal('order_state_conflict');
      expect(await codeOf(state.orders.cancel({ ...change, accountId: 'acct_other' }))).to.equal('order_not_found');
      expect(await codeOf(state.orders.cancel({ ...change, code: 'MG00000000' }))).to.equal('order_not_found');
      expect(await state.orders.cancel({ ...change, accountId })).to.include({ state: 'cancelled' });
      expect(await state.orders.cancel(change)).to.include({ state: 'cancelled' });
      expect(await codeOf(state.orders.confirm(change))).to.equal('order_state_conflict');
      expect(await auditOf(made)).to.deep.equal(['order.created pending', 'order.cancelled cancelled']);
    });

    it('lose their tokens when they are refunded, and their plan if no other order pays for it', async () => {
      const key = await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 3 });
      const big = { ...TOKENS, planId: 'token_100m', rpm: 60, budget: { ...TOKENS.budget, tokenLimit: 100_000_000 } };
      const [first, second] = [
        await order(state, accountId),
        await order(state, accountId, { terms: big as typeof TOKENS }),
      ];
      for (const { code } of [first, second]) await state.orders.confirm({ code, ...OPERATOR });
      expect(await state.keys.find(key.id)).to.include({ planId: 'token_100m', rpm: 60 });
      expect((await grantsOf(state, second)).tokens).to.equal(130_000_000);
      expect(await state.orders.refund({ code: second.code, ...OPERATOR })).to.include({ state: 'refunded' });
      expect(await state.orders.refund({ code: second.code, ...OPERATOR })).to.include({ state: 'refunded' });
      expect((await grantsOf(state, first)).tokens).to.equal(30_000_000);
      expect(await state.keys.find(key.id)).to.include({ planId: 'token_30m', rpm: 30, expiresAt: null });
      await state.orders.refund({ code: first.code, ...OPERATOR });
      const now = clock.now();
      expect(await state.keys.find(key.id)).to.include({ planId: 'token_30m', expiresAt: now });
      const { plan } = (await state.accounts.find(accountId)) ?? {};
      expect(await state.budgets.find(plan?.budgetId ?? '')).to.include({ tokenLimit: 0, expiresAt: now });
      expect((await state.orders.record(transfer(first.code))).transaction.review).to.equal('duplicate');
      expect(await stateOf(first)).to.equal('refunded');
      const actions = (await state.audit.list({ subject: accountId, limit: 10 })).map(({ action }) => action);
      expect(actions.filter((action) => action === 'plan.taken-back')).to.have.length(2);
    });

    it('lose their time when they are refunded', async () => {
      const [first, second] = [
        await order(state, accountId, { terms: IMAGES }),
        await order(state, accountId, { terms: IMAGES }),
      ];
      const begun = clock.now();
      await state.orders.confirm({ code: first.code, ...OPERATOR });
      clock.advance(10 * DAY_MS);
      await state.orders.confirm({ code: second.code, ...OPERATOR });
      const endsAt = async () => (await state.accounts.find(accountId))?.plan?.expiresAt;
      expect(await endsAt()).to.equal(begun + 60 * DAY_MS);
      await state.orders.refund({ code: first.code, ...OPERATOR });
      expect(await endsAt()).to.equal(begun + 40 * DAY_MS);
      await state.orders.refund({ code: second.code, ...OPERATOR });
      expect(await endsAt()).to.equal(clock.now());
    });

    it('are listed newest first, by account and by state, page by page', async () => {
      const made: OrderRecord[] = [];
      for (let count = 0; count < 5; count += 1) {
        if (count !== 2) clock.advance(1);
        made.push(await order(state, accountId));
      }
      await state.orders.record(transfer(made[3]?.code ?? ''));
      const all = await state.orders.list({ accountId, limit: 10 });
      expect(all.map(({ code }) => code)).to.have.members(made.map(({ code }) => code));
      expect(all[0]?.code).to.equal(made[4]?.code);
      const paged: OrderRecord[] = [];
      for (let page = await state.orders.list({ accountId, limit: 2 }); page.length > 0; ) {
        paged.push(...page);
        page = await state.orders.list({ accountId, limit: 2, before: page.at(-1)?.code });
      }
      expect(paged).to.deep.equal(all);
      const paid = await state.orders.list({ accountId, state: 'paid', limit: 10 });
      expect(paid.map(({ code }) => code)).to.deep.equal([made[3]?.code]);
    });

    it('are not found under an impossible name', async () => {
      const code = 'MG\u0000';
      const change = { code, ...OPERATOR };
      expect(await state.orders.find(code)).to.equal(undefined);
      expect(await codeOf(state.orders.confirm(change))).to.equal('order_not_found');
      expect(await state.orders.list({ limit: 5, before: code })).to.deep.equal([]);
      expect(await state.orders.transactions({ code }, 5)).to.deep.equal([]);
      expect(await state.orders.settleReview({ provider: 'bank', id: code }, OPERATOR)).to.equal(false);
      expect(await state.audit.list({ subject: code, limit: 5 })).to.deep.equal([]);
      expect(await state.accounts.find(code)).to.equal(undefined);
      const granted = state.accounts.grant({ accountId: code, terms: FREE, actor: 'operator:bob' });
      expect(await codeOf(granted)).to.equal('account_not_found');
      expect(await state.keys.revoke(code, 1)).to.equal(false);
      expect(await state.users.find(code)).to.equal(undefined);
      expect(await state.users.list({ limit: 5, before: code })).to.deep.equal([]);
      expect(await codeOf(state.users.suspend({ userId: code, actor: 'operator:bob' }))).to.equal('user_not_found');
    });

    it('refuse a transfer that cannot be stored, and store any text', async () => {
      const wrong = [
        { amount: 0 },
        { amount: 0.5 },
        { currency: 'eur' },
        { id: '' },
        { id: 'a\u0000' },
        { provider: '' },
      ];
      for (const change of wrong) {
        const recorded = state.orders.record(transfer('rent', change));
        expect(await codeOf(recorded), JSON.stringify(change)).to.equal('invalid_value');
      }
      const made = await order(state, accountId);
      const { transaction, order: paid } = await state.orders.record(
        transfer(`\ud800\u0000'; drop table orders; -- ${made.code}`),
      );
      expect(paid).to.include({ state: 'paid' });
      expect(transaction.text).to.equal(`\ufffd '; drop table orders; -- ${made.code}`);
    });
  });
}
