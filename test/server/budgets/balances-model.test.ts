/** Prepaid balances under random events, against a model, and the ledger's own sums. */

import { expect } from 'chai';
import fc from 'fast-check';
import { payersOf } from '../../../server/keys/key-balance.js';
import type { TopUpTerms } from '../../../server/plans/pay-as-you-go.js';
import { createPrices } from '../../../server/prices/prices.js';
import type { State } from '../../../server/state.js';
import { DAY_MS, FREE, HOUR_MS, newKey, order, signUp, transfer } from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { CHAT, settlement } from '../../support/models/model-requests.js';
import { isLongRun } from '../../support/runner/variants.js';

/** A token of input costs 1 millionth, one of output 2. */
const prices = createPrices({ currency: 'EUR', models: { 'm-5.5': { input: 1, output: 2 } } });
const MIN_OUTPUT = 4;
const LIFETIME_MS = HOUR_MS;
const RUNS = Number(process.env.LEDGER_RUNS ?? (isLongRun ? 60 : 20));

const TOP_UP: Omit<TopUpTerms, 'credit'> = {
  planId: 'topup',
  currency: 'EUR',
  lowBelow: 500,
  grants: ['text'],
  rpm: 60,
  models: null,
};

/** One request, and then the balance pays. */
const FREE_OF_TESTS = {
  ...FREE,
  budget: { tokenLimit: null, dailyTokenLimit: null, requestLimit: 1, resets: 'never' },
} as const;

const tokens = fc.integer({ min: 1, max: 400 });
const which = fc.nat(9);
/** What may happen to an account, in any order. */
const event = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('topUp' as const), credit: fc.integer({ min: 1, max: 3_000 }) }),
  },
  { weight: 8, arbitrary: fc.record({ kind: fc.constant('reserve' as const), input: tokens, output: tokens }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('settle' as const),
      which,
      /** Used of what was reserved; above 1, an upstream did not keep to its limit. */
      part: fc.constantFrom(0, 0.3, 1, 1, 1.5),
      fails: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('refund' as const), which }) },
  fc.record({ kind: fc.constant('adjust' as const), amount: fc.integer({ min: -2_000, max: 2_000 }) }),
  fc.record({ kind: fc.constant('plan' as const), requestLimit: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constantFrom('order' as const, 'payLate' as const, 'sweep' as const, 'resume' as const) }),
  fc.record({ kind: fc.constant('clock' as const), ms: fc.constantFrom(-2 * HOUR_MS, HOUR_MS, 2 * DAY_MS) }),
);
type BalanceEvent = typeof event extends fc.Arbitrary<infer Value> ? Value : never;

interface Held {
  id: string;
  input: number;
  cost: number;
  byBalance: boolean;
}

/** A balance as it should be. */
class Model {
  exists = false;
  amount = 0;
  reserved = 0;
  loss = 0;
  isHeld = false;
  readonly held: Held[] = [];
  readonly paid: { code: string; credit: number }[] = [];
  pending: { code: string; credit: number } | undefined;

  get free(): number {
    return this.amount - this.reserved;
  }

  /** What the balance reserves; undefined if it refuses. */
  reserve(input: number, output: number): number | undefined {
    if (!this.exists || this.isHeld || input + 2 * MIN_OUTPUT > this.free) return undefined;
    const cost = input + 2 * Math.min(output, Math.floor((this.free - input) / 2));
    this.reserved += cost;
    return cost;
  }

  settle({ cost, byBalance }: Held, used: number): void {
    if (!byBalance) return;
    this.reserved -= cost;
    this.amount -= Math.min(used, cost);
    this.loss += Math.max(0, used - cost);
    if (used > cost) this.isHeld = true;
  }
}

for (const engine of engines) {
  describe(`prepaid balances under any sequence of events on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;

    before(async function () {
      place = await engine.place(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock, prices, budgetAlerts: true });
    });

    after(() => place?.remove());

    class Run {
      readonly model = new Model();

      constructor(
        readonly accountId: string,
        readonly keyId: string,
      ) {}

      /** Whether the plan of the key may take one more request. */
      async #planTakes(budgetId: string | null): Promise<boolean> {
        const budget = budgetId === null ? undefined : await state.budgets.find(budgetId);
        if (budget?.scope !== 'plan') return false;
        const { requestLimit, requestsUsed, expiresAt } = budget;
        return requestsUsed < (requestLimit ?? 0) && (expiresAt === null || expiresAt > clock.now());
      }

      async #reserve(input: number, output: number): Promise<void> {
        const key = await state.keys.find(this.keyId);
        if (!key || (key.expiresAt !== null && key.expiresAt <= clock.now())) {
          expect(this.model.exists, 'a key with a balance has no end').to.equal(false);
          return;
        }
        const payers = payersOf(key, { grant: 'text' });
        const byPlan = await this.#planTakes(payers.budgetId);
        const cost = byPlan ? 0 : this.model.reserve(input, output);
        const demand = async () => ({ input, hiddenInput: 0, output, minOutput: MIN_OUTPUT, choices: 1 });
        const who = { ...CHAT, keyId: this.keyId, accountId: this.accountId };
        const admitting = state.admissions.admit({ ...who, reserve: { ...payers, tokens: input, demand } });
        if (cost === undefined) return expect(await codeOf(admitting)).to.equal('insufficient_quota') as never;
        const { reservation: id = '', paidBy } = await admitting;
        expect(paidBy, 'the payer').to.equal(byPlan ? undefined : key.balance?.id);
        this.model.held.push({ id, input, cost, byBalance: !byPlan });
      }

      async #settle({ which: index, part, fails }: { which: number; part: number; fails: boolean }): Promise<void> {
        const { held: all } = this.model;
        const [held] = all.length === 0 ? [] : all.splice(index % all.length, 1);
        if (!held) return;
        const outputTokens = Math.floor(((held.cost - held.input) / 2) * part);
        const usage = part === 0 ? undefined : { inputTokens: held.input, outputTokens: Math.max(0, outputTokens) };
        const used = usage ? usage.inputTokens + 2 * usage.outputTokens : 0;
        const end = { reservation: held.id, usage, status: fails || !usage ? 502 : 200, at: clock.now() };
        state.admissions.settle(settlement({ ...end, keyId: this.keyId, accountId: this.accountId }));
        await state.admissions.flush();
        this.model.settle(held, used);
      }

      async #order(credit: number): Promise<string> {
        const terms = { ...TOP_UP, credit };
        const { code } = await order(state, this.accountId, { terms, amount: 5, lifetimeMs: LIFETIME_MS });
        return code;
      }

      async #pay({ code, credit }: { code: string; credit: number }): Promise<void> {
        const money = transfer(code, { amount: 5 });
        await state.orders.record(money);
        expect((await state.orders.record(money)).replayed).to.equal(true);
        this.model.paid.push({ code, credit });
        this.model.exists = true;
        this.model.amount += credit;
      }

      async #byOperator(each: BalanceEvent): Promise<void> {
        const { model, accountId } = this;
        const by = { accountId, actor: 'operator:bob' };
        if (each.kind === 'refund') {
          const [paid] = model.paid.length === 0 ? [] : model.paid.splice(each.which % model.paid.length, 1);
          if (!paid) return;
          for (let time = 0; time < 2; time++) await state.orders.refund({ code: paid.code, actor: 'operator:bob' });
          model.amount -= Math.min(paid.credit, Math.max(0, model.free));
        } else if (!model.exists) return;
        else if (each.kind === 'adjust') {
          const moved = each.amount < 0 ? -Math.min(-each.amount, model.free) : each.amount;
          expect(Math.abs(await state.balances.adjust(by, each.amount))).to.equal(Math.abs(moved));
          model.amount += moved;
        } else {
          expect(await state.balances.resume(by)).to.equal(model.isHeld);
          model.isHeld = false;
        }
      }

      async happen(each: BalanceEvent): Promise<void> {
        const { model, accountId } = this;
        switch (each.kind) {
          case 'topUp':
            return this.#pay({ code: await this.#order(each.credit), credit: each.credit });
          case 'order':
            model.pending ??= { code: await this.#order(77), credit: 77 };
            return;
          case 'payLate':
            if (model.pending) await this.#pay(model.pending);
            model.pending = undefined;
            return;
          case 'reserve':
            return this.#reserve(each.input, each.output);
          case 'settle':
            return this.#settle(each);
          case 'plan': {
            const budget = { tokenLimit: null, dailyTokenLimit: null, requestLimit: each.requestLimit } as const;
            const terms = {
              ...FREE,
              planId: 'day',
              durationMs: DAY_MS,
              budget: { ...budget, resets: 'never' as const },
            };
            await state.accounts.grant({ accountId, terms, actor: 'operator:bob' });
            return;
          }
          case 'clock':
            clock.advance(each.ms);
            return;
          case 'sweep':
            await state.orders.sweep();
            return;
          default:
            return this.#byOperator(each);
        }
      }

      async check(each: BalanceEvent): Promise<void> {
        const { exists, amount, reserved, isHeld } = this.model;
        const found = await state.balances.find(this.accountId);
        const seen = found && { amount: found.amount, reserved: found.reserved, isHeld: found.heldAt !== null };
        expect(seen, JSON.stringify(each)).to.deep.equal(exists ? { amount, reserved, isHeld } : undefined);
        expect(amount).to.be.at.least(reserved);
      }

      async checkLedger(): Promise<void> {
        const lines = await state.ledger.statement({ accountId: this.accountId, limit: 1_000, after: 0 });
        expect(lines.at(-1)?.left ?? 0).to.equal(this.model.amount);
        for (const { left } of lines) expect(left).to.be.at.least(0);
      }
    }

    it('equal the model, are never below zero, and the ledger sums up to zero', async function () {
      this.timeout(180_000);
      let loss = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(event, { maxLength: 40, size: 'max' }), async (events) => {
          const { accountId } = await signUp(state);
          const key = newKey();
          await state.keys.issue({ accountId, key, otherwise: FREE_OF_TESTS, maxKeys: 1 });
          const run = new Run(accountId, key.id);
          for (const each of events) {
            await run.happen(each);
            await run.check(each);
          }
          await run.checkLedger();
          loss += run.model.loss;
        }),
        { numRuns: RUNS, endOnFailure: true },
      );
      const { accounts, different, unbalanced } = await state.ledger.sums();
      expect({ different, unbalanced }).to.deep.equal({ different: [], unbalanced: [] });
      expect(accounts.reduce((sum, { amount }) => sum + amount, 0)).to.equal(0);
      expect(loss).to.be.above(0);
      expect(-(accounts.find(({ account }) => account === 'operator_loss')?.amount ?? 0)).to.equal(loss);
    });
  });
}
