/** Alerts at thresholds of budgets: once for a period, by any node. */

import { createHmac, createSecretKey } from 'node:crypto';
import { expect } from 'chai';
import { openHttpClient } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { systemClock } from '../../../core/runtime/time.js';
import { createKeyRecord, NO_PLAN } from '../../../server/keys/index.js';
import { createPrices } from '../../../server/prices/index.js';
import type { State } from '../../../server/state.js';
import { ALERT_SIGNER, startAlertDelivery, WebhookSecrets } from '../../../server/webhooks/index.js';
import { order, signUp } from '../../support/accounts/people.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/http/webhook-receiver.js';
import { budget, CHAT, settlement } from '../../support/models/model-requests.js';
import { until } from '../../support/until.js';

for (const engine of engines) {
  describe(`alerts of budgets on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let receiver: WebhookReceiver;
    let url: string;
    const opened: { close(): Promise<void> }[] = [];

    before(async function () {
      place = await engine.reusedPlace(this);
      receiver = await startWebhookReceiver();
      url = receiver.url('budgets');
      state = await place.open({ budgetAlerts: true });
    });

    after(async () => {
      for (const each of opened) await each.close();
      await receiver?.close();
      await place?.remove();
    });

    async function deliverFrom(node: State): Promise<void> {
      const { client, close } = await openHttpClient({ timeoutMs: 5_000, trustedOrigins: [new URL(url).origin] });
      const secrets = new WebhookSecrets([Buffer.alloc(32, 7)], node.webhooks);
      const alerts = node.budgetAlerts;
      const logger = createRecordingLogger();
      const options = { alerts, url, secrets, client, clock: systemClock, logger, pausesMs: [20, 20], pollMs: 20 };
      opened.push(startAlertDelivery(options), { close });
    }

    async function use(id: string, tokens: number, from = state): Promise<void> {
      const reserve = { budgetId: null, furtherBudgets: [id], tokens };
      const { reservation } = await from.admissions.admit({ ...CHAT, reserve });
      from.admissions.settle(settlement({ reservation, usage: { totalTokens: tokens }, at: Date.now() }));
      await from.admissions.flush();
    }

    it('are sent once for each threshold of a period, by any node, signed, and again after a failure', async () => {
      const other = await place.open({ budgetAlerts: true });
      const now = Date.now();
      const made = budget({
        scope: 'group',
        subject: 'team',
        planId: null,
        tokenLimit: 100,
        resets: 'month',
        createdAt: now,
      });
      await state.budgets.create(made);
      receiver.behave('budgets', 503);
      for (const node of [state, other]) await deliverFrom(node);
      await use(made.id, 79);
      await use(made.id, 1, other);
      await use(made.id, 5);
      const [refused, sent] = await receiver.heard('budgets', 2);
      expect(sent?.headers['webhook-id']).to.equal(refused?.headers['webhook-id']);
      const month = new Date(now).toISOString().slice(0, 7);
      const { type, data } = JSON.parse(sent?.body ?? '');
      expect(type).to.equal('budget.alert');
      expect(data).to.deep.equal({
        percent: 80,
        budget: {
          of: 'group',
          name: 'team',
          unit: 'tokens',
          currency: null,
          limit: 100,
          used: 80,
          resets: 'month',
          period: month,
        },
      });
      const secrets = new WebhookSecrets([Buffer.alloc(32, 7)], state.webhooks);
      const [, key = ''] = (await secrets.newest(ALERT_SIGNER)).split('_');
      const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = sent?.headers ?? {};
      const text = `${id}.${at}.${sent?.body}`;
      const expected = createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64');
      expect(signature).to.equal(`v1,${expected}`);
      for (const tokens of [15, 0, 0]) await use(made.id, tokens, other);
      const all = await receiver.heard('budgets', 3);
      expect(JSON.parse(all[2]?.body ?? '').data).to.deep.include({ percent: 100 });
      await until(async () => (await state.budgetAlerts.takeDue({ max: 10, leaseMs: 1 })).length === 0);
      expect(receiver.of('budgets')).to.have.length(3);
    });

    it("name the key by its id and its operator's name", async () => {
      const own = budget({ tokenLimit: 10, scope: 'key', subject: 'key00001', planId: null });
      const ofPlan = budget({ tokenLimit: 10, planId: 'month' });
      for (const each of [own, ofPlan]) await state.budgets.create(each);
      const named = { grants: ['text'], accountId: 'local', rpm: null, expiresAt: null } as const;
      const pepper = { version: 1, secret: createSecretKey(Buffer.alloc(32, 1)) };
      for (const [id, name, budgetId] of [
        ['key00001', 'laptop of Ann', null],
        ['key00002', 'desk of Ben', ofPlan.id],
      ] as const) {
        const { record } = createKeyRecord({ ...named, name, plan: NO_PLAN }, pepper, Date.now());
        await state.keys.insert({ ...record, id, budgetId }, null, 'operator:ann');
      }
      const before = receiver.of('budgets').length;
      for (const { id } of [own, ofPlan]) await use(id, 9);
      const sent = (await receiver.heard('budgets', before + 2)).slice(before);
      const budgets = sent.map(({ body }) => JSON.parse(body).data.budget);
      const names = budgets.map(({ of: owner, key, key_name }) => [owner, key, key_name]).sort();
      expect(names).to.deep.equal([
        ['key', 'key00001', 'laptop of Ann'],
        ['plan', 'key00002', 'desk of Ben'],
      ]);
    });

    it('say that a prepaid balance is low, once after each top-up', async () => {
      const prices = createPrices({ currency: 'EUR', models: { 'm-5.5': { input: 1, output: 2 } } });
      const node = await place.open({ budgetAlerts: true, prices });
      await deliverFrom(node);
      const { accountId } = await signUp(node);
      const topUp = async () => {
        const paid = { currency: 'EUR', lowBelow: 400_000, grants: ['text'], rpm: 30, models: null } as const;
        const { code } = await order(node, accountId, { terms: { planId: 'topup_1', credit: 1_000_000, ...paid } });
        await node.orders.confirm({ code, actor: 'operator:ann' });
      };
      /** A token of input costs a millionth. */
      const pay = async (tokens: number) => {
        const balanceId = (await node.balances.find(accountId))?.id ?? '';
        const demand = async () => ({ input: tokens, hiddenInput: 0, output: 1, minOutput: 1, choices: 1 });
        const reserve = { budgetId: balanceId, tokens, demand };
        const { reservation } = await node.admissions.admit({ ...CHAT, accountId, reserve });
        const usage = { inputTokens: tokens, outputTokens: 0 };
        node.admissions.settle(settlement({ accountId, reservation, usage, at: Date.now() }));
        await node.admissions.flush();
      };
      const before = receiver.of('budgets').length;
      await topUp();
      await pay(500_000);
      expect((await node.budgetAlerts.takeDue({ max: 10, leaseMs: 1 })).length, 'half is left').to.equal(0);
      for (const tokens of [200_000, 100_000]) await pay(tokens);
      const [sent] = (await receiver.heard('budgets', before + 1)).slice(before);
      expect(JSON.parse(sent?.body ?? '')).to.deep.include({
        type: 'balance.low',
        data: { balance: { account: accountId, left: 0.3, below: 0.4, currency: 'EUR' } },
      });
      await topUp();
      await pay(900_000);
      const all = (await receiver.heard('budgets', before + 2)).slice(before);
      expect(all.map(({ body }) => JSON.parse(body).data.balance.left)).to.deep.equal([0.3, 0.3]);
      const { different } = await node.ledger.sums();
      expect(different).to.deep.equal([]);
    });

    it("are written neither without the setting nor for a user's plan", async () => {
      const silent = await place.open({});
      const own = budget({ tokenLimit: 10, scope: 'key', subject: 'key1' });
      const ofUser = budget({ tokenLimit: 10, accountId: 'acct_1' });
      for (const each of [own, ofUser]) await state.budgets.create(each);
      const heard = receiver.of('budgets').length;
      await use(own.id, 10, silent);
      await use(ofUser.id, 10);
      expect(await state.budgetAlerts.takeDue({ max: 10, leaseMs: 1 })).to.deep.equal([]);
      expect(receiver.of('budgets')).to.have.length(heard);
    });
  });
}
