/** Payments of processes that are killed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { OrderRecord } from '../../../server/payments/order-records.js';
import type { State } from '../../../server/state.js';
import { FREE, grantsOf, newKey, order, signUp, transfer } from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, type Place } from '../../support/databases/engines.js';
import type { Paying } from './payer.js';

const script = fileURLToPath(new URL('payer.js', import.meta.url));
/** More than a payment has. */
const MOST_STATEMENTS = 60;
/** Processes that pay, each an order of its own. */
const AT_ONCE = 3;

for (const engine of engines) {
  describe(`a payment of a killed process on ${engine.name}`, function () {
    // A hundred processes, one for each statement.
    this.timeout(400_000);
    let place: Place;
    let state: State;

    before(async function () {
      place = await engine.place(this);
      state = await place.open();
    });

    after(() => place?.remove());

    /** Whether it came to its end. */
    async function pay(paying: Omit<Paying, 'dataDir' | 'databaseUrl'>): Promise<boolean> {
      const { dataDir, databaseUrl } = place;
      const parameters = [script, JSON.stringify({ dataDir, databaseUrl, ...paying })];
      const child = spawn(process.execPath, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
      const [said, [, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      if (said === 'done\n') return true;
      expect(signal).to.equal('SIGKILL');
      return false;
    }

    async function expectWhole(made: OrderRecord, keyId: string): Promise<boolean> {
      const found = await state.orders.find(made.code);
      const key = await state.keys.find(keyId);
      const { granted, tokens } = await grantsOf(state, made);
      const isPaid = found?.state === 'paid';
      expect({ state: found?.state, granted, tokens, planId: key?.planId }).to.deep.equal(
        isPaid
          ? { state: 'paid', granted: 1, tokens: 30_000_000, planId: 'token_30m' }
          : { state: 'pending', granted: 0, tokens: 0, planId: 'free' },
      );
      return isPaid;
    }

    const WAYS = [
      { by: 'money', sent: false },
      { by: 'an operator', sent: false },
      // SQLite has no way between the two.
      ...(engine.name === 'postgres' ? [{ by: 'money', sent: true }] : []),
    ];
    for (const { by, sent } of WAYS) {
      const where = sent ? 'after each statement was sent' : 'between any two statements';
      it(`by ${by}, ${where}, is granted once or not at all, and completed by its repetition`, async () => {
        /** Paid by the process that was to be killed, and whether that was not killed any more. */
        async function killAt(statements: number): Promise<{ paid: boolean; ended: boolean }> {
          const { accountId } = await signUp(state);
          const key = await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 1 });
          const made = await order(state, accountId);
          const { code } = made;
          const transaction = transfer(code);
          const ended = await pay({ by: by === 'money' ? { transaction } : { code }, statements, sent });
          // Whatever the server still does for it, it does with the account locked.
          await codeOf(state.keys.rotate({ accountId, id: 'none', successor: newKey(), overlapMs: 0 }));
          const paid = await expectWhole(made, key.id);
          if (by === 'money') await state.orders.record(transaction);
          else await state.orders.confirm({ code, actor: 'operator:bob' });
          expect(await expectWhole(made, key.id)).to.equal(true);
          return { paid, ended };
        }

        const killed: { paid: boolean; ended: boolean }[] = [];
        while (!killed.some(({ ended }) => ended)) {
          expect(killed.length).to.be.below(MOST_STATEMENTS);
          const next = Array.from({ length: AT_ONCE }, (_, index) => killAt(killed.length + index));
          killed.push(...(await Promise.all(next)));
        }
        // Up to some statement nothing is there, from there on everything.
        const paid = killed.map((each) => each.paid);
        expect(paid.indexOf(true)).to.be.above(8);
        expect(paid.slice(paid.indexOf(true))).not.to.include(false);
      });
    }

    it('is granted once if several processes pay it at the same moment and some are killed', async () => {
      for (let round = 0; round < 2; round += 1) {
        const { accountId } = await signUp(state);
        const key = await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 1 });
        const made = await order(state, accountId);
        const transaction = transfer(made.code);
        const kills = [Math.floor(Math.random() * 15), MOST_STATEMENTS, Math.floor(Math.random() * 15)];
        await Promise.all(
          kills.map((statements, index) =>
            pay({ by: index === 2 ? { transaction } : { code: made.code }, statements, sent: false }),
          ),
        );
        expect(await expectWhole(made, key.id)).to.equal(true);
      }
    });
  });
}
