/** Budgets of keys, accounts and groups. */

import { expect } from 'chai';
import { parseBudget, renderBudget } from '../../../server/budgets/amounts.js';
import type { State } from '../../../server/state.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { CHAT, settlement } from '../../support/models/model-requests.js';
import { rejection } from '../../support/rejection.js';

const by = { actor: 'operator:ann' };

describe('amounts of budgets', () => {
  it('are parsed from common spellings, and shown in one form', () => {
    for (const [text, shown] of [
      ['50 USD/month', '50 USD/month'],
      ['0.5 EUR / day', '0.5 EUR/day'],
      ['12.345678 USD', '12.345678 USD'],
      ['2M tokens/day', '2,000,000 tokens/day'],
      ['1_500 requests/lifetime', '1,500 requests'],
      ['1 request', '1 requests'],
      ['0 USD/month', '0 USD/month'],
    ] as const) {
      const amount = parseBudget(text);
      expect(amount && renderBudget(amount), text).to.equal(shown);
    }
    const wrong = [
      '50',
      'USD',
      '50 XQZ/month',
      '50 USD/week',
      '-1 USD',
      '1.5 tokens',
      '1e3 USD',
      '50 usd',
      '0.0000001 USD',
    ];
    for (const text of [...wrong, '', '99999999999999 USD', '50 USD/constructor']) {
      expect(parseBudget(text), text).to.equal(undefined);
    }
  });
});

for (const engine of engines) {
  describe(`budgets of keys, accounts and groups on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let made = 0;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(Date.UTC(2026, 0, 30, 12));
      state = await place.open({ clock, rateLimitClock: clock });
    });

    after(() => place?.remove());

    const amounts = (...texts: string[]) => texts.flatMap((text) => parseBudget(text) ?? []);

    async function makeKey(change: { accountId?: string; groupName?: string } = {}): Promise<string> {
      made += 1;
      const id = `key${String(made).padStart(5, '0')}`;
      const { accountId = 'local', groupName } = change;
      const record = {
        id,
        name: `key ${made}`,
        hash: '',
        pepperVersion: 1,
        grants: ['text' as const],
        rpm: null,
        accountId,
        planId: null,
        budgetId: null,
        models: null,
        imageDailyLimit: null,
        createdAt: clock.now(),
        expiresAt: null,
        revokedAt: null,
        suspendedAt: null,
        replacedBy: null,
        lastUsedAt: null,
        ...(groupName !== undefined && { groupName }),
      };
      await state.budgets.createKey({ record, planExpiresAt: null, budgets: [], ...by });
      return id;
    }

    async function ask(id: string, tokens = 10) {
      const { budgetId = null, furtherBudgets } = (await state.keys.find(id)) ?? {};
      return state.admissions.admit({ ...CHAT, keyId: id, reserve: { budgetId, furtherBudgets, tokens } });
    }

    async function use(id: string, tokens: number): Promise<void> {
      const { reservation } = await ask(id, tokens);
      state.admissions.settle(settlement({ keyId: id, reservation, usage: { totalTokens: tokens } }));
      await state.admissions.flush();
    }

    const left = async (id: string) => {
      const budgets = await state.budgets.ofKey((await state.keys.find(id)) ?? {});
      return budgets.map(({ scope, tokensUsed, requestsUsed }) => [scope, tokensUsed, requestsUsed]);
    };

    it('all count, and the smallest refuses and states when it starts again', async () => {
      await state.budgets.createGroup('research');
      await state.budgets.change({ scope: 'group', subject: 'research', budgets: amounts('100 tokens/month'), ...by });
      const [ann, ben] = [await makeKey({ groupName: 'research' }), await makeKey({ groupName: 'research' })];
      await state.budgets.change({
        scope: 'key',
        subject: ann,
        budgets: amounts('60 tokens/day', '9 requests'),
        ...by,
      });
      await use(ann, 50);
      expect(await left(ann)).to.have.deep.members([
        ['group', 50, 1],
        ['key', 50, 1],
        ['key', 50, 1],
      ]);
      expect(messageOf(await rejection(ask(ann, 11)))).to.equal(
        'The budget of this API key allows 60 tokens a day (UTC), of which 10 are free and this request may use 11. It starts again at 2026-01-31T00:00:00.000Z.',
      );
      await use(ben, 45);
      expect(messageOf(await rejection(ask(ann, 6)))).to.equal(
        'The budget of the group research allows 100 tokens a month, of which 5 are free and this request may use 6. It starts again at 2026-02-01T00:00:00.000Z.',
      );
      await ask(ben, 5);
      expect(await rejection(ask(ann, 1))).to.include({ code: 'insufficient_quota' });
    });

    it('keep their usage when the amount changes, and reach every key of the owner', async () => {
      const accountId = 'team-a';
      const first = await makeKey({ accountId });
      const change = (...texts: string[]) =>
        state.budgets.change({ scope: 'account', subject: accountId, budgets: amounts(...texts), ...by });
      await change('2 requests/month');
      const second = await makeKey({ accountId });
      await use(first, 1);
      await use(second, 1);
      expect(messageOf(await rejection(ask(first)))).to.equal(
        'The budget of the account of this API key allows 2 requests a month, and all are used. It starts again at 2026-02-01T00:00:00.000Z.',
      );
      await change('3 requests/month');
      await use(first, 1);
      expect(await rejection(ask(second))).to.include({ code: 'insufficient_quota' });
      // Another period is another budget, which starts empty.
      await change('1 request/day');
      await use(second, 1);
      expect(await rejection(ask(second))).to.include({ code: 'insufficient_quota' });
      await change();
      await ask(second);
      expect((await state.keys.find(second))?.furtherBudgets).to.equal(undefined);
      const audit = await state.audit.list({ subject: accountId, limit: 10 });
      expect(audit.map(({ actor, action, from, to }) => [actor, action, from, to])).to.deep.equal([
        ['operator:ann', 'budget.changed', '1 requests/day', 'no budget'],
        ['operator:ann', 'budget.changed', '3 requests/month', '1 requests/day'],
        ['operator:ann', 'budget.changed', '2 requests/month', '3 requests/month'],
        ['operator:ann', 'budget.changed', 'no budget', '2 requests/month'],
      ]);
    });

    it('move with a key from group to group, and stay with the key that replaces another', async () => {
      await state.budgets.createGroup('red');
      await state.budgets.createGroup('blue');
      await state.budgets.change({ scope: 'group', subject: 'red', budgets: amounts('5 tokens'), ...by });
      const id = await makeKey();
      await state.budgets.change({ scope: 'key', subject: id, budgets: amounts('50 tokens/month'), ...by });
      expect(await state.budgets.changeKey({ id, groupName: 'red', ...by })).to.include({ groupName: 'red' });
      expect(await rejection(ask(id, 6))).to.include({ code: 'insufficient_quota' });
      await state.budgets.changeKey({ id, groupName: 'blue', ...by });
      await use(id, 6);
      const successor = { id: 'next0000', hash: '', pepperVersion: 1 };
      await state.keys.rotate({ accountId: 'local', id, successor, overlapMs: 1_000 });
      expect(await left('next0000')).to.deep.equal([['key', 6, 1]]);
      await state.budgets.change({ scope: 'key', subject: 'next0000', budgets: amounts('7 tokens/month'), ...by });
      for (const each of [id, 'next0000'])
        expect(await rejection(ask(each, 2))).to.include({ code: 'insufficient_quota' });
      expect(await state.keys.find('next0000')).to.include({ groupName: 'blue' });
      expect(await rejection(state.budgets.changeKey({ id, groupName: 'green', ...by }))).to.include({
        param: 'group',
      });
      expect(await rejection(state.budgets.createGroup('red'))).to.include({ param: 'name' });
    });

    it('reach every key that is made or rotated while they change', async () => {
      await state.budgets.createGroup('crowd');
      const [accountId, groupName] = ['crowd-account', 'crowd'];
      await makeKey({ accountId, groupName });
      const makeOrRotate = async (round: number) => {
        if (round % 2 === 0) return makeKey({ accountId, groupName });
        const id = await makeKey({ accountId, groupName });
        const successor = { id: `turn${round}`.padEnd(8, '0'), hash: '', pepperVersion: 1 };
        await state.keys.rotate({ accountId, id, successor, overlapMs: 60_000 });
        return successor.id;
      };
      for (let round = 0; round < 12; round += 2) {
        const texts = amounts(...(round % 4 === 0 ? ['5 tokens/month', '7 requests/day'] : ['9 tokens/day']));
        const [ofAccount, ofGroup] = await Promise.all([
          state.budgets.change({ scope: 'account', subject: accountId, budgets: texts, ...by }),
          state.budgets.change({ scope: 'group', subject: groupName, budgets: texts, ...by }),
          makeOrRotate(round),
          makeOrRotate(round + 1),
          makeKey({ accountId, groupName }),
        ]);
        const wanted = [...ofAccount, ...ofGroup].map(({ id }) => id);
        for (const key of await state.keys.listOf(accountId))
          expect(key.furtherBudgets ?? [], `${key.id} in round ${round}`).to.have.members(wanted);
      }
    });

    it('change with the other properties of a key, or not at all', async () => {
      const id = await makeKey();
      const change = { id, properties: { name: 'renamed', rpm: 7 }, budgets: amounts('5 tokens'), ...by };
      expect(await rejection(state.budgets.changeKey({ ...change, groupName: 'nowhere' }))).to.include({
        param: 'group',
      });
      expect(await state.keys.find(id)).to.include({ name: `key ${made}`, rpm: null });
      expect(await state.budgets.of({ scope: 'key', subject: id })).to.deep.equal([]);
      expect(await state.budgets.changeKey({ ...change, groupName: 'blue' })).to.include({
        name: 'renamed',
        rpm: 7,
        groupName: 'blue',
      });
    });
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
