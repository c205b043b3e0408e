/** Stored responses to requests with an idempotency key. */

import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { systemClock } from '../../../core/runtime/time.js';
import type { AnswerWork } from '../../../server/idempotency/answer-table.js';
import type { AnswerClaim } from '../../../server/idempotency/idempotent-responses.js';
import type { State } from '../../../server/state.js';
import { codeOf } from '../../support/code-of.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { until } from '../../support/until.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const MEGABYTE = 1024 * 1024;
const HEAD = { status: 200, headers: { 'content-type': 'audio/mpeg' } };

const request = (key: string, fingerprint = 'body', accountId = 'acct_1') => ({
  scope: 'key POST /v1/audio/speech',
  key,
  fingerprint,
  accountId,
});

function begun(claim: AnswerClaim): AnswerWork {
  if (claim.state !== 'begun') throw new Error(`the key was not free: ${claim.state}`);
  return claim.work;
}

for (const engine of engines) {
  describe(`answers to requests with an idempotency key on ${engine.name}`, () => {
    let place: Place;
    beforeEach(async function () {
      place = await engine.reusedPlace(this);
    });
    afterEach(() => place?.remove());

    const claim = async ({ idempotentResponses }: State, key: string, accountId?: string) =>
      begun(await idempotentResponses.claim(request(key, 'body', accountId)));

    async function rows(): Promise<number> {
      const database = await openDatabase(place);
      try {
        const found = await database.run((queries) => queries.selectFrom('idempotency_keys').select('hash').execute());
        return found.length;
      } finally {
        await database.close();
      }
    }

    it('are computed by one of many simultaneous requests, and stored', async () => {
      const [one, other] = [await place.open(), await place.open()];
      const claims = await Promise.all(
        Array.from({ length: 40 }, (_, index) => (index % 2 ? one : other).idempotentResponses.claim(request('a'))),
      );
      const work = claims.flatMap((each) => (each.state === 'begun' ? [each.work] : []));
      expect(work).to.have.length(1);
      const [only] = work as [AnswerWork];
      expect(claims.every((each) => each.state !== 'running' || each.id === only.id)).to.equal(true);
      const waiting = other.idempotentResponses.waitFor(only.id, { timeoutMs: 60_000 });
      const holder = claims.findIndex((each) => each.state === 'begun') % 2 ? one : other;
      expect(await holder.idempotentResponses.keep(only, { ...HEAD, bytes: 5 })).to.equal(true);
      expect(await waiting).to.equal(undefined);
      expect(await other.idempotentResponses.claim(request('a'))).to.deep.equal({
        state: 'answered',
        answer: { ...HEAD, file: `${only.id}.bin` },
      });
      expect(await codeOf(other.idempotentResponses.claim(request('a', 'another body')))).to.equal(
        'idempotency_key_reused',
      );
    });

    it('are dropped if they are failures, which only the waiting ones receive', async () => {
      const state = await place.open();
      const { idempotentResponses } = state;
      const failed = await claim(state, 'a');
      const waiting = idempotentResponses.waitFor(failed.id, { timeoutMs: 60_000 });
      await idempotentResponses.release(failed, new GatewayError('upstream_error', 'It failed.', { reason: 'why' }));
      expect(await waiting).to.include({ code: 'upstream_error', message: 'It failed.', reason: 'why' });
      const ended = await claim(state, 'a');
      await idempotentResponses.release(ended, new GatewayError('shutting_down', 'It ends.'));
      expect(await idempotentResponses.waitFor(ended.id, { timeoutMs: 60_000 })).to.equal(undefined);
      // Also with another body.
      begun(await idempotentResponses.claim(request('a', 'another body')));
      expect(await idempotentResponses.keep(ended, { ...HEAD, bytes: 1 })).to.equal(false);
    });

    it('take a bounded number of bytes of an account', async () => {
      const [one, other] = [await place.open(), await place.open()];
      const last = await claim(one, 'last');
      expect(last.room).to.equal(256 * MEGABYTE);
      const works = await Promise.all(
        Array.from({ length: 12 }, async (_, index) => {
          const state = index % 2 ? one : other;
          return { state, work: await claim(state, `key-${index}`) };
        }),
      );
      const bytes = 100 * MEGABYTE;
      const kept = await Promise.all(
        works.map(({ state, work }) => state.idempotentResponses.keep(work, { ...HEAD, bytes })),
      );
      expect(kept.filter(Boolean)).to.have.length(2);
      expect(await one.idempotentResponses.keep(last, { ...HEAD, bytes: 56 * MEGABYTE })).to.equal(true);
      expect((await claim(one, 'a')).room).to.equal(0);
      expect((await claim(one, 'b', 'acct_2')).room).to.equal(256 * MEGABYTE);
    });

    it('are computed by another process when one has no heartbeat, which then changes nothing', async () => {
      const slow = await place.open({ processLeaseMs: 600_000, jobPollMs: 20 });
      const quick = await place.open({ processLeaseMs: 200, jobPollMs: 20 });
      const lost = await claim(slow, 'a');
      // The first sign of life came at once, the next one is due in minutes.
      expect(await quick.idempotentResponses.waitFor(lost.id, { timeoutMs: 60_000 })).to.equal(undefined);
      const taken = await claim(quick, 'a');
      expect(await slow.idempotentResponses.keep(lost, { ...HEAD, bytes: 1 })).to.equal(false);
      await slow.idempotentResponses.release(lost, new GatewayError('upstream_error', 'It failed.'));
      expect(await quick.idempotentResponses.keep(taken, { ...HEAD, bytes: 1 })).to.equal(true);
    });

    it('are awaited while their process has a heartbeat, up to the timeout', async () => {
      // The wait is longer than a lease.
      const working = await place.open({ processLeaseMs: 900, jobPollMs: 20 });
      const other = await place.open({ processLeaseMs: 900, jobPollMs: 20 });
      const { id } = await claim(working, 'a');
      await other.idempotentResponses.waitFor(id, { timeoutMs: 1_500 });
      expect(await other.idempotentResponses.claim(request('a'))).to.deep.equal({ state: 'running', id });
      const leaving = new AbortController();
      const waiting = other.idempotentResponses.waitFor(id, { timeoutMs: 60_000, signal: leaving.signal });
      leaving.abort(new GatewayError('bad_request', 'It left.'));
      expect(await codeOf(waiting)).to.equal('bad_request');
    });

    it('start anew after a day, and are then deleted', async () => {
      const clock = new ManualClock(Date.now());
      const settings = { clock: { ...systemClock, now: () => clock.wall }, rateLimitClock: clock };
      const state = await place.open(settings);
      for (const key of ['a', 'b', 'c'])
        await state.idempotentResponses.keep(await claim(state, key), { ...HEAD, bytes: 1 });
      clock.wall += DAY_MS - 1;
      expect((await state.idempotentResponses.claim(request('a'))).state).to.equal('answered');
      clock.wall += 1;
      await claim(state, 'a');
      // It sweeps as it opens.
      await place.open(settings);
      await until(async () => (await rows()) === 1);
    });
  });
}
