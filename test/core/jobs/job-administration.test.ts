/** What operators see of jobs, and do to them. */

import { expect } from 'chai';
import { type Database, openDatabase } from '../../../core/database/database.js';
import { type CompiledQuery, sql } from '../../../core/database/kysely.js';
import { DatabaseClock } from '../../../core/database/statements.js';
import { createJobAdministration, type JobPage } from '../../../core/jobs/administration.js';
import { JobTable } from '../../../core/jobs/statements.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { engines } from '../../support/databases/engines.js';
import { createImageJobs, type ImageJobs } from '../../support/images/image-jobs.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';

const TODAY = '2026-06-15';
const UNKNOWN = `imgjob_${'0'.repeat(32)}`;
const quota = { limit: 100 };
const idempotency = (key: string) => ({ scope: 'one', key, fingerprint: key });

for (const engine of engines) {
  describe(`administration of jobs on ${engine.name}`, () => {
    let jobs: ImageJobs;

    beforeEach(async function () {
      jobs = await createImageJobs(engine, this);
    });

    afterEach(() => jobs?.place.remove());

    const list = async (page: Partial<JobPage> = {}) => (await jobs.state.jobs.list({ limit: 100, ...page })).jobs;
    const listed = async (page: Partial<JobPage> = {}) => (await list(page)).map(({ id }) => id);
    const cancel = (id: string, note?: string) =>
      jobs.state.jobs.cancelAsOperator({ id, actor: 'operator:ann', ...(note !== undefined && { note }) });

    /** Each is a second younger than the one before. */
    async function submit(wish: Parameters<ImageJobs['submit']>[0] = {}) {
      jobs.clock.advance(1_000);
      return jobs.submit(wish);
    }

    it('lists queued and running jobs, newest first, in pages', async () => {
      const [running, ...waiting] = [
        await submit(),
        await submit({ job: { owner: 'two', keyId: 'second', summary: 'of two' } }),
        await submit({ job: { kind: 'extraction', keyId: undefined } }),
      ];
      jobs.work((_job, signal) => untilAborted(signal));
      await until(async () => (await jobs.look(running)).state === 'running');
      const newest = [...waiting.map(({ id }) => id).reverse(), running.id];
      expect(await listed()).to.deep.equal(newest);
      expect(await listed({ limit: 2 })).to.deep.equal(newest.slice(0, 2));
      expect(await listed({ before: newest[1] })).to.deep.equal(newest.slice(2));
      expect(await listed({ kind: 'extraction' })).to.deep.equal(newest.slice(0, 1));
      expect(await listed({ state: 'running' })).to.deep.equal([running.id]);
      expect(await listed({ state: 'queued', owner: 'two' })).to.deep.equal([newest[1]]);
      const [first, second] = await list();
      expect(first).to.include({ kind: 'extraction', state: 'queued', keyId: null, worker: null, attempts: 0 });
      expect(second).to.include({ kind: 'image', owner: 'two', keyId: 'second', joined: 0, error: null });
      expect(first).not.to.have.property('summary');
      expect((await list({ withSummary: true }))[1]).to.include({ summary: 'of two' });
      for (const before of [UNKNOWN, 'imgjob_\u0000', '']) {
        expect(await rejection(list({ before }))).to.include({ code: 'job_not_found' });
      }
    });

    it('lists ended jobs, latest first, with those that an account joined', async () => {
      const [done, failed, gone] = [await submit({ job: { owner: 'two' } }), await submit(), await submit()];
      const dedupeKey = 'item';
      const kind = 'extraction' as const;
      const shared = await submit({ job: { kind, dedupeKey } });
      const joined = await submit({ job: { kind, dedupeKey, owner: 'two' } });
      expect(joined.id).to.equal(shared.id);
      await cancel(shared.id);
      jobs.clock.advance(1_000);
      await cancel(gone.id);
      const all = [failed.id, done.id, gone.id, shared.id];
      expect(await listed({ state: 'all' })).to.deep.equal(all);
      expect(await listed({ state: 'all', limit: 1 })).to.deep.equal(all.slice(0, 1));
      expect(await listed({ state: 'all', limit: 2, before: failed.id })).to.deep.equal(all.slice(1, 3));
      expect(await listed({ state: 'all', before: done.id })).to.deep.equal(all.slice(2));
      expect(await listed({ state: 'all', before: gone.id })).to.deep.equal(all.slice(3));
      expect(await listed({ state: 'all', owner: 'two' })).to.deep.equal([done.id, shared.id]);
      jobs.clock.advance(1_000);
      jobs.work(async ({ id }) => {
        if (id === failed.id) throw new GatewayError('upstream_timeout', 'No answer came.');
      });
      await until(async () => (await listed()).length === 0);

      expect(await listed({ state: 'cancelled' })).to.deep.equal([gone.id, shared.id]);
      expect(await listed({ state: 'cancelled', limit: 1 })).to.deep.equal([gone.id]);
      expect(await listed({ state: 'cancelled', before: gone.id })).to.deep.equal([shared.id]);
      expect(await listed({ state: 'cancelled', owner: 'two' })).to.deep.equal([shared.id]);
      expect(await listed({ state: 'cancelled', owner: 'one' })).to.deep.equal([gone.id, shared.id]);
      expect(await listed({ state: 'completed', owner: 'two' })).to.deep.equal([done.id]);
      expect(await listed({ state: 'failed', kind: 'extraction' })).to.deep.equal([]);
      const [seen] = await list({ state: 'failed' });
      expect(seen).to.deep.include({ id: failed.id, worker: null });
      expect(seen?.error).to.include({ code: 'upstream_timeout' });
      expect(await jobs.state.jobs.recentEnds()).to.deep.equal({
        batch: { completed: 0, failed: 0, cancelled: 0 },
        extraction: { completed: 0, failed: 0, cancelled: 1 },
        image: { completed: 1, failed: 1, cancelled: 1 },
        transcript: { completed: 0, failed: 0, cancelled: 0 },
      });
      jobs.clock.advance(3_600_001);
      expect((await jobs.state.jobs.recentEnds()).image).to.deep.equal({ completed: 0, failed: 0, cancelled: 0 });
    });

    it('shows the worker of a job, and its last heartbeat', async () => {
      // Heartbeats are a third of the lease apart; a busy machine must not miss three of them, or the job runs again.
      const worker = await jobs.open(6_000);
      const job = await submit();
      jobs.work((_job, signal) => untilAborted(signal), { from: worker });
      const first = await until(async () => (await list({ state: 'running' }))[0]?.worker);
      expect(first).to.include({ pid: process.pid, isProcessDead: false, seenAt: jobs.clock.now() });
      expect(first.host).to.match(/^\S+$/);
      jobs.clock.advance(7_000);
      const now = jobs.clock.now();
      await until(async () => (await list({ state: 'running' }))[0]?.worker?.seenAt === now);
      expect(await jobs.look(job)).to.include({ attempts: 1 });
    });

    it('shows the owner and the keys of a job, but not its input', async () => {
      const summary = { platform: 'shop' };
      const kind = 'extraction' as const;
      const asked = { kind, dedupeKey: 'item', summary, input: { link: 'secret' }, requestId: 'req_1' };
      const job = await submit({ idempotency: idempotency('k-1'), quota, job: asked });
      await submit({ idempotency: idempotency('k-2'), job: { ...asked, owner: 'two' } });
      await submit({ job: { kind } });
      const seen = await jobs.state.jobs.inspect(job.id);
      expect(seen).to.deep.include({
        id: job.id,
        summary,
        owner: 'one',
        joined: 1,
        joinedBy: ['two'],
        requestId: 'req_1',
        quotaDay: TODAY,
        queuePosition: 1,
        charge: null,
        expiresAt: null,
      });
      expect(seen?.idempotentUntil).to.have.length(2);
      expect(JSON.stringify(seen)).not.to.match(/secret|k-1/);
      for (const id of [UNKNOWN, 'imgjob_\u0000', 'no']) {
        expect(await jobs.state.jobs.inspect(id)).to.equal(undefined);
        expect(await cancel(id)).to.equal(undefined);
      }
    });

    it('shows the cost of a job', async () => {
      const job = await submit();
      jobs.work(async () => 'picture', { charge: () => ({ model: 'm', units: 1, usage: { outputTokens: 2 } }) });
      const { finishedAt } = await jobs.ended(job);
      const seen = await jobs.state.jobs.inspect(job.id);
      expect(seen).to.deep.include({
        finishedAt,
        queuePosition: null,
        charge: { model: 'm', units: 1, usage: { outputTokens: 2 }, cost: null, at: finishedAt },
      });
      expect(seen).not.to.have.property('result');
    });

    it('cancels a job for all owners, once, with a name in the audit log, and refunds the quota', async () => {
      const job = await submit({ quota });
      const done = await cancel(job.id, 'asked for by the customer');
      expect(done).to.deep.include({ changed: true });
      expect(done?.job).to.include({ id: job.id, state: 'cancelled', finishedAt: jobs.clock.now() });
      expect(await jobs.used(TODAY)).to.equal(0);
      expect(await jobs.inputs()).to.deep.equal(['null']);
      expect(await cancel(job.id)).to.deep.equal({ job: await jobs.look(job), changed: false });
      expect(await jobs.used(TODAY)).to.equal(0);
      expect(await jobs.state.audit.list({ subject: job.id, limit: 10 })).to.deep.equal([
        {
          subject: job.id,
          number: 1,
          at: jobs.clock.now(),
          actor: 'operator:ann',
          action: 'job.cancelled',
          from: 'queued',
          to: 'cancelled',
          amount: null,
          currency: null,
          note: 'asked for by the customer',
        },
      ]);
    });

    it('refuses to cancel an ended job', async () => {
      const [done, failing] = [await submit({ quota }), await submit({ quota })];
      jobs.work(async ({ id }) => {
        if (id === failing.id) throw new Error('broken');
      });
      for (const job of [done, failing]) {
        const { state } = await jobs.ended(job);
        const error = await rejection(cancel(job.id));
        expect(error).to.include({ code: 'job_already_terminal', message: `This job has ${state} already.` });
        expect(await jobs.state.audit.list({ subject: job.id, limit: 10 })).to.deep.equal([]);
      }
      expect(await jobs.used(TODAY)).to.equal(1);
    });

    it('stops the run of another process without counting a lost lease', async () => {
      const worker = await jobs.open(3_000);
      const job = await submit({ quota });
      let signal: AbortSignal | undefined;
      jobs.work(
        (_job, given) => {
          signal = given;
          return untilAborted(given);
        },
        { from: worker },
      );
      const running = await until(() => signal);
      expect(await cancel(job.id)).to.include({ changed: true });
      await until(() => running.aborted);
      expect(running.reason).to.include({ code: 'cancelled' });
      expect(await jobs.used(TODAY)).to.equal(0);
      expect(jobs.logger.lines.map(({ message }) => message).join()).not.to.contain('lost its lease');
      expect((await jobs.state.audit.list({ subject: job.id, limit: 10 }))[0]).to.include({ from: 'running' });
    });
  });

  describe(`lists of jobs among many on ${engine.name}`, () => {
    const MANY = 20_000;
    let jobs: ImageJobs;
    let database: Database;
    const queries: CompiledQuery[] = [];

    before(async function () {
      jobs = await createImageJobs(engine, this);
      database = await openDatabase(jobs.place);
      await fill();
    });
    after(async () => {
      await database?.close();
      await jobs?.place.remove();
    });

    /** Ended ones of a thousand accounts, as the gateway leaves them, and three that wait. */
    async function fill(): Promise<void> {
      const at = jobs.clock.now() - MANY;
      const digits = engine.name === 'postgres' ? sql`lpad(to_hex(n), 32, '0')` : sql`printf('%032x', n)`;
      await database.run((run) =>
        sql`with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${sql.lit(MANY)})
          insert into jobs (id, kind, "dedupeHash", state, priority, summary, input, "keyId", "queueGroup", owner, attempts, "crashCount",
            "createdAt", "startedAt", "finishedAt", result, "webhookTries")
          select 'imgjob_' || ${digits}, 'image', '', case when n % 100 = 0 then 'failed' else 'completed' end, n, 'null', 'null', 'k', 'k',
            'acct_' || (n % 1000), 1, 0, ${sql.lit(at)} + n, ${sql.lit(at)} + n, ${sql.lit(at)} + n, '{}', 0
          from numbers`.execute(run),
      );
      if (engine.name === 'postgres') await database.run((run) => sql`analyze jobs`.execute(run));
      for (let count = 0; count < 3; count += 1) await jobs.submit();
    }

    /** What the engine says it would do for each query of the work. */
    async function plansOf(work: (administration: ReturnType<typeof createJobAdministration>) => Promise<unknown>) {
      const clock = new DatabaseClock(engine.name === 'sqlite' ? jobs.clock : undefined);
      const table = new JobTable(database, clock);
      queries.length = 0;
      const watched: Database = {
        ...database,
        run: (ask, options) => database.run((run) => ask(watch(run)), options),
      };
      await work(createJobAdministration({ database: watched, table, clock, leaseMs: 15_000 }));
      const explain = engine.name === 'postgres' ? 'explain ' : 'explain query plan ';
      const plans: string[] = [];
      for (const query of queries) {
        const { rows } = await database.run((run) => run.executeQuery({ ...query, sql: explain + query.sql }));
        plans.push(rows.map((row) => JSON.stringify(row)).join('\n'));
      }
      return plans.join('\n');
    }

    function watch(run: Database['queries']): Database['queries'] {
      return run.withPlugin({
        transformQuery({ node, queryId }) {
          queries.push(database.queries.getExecutor().compileQuery(node, queryId));
          return node;
        },
        transformResult: async ({ result }) => result,
      });
    }

    it('read no ended jobs to find waiting ones', async () => {
      const plan = await plansOf((administration) => administration.list({ limit: 100 }));
      expect(plan).to.match(/jobs_(queue|turns|running|joinable)/);
      expect(plan).not.to.match(/Seq Scan on jobs|SCAN jobs/);
    });

    it('find ended jobs by an index, the latest first', async () => {
      const latest = (administration: ReturnType<typeof createJobAdministration>) =>
        administration.list({ limit: 10, state: 'completed', kind: 'image' });
      for (const plan of [await plansOf(latest), await plansOf(({ recentEnds }) => recentEnds())]) {
        expect(plan).to.contain('jobs_kept');
        expect(plan).not.to.match(/Seq Scan on jobs|SCAN jobs/);
      }
      const ofAccount = await plansOf(({ list }) => list({ limit: 10, state: 'failed', owner: 'acct_7' }));
      expect(ofAccount).to.match(/jobs_(ended|kept)/);
      expect(ofAccount).not.to.match(/Seq Scan on jobs|SCAN jobs/);
    });
  });
}
