/** Bank webhooks during kills and database outages. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import type { OrderRecord } from '../../../server/payments/order-records.js';
import type { State } from '../../../server/state.js';
import { genericNotice, SECRETS, type SignedNotice } from '../../http/payments/app.js';
import { grantsOf, order, signUp } from '../../support/accounts/people.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { ownPostgres } from '../../support/databases/postgres-outage.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { isLongRun } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

/** Answers to wait for before the kill: a different number each time. */
const ROUNDS = isLongRun ? [0, 1] : [1];
const ORDERS = 12;

interface Told {
  made: OrderRecord;
  notice: SignedNotice;
}

function startGateway({ dataDir, databaseUrl }: Place): Promise<GatewayProcess> {
  const secrets = { PAYMENT_WEBHOOK_SECRET: `generic:${SECRETS.generic}` };
  const environment = { LOG_LEVEL: 'debug', ...secrets, ...(databaseUrl && { DATABASE_URL: databaseUrl }) };
  return startGatewayProcess({ dataFolder: dataDir, environment });
}

/** Status of the answer; undefined where there was none. */
async function tell(gateway: GatewayProcess, { body, headers }: SignedNotice): Promise<number | undefined> {
  const type = { 'content-type': 'application/json' };
  const sent = { method: 'POST', headers: { ...type, ...headers }, body };
  const answer = await gateway.request('/api/payment/webhook/generic', sent).catch(() => undefined);
  return answer?.status;
}

async function makeOrders(state: State, count: number): Promise<Told[]> {
  const made: OrderRecord[] = [];
  for (let index = 0; index < count; index += 1) made.push(await order(state, (await signUp(state)).accountId));
  return made.map((each) => {
    const { code: text, amount, currency } = each;
    return { made: each, notice: genericNotice({ id: randomUUID(), text, amount, currency }) };
  });
}

for (const engine of engines) {
  describe(`a gateway that is killed during bank webhooks, on ${engine.name}`, () => {
    let place: Place;
    let state: State;

    before(async function () {
      place = await engine.place(this);
      state = await place.open();
    });
    after(() => place?.remove());

    it('grants once or not at all, keeps what it acknowledged, and completes the rest on repetition', async () => {
      let unfinished = 0;
      for (const answers of ROUNDS) {
        const told = await makeOrders(state, ORDERS);
        const gateway = await startGateway(place);
        const telling = told.map(({ notice }) => tell(gateway, notice));
        // And then in the middle of whatever is going on.
        await Promise.all(telling.slice(0, answers));
        await gateway.kill();
        const statuses = await Promise.all(telling);
        for (const [index, { made }] of told.entries()) {
          const found = await state.orders.find(made.code);
          const { granted, tokens } = await grantsOf(state, made);
          const isPaid = found?.state === 'paid';
          expect([granted, tokens]).to.deep.equal(isPaid ? [1, 30_000_000] : [0, 0]);
          if (statuses[index] === 200) expect(isPaid).to.equal(true);
          if (!isPaid) unfinished += 1;
        }
        const again = await startGateway(place);
        // A bank repeats what a busy machine refuses with 503.
        const repeated = told.map(({ notice }) =>
          until(async () => {
            const status = await tell(again, notice);
            return status !== 503 && status;
          }),
        );
        expect(await Promise.all(repeated)).to.deep.equal(told.map(() => 200));
        for (const { made } of told) {
          expect((await state.orders.find(made.code))?.state).to.equal('paid');
          expect(await grantsOf(state, made)).to.deep.equal({ granted: 1, tokens: 30_000_000 });
        }
        expect(again.output()).not.to.contain(SECRETS.generic);
        await again.stop();
      }
      expect(unfinished).to.be.above(0);
    });
  });
}

describe('a gateway whose PostgreSQL becomes unavailable during bank webhooks', () => {
  const postgres = ownPostgres();

  it('refuses them, so that they are repeated, and counts each once', async () => {
    const state = await postgres.place.open();
    const told = await makeOrders(state, ORDERS);
    const gateway = await startGateway(postgres.place);
    const away = postgres.takeAway();
    const refused = new Set<number>();
    const telling = Promise.all(
      told.map(({ notice }, index) =>
        // Some while it goes, the others once it is gone.
        Promise.resolve(index < ORDERS / 2 ? sleep(index * 150) : away).then(() =>
          until(async () => {
            const status = await tell(gateway, notice);
            if (status !== 200) refused.add(status ?? 0);
            return status === 200;
          }, 200),
        ),
      ),
    );
    const bringBack = await away;
    await until(() => refused.size > 0);
    await bringBack();
    expect(await telling).to.have.length(ORDERS);
    expect([...refused]).to.deep.equal([503]);
    for (const { made, notice } of told) {
      expect(await tell(gateway, notice)).to.equal(200);
      expect((await state.orders.find(made.code))?.state).to.equal('paid');
      expect(await grantsOf(state, made)).to.deep.equal({ granted: 1, tokens: 30_000_000 });
    }
    await gateway.stop();
  });
});
