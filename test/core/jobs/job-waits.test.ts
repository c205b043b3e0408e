/** Waits for the end of jobs, over several nodes. */

import { expect } from 'chai';
import { engines } from '../../support/databases/engines.js';
import { createImageJobs, type ImageJobs, turn } from '../../support/images/image-jobs.js';
import { inTime } from '../../support/in-time.js';
import { rejection } from '../../support/rejection.js';

const timeoutMs = 30_000;

for (const engine of engines) {
  describe(`waiting for image jobs on ${engine.name}`, () => {
    let jobs: ImageJobs;

    beforeEach(async function () {
      jobs = await createImageJobs(engine, this);
    });

    afterEach(() => jobs?.place.remove());

    it('ends for all waiters when the job completes, fails or is cancelled', async () => {
      const done = await jobs.submit();
      const failing = await jobs.submit();
      const gone = await jobs.submit();
      const waits = [done, failing, gone].flatMap(({ id }) =>
        Array.from({ length: 3 }, () => jobs.state.jobs.waitFor(id, 'one', { timeoutMs })),
      );
      await jobs.state.jobs.cancel(gone.id, 'one');
      jobs.work(async ({ id }) => {
        if (id === failing.id) throw new Error('broken');
        return 'picture';
      });
      const states = (await Promise.all(waits)).map((job) => job?.state);
      expect(states).to.deep.equal([
        ...Array(3).fill('completed'),
        ...Array(3).fill('failed'),
        ...Array(3).fill('cancelled'),
      ]);
      expect(await jobs.state.jobs.waitFor(done.id, 'one', { timeoutMs })).to.deep.equal(await jobs.look(done));
    });

    it('ends when another node ends the job, with or without a notification', async () => {
      const other = await jobs.open();
      const job = await jobs.submit();
      const wait = jobs.state.jobs.waitFor(job.id, 'one', { timeoutMs });
      jobs.work(async () => 'picture', { from: other });
      expect(await wait).to.include({ state: 'completed', result: 'picture' });
    });

    it('returns the current job after the timeout', async () => {
      const job = await jobs.submit();
      expect(await jobs.state.jobs.waitFor(job.id, 'one', { timeoutMs: 5 })).to.include({ state: 'queued' });
    });

    it('ends with its signal and leaves the job running', async () => {
      const job = await jobs.submit();
      const hangUp = new AbortController();
      const { signal } = hangUp;
      const waits = [1, 2].map(() => rejection(jobs.state.jobs.waitFor(job.id, 'one', { timeoutMs, signal })));
      await turn(5);
      const reason = new Error('The client hung up.');
      hangUp.abort(reason);
      for (const error of await Promise.all(waits)) expect(error).to.equal(reason);
      expect(await rejection(jobs.state.jobs.waitFor(job.id, 'one', { timeoutMs, signal }))).to.equal(reason);
      expect(await jobs.look(job)).to.include({ state: 'queued' });
    });

    it('does not wait for a missing or foreign job', async () => {
      const job = await jobs.submit();
      for (const [id, account] of [
        [job.id, 'two'],
        ['imgjob_', 'one'],
        [`imgjob_${'0'.repeat(32)}`, 'one'],
      ] as const) {
        expect(await jobs.state.jobs.waitFor(id, account, { timeoutMs })).to.equal(undefined);
      }
    });

    it('ends all waits when the state closes', async () => {
      const node = await jobs.open();
      const job = await jobs.submit();
      const wait = node.jobs.waitFor(job.id, 'one', { timeoutMs: 24 * 3_600_000 });
      // Either the last look at the job comes before the database is closed, or it is refused.
      const outcome = wait.then(
        (found) => found?.state,
        (error: { code?: string }) => error.code,
      );
      await turn(5);
      await node.close();
      expect(await inTime(outcome)).to.be.oneOf(['queued', 'upstream_unavailable']);
      expect(await jobs.look(job)).to.include({ state: 'queued' });
    });
  });
}
