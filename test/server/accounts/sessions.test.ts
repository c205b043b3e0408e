/** Sessions, sign-in attempts and device codes in the database. */

import { expect } from 'chai';
import type { NewSession } from '../../../server/accounts/sign-in/sessions.js';
import type { State } from '../../../server/state.js';
import { DAY_MS, HOUR_MS, signUp } from '../../support/accounts/people.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';

const MINUTE_MS = 60_000;

for (const engine of engines) {
  describe(`sessions on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let count = 0;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock();
      state = await place.open({ clock, rateLimitClock: clock });
    });

    after(() => place?.remove());

    function session(userId: string, change: Partial<NewSession> = {}): NewSession {
      count += 1;
      const times = { idleMs: 12 * HOUR_MS, lifetimeMs: 7 * DAY_MS };
      return { hash: `hash ${count}`, userId, kind: 'browser', ...times, ...change };
    }

    it('return a session with its user until it is ended', async () => {
      const user = await signUp(state);
      const wanted = session(user.id, { kind: 'device' });
      const made = await state.sessions.create(wanted);
      const { hash } = wanted;
      const now = clock.now();
      const times = { createdAt: now, expiresAt: now + 12 * HOUR_MS };
      expect(made).to.deep.equal({ hash, userId: user.id, kind: 'device', ...times });
      expect(await state.sessions.find(hash)).to.deep.equal({ session: made, user });
      expect(await state.sessions.find('HASH')).to.equal(undefined);
      expect(await state.sessions.end(hash)).to.equal(true);
      expect(await state.sessions.end(hash)).to.equal(false);
      expect(await state.sessions.find(hash)).to.equal(undefined);
      expect(await codeOf(state.sessions.create(session('user_nobody')))).to.equal('user_not_found');
    });

    it('end when they are idle, and at the end of their lifetime', async () => {
      const user = await signUp(state);
      const [idle, busy] = [session(user.id), session(user.id)];
      for (const each of [idle, busy]) await state.sessions.create(each);
      const begun = clock.now();
      for (let hours = 0; hours < 160; hours += 10) {
        clock.advance(10 * HOUR_MS);
        expect(await state.sessions.find(busy.hash), `${hours} h`).to.be.an('object');
      }
      expect(await state.sessions.find(idle.hash)).to.equal(undefined);
      expect((await state.sessions.find(busy.hash))?.session.expiresAt).to.equal(begun + 7 * DAY_MS);
      clock.advance(8 * HOUR_MS - 1);
      expect(await state.sessions.find(busy.hash)).to.be.an('object');
      clock.advance(1);
      expect(await state.sessions.find(busy.hash)).to.equal(undefined);
    });

    it('store a use at most once a minute', async () => {
      const user = await signUp(state);
      const wanted = session(user.id);
      await state.sessions.create(wanted);
      const begun = clock.now();
      const endsAt = async () => (await state.sessions.find(wanted.hash))?.session.expiresAt;
      clock.advance(MINUTE_MS - 1);
      expect(await endsAt()).to.equal(begun + wanted.idleMs);
      clock.advance(1);
      expect(await endsAt()).to.equal(begun + MINUTE_MS + wanted.idleMs);
      clock.advance(MINUTE_MS - 1);
      expect(await endsAt()).to.equal(begun + MINUTE_MS + wanted.idleMs);
    });

    it('keep the fifty latest sessions of a user, and those of others', async () => {
      const [user, other] = [await signUp(state), await signUp(state)];
      const foreign = session(other.id);
      await state.sessions.create(foreign);
      const made = Array.from({ length: 52 }, () => session(user.id));
      for (const each of made) {
        clock.advance(1);
        await state.sessions.create(each);
      }
      // One after the other: a busy server may take longer to open ten connections than a statement may wait for one.
      const found: boolean[] = [];
      for (const { hash } of made) found.push((await state.sessions.find(hash)) !== undefined);
      expect(found).to.deep.equal(made.map((_, index) => index >= 2));
      const end = { userId: user.id, actor: `user:${user.id}` };
      expect(await state.sessions.endAllOf(end)).to.equal(50);
      expect(await state.sessions.endAllOf(end)).to.equal(0);
      const audit = await state.audit.list({ subject: user.id, limit: 9 });
      expect(audit.map(({ action, actor }) => [action, actor])).to.deep.equal([['user.signed-out', `user:${user.id}`]]);
      expect(await codeOf(state.sessions.endAllOf({ ...end, userId: 'user_nobody' }))).to.equal('user_not_found');
      expect(await state.sessions.find(foreign.hash)).to.be.an('object');
    });

    describe('through an identity provider', () => {
      function attempt() {
        count += 1;
        const secrets = { nonce: `nonce ${count}`, codeVerifier: `verifier ${count}` };
        return { stateHash: `state ${count}`, browserHash: `browser ${count}`, ...secrets, returnTo: '/dashboard' };
      }

      it('return an attempt once, to the browser that began it', async () => {
        const begun = attempt();
        await state.signIns.begin(begun);
        expect(await state.signIns.take(begun.stateHash, 'browser of a stranger')).to.equal(undefined);
        const taken = await Promise.all(
          Array.from({ length: 5 }, () => state.signIns.take(begun.stateHash, begun.browserHash)),
        );
        expect(taken.filter(Boolean)).to.deep.equal([begun]);
      });

      it('expire an attempt after ten minutes', async () => {
        const [late, intime] = [attempt(), attempt()];
        for (const each of [late, intime]) await state.signIns.begin(each);
        clock.advance(10 * MINUTE_MS - 1);
        expect(await state.signIns.take(intime.stateHash, intime.browserHash)).to.deep.equal(intime);
        clock.advance(1);
        expect(await state.signIns.take(late.stateHash, late.browserHash)).to.equal(undefined);
      });
    });

    describe('on a device', () => {
      async function begin() {
        count += 1;
        const deviceHash = `device ${count}`;
        return { deviceHash, ...(await state.deviceGrants.create({ deviceHash, clientName: 'agent\u0000one' })) };
      }

      it('wait for an answer, ask to slow down, and authorize once', async () => {
        const user = await signUp(state);
        const { deviceHash, userCode, interval, clientName } = await begin();
        expect(userCode).to.match(/^[BCDFGHJKLMNPQRSTVWXZ]{8}$/);
        expect([interval, clientName]).to.deep.equal([5, 'agent one']);
        const poll = () => state.deviceGrants.poll(deviceHash);
        expect(await poll()).to.deep.equal({ status: 'authorization_pending', interval: 5 });
        clock.advance(4_999);
        expect(await poll()).to.deep.equal({ status: 'slow_down', interval: 10 });
        clock.advance(9_999);
        expect(await poll()).to.deep.equal({ status: 'slow_down', interval: 15 });
        clock.advance(15_000);
        expect(await poll()).to.deep.equal({ status: 'authorization_pending', interval: 15 });
        const typed = ` ${userCode.slice(0, 4).toLowerCase()}-${userCode.slice(4)}\n`;
        expect(await state.deviceGrants.find(typed)).to.include({ userCode, clientName });
        expect(await state.deviceGrants.approve(typed, user.id)).to.equal(true);
        expect(await state.deviceGrants.approve(typed, user.id)).to.equal(false);
        expect(await state.deviceGrants.deny(typed)).to.equal(false);
        expect(await state.deviceGrants.find(typed)).to.equal(undefined);
        const polls = await Promise.all(Array.from({ length: 5 }, poll));
        const granted = polls.filter(({ status }) => status === 'granted');
        expect(granted).to.deep.equal([{ status: 'granted', userId: user.id }]);
        expect(polls.filter(({ status }) => status === 'invalid_grant')).to.have.length(4);
      });

      it('report a refusal, an expiry, and an invalid code', async () => {
        const user = await signUp(state);
        const [denied, late] = [await begin(), await begin()];
        expect(await state.deviceGrants.deny(denied.userCode)).to.equal(true);
        expect(await state.deviceGrants.poll(denied.deviceHash)).to.deep.equal({ status: 'access_denied' });
        clock.advance(10 * MINUTE_MS);
        expect(await state.deviceGrants.find(late.userCode)).to.equal(undefined);
        expect(await state.deviceGrants.approve(late.userCode, user.id)).to.equal(false);
        expect(await state.deviceGrants.poll(late.deviceHash)).to.deep.equal({ status: 'expired_token' });
        expect(await state.deviceGrants.poll('none')).to.deep.equal({ status: 'invalid_grant' });
        clock.advance(11 * MINUTE_MS);
        await begin();
        expect(await state.deviceGrants.poll(late.deviceHash)).to.deep.equal({ status: 'invalid_grant' });
      });
    });
  });
}
