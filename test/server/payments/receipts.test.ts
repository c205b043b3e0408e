/** Numbers of receipts: by year, from 1, without gaps, once for each order. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import { withSchema } from '../../../core/database/database.js';
import { takeReceiptNumber } from '../../../server/payments/receipts.js';
import type { State } from '../../../server/state.js';
import { order, signUp, transfer } from '../../support/accounts/people.js';
import { engines, type Place } from '../../support/databases/engines.js';

/** Less than a test may take. */
const REPEAT_MS = 60_000;

/** Repeats what the database had no connection for in time, as banks and operators do: on a busy machine that happens. */
async function untilAnswered<Result>(change: () => Promise<Result>): Promise<Result> {
  for (const began = performance.now(); ; ) {
    try {
      return await change();
    } catch (error) {
      const isBusy = error instanceof GatewayError && error.code === 'upstream_unavailable';
      if (!isBusy || performance.now() - began > REPEAT_MS) throw error;
    }
  }
}

for (const engine of engines) {
  describe(`receipts on ${engine.name}`, () => {
    let place: Place;
    /** Two processes on one database. */
    let states: readonly State[];

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      states = [await place.open(), await place.open()];
    });
    afterEach(() => place?.remove());

    const made = async (count: number) => {
      const [state] = states as [State];
      const people = Array.from({ length: count }, () => untilAnswered(() => signUp(state)));
      return Promise.all(
        people.map(async (person) => {
          const { accountId } = await person;
          return untilAnswered(() => order(state, accountId));
        }),
      );
    };
    const numbersOf = async (codes: readonly { code: string }[]) => {
      const found = await Promise.all(codes.map(({ code }) => untilAnswered(() => states[0]!.orders.find(code))));
      return found.map((one) => one?.receiptNumber ?? 0).sort((one, other) => one - other);
    };
    const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

    it('are given once for each order, without gaps, by several processes at once', async () => {
      const orders = await made(24);
      const transfers = orders.map(({ code }) => transfer(code));
      // Each notice comes to both processes, and an operator confirms some of the orders at the same time.
      await Promise.all([
        ...states.flatMap((state) => transfers.map((one) => untilAnswered(() => state.orders.record(one)))),
        ...orders
          .slice(0, 8)
          .map(({ code }) => untilAnswered(() => states[1]!.orders.confirm({ code, actor: 'operator:ann' }))),
      ]);
      expect(await numbersOf(orders)).to.deep.equal(upTo(24));
    });

    it('are given to paid orders alone, and stay after a refund', async () => {
      const [state] = states as [State];
      const [paid, partly, cancelled, refunded] = await made(4);
      await state.orders.record(transfer(partly!.code, { amount: 400 }));
      await state.orders.cancel({ code: cancelled!.code, actor: 'user:x' });
      await state.orders.record(transfer(refunded!.code));
      await state.orders.refund({ code: refunded!.code, actor: 'operator:ann' });
      await state.orders.record(transfer(paid!.code));
      expect(await numbersOf([partly!, cancelled!])).to.deep.equal([0, 0]);
      expect(await state.orders.find(refunded!.code)).to.include({
        state: 'refunded',
        receiptYear: 2026,
        receiptNumber: 1,
      });
      await state.orders.record(transfer(partly!.code, { amount: 600 }));
      expect((await state.orders.find(partly!.code))?.receiptNumber).to.equal(3);
    });

    it('begin at 1 in each year (UTC), and go on where an earlier year ends late', async () => {
      const at = Date.parse('2026-12-31T23:59:59.999Z');
      const taken = await withSchema(place, async (queries) => {
        const numbers: string[] = [];
        for (const time of [at, at + 1, at + 1, at]) {
          const { receiptYear, receiptNumber } = await queries
            .transaction()
            .execute((transaction) => takeReceiptNumber(transaction, time));
          numbers.push(`${receiptYear}-${receiptNumber}`);
        }
        return numbers;
      });
      expect(taken).to.deep.equal(['2026-1', '2027-1', '2027-2', '2026-2']);
    });

    it('are given back by a transaction that fails', async () => {
      const at = Date.now();
      await withSchema(place, async (queries) => {
        const failing = queries.transaction().execute(async (transaction) => {
          expect((await takeReceiptNumber(transaction, at)).receiptNumber).to.equal(1);
          throw new Error('the power is gone');
        });
        await failing.catch(() => undefined);
      });
      const orders = await made(1);
      await states[0]!.orders.record(transfer(orders[0]!.code));
      expect(await numbersOf(orders)).to.deep.equal([1]);
    });
  });
}
