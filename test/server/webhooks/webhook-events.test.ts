/** Due webhooks in the database: leases, retries and secrets. */

import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import { sql } from '../../../core/database/kysely.js';
import type { JobRecord } from '../../../core/jobs/records.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import type { State } from '../../../server/state.js';
import type { WebhookInput, WebhookTry } from '../../../server/webhooks/webhook-events.js';
import { engines } from '../../support/databases/engines.js';
import { createImageJobs, type ImageJobs, type Wish } from '../../support/images/image-jobs.js';

const URL_OF = { one: 'https://one.example/hook', two: 'https://two.example/hook' };
const LEASE_MS = 60_000;
const PAUSE = { waitMs: 5_000, maxWaiting: 1_000 };

for (const engine of engines) {
  describe(`webhooks on ${engine.name}`, () => {
    let jobs: ImageJobs;
    let state: State;

    beforeEach(async function () {
      jobs = await createImageJobs(engine, this);
      ({ state } = jobs);
    });
    afterEach(() => jobs?.place.remove());

    const submit = (accountId: keyof typeof URL_OF = 'one', more: Wish = {}) =>
      jobs.submit({ ...more, job: { owner: accountId, webhookUrl: URL_OF[accountId], ...more.job } });
    const cancelled = async (accountId?: keyof typeof URL_OF) => {
      const job = await submit(accountId);
      await state.jobs.cancel(job.id, accountId ?? 'one');
      return job;
    };
    const take = (wish: Partial<WebhookInput> = {}, from = state) =>
      from.webhooks.takeDue({ max: 10, except: [], leaseMs: LEASE_MS, ...wish });
    /** All that are due, of all accounts. */
    async function takeAll(from = state): Promise<WebhookTry[]> {
      const all: WebhookTry[] = [];
      for (let some = await take({}, from); some.length > 0; some = await take({}, from)) all.push(...some);
      return all;
    }
    const idsOf = (tries: readonly WebhookTry[]) => tries.map(({ jobId }) => jobId).sort();

    it('are due once for each job that requested one, at any kind of end, and not before', async () => {
      const outcomes: Record<string, () => Promise<unknown>> = {};
      const worker = await jobs.open(900);
      const completed = await submit();
      const failed = await submit('one', { job: { input: { prompt: 'a lighthouse' } } });
      const unasked = await jobs.submit();
      outcomes[failed.id] = () => Promise.reject(new GatewayError('upstream_error', 'No.'));
      expect(await take()).to.deep.equal([]);
      const work = jobs.work(async ({ id }) => (await outcomes[id]?.()) ?? 'picture', { from: worker });
      for (const job of [completed, failed, unasked]) await jobs.ended(job);
      await work.stop();
      const waiting = await cancelled();
      const byOperator = await submit();
      await state.jobs.cancelAsOperator({ id: byOperator.id, actor: 'operator', note: 'test' });
      const late = await submit();
      jobs.clock.advance(60_001);
      const expiring = jobs.work(async () => 'never', { from: worker, concurrency: 0, maxQueuedMs: 60_000 });
      await jobs.ended(late);
      await expiring.stop();
      const poison = await submit();
      await change((queries) =>
        sql`update jobs set state = 'running', attempts = 1, "startedAt" = 1, "processId" = '["elsewhere",1,"",""]' where id = ${poison.id}`.execute(
          queries,
        ),
      );
      const watching = jobs.work(async () => 'never', { from: worker, concurrency: 0, maxAttempts: 1 });
      expect((await jobs.ended(poison)).error).to.include({ code: 'interrupted' });
      await watching.stop();

      const expected = [completed, failed, waiting, byOperator, late, poison].map(({ id }) => id).sort();
      const tries = await takeAll();
      expect(idsOf(tries)).to.deep.equal(expected);
      expect(await state.webhooks.waiting()).to.equal(expected.length);
      for (const one of tries) expect(one).to.include({ accountId: 'one', url: URL_OF.one, number: 1 });
      for (const one of tries) await state.webhooks.settle(one);
      expect(await state.webhooks.waiting()).to.equal(0);
      jobs.clock.advance(10 * LEASE_MS);
      expect(await take()).to.deep.equal([]);
      // Nothing of the address is left but that of a job that may be retried, and then of its retry.
      const left = () =>
        change((queries) => queries.selectFrom('jobs').select('id').where('webhookUrl', 'is not', null).execute());
      expect(await left()).to.deep.equal([{ id: failed.id }]);
      const retried = await state.jobs.retryAsOperator({ id: failed.id, actor: 'operator:ann' });
      expect(await left()).to.deep.equal([{ id: retried?.id }]);
    });

    it('are sent by one process at a time, one of each account, and again after a lease', async () => {
      const other = await jobs.open();
      const ended: JobRecord[] = [];
      for (let count = 0; count < 4; count += 1) ended.push(await cancelled(), await cancelled('two'));
      const both = await Promise.all([takeAll(), takeAll(other)]);
      expect(idsOf(both.flat())).to.deep.equal(ended.map(({ id }) => id).sort());
      jobs.clock.advance(LEASE_MS);
      const again = await take();
      expect(again.map(({ accountId, number }) => [accountId, number]).sort()).to.deep.equal([
        ['one', 2],
        ['two', 2],
      ]);
      expect((await take({ except: ['one'] })).map(({ accountId }) => accountId)).to.deep.equal(['two']);
      expect(await take({ max: 1 })).to.have.length(1);

      // Who was too late changes nothing.
      const [first] = both.flat().filter(({ jobId }) => jobId === again[0]?.jobId);
      await state.webhooks.settle(first!);
      await state.webhooks.postpone(first!, PAUSE);
      await state.webhooks.giveBack(first!);
      await takeAll();
      jobs.clock.advance(LEASE_MS);
      expect((await takeAll()).find(({ jobId }) => jobId === first?.jobId)).to.include({ number: 3 });
    });

    it('wait for their next try, but not too many of an account', async () => {
      await cancelled();
      await cancelled();
      const [first, second] = await takeAll();
      expect(await state.webhooks.postpone(first!, PAUSE)).to.equal(true);
      expect(await state.webhooks.postpone(second!, { ...PAUSE, maxWaiting: 1 })).to.equal(false);
      await state.webhooks.giveBack(second!);
      expect(await takeAll()).to.deep.equal([second]);
      await state.webhooks.settle(second!);
      jobs.clock.advance(PAUSE.waitMs - 1);
      expect(await take()).to.deep.equal([]);
      jobs.clock.advance(1);
      expect(await take()).to.deep.equal([{ ...first, number: 2 }]);
    });

    it('are signed with a secret whose number an account changes', async () => {
      const { webhooks } = state;
      expect(await webhooks.secretVersion('one')).to.deep.equal({ version: 1 });
      expect(await webhooks.rotateSecret('one')).to.deep.equal({ version: 2, changedMsAgo: 0 });
      jobs.clock.advance(1_000);
      expect(await webhooks.secretVersion('one')).to.deep.equal({ version: 2, changedMsAgo: 1_000 });
      expect(await webhooks.rotateSecret('one')).to.deep.equal({ version: 3, changedMsAgo: 0 });
      expect(await webhooks.secretVersion('two')).to.deep.equal({ version: 1 });
    });

    async function change<Result>(
      work: (queries: Awaited<ReturnType<typeof openDatabase>>['queries']) => Promise<Result>,
    ): Promise<Result> {
      const database = await openDatabase(jobs.place);
      try {
        return await work(database.queries);
      } finally {
        await database.close();
      }
    }
  });
}
