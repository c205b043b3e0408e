/** Retries of failed jobs by operators: new jobs at no cost, once, while the input is kept. */

import { expect } from 'chai';
import type { JobRun } from '../../../core/jobs/records.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { engines } from '../../support/databases/engines.js';
import { createImageJobs, type ImageJobs } from '../../support/images/image-jobs.js';
import { rejection } from '../../support/rejection.js';

const TODAY = '2026-06-15';
const HOUR_MS = 3_600_000;
const quota = { limit: 100 };
const input = { prompt: 'a lighthouse' };

for (const engine of engines) {
  describe(`retries of jobs on ${engine.name}`, () => {
    let jobs: ImageJobs;
    let fails: boolean;

    beforeEach(async function () {
      fails = true;
      jobs = await createImageJobs(engine, this);
    });
    afterEach(() => jobs?.place.remove());

    const retry = (id: string, note?: string) =>
      jobs.state.jobs.retryAsOperator({ id, actor: 'operator:ann', ...(note !== undefined && { note }) });
    const refusalOf = async (id: string) => {
      const { code, message } = (await rejection(retry(id))) as GatewayError;
      return `${code}: ${message}`;
    };

    async function work(runs: JobRun[] = []) {
      const charge = () => ({ model: 'm', units: 1 });
      return jobs.work(
        async (job) => {
          runs.push(job);
          if (fails) throw new GatewayError('upstream_unavailable', 'The vendor is down.');
          return 'picture';
        },
        { charge },
      );
    }

    it('do the work of a failed job again under a new id, and charge nothing for it', async () => {
      const failed = await jobs.submit({ quota, job: { input, summary: { model: 'm', files: [] } } });
      const runs: JobRun[] = [];
      await work(runs);
      const before = await jobs.ended(failed);
      expect(await jobs.used(TODAY)).to.equal(0);
      fails = false;
      const made = await retry(failed.id, 'the vendor is back');
      if (!made) throw new Error('it was not retried');
      expect(made).to.include({ state: 'queued', attempts: 0 }).and.not.to.include({ id: failed.id });
      expect(await jobs.ended(made)).to.include({ state: 'completed', result: 'picture' });
      expect(runs.map((run) => run.input)).to.deep.equal([input, input]);
      expect(runs[1]?.summary).to.deep.equal({ model: 'm', files: [] });
      expect(await jobs.used(TODAY)).to.equal(0);
      expect((await jobs.ledger()).map(({ jobId }) => jobId)).to.deep.equal([made.id]);
      // The end of the failed job is final, and nothing that it was asked for is left.
      expect(await jobs.look(failed)).to.deep.equal(before);
      expect(await jobs.inputs()).to.deep.equal(['null', 'null']);
      expect(await jobs.state.jobs.inspect(failed.id)).to.include({ retriedAs: made.id, isRetryable: false });
      expect(await jobs.state.jobs.inspect(made.id)).to.include({ retryOf: failed.id, quotaDay: null });
      const [audit] = await jobs.state.audit.list({ subject: failed.id, limit: 10 });
      expect(audit).to.include({ actor: 'operator:ann', action: 'job.retried', note: 'the vendor is back' });
    });

    it('are refused for jobs that run, succeeded, were cancelled or retried, and of unknown ids', async () => {
      const waiting = await jobs.submit({ job: { input } });
      expect(await refusalOf(waiting.id)).to.equal(
        'job_not_retryable: This job waits in the queue: only a failed job can be retried.',
      );
      await jobs.state.jobs.cancelAsOperator({ id: waiting.id, actor: 'operator:ann' });
      expect(await refusalOf(waiting.id)).to.contain('This job was cancelled');
      const failed = await jobs.submit({ job: { input } });
      await work();
      await jobs.ended(failed);
      const made = await retry(failed.id);
      expect(await refusalOf(failed.id)).to.contain(`This job was retried already, as ${made?.id}.`);
      if (made) await jobs.ended(made);
      fails = false;
      const again = await retry(made?.id ?? '');
      if (again) await jobs.ended(again);
      expect(await refusalOf(again?.id ?? '')).to.contain('This job has completed');
      for (const id of [`imgjob_${'0'.repeat(32)}`, 'imgjob_\u0000', 'no']) expect(await retry(id)).to.equal(undefined);
    });

    it('are one of two at the same time', async () => {
      const failed = await jobs.submit({ job: { input } });
      await work();
      await jobs.ended(failed);
      const done = await Promise.allSettled([retry(failed.id), retry(failed.id), retry(failed.id)]);
      expect(done.filter(({ status }) => status === 'fulfilled')).to.have.length(1);
    });

    it('belong to all owners of the failed job', async () => {
      const asked = { kind: 'extraction', dedupeKey: 'item', input } as const;
      const failed = await jobs.submit({ job: asked });
      await jobs.submit({ job: { ...asked, owner: 'two' } });
      const { stop } = jobs.state.jobs.work({
        kind: 'extraction',
        concurrency: 1,
        run: async () => {
          throw new GatewayError('upstream_unavailable', 'The platform is down.');
        },
      });
      await jobs.ended(failed);
      const made = await retry(failed.id);
      await stop();
      expect(await jobs.state.jobs.find(made?.id ?? '', 'two')).to.include({ id: made?.id });
      expect(await jobs.state.jobs.find(made?.id ?? '', 'three')).to.equal(undefined);
    });

    it('are refused when the input is kept no longer, and it is cleared', async () => {
      const [failed, edit] = [
        await jobs.submit({ job: { input } }),
        await jobs.submit({ job: { input, summary: { model: 'm', files: ['ref_1.png'] } } }),
      ];
      const workers = await work();
      await jobs.ended(failed);
      await jobs.ended(edit);
      expect(await refusalOf(edit.id)).to.contain('The files of its request were deleted');
      await workers.stop();
      expect(await jobs.state.jobs.inspect(failed.id)).to.include({ isRetryable: true });
      expect(await jobs.inputs()).to.deep.equal([JSON.stringify(input), JSON.stringify(input)]);
      jobs.clock.advance(24 * HOUR_MS);
      expect(await refusalOf(failed.id)).to.contain('was kept for 24 hours, which are over');
      // Workers sweep when they start.
      await work();
      const { state } = await jobs.ended(await jobs.submit({ job: { input: null } }));
      expect(state).to.equal('failed');
      for (let tries = 0; tries < 100 && (await jobs.inputs()).some((kept) => kept !== 'null'); tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(await jobs.inputs()).to.deep.equal(['null', 'null', 'null']);
    });

    it('are not for jobs whose work is charged by itself', async () => {
      const failed = await jobs.submit({ job: { kind: 'batch', input, summary: { total: 1, fields: {} } } });
      const { stop } = jobs.state.jobs.work({
        kind: 'batch',
        concurrency: 1,
        run: async () => {
          throw new Error('broken');
        },
      });
      await jobs.ended(failed);
      await stop();
      expect(await refusalOf(failed.id)).to.contain(
        'Jobs of kind batch cannot be retried, only those of extraction and image.',
      );
      expect(await jobs.inputs()).to.deep.equal(['null']);
    });
  });
}
