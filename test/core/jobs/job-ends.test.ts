/** The end of jobs: timeouts, cancellation and cleaning up. */

import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import type { JobsOfOwner } from '../../../core/jobs/administration.js';
import type { Charge } from '../../../core/jobs/jobs.js';
import type { JobRecord } from '../../../core/jobs/records.js';
import { GatewayError, isGatewayError } from '../../../core/runtime/errors.js';
import { engines } from '../../support/databases/engines.js';
import { createImageJobs, type ImageJobs, turn } from '../../support/images/image-jobs.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';

const TODAY = '2026-06-15';
const quota = { limit: 100 };
/** A third of it goes by between two looks for what has expired; a busy machine does not lose it. */
const LEASE_MS = 1_200;

/** What a caller hears in the end: a database that is too slow for its patience is asked again, as clients do. */
async function outcomeOf(cancel: () => Promise<JobRecord | undefined>): Promise<string | undefined> {
  for (;;) {
    try {
      return (await cancel())?.state;
    } catch (error) {
      if (!isGatewayError(error)) throw error;
      if (error.code !== 'upstream_unavailable') return error.code;
    }
  }
}

for (const engine of engines) {
  describe(`the end of image jobs on ${engine.name}`, () => {
    let jobs: ImageJobs;

    beforeEach(async function () {
      jobs = await createImageJobs(engine, this);
    });

    afterEach(() => jobs?.place.remove());

    const charge = (): Charge => ({ model: 'gen-img-2', units: 1, usage: { inputTokens: 5, outputTokens: 2 } });
    const cancel = ({ id }: JobRecord, from = jobs.state) => from.jobs.cancel(id, 'one');

    it('cancels the jobs of an owner or of one of its keys, except those that others joined', async () => {
      const database = await openDatabase(jobs.place);
      const cancelAll = async (which: JobsOfOwner) =>
        (await database.transaction((transaction) => jobs.state.jobs.cancelAll(transaction, which)))();
      const stateOf = async ({ id }: JobRecord, owner = 'one') => (await jobs.state.jobs.find(id, owner))?.state;
      const mine = await jobs.submit({ quota, job: { keyId: 'a' } });
      const other = await jobs.submit({ quota, job: { keyId: 'b' } });
      const joined = await jobs.submit({ quota, job: { keyId: 'b', dedupeKey: 'link' } });
      await jobs.submit({ job: { owner: 'two', keyId: 'c', dedupeKey: 'link' } });
      const theirs = await jobs.submit({ job: { owner: 'two', keyId: 'a', dedupeKey: 'another' } });
      await jobs.submit({ job: { keyId: 'b', dedupeKey: 'another' } });
      await cancelAll({ owner: 'one', keyId: 'a' });
      const after = [mine, other, joined].map((job) => stateOf(job));
      expect(await Promise.all(after)).to.deep.equal(['cancelled', 'queued', 'queued']);
      expect(await jobs.used(TODAY)).to.equal(2);

      await cancelAll({ owner: 'one' });
      await cancelAll({ owner: 'one', keyId: 'b' });
      expect(await Promise.all([mine, other].map((job) => stateOf(job)))).to.deep.equal(['cancelled', 'cancelled']);
      expect([await stateOf(joined), await stateOf(theirs)]).to.deep.equal([undefined, undefined]);
      expect([await stateOf(joined, 'two'), await stateOf(theirs, 'two')]).to.deep.equal(['queued', 'queued']);
      await database.close();
    });

    it('writes one charge with a completion, and uses up the quota', async () => {
      const job = await jobs.submit({ quota, job: { keyId: 'key' } });
      jobs.work(async () => 'picture', { charge });
      const { finishedAt } = await jobs.ended(job);
      expect(await jobs.ledger()).to.deep.equal([
        {
          jobId: job.id,
          kind: 'image',
          accountId: 'one',
          keyId: 'key',
          model: 'gen-img-2',
          units: 1,
          usage: '{"inputTokens":5,"outputTokens":2}',
          cost: null,
          at: finishedAt,
        },
      ]);
      const [total, ...others] = await jobs.state.usage.totals({ from: TODAY, to: TODAY });
      expect(others).to.deep.equal([]);
      expect(total).to.include({ day: TODAY, keyId: 'key', accountId: 'one', route: '/v1/images/jobs', requests: 1 });
      expect(total).to.include({ model: 'gen-img-2', images: 1, inputTokens: 5, outputTokens: 2, failed: 0 });
      expect(await jobs.used(TODAY)).to.equal(1);
    });

    it('charges nothing for a failure and refunds the quota of the day of acceptance', async () => {
      const kept = await jobs.submit({ quota });
      const failing = [await jobs.submit({ quota }), await jobs.submit({ quota }), await jobs.submit()];
      jobs.clock.advance(12 * 3_600_000);
      const other = await jobs.submit({ quota, job: { owner: 'two' } });
      jobs.work(
        async ({ id }) => {
          if (id === kept.id) return 'picture';
          throw new GatewayError('upstream_error', 'No.');
        },
        { charge, concurrency: 4 },
      );
      for (const job of failing) expect((await jobs.ended(job)).error).to.include({ code: 'upstream_error' });
      await jobs.ended(kept);
      await until(async () => (await jobs.state.jobs.find(other.id, 'two'))?.state === 'failed');
      expect(await jobs.ledger()).to.have.length(1);
      const totals = await jobs.state.usage.totals({ from: TODAY, to: '2026-06-16' });
      const counts = totals.map(({ model, requests, failed, images }) => [model, requests, failed, images]);
      expect(
        counts.filter(([model]) => model === '').reduce((sum, [, requests]) => sum + Number(requests), 0),
      ).to.equal(4);
      expect(counts.filter(([model]) => model !== '').map(([, ...rest]) => rest)).to.deep.equal([[1, 0, 1]]);
      expect(await jobs.used(TODAY)).to.equal(1);
      expect(await jobs.used('2026-06-16')).to.equal(0);
    });

    it('cancels a job in the queue, which never runs', async () => {
      const job = await jobs.submit({ quota });
      const cancelled = await cancel(job);
      expect(cancelled).to.deep.include({ id: job.id, state: 'cancelled', attempts: 0, finishedAt: jobs.clock.now() });
      expect(cancelled?.error).to.include({ code: 'cancelled', retryable: false });
      expect(await jobs.used(TODAY)).to.equal(0);
      const ran: string[] = [];
      jobs.work(async ({ id }) => ran.push(id));
      await jobs.ended(await jobs.submit());
      expect(ran).not.to.include(job.id);
      expect(await cancel(job)).to.deep.equal(cancelled);
      expect(await jobs.used(TODAY)).to.equal(0);
    });

    it('cancels a running job at once, aborts its signal and refuses its result', async () => {
      const job = await jobs.submit({ quota });
      let signal: AbortSignal | undefined;
      let finish: () => void = () => undefined;
      jobs.work(
        (_job, given) => {
          signal = given;
          return new Promise((resolve) => {
            finish = () => resolve('late');
          });
        },
        { charge },
      );
      while (!signal) await turn();
      expect(await cancel(job)).to.include({ state: 'cancelled', attempts: 1 });
      expect(signal.aborted).to.equal(true);
      expect(signal.reason).to.include({ code: 'cancelled' });
      finish();
      await jobs.submit();
      while (signal.aborted) await turn();
      expect(await jobs.look(job)).to.include({ state: 'cancelled', result: null });
      expect(await jobs.ledger()).to.deep.equal([]);
      expect(await jobs.used(TODAY)).to.equal(0);
    });

    it('aborts the run of a job that another node cancels', async () => {
      const other = await jobs.open();
      const worker = await jobs.open(900);
      const job = await jobs.submit();
      let signal: AbortSignal | undefined;
      jobs.work(
        (_job, given) => {
          signal = given;
          return untilAborted(given);
        },
        { from: worker },
      );
      while (!signal) await turn();
      await cancel(job, other);
      while (!signal.aborted) await turn();
      expect(await jobs.look(job)).to.include({ state: 'cancelled' });
    });

    it('cancels no ended, missing or foreign job', async () => {
      const job = await jobs.submit({ quota });
      const failing = await jobs.submit({ quota });
      jobs.work(async ({ id }) => {
        if (id === failing.id) throw new Error('broken');
      });
      await jobs.ended(job);
      await jobs.ended(failing);
      for (const each of [job, failing]) {
        expect(await rejection(cancel(each))).to.include({ code: 'job_already_terminal', retryable: false });
      }
      const waiting = await jobs.submit();
      expect(await jobs.state.jobs.cancel(waiting.id, 'two')).to.equal(undefined);
      for (const id of ['', `imgjob_${'0'.repeat(32)}`, 'imgjob_\u0000']) {
        expect(await jobs.state.jobs.cancel(id, 'one')).to.equal(undefined);
      }
      expect(await jobs.used(TODAY)).to.equal(1);
    });

    it('lets either the cancellation or the completion win, with matching charge and quota', async () => {
      const other = await jobs.open();
      const all: JobRecord[] = [];
      for (let index = 0; index < 60; index += 1) all.push(await jobs.submit({ quota }));
      jobs.work(async () => turn(Math.random() * 4), { charge, concurrency: 10 });
      const outcomes = await Promise.all(
        all.map(async (job, index) => {
          await turn(Math.random() * 40);
          const both = [jobs.state, index % 2 === 0 ? jobs.state : other];
          return Promise.all(both.map((from) => outcomeOf(() => cancel(job, from))));
        }),
      );
      let completed = 0;
      for (const [index, job] of all.entries()) {
        const { state } = await jobs.ended(job);
        if (state === 'completed') completed += 1;
        // Both callers hear the same.
        const heard = state === 'completed' ? 'job_already_terminal' : 'cancelled';
        expect(outcomes[index]).to.deep.equal([heard, heard]);
      }
      expect(await jobs.ledger()).to.have.length(completed);
      expect(await jobs.used(TODAY)).to.equal(completed);
    });

    it('fails a run that takes too long, even if it ignores its signal, and continues', async () => {
      const job = await jobs.submit({ quota });
      const next = await jobs.submit();
      let signal: AbortSignal | undefined;
      jobs.work(
        ({ id }, given) => {
          if (id !== job.id) return Promise.resolve('picture');
          signal = given;
          return new Promise(() => undefined);
        },
        { timeoutMs: 30 },
      );
      expect((await jobs.ended(job)).error).to.include({ code: 'job_timeout', retryable: true });
      expect(signal?.reason).to.include({ code: 'job_timeout' });
      expect(await jobs.used(TODAY)).to.equal(0);
      expect(await jobs.ended(next)).to.include({ state: 'completed' });
    });

    it('fails a job that waited too long for its first run, and refunds its quota', async () => {
      const worker = await jobs.open(LEASE_MS);
      const running = await jobs.submit({ quota });
      let begun = false;
      jobs.work(
        (_job, signal) => {
          begun = true;
          return untilAborted(signal);
        },
        { from: worker, maxQueuedMs: 60_000 },
      );
      while (!begun) await turn();
      const late = await jobs.submit({ quota });
      jobs.clock.advance(59_999);
      const young = await jobs.submit({ quota });
      await turn(LEASE_MS);
      expect(await jobs.look(late)).to.include({ state: 'queued' });
      jobs.clock.advance(1);
      expect((await jobs.ended(late)).error).to.include({ code: 'queue_expired', retryable: true });
      expect(await jobs.look(young)).to.include({ state: 'queued' });
      expect(await jobs.look(running)).to.include({ state: 'running' });
      expect(await jobs.used(TODAY)).to.equal(2);
    });

    it('sets no limit on the wait of a job that has begun', async () => {
      const begun = await jobs.submit();
      let running = false;
      const workers = jobs.work((_job, signal) => {
        running = true;
        return untilAborted(signal);
      });
      while (!running) await turn();
      await workers.stop();
      const late = await jobs.submit();
      jobs.clock.advance(120_000);
      const from = await jobs.open(60);
      jobs.work(async () => 'picture', { from, concurrency: 0, maxQueuedMs: 60_000 });
      expect((await jobs.ended(late)).error).to.include({ code: 'queue_expired' });
      expect(await jobs.look(begun)).to.include({ state: 'queued', attempts: 1 });
    });

    it('deletes data of a run when the job ends, and keeps that of a failed one for a retry', async () => {
      const secret = { job: { input: 'portrait' } };
      const all = [await jobs.submit(secret), await jobs.submit(secret), await jobs.submit(secret)];
      await cancel(all[1] as JobRecord);
      const seen: unknown[] = [];
      jobs.work(async ({ id, input }) => {
        seen.push(input);
        if (id === all[2]?.id) throw new Error('broken');
      });
      for (const job of all) await jobs.ended(job);
      expect(seen).to.deep.equal(['portrait', 'portrait']);
      expect(await jobs.inputs()).to.deep.equal(['null', 'null', '"portrait"']);
    });

    it('keeps a finished image for 7 days, and its charge forever', async () => {
      const job = await jobs.submit();
      const workers = jobs.work(async () => 'picture', { charge });
      await jobs.ended(job);
      await workers.stop();
      jobs.clock.advance(7 * 24 * 3_600_000 - 1);
      expect(await jobs.look(job)).to.include({ state: 'completed' });
      jobs.clock.advance(1);
      expect(await jobs.state.jobs.find(job.id, 'one')).to.equal(undefined);
      expect(await jobs.ledger()).to.have.length(1);
    });
  });
}
