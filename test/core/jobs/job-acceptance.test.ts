/** Acceptance of jobs: ids, idempotency keys, slots and quotas. */

import { expect } from 'chai';
import type { JobRecord } from '../../../core/jobs/records.js';
import type { Idempotency } from '../../../server/idempotency/idempotency-keys.js';
import { engines } from '../../support/databases/engines.js';
import { createImageJobs, type ImageJobs, kind } from '../../support/images/image-jobs.js';
import { rejection } from '../../support/rejection.js';

const DAY_MS = 24 * 60 * 60 * 1000;

for (const engine of engines) {
  describe(`accepting image jobs on ${engine.name}`, () => {
    let jobs: ImageJobs;

    beforeEach(async function () {
      jobs = await createImageJobs(engine, this);
    });

    afterEach(() => jobs?.place.remove());

    const slot = (limit: number, keyId = 'one') => ({ keyId, family: 'image', count: 1, limit }) as const;

    function idempotency(key: string, fingerprint = 'cat', more: Partial<Idempotency> = {}): Idempotency {
      return { scope: 'one POST /v1/images/jobs', key, fingerprint, ...more };
    }

    it('shows the summary, and gives the input only to the run', async () => {
      const job = await jobs.submit({ job: { summary: { prompt: 'cat' }, input: { image: 'data:' } } });
      expect(job.id).to.match(/^imgjob_[0-9a-f]{32}$/);
      expect(job).to.deep.include({ summary: { prompt: 'cat' }, state: 'queued', expiresAt: null });
      expect(JSON.stringify(await jobs.look(job))).not.to.contain('data:');
      jobs.work(async ({ input, summary }) => ({ input, summary }));
      const done = await jobs.ended(job);
      expect(done.result).to.deep.equal({ input: { image: 'data:' }, summary: { prompt: 'cat' } });
      expect(done.expiresAt).to.equal((done.finishedAt ?? 0) + 7 * DAY_MS);
    });

    it('makes ids that begin with the time and continue at random', async () => {
      const ids = await Promise.all(Array.from({ length: 50 }, async () => (await jobs.submit()).id));
      const [first] = ids as [string];
      const { createdAt } = (await jobs.state.jobs.find(first, 'one')) as JobRecord;
      const time = (createdAt % 2 ** 32).toString(16).padStart(8, '0');
      for (const id of ids) expect(id.slice(0, -24)).to.equal(`imgjob_${time}`);
      expect(new Set(ids.map((id) => id.slice(-24)))).to.have.property('size', 50);
    });

    it('accepts and stores exactly 15 of 200 simultaneous requests at 15 a minute, over two nodes', async () => {
      const other = await jobs.open();
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          jobs.accept({
            rateLimit: slot(15),
            idempotency: idempotency(`${index}`),
            quota: { limit: 1_000 },
            from: index % 2 === 0 ? jobs.state : other,
          }),
        ),
      );
      const accepted = answers.filter(({ job }) => job);
      expect(accepted).to.have.length(15);
      for (const { slot: answer } of accepted) expect(answer).to.include({ accepted: true });
      const refused = answers.filter(({ job }) => !job);
      for (const answer of refused) expect(answer).to.deep.include({ replayed: false });
      for (const { slot: answer } of refused) {
        expect(answer).to.include({ accepted: false, remaining: 0, retryAfterMs: 60_000 });
      }
      expect(await jobs.state.jobs.active(kind)).to.equal(15);
      const none = { queued: 0, running: 0, oldestQueuedMs: 0 };
      expect(await jobs.state.jobs.counts()).to.deep.equal({
        batch: none,
        extraction: none,
        image: { ...none, queued: 15 },
        transcript: none,
      });
      expect(await jobs.used('2026-06-15')).to.equal(15);
      for (const { job } of accepted) if (job) expect(await jobs.look(job)).to.deep.equal(job);
    });

    it('frees each slot 60 s after its acceptance, to the millisecond, and over a restart', async () => {
      for (let index = 0; index < 15; index += 1) {
        expect((await jobs.accept({ rateLimit: slot(15) })).slot).to.include({ accepted: true, remaining: 14 - index });
        jobs.clock.advance(100);
      }
      jobs.clock.advance(58_499);
      expect((await jobs.accept({ rateLimit: slot(15) })).slot).to.include({ accepted: false, retryAfterMs: 1 });
      await jobs.state.close();
      const from = await jobs.open();
      expect((await jobs.accept({ rateLimit: slot(15), from })).slot).to.include({ accepted: false, retryAfterMs: 1 });
      jobs.clock.advance(1);
      expect((await jobs.accept({ rateLimit: slot(15), from })).slot).to.include({ accepted: true, remaining: 0 });
      expect((await jobs.accept({ rateLimit: slot(15), from })).slot).to.include({
        accepted: false,
        retryAfterMs: 100,
      });
    });

    it('keeps the slot of a job that was cancelled or has failed', async () => {
      const job = await jobs.submit({ rateLimit: slot(2) });
      await jobs.state.jobs.cancel(job.id, 'one');
      const failing = await jobs.submit({ rateLimit: slot(2) });
      jobs.work(async () => {
        throw new Error('broken');
      });
      await jobs.ended(failing);
      expect((await jobs.accept({ rateLimit: slot(2) })).slot).to.include({ accepted: false });
    });

    it('checks many keys at once, each by its own window', async () => {
      const answers = await Promise.all(
        Array.from({ length: 90 }, (_, index) => jobs.accept({ rateLimit: slot(1 + (index % 3), `key${index % 3}`) })),
      );
      for (const key of [0, 1, 2]) {
        const accepted = answers.filter(({ job }, index) => index % 3 === key && job);
        expect(accepted).to.have.length(key + 1);
      }
    });

    it('answers a repeated request with its job, free of slot, quota and place in the queue', async () => {
      const wish = { rateLimit: slot(1), quota: { limit: 1 }, idempotency: idempotency('k') };
      const first = await jobs.accept({ ...wish, job: { maxActive: 1 } });
      expect(first).to.include({ replayed: false, active: 1 });
      for (let repeat = 0; repeat < 3; repeat += 1) {
        const again = await jobs.accept({ ...wish, job: { maxActive: 1 } });
        expect(again).to.deep.equal({ job: first.job, replayed: true, active: 1 });
      }
      expect(await jobs.used('2026-06-15')).to.equal(1);
      jobs.clock.advance(60_000);
      expect(await jobs.state.rateLimits.peek(slot(1))).to.include({ accepted: true });
    });

    it('predicts the result of a request without taking or storing anything', async () => {
      const terms = { rateLimit: slot(1), quota: { limit: 2 }, idempotency: idempotency('k') };
      const foreseen = await jobs.peek({ ...terms, job: { maxActive: 1 } });
      expect(foreseen).to.deep.include({ replayed: false, active: 0 });
      expect(foreseen.job).to.equal(undefined);
      expect(foreseen.slot).to.include({ accepted: true, remaining: 1 });
      expect(await jobs.used('2026-06-15')).to.equal(0);

      const first = await jobs.accept({ ...terms, job: { maxActive: 1 } });
      expect(await jobs.peek(terms)).to.deep.equal({ job: first.job, replayed: true, active: 1 });
      expect(await rejection(jobs.peek({ idempotency: idempotency('k', 'dog') }))).to.include({
        code: 'idempotency_key_reused',
      });
      const refused = await jobs.peek({ rateLimit: slot(1) });
      expect(refused.slot).to.include({ accepted: false, retryAfterMs: 60_000 });
      expect(await rejection(jobs.peek({ job: { maxActive: 1 } }))).to.include({ code: 'queue_full' });
      expect(await rejection(jobs.peek({ quota: { limit: 1 } }))).to.include({ code: 'daily_image_limit_reached' });
      expect(await jobs.state.jobs.active(kind)).to.equal(1);
    });

    it('returns the job in its current state to a repeated request', async () => {
      const job = await jobs.submit({ idempotency: idempotency('done') });
      const failing = await jobs.submit({ idempotency: idempotency('failing') });
      const gone = await jobs.submit({ idempotency: idempotency('gone') });
      await jobs.state.jobs.cancel(gone.id, 'one');
      jobs.work(async ({ id }) => {
        if (id === failing.id) throw new Error('broken');
        return 'picture';
      });
      await jobs.ended(job);
      await jobs.ended(failing);
      for (const [key, state] of Object.entries({ done: 'completed', failing: 'failed', gone: 'cancelled' })) {
        const again = await jobs.accept({ idempotency: idempotency(key) });
        expect(again.replayed).to.equal(true);
        expect(again.job).to.include({ state });
      }
    });

    it('refuses another request under the same key, free of charge', async () => {
      const first = await jobs.submit({ idempotency: idempotency('k') });
      const refusal = jobs.accept({ rateLimit: slot(1), quota: { limit: 1 }, idempotency: idempotency('k', 'dog') });
      expect(await rejection(refusal)).to.include({ code: 'idempotency_key_reused', param: 'Idempotency-Key' });
      expect(await jobs.used('2026-06-15')).to.equal(0);
      expect(await jobs.state.rateLimits.peek(slot(1))).to.include({ remaining: 1 });
      expect(await jobs.accept({ idempotency: idempotency('k') })).to.deep.include({ job: first, replayed: true });
    });

    it('distinguishes keys of different scopes', async () => {
      const first = await jobs.submit({ idempotency: idempotency('k') });
      const second = await jobs.accept({ idempotency: idempotency('k', 'dog', { scope: 'two POST /v1/images/jobs' }) });
      expect(second.replayed).to.equal(false);
      expect(second.job?.id).not.to.equal(first.id);
    });

    it('makes one job of 50 requests with one key at once, over two nodes', async () => {
      const other = await jobs.open();
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          jobs.accept({
            rateLimit: slot(5),
            quota: { limit: 5 },
            idempotency: idempotency('k'),
            from: index % 2 === 0 ? jobs.state : other,
          }),
        ),
      );
      expect(new Set(answers.map(({ job }) => job?.id)).size).to.equal(1);
      expect(answers.filter(({ replayed }) => !replayed)).to.have.length(1);
      expect(await jobs.state.jobs.active(kind)).to.equal(1);
      expect(await jobs.used('2026-06-15')).to.equal(1);
      expect(await jobs.state.rateLimits.peek(slot(5))).to.include({ remaining: 4 });
    });

    it('stores nothing of a refusal, so that the same key starts anew', async () => {
      const waiting = await jobs.submit({ rateLimit: slot(1) });
      const wish = { rateLimit: slot(1), idempotency: idempotency('k') };
      expect((await jobs.accept(wish)).job).to.equal(undefined);
      jobs.clock.advance(60_000);
      const full = jobs.accept({ ...wish, job: { maxActive: 1 } });
      expect(await rejection(full)).to.include({ code: 'queue_full' });
      const over = jobs.accept({ ...wish, quota: { limit: 0 } });
      expect(await rejection(over)).to.include({ code: 'daily_image_limit_reached' });
      const accepted = await jobs.accept(wish);
      expect(accepted).to.include({ replayed: false });
      expect(accepted.job?.id).not.to.equal(waiting.id);
    });

    it('stores a key for 24 hours, or as configured, over restarts', async () => {
      const day = await jobs.submit({ idempotency: idempotency('day') });
      const short = await jobs.submit({ idempotency: idempotency('short', 'cat', { retentionMs: 1_000 }) });
      jobs.clock.advance(999);
      const from = await jobs.open();
      expect((await jobs.submit({ idempotency: idempotency('short'), from })).id).to.equal(short.id);
      jobs.clock.advance(1);
      expect((await jobs.submit({ idempotency: idempotency('short'), from })).id).not.to.equal(short.id);
      jobs.clock.advance(DAY_MS - 1_001);
      expect((await jobs.submit({ idempotency: idempotency('day'), from })).id).to.equal(day.id);
      jobs.clock.advance(1);
      expect((await jobs.submit({ idempotency: idempotency('day', 'dog'), from })).id).not.to.equal(day.id);
    });

    it('makes a new job of each request without deduplication, and finds the newest again', async () => {
      const only = idempotency('body', 'cat', { replay: false });
      const first = await jobs.submit({ idempotency: only });
      const both = await Promise.all([jobs.submit({ idempotency: only }), jobs.submit({ idempotency: only })]);
      expect(new Set([first, ...both].map(({ id }) => id)).size).to.equal(3);
      expect((await jobs.submit({ idempotency: idempotency('body') })).id).to.equal(both[1].id);
    });

    it('holds an account to its daily quota, from midnight to midnight UTC', async () => {
      const wish = { quota: { limit: 3 } };
      const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => jobs.accept(wish)));
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).to.have.length(3);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') {
          expect(outcome.reason).to.include({ code: 'daily_image_limit_reached', retryable: false });
        }
      }
      expect(await jobs.used('2026-06-15')).to.equal(3);
      jobs.clock.advance(DAY_MS / 2 - 1);
      expect(await rejection(jobs.accept(wish))).to.include({ code: 'daily_image_limit_reached' });
      jobs.clock.advance(1);
      await jobs.submit(wish);
      expect(await jobs.used('2026-06-16')).to.equal(1);
      expect(await jobs.used('2026-06-15')).to.equal(3);
    });

    it('takes no slot if the quota is used up, and no quota if the queue is full', async () => {
      await jobs.submit({ quota: { limit: 1 } });
      const over = jobs.accept({ rateLimit: slot(5), quota: { limit: 1 } });
      expect(await rejection(over)).to.include({ code: 'daily_image_limit_reached' });
      const full = jobs.accept({ rateLimit: slot(5), quota: { limit: 5 }, job: { maxActive: 1 } });
      expect(await rejection(full)).to.include({ code: 'queue_full' });
      const empty = await jobs.accept({ rateLimit: slot(0), quota: { limit: 5 } });
      expect(empty.slot).to.include({ accepted: false });
      expect(await jobs.used('2026-06-15')).to.equal(1);
      expect(await jobs.state.rateLimits.peek(slot(5))).to.include({ remaining: 5 });
    });

    it('accepts the valid requests of a group with an invalid one', async () => {
      await jobs.submit({ idempotency: idempotency('k') });
      const outcomes = await Promise.allSettled([
        jobs.submit({ rateLimit: slot(9) }),
        jobs.accept({ rateLimit: slot(9), idempotency: idempotency('k', 'dog') }),
        jobs.accept({ job: { input: 1n } }),
        jobs.submit({ rateLimit: slot(9) }),
      ]);
      expect(outcomes.map(({ status }) => status)).to.deep.equal(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
      expect(await jobs.state.rateLimits.peek(slot(9))).to.include({ remaining: 7 });
    });
  });
}
