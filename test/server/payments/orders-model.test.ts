/** Orders under random events, against a model. */

import { expect } from 'chai';
import fc from 'fast-check';
import type { BankTransaction, OrderState } from '../../../server/payments/order-records.js';
import type { State } from '../../../server/state.js';
import { grantsOf, order, signUp, transfer } from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { isLongRun } from '../../support/runner/variants.js';

const AMOUNT = 3;
const LIFETIME_MS = 1_000;

/** What may happen to an order, in any order. */
const event = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('money' as const), amount: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('again' as const), which: fc.nat(5) }) },
  fc.record({ kind: fc.constant('foreign' as const) }),
  fc.record({ kind: fc.constantFrom('confirm' as const, 'cancel' as const, 'refund' as const) }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(400, 1_000) }),
  fc.record({ kind: fc.constant('sweep' as const) }),
);

type OrderEvent = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

/** The states as a diagram: what each event makes of each state; what is not here stays as it is. */
const BY_HAND: Record<'confirm' | 'cancel' | 'refund', Partial<Record<OrderState, OrderState>>> = {
  confirm: { pending: 'paid', underpaid: 'paid', expired: 'paid', needs_review: 'paid' },
  cancel: { pending: 'cancelled' },
  refund: { paid: 'refunded', underpaid: 'refunded', needs_review: 'refunded' },
};
const TAKES_MONEY: readonly OrderState[] = ['pending', 'underpaid', 'expired'];
const DONE: readonly OrderState[] = ['paid', 'refunded'];

/** An order as it should be. */
class Model {
  state: OrderState = 'pending';
  paidAmount = 0;
  grants = 0;
  age = 0;

  to(state: OrderState): void {
    if (state === 'paid' && this.state !== 'paid') this.grants += 1;
    this.state = state;
  }

  money(amount: number): void {
    this.paidAmount += amount;
    if (this.state === 'cancelled') this.to('needs_review');
    if (!TAKES_MONEY.includes(this.state)) return;
    if (this.paidAmount === AMOUNT) this.to('paid');
    else this.to(this.paidAmount < AMOUNT ? 'underpaid' : 'needs_review');
  }

  foreignMoney(): void {
    if (!DONE.includes(this.state)) this.to('needs_review');
  }

  wait(ms: number): void {
    this.age += ms;
    if (this.state === 'pending' && this.age >= LIFETIME_MS) this.to('expired');
  }

  /** Whether it is refused. */
  byHand(change: keyof typeof BY_HAND): boolean {
    const next = BY_HAND[change][this.state];
    if (next) this.to(next);
    return !next && !Object.values(BY_HAND[change]).includes(this.state);
  }
}

for (const engine of engines) {
  describe(`orders under any sequence of events on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;

    before(async function () {
      place = await engine.place(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock });
    });

    after(() => place?.remove());

    async function happen(each: OrderEvent, code: string, model: Model, told: BankTransaction[]): Promise<void> {
      switch (each.kind) {
        case 'money': {
          const money = transfer(code, { amount: each.amount, currency: 'EUR' });
          told.push(money);
          await state.orders.record(money);
          return model.money(each.amount);
        }
        case 'again': {
          const money = told[each.which];
          if (money) expect((await state.orders.record(money)).replayed).to.equal(true);
          return;
        }
        case 'foreign':
          await state.orders.record(transfer(code, { currency: 'USD' }));
          return model.foreignMoney();
        case 'wait':
          clock.advance(each.ms);
          return model.wait(each.ms);
        case 'sweep':
          await state.orders.sweep();
          return;
        default: {
          const answered = await codeOf(state.orders[each.kind]({ code, actor: 'operator:bob' }));
          expect(answered).to.equal(model.byHand(each.kind) ? 'order_state_conflict' : 'ok');
        }
      }
    }

    it('follow the diagram of their states, with one grant at most, and every change in the audit log', () =>
      fc.assert(
        fc.asyncProperty(fc.array(event, { maxLength: 12 }), async (events) => {
          const { accountId } = await signUp(state);
          const made = await order(state, accountId, { amount: AMOUNT, lifetimeMs: LIFETIME_MS });
          const model = new Model();
          const told: BankTransaction[] = [];
          for (const each of events) {
            await happen(each, made.code, model, told);
            const { state: orderState, paidAmount } = (await state.orders.find(made.code)) ?? {};
            expect({ orderState, paidAmount }, JSON.stringify(each)).to.deep.equal({
              orderState: model.state,
              paidAmount: model.paidAmount,
            });
          }
          expect(model.grants).to.be.at.most(1);
          const held = model.state === 'paid' ? 30_000_000 : 0;
          expect(await grantsOf(state, made)).to.deep.equal({ granted: model.grants, tokens: held });
          const audit = (await state.audit.list({ subject: made.code, limit: 100 })).toReversed();
          for (const [index, { number, from }] of audit.entries()) {
            expect(number).to.equal(index + 1);
            // Time alone may have come between two rows.
            const before = audit[index - 1]?.to ?? null;
            expect(before === 'pending' ? ['pending', 'expired'] : [before]).to.include(from);
          }
        }),
        { numRuns: (engine.name === 'sqlite' ? 60 : 25) * (isLongRun ? 5 : 1) },
      ));
  });
}
