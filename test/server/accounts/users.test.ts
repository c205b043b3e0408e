/** Users in the database: identities, the operator, search and suspension. */

import { expect } from 'chai';
import type { State } from '../../../server/state.js';
import { FREE, HOUR_MS, newKey, signUp } from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';

for (const engine of engines) {
  describe(`users on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock });
    });

    after(() => place?.remove());

    const ann = { issuer: 'https://id.example', subject: 'ann', email: 'ann@mail.example', name: 'Ann' };

    it('have one operator if the first ones sign in at the same moment on two nodes', async () => {
      const other = await place.open({ clock, rateLimitClock: clock });
      const options = { firstIsOperator: true };
      const people = ['one', 'two', 'three', 'four'].map((subject) => ({ ...ann, issuer: 'urn:local', subject }));
      const met = await Promise.all(
        people.map((person, index) => (index % 2 ? other : state).users.signIn(person, options)),
      );
      const operators = met.filter(({ becameOperator }) => becameOperator);
      expect(operators).to.have.length(1);
      for (const { id, accountId } of met) {
        const plan = (await state.accounts.find(accountId))?.plan;
        expect(plan?.planId, id).to.equal(operators[0]?.id === id ? 'operator' : undefined);
      }
      const later = await state.users.signIn({ ...ann, issuer: 'urn:local', subject: 'five' }, options);
      expect(later.becameOperator).to.equal(undefined);
    });

    it("are the same person at each sign-in, with the provider's current email and name", async () => {
      const first = await state.users.signIn(ann);
      expect(first.id).to.match(/^user_[0-9a-f]{32}$/);
      expect(first.accountId).to.match(/^acct_[0-9a-f]{32}$/);
      clock.advance(HOUR_MS);
      const again = await state.users.signIn({ ...ann, email: null, name: 'Ann\u0000 \ud800Ø'.repeat(100) });
      expect(again).to.include({ id: first.id, accountId: first.accountId, createdAt: first.createdAt, email: null });
      expect(again.lastSignInAt).to.equal(first.lastSignInAt + HOUR_MS);
      expect(again.name).to.have.length(200);
      expect(await state.users.find(first.id)).to.deep.equal(again);
      expect(await state.users.findByAccount(first.accountId)).to.deep.equal(again);
    });

    it('are different persons under another issuer or another case of the subject, with any email', async () => {
      const ids = await Promise.all([
        state.users.signIn(ann),
        state.users.signIn({ ...ann, issuer: 'https://other.example' }),
        state.users.signIn({ ...ann, subject: 'Ann' }),
      ]);
      expect(new Set(ids.map(({ id }) => id)).size).to.equal(3);
      expect(new Set(ids.map(({ accountId }) => accountId)).size).to.equal(3);
    });

    it('are created once, with one account, if several nodes see them at the same moment', async () => {
      const other = await place.open({ clock, rateLimitClock: clock });
      const twins = { ...ann, subject: 'twins' };
      const met = await Promise.all([state, other, state, other].map(({ users }) => users.signIn(twins)));
      expect(new Set(met.map(({ id, accountId }) => `${id} ${accountId}`)).size).to.equal(1);
    });

    it('have an identity that is stored exactly or refused', async () => {
      for (const wrong of ['', 'a\u0000b', 'x'.repeat(256), ' ann', '\ud800']) {
        const refused = state.users.signIn({ ...ann, subject: wrong });
        expect(await codeOf(refused), JSON.stringify(wrong)).to.equal('invalid_value');
      }
    });

    it('are found by their address in any case', async () => {
      const email = 'Pat+1@Mail.Example';
      const one = await state.users.signIn({ ...ann, subject: 'pat', email });
      const two = await state.users.signIn({ ...ann, subject: 'pat too', email: email.toLowerCase() });
      const found = await state.users.findByEmail(email.toUpperCase());
      expect(found.map(({ id }) => id)).to.have.members([one.id, two.id]);
      for (const other of ['pat_1@mail.example', '%', 'a\u0000']) {
        expect(await state.users.findByEmail(other), other).to.deep.equal([]);
      }
    });

    it('are listed newest first, page by page', async () => {
      for (let count = 0; count < 5; count += 1) await signUp(state);
      const all = await state.users.list({ limit: 100 });
      const paged = [];
      for (let page = await state.users.list({ limit: 2 }); page.length > 0; ) {
        paged.push(...page);
        page = await state.users.list({ limit: 2, before: page.at(-1)?.id });
      }
      expect(paged).to.deep.equal(all);
      const times = all.map(({ createdAt }) => createdAt);
      expect(times).to.deep.equal([...times].sort((left, right) => right - left));
    });

    it('have a role, and the plan of operators with that role', async () => {
      const { id: userId, accountId, role } = await signUp(state);
      expect(role).to.equal('member');
      const by = { userId, actor: 'operator:bob' };
      const planId = async () => {
        const plan = (await state.accounts.find(accountId))?.plan;
        return plan && (plan.expiresAt === null || plan.expiresAt > clock.now()) ? plan.planId : undefined;
      };
      expect(await state.users.setRole({ ...by, role: 'operator' })).to.equal(true);
      expect(await state.users.setRole({ ...by, role: 'operator' })).to.equal(false);
      expect(await planId()).to.equal('operator');
      expect(await state.users.setRole({ ...by, role: 'billing', note: 'left' })).to.equal(true);
      expect(await planId()).to.equal(undefined);
      await state.users.setRole({ ...by, role: 'operator' });
      expect(await planId()).to.equal('operator');
      await state.users.setRole({ ...by, role: 'member' });
      expect((await state.users.find(userId))?.role).to.equal('member');
      const audit = await state.audit.list({ subject: userId, limit: 10 });
      const changes = audit.map(({ action, from, to, note }) => [action, from, to, note]);
      expect(changes.reverse()).to.deep.equal([
        ['user.role-changed', 'member', 'operator', null],
        ['user.role-changed', 'operator', 'billing', 'left'],
        ['user.role-changed', 'billing', 'operator', null],
        ['user.role-changed', 'operator', 'member', null],
      ]);
      expect(await codeOf(state.users.setRole({ ...by, userId: 'user_nobody', role: 'member' }))).to.equal(
        'user_not_found',
      );
    });

    it('keep the last operator: not suspended, erased or of another role', async () => {
      const operators = (await state.users.list({ limit: 1_000 })).filter(({ role }) => role === 'operator');
      const { id: userId } = operators[0] ?? (await signUp(state));
      const by = { userId, actor: 'operator:bob' };
      await state.users.setRole({ ...by, role: 'operator' });
      const refused = async () => {
        expect(await codeOf(state.users.suspend(by))).to.equal('last_operator');
        expect(await codeOf(state.users.setRole({ ...by, role: 'billing' }))).to.equal('last_operator');
        expect(await codeOf(state.erasures.begin(by))).to.equal('last_operator');
        expect(await state.users.find(userId)).to.include({ role: 'operator', suspendedAt: null });
      };
      await refused();
      const other = { userId: (await signUp(state)).id, actor: 'operator:bob' };
      await state.users.setRole({ ...other, role: 'operator' });
      expect(await state.users.suspend(other)).to.equal(true);
      await refused();
      await state.users.resume(other);
      expect(await state.users.suspend(by)).to.equal(true);
      expect(await codeOf(state.users.suspend(other))).to.equal('last_operator');
      await state.users.resume(by);
    });

    it('keep one operator if two remove each other at the same moment on two nodes', async () => {
      const node = await place.open({ clock, rateLimitClock: clock });
      for (let round = 0; round < 5; round += 1) {
        const [one, two] = [await signUp(state), await signUp(state)];
        const all = (await state.users.list({ limit: 1_000 })).filter(({ role }) => role === 'operator');
        for (const { id: userId } of [one, two])
          await state.users.setRole({ userId, role: 'operator', actor: 'operator:bob' });
        for (const { id: userId } of all) await state.users.setRole({ userId, role: 'member', actor: 'operator:bob' });
        const results = await Promise.allSettled([
          state.users.setRole({ userId: one.id, role: 'member', actor: `user:${two.id}` }),
          node.users.suspend({ userId: two.id, actor: `user:${one.id}` }),
        ]);
        expect(results.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
        if (results[1]?.status === 'fulfilled') await state.users.resume({ userId: two.id, actor: 'operator:bob' });
      }
    });

    it('lose sessions, devices and keys while they are suspended, and get the keys back', async () => {
      const user = await signUp(state);
      const { accountId, id: userId } = user;
      const key = await state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 5 });
      const session = { hash: `of ${userId}`, userId, kind: 'browser', idleMs: HOUR_MS, lifetimeMs: HOUR_MS } as const;
      await state.sessions.create(session);
      const device = { deviceHash: `device of ${userId}`, clientName: 'agent' };
      const { userCode } = await state.deviceGrants.create(device);
      await state.deviceGrants.approve(userCode, userId);
      clock.advance(1_000);
      const since = clock.now();

      const operator = { userId, actor: 'operator:bob', note: 'unpaid' };
      expect(await state.users.suspend(operator)).to.equal(true);
      expect(await state.users.suspend(operator)).to.equal(false);
      expect(await state.sessions.find(session.hash)).to.equal(undefined);
      expect(await state.deviceGrants.poll(device.deviceHash)).to.deep.equal({ status: 'invalid_grant' });
      expect(await state.keys.changedSince(since)).to.deep.equal([{ ...key, suspendedAt: since }]);
      expect(await codeOf(state.sessions.create({ ...session, hash: 'new' }))).to.equal('account_suspended');
      expect(await codeOf(state.users.signIn(user))).to.equal('account_suspended');
      const issue = state.keys.issue({ accountId, key: newKey(), otherwise: FREE, maxKeys: 5 });
      expect(await codeOf(issue)).to.equal('account_suspended');
      expect((await state.users.find(userId))?.suspendedAt).to.equal(since);

      expect(await state.users.resume(operator)).to.equal(true);
      expect(await state.users.resume(operator)).to.equal(false);
      expect(await state.keys.find(key.id)).to.deep.equal(key);
      expect((await state.users.signIn(user)).suspendedAt).to.equal(null);
      const audit = await state.audit.list({ subject: userId, limit: 10 });
      expect(audit).to.deep.equal(
        (['user.resumed', 'user.suspended'] as const).map((action, index) => ({
          subject: userId,
          number: 2 - index,
          at: since,
          actor: 'operator:bob',
          action,
          from: null,
          to: null,
          amount: null,
          currency: null,
          note: 'unpaid',
        })),
      );
      expect(await codeOf(state.users.suspend({ ...operator, userId: 'user_nobody' }))).to.equal('user_not_found');
    });
  });
}
