/** Durable jobs on both engines: order, slots, leases and results. */

import { expect } from 'chai';
import pg from 'pg';
import { openDatabase } from '../../../core/database/database.js';
import { sql } from '../../../core/database/kysely.js';
import type { NewJob, WorkOptions } from '../../../core/jobs/jobs.js';
import type { JobRecord } from '../../../core/jobs/records.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import type { State, StateSettings } from '../../../server/state.js';
import { engines, ListLogger, ManualClock, type Place } from '../../support/databases/engines.js';
import { holdCommits, isCommitHeld } from '../../support/databases/held-commits.js';
import { type Answered, acceptJob } from '../../support/jobs/job-acceptance.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const kind = 'extraction' as const;
const DAY_MS = 24 * 60 * 60 * 1000;

for (const engine of engines) {
  describe(`durable jobs on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let logger: ListLogger;
    let state: State;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock();
      logger = new ListLogger();
      state = await node();
    });

    afterEach(() => place?.remove());

    /** All go by one clock: a node that is years ahead would delete what the others have just finished. */
    function node(settings: Partial<StateSettings> = {}): Promise<State> {
      return place.open({ rateLimitClock: clock, logger, ...settings });
    }

    function newJob(dedupeKey: string, more: Partial<NewJob> = {}): NewJob {
      return {
        kind,
        owner: 'one',
        dedupeKey,
        summary: { name: dedupeKey },
        input: null,
        maxActive: 1_000,
        ...more,
      };
    }

    async function accept(dedupeKey: string, more?: Partial<NewJob>, from = state): Promise<JobRecord> {
      const { job } = await from.jobs.accept({ job: newJob(dedupeKey, more) });
      return job as JobRecord;
    }

    function work(run: WorkOptions['run'], { concurrency = 1, graceMs = 0, from = state } = {}) {
      return from.jobs.work({ kind, concurrency, graceMs, run });
    }

    /** Looks until the job has ended. */
    async function ended({ id }: JobRecord, owner = 'one'): Promise<JobRecord> {
      for (;;) {
        const job = await state.jobs.find(id, owner);
        if (!job) throw new Error('An accepted job is gone.');
        if (job.state === 'completed' || job.state === 'failed') return job;
        await turn();
      }
    }

    it('stores accepted jobs, and shows them only to their owner', async () => {
      const { job, active, slot } = await acceptJob(state.jobs, { job: newJob('a') });
      expect({ slot, active }).to.deep.equal({ slot: undefined, active: 1 });
      expect(job).to.deep.equal({
        id: job?.id,
        kind,
        state: 'queued',
        summary: { name: 'a' },
        attempts: 0,
        createdAt: clock.now(),
        startedAt: null,
        finishedAt: null,
        expiresAt: null,
        result: null,
        error: null,
      });
      expect(job?.id).to.match(/^exjob_[0-9a-f]{32}$/);
      const id = job?.id ?? '';
      expect(await state.jobs.find(id, 'one')).to.deep.equal(job);
      expect(await state.jobs.find(id, 'two')).to.equal(undefined);
      for (const foreign of ['', 'exjob_', `exjob_${'0'.repeat(32)}`, 'exjob_\u0000', "' or 1=1"]) {
        expect(await state.jobs.find(foreign, 'one')).to.equal(undefined);
      }
      expect(await (await node()).jobs.find(id, 'one')).to.deep.equal(job);
    });

    it('takes exactly the free slots for many simultaneous requests, over two nodes', async () => {
      const other = await node();
      const rateLimit = { keyId: 'key', family: 'link_data', count: 1, limit: 15 } as const;
      const answers = await Promise.all(
        Array.from({ length: 200 }, async (_, index): Promise<Answered> => {
          const one = index % 2 === 0 ? state : other;
          if (index % 4 === 3) return { slot: await one.rateLimits.consume(rateLimit), replayed: false, active: 0 };
          return acceptJob(one.jobs, { rateLimit, job: newJob(`${index}`) });
        }),
      );
      const accepted = answers.filter((answer) => answer.slot?.accepted);
      expect(accepted).to.have.length(15);
      for (const { slot: answer, job } of answers) if (!answer?.accepted) expect(job).to.equal(undefined);
      expect(await state.jobs.active(kind)).to.equal(answers.filter(({ job }) => job).length);
      expect(answers.find((answer) => !answer.slot?.accepted)?.slot).to.include({ retryAfterMs: 60_000, remaining: 0 });
    });

    it('limits active jobs, and takes no slot for refused ones', async () => {
      const other = await node();
      const rateLimit = { keyId: 'key', family: 'link_data', count: 1, limit: 100 } as const;
      const outcomes = await Promise.allSettled(
        Array.from({ length: 60 }, (_, index) =>
          acceptJob((index % 2 === 0 ? state : other).jobs, { rateLimit, job: newJob(`${index}`, { maxActive: 20 }) }),
        ),
      );
      const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
      expect(refused).to.have.length(40);
      for (const { reason } of refused) {
        expect(reason).to.include({ code: 'queue_full', retryable: true });
        expect(reason.retryAfterSeconds).to.be.at.least(1);
      }
      expect(await state.jobs.active(kind)).to.equal(20);
      expect(await state.rateLimits.peek(rateLimit)).to.include({ remaining: 80 });
    });

    it('lets a request join a job of a full queue for one slot', async () => {
      const rateLimit = { keyId: 'key', family: 'link_data', count: 1, limit: 2 } as const;
      const first = await accept('a');
      const {
        job,
        active,
        slot: answer,
      } = await acceptJob(state.jobs, { rateLimit, job: newJob('a', { maxActive: 1 }) });
      expect(job?.id).to.equal(first.id);
      expect(active).to.equal(1);
      expect(answer).to.include({ accepted: true, remaining: 1 });
    });

    it('makes one job of many simultaneous equal requests, and shows it to all of them', async () => {
      const other = await node();
      const jobs = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          accept('same', { owner: `account${index}` }, index % 2 === 0 ? state : other),
        ),
      );
      expect(new Set(jobs.map(({ id }) => id)).size).to.equal(1);
      expect(await state.jobs.active(kind)).to.equal(1);
      const { id } = jobs[0] as JobRecord;
      for (let index = 0; index < 40; index += 1) {
        expect(await state.jobs.find(id, `account${index}`)).to.include({ id });
      }
      expect(await state.jobs.find(id, 'account40')).to.equal(undefined);
    });

    it('keeps a shared job until its last account cancels', async () => {
      const { id } = await accept('same');
      for (const owner of ['one', 'two', 'three']) await accept('same', { owner });
      let signal: AbortSignal | undefined;
      work(async (_job, given) => {
        signal = given;
        await new Promise((resolve) => given.addEventListener('abort', resolve));
      });
      while (!signal) await turn();
      for (const [gone, left] of [
        ['one', ['two', 'three']],
        ['three', ['two']],
      ] as const) {
        const cancelled = await state.jobs.cancel(id, gone);
        expect(cancelled).to.include({ id, state: 'cancelled', finishedAt: clock.now() });
        expect(cancelled?.error).to.include({ code: 'cancelled', retryable: false });
        expect(await state.jobs.find(id, gone)).to.equal(undefined);
        expect(await state.jobs.cancel(id, gone)).to.equal(undefined);
        for (const owner of left) expect(await state.jobs.find(id, owner)).to.include({ state: 'running' });
      }
      expect(signal.aborted).to.equal(false);
      expect((await state.jobs.list({ limit: 1 })).jobs[0]).to.include({ id, owner: 'two', joined: 0 });
      expect((await accept('same')).id, 'may come back').to.equal(id);
      await state.jobs.cancel(id, 'two');
      await state.jobs.cancel(id, 'one');
      while (!signal.aborted) await turn();
      expect(await state.jobs.find(id, 'one')).to.include({ id, state: 'cancelled' });
      expect((await accept('same')).id).not.to.equal(id);
    });

    it('never cancels a job that another request joins at the same moment', async () => {
      const other = await node();
      for (let round = 0; round < 20; round += 1) {
        const { id } = await accept(`round ${round}`);
        const [, joined] = await Promise.all([
          state.jobs.cancel(id, 'one'),
          accept(`round ${round}`, { owner: 'two' }, other),
        ]);
        expect(await state.jobs.find(joined.id, 'two')).to.include({ state: 'queued' });
      }
    });

    it('lists the latest jobs of an account, newest first, of all kinds and states, without results', async () => {
      const done = await accept('a');
      const workers = work(async () => 'a large result');
      await ended(done);
      await workers.stop();
      clock.wall += 1;
      const cancelled = await accept('b');
      await state.jobs.cancel(cancelled.id, 'one');
      clock.wall += 1;
      const image = await accept('c', { kind: 'image' });
      await accept('d', { owner: 'two' });
      const seen = (jobs: readonly JobRecord[]) => jobs.map(({ id, state: is, result }) => [id, is, result]);
      expect(seen(await state.jobs.latest('one', 10))).to.deep.equal([
        [image.id, 'queued', null],
        [cancelled.id, 'cancelled', null],
        [done.id, 'completed', null],
      ]);
      expect(seen(await state.jobs.latest('one', 1))).to.deep.equal([[image.id, 'queued', null]]);
      clock.wall += 1;
      const latest = await accept('e');
      await state.jobs.cancel(latest.id, 'one');
      expect(seen(await state.jobs.latest('one', 10))).to.deep.equal([
        [latest.id, 'cancelled', null],
        [image.id, 'queued', null],
        [cancelled.id, 'cancelled', null],
        [done.id, 'completed', null],
      ]);
      expect(seen(await state.jobs.latest('one', 2))).to.deep.equal([
        [latest.id, 'cancelled', null],
        [image.id, 'queued', null],
      ]);
      expect(await state.jobs.latest('nobody', 10)).to.deep.equal([]);
    });

    it('starts a new job after the job of the same key has ended', async () => {
      const first = await accept('a');
      const workers = work(async () => 'done');
      await ended(first);
      await workers.stop();
      const second = await accept('a');
      expect(second.id).not.to.equal(first.id);
      expect(second).to.include({ state: 'queued' });
    });

    it('runs jobs in the order of their acceptance, and keeps their results', async () => {
      const order: unknown[] = [];
      const jobs: JobRecord[] = [];
      for (let index = 0; index < 20; index += 1) jobs.push(await accept(`${index}`, { input: index }));
      work(async ({ input }) => {
        clock.advance(5);
        order.push(input);
        return { seen: input };
      });
      for (const [index, job] of jobs.entries()) {
        const done = await ended(job);
        expect(done).to.deep.include({ state: 'completed', attempts: 1, result: { seen: index }, error: null });
        expect(done.finishedAt).to.equal((done.startedAt ?? 0) + 5);
      }
      expect(order).to.deep.equal(jobs.map((_, index) => index));
      expect(await state.jobs.active(kind)).to.equal(0);
    });

    it('starts accepted jobs while the workers wait, here and on another node', async () => {
      const other = await node();
      work(async () => 'ran', { from: other });
      expect(await ended(await accept('there'))).to.include({ result: 'ran' });
      work(async () => 'ran');
      expect(await ended(await accept('here'))).to.include({ result: 'ran' });
    });

    it('starts accepted and waiting jobs as soon as a slot is free', async () => {
      // Nobody looks by himself before the test is over.
      const patient = await node({ jobPollMs: DAY_MS });
      const gate = Promise.withResolvers<void>();
      const run: WorkOptions['run'] = ({ summary }) =>
        (summary as { name: string }).name === 'a' ? gate.promise : turn();
      const workers = work(run, { from: patient });
      await ended(await accept('first', {}, patient));
      const stateOf = async ({ id }: JobRecord) => (await state.jobs.find(id, 'one'))?.state;
      const a = await accept('a', {}, patient);
      expect(a.state).to.equal('queued');
      // The end of the first may be seen a moment before its slot is free.
      await until(async () => (await stateOf(a)) === 'running');
      const b = await accept('b', {}, patient);
      expect(await stateOf(b)).to.equal('queued');
      gate.resolve();
      await ended(a);
      expect(await stateOf(b)).to.not.equal('queued');
      await ended(b);
      await workers.stop();
    });

    if (engine.name === 'postgres')
      it('starts a job that was accepted while all slots were taken, and was committed after one was freed', async () => {
        // Nobody looks by himself before the test is over.
        const patient = await node({ jobPollMs: DAY_MS });
        const observer = new pg.Client({ connectionString: place.databaseUrl });
        await observer.connect();
        try {
          const goOn = await holdCommits(observer, 'jobs', `new.summary = '{"name":"late"}'`);
          const gate = Promise.withResolvers<void>();
          work(() => gate.promise, { from: patient });
          const first = await accept('first', {}, patient);
          const late = accept('late', {}, patient);
          await until(() => isCommitHeld(observer));
          gate.resolve();
          await ended(first);
          await goOn();
          await ended(await late);
        } finally {
          await observer.end();
        }
      });

    it('returns any text unchanged: U+0000, lone surrogates, keys of any length', async () => {
      const text = `a\u0000b\ud800c\udfffd${'é'.repeat(5_000)}`;
      const job = await accept(text, { summary: { text }, input: { text } });
      expect(await accept(text)).to.include({ id: job.id });
      expect(job.summary).to.deep.equal({ text });
      const workers = work(async ({ input }) => input);
      expect((await ended(job)).result).to.deep.equal({ text });
      await workers.stop();
      const failing = await accept('failing');
      work(async () => {
        throw new GatewayError('upstream_error', text, { platform: text });
      });
      expect((await ended(failing)).error).to.include({ message: text, platform: text });
    });

    it('stores the public part of a failure', async () => {
      const attempts = [{ method: 'page', outcome: 'bot_check', ms: 12 }];
      const told = await accept('told');
      const fault = await accept('fault');
      const strange = await accept('strange');
      const nothing = await accept('nothing');
      work(async ({ id }) => {
        if (id === told.id) {
          throw new GatewayError('bot_check', 'The platform asks for proof.', {
            reason: 'slide to verify',
            platform: 'clip_shop',
            attempts,
            cause: new Error('hunter2'),
          });
        }
        if (id === fault.id) throw new TypeError('hunter2 is not a function');
        return id === strange.id ? { big: 1n } : undefined;
      });
      expect((await ended(told)).error).to.deep.equal({
        code: 'bot_check',
        message: 'The platform asks for proof.',
        reason: 'slide to verify',
        retryable: true,
        platform: 'clip_shop',
        attempts,
      });
      for (const job of [fault, strange]) {
        const { state: at, error } = await ended(job);
        expect(at).to.equal('failed');
        expect(error).to.include({ code: 'internal_error', retryable: false });
        expect(JSON.stringify(error)).not.to.contain('hunter2');
      }
      expect(logger.lines.filter(({ level }) => level === 'error')).to.have.length(2);
      expect(await ended(nothing)).to.include({ state: 'completed', result: null });
    });

    it('runs as many jobs at a time as configured', async () => {
      let running = 0;
      let most = 0;
      const jobs = await Promise.all(Array.from({ length: 12 }, (_, index) => accept(`${index}`)));
      work(
        async () => {
          running += 1;
          most = Math.max(most, running);
          await turn(10);
          running -= 1;
        },
        { concurrency: 3 },
      );
      for (const job of jobs) await ended(job);
      expect(most).to.equal(3);
    });

    it('runs no job twice at the same time over several nodes', async () => {
      const other = await node();
      const runs = new Map<string, number>();
      const jobs: JobRecord[] = [];
      for (let index = 0; index < 100; index += 1) jobs.push(await accept(`${index}`));
      for (const from of [state, other, state]) {
        work(
          async ({ id }) => {
            runs.set(id, (runs.get(id) ?? 0) + 1);
            await turn(2);
          },
          { concurrency: 5, from },
        );
      }
      for (const job of jobs) expect(await ended(job)).to.include({ attempts: 1 });
      expect([...runs.values()]).to.deep.equal(jobs.map(() => 1));
    });

    it('returns running jobs to their old place in the queue when it stops', async () => {
      const jobs = [await accept('a'), await accept('b'), await accept('c')];
      const reasons: unknown[] = [];
      let begun = 0;
      const workers = work(
        (_job, signal) => {
          begun += 1;
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              reasons.push(signal.reason);
              reject(signal.reason);
            });
          });
        },
        { concurrency: 2 },
      );
      while (begun < 2) await turn();
      await Promise.all([workers.stop(), workers.stop()]);
      expect(reasons).to.have.length(2);
      expect(reasons[0]).to.include({ code: 'shutting_down' });
      for (const { id } of jobs) expect(await state.jobs.find(id, 'one')).to.include({ state: 'queued' });

      const order: string[] = [];
      work(async ({ id }) => order.push(id));
      expect(await ended(jobs[2] as JobRecord)).to.include({ attempts: 1 });
      expect(await ended(jobs[0] as JobRecord)).to.include({ state: 'completed', attempts: 2 });
      expect(order).to.deep.equal(jobs.map(({ id }) => id));
    });

    it('never fails a job for being stopped', async () => {
      const job = await accept('a');
      for (let round = 0; round < 7; round += 1) {
        let begun = false;
        const workers = work((_job, signal) => {
          begun = true;
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('Cut short.')));
          });
        });
        while (!begun) await turn();
        await workers.stop();
      }
      work(async () => 'at last');
      expect(await ended(job)).to.include({ state: 'completed', attempts: 8, result: 'at last' });
    });

    it('keeps the result of a run that ends while it stops', async () => {
      const job = await accept('a');
      let begun = false;
      const workers = work(async () => {
        begun = true;
        await turn(50);
        return 'finished';
      });
      while (!begun) await turn();
      await workers.stop();
      expect(await state.jobs.find(job.id, 'one')).to.include({ state: 'completed', result: 'finished' });
    });

    it('lets runs end within the grace period, starts no more, and returns the rest to the queue', async () => {
      const jobs = [await accept('a'), await accept('b'), await accept('c')];
      const begun = new Set<string>();
      let finish: (() => void) | undefined;
      const workers = work(
        (job, signal) => {
          begun.add(job.id);
          return new Promise((resolve, reject) => {
            if (job.id === jobs[0]?.id) finish = () => resolve('in time');
            signal.addEventListener('abort', () => reject(signal.reason));
          });
        },
        { concurrency: 2, graceMs: 3_000 },
      );
      while (begun.size < 2) await turn();
      const stopped = workers.stop();
      await turn(50);
      finish?.();
      await stopped;
      const ends = await Promise.all(jobs.map(({ id }) => state.jobs.find(id, 'one')));
      expect(ends.map((job) => job?.state)).to.deep.equal(['completed', 'queued', 'queued']);
      expect(begun.size).to.equal(2);
    });

    it('passes a job to another worker when its own has no heartbeat, and refuses late results', async () => {
      const first = await node({ processLeaseMs: 2_000 });
      const job = await accept('a');
      let finishLate: (() => void) | undefined;
      work(
        ({ attempts }) =>
          new Promise((resolve) => {
            if (attempts === 1) finishLate = () => resolve('late');
            else resolve('in time');
          }),
        { from: first },
      );
      while (!finishLate) await turn();
      // What a process does that was stopped for longer than its lease: nothing. Another has claimed the job meanwhile.
      const database = await openDatabase(place);
      try {
        await sql`update jobs set attempts = attempts + 1, "processId" = '["elsewhere",1,"",""]'`.execute(
          database.queries,
        );
        finishLate();
        while (!logger.lines.some(({ message }) => /refused/.test(message))) await turn();
        expect(await state.jobs.find(job.id, 'one')).to.include({ state: 'running', result: null, attempts: 2 });
      } finally {
        await database.close();
      }
      // Nobody counts up for the runner elsewhere, so a lease later the job is run again.
      expect(await ended(job)).to.include({ state: 'completed', result: 'in time', attempts: 3 });
    });

    it('aborts a run whose job went to another worker', async () => {
      const first = await node({ processLeaseMs: 2_000 });
      const job = await accept('a');
      let signal: AbortSignal | undefined;
      work(
        (_job, given) => {
          signal = given;
          return new Promise((_resolve, reject) => {
            given.addEventListener('abort', () => reject(new Error('Aborted.')));
          });
        },
        { from: first },
      );
      while (!signal) await turn();
      const database = await openDatabase(place);
      try {
        await sql`update jobs set attempts = attempts + 1, "processId" = '["elsewhere",1,"",""]'`.execute(
          database.queries,
        );
        while (!signal.aborted) await turn();
        expect(await state.jobs.find(job.id, 'one')).to.include({ state: 'running', attempts: 2 });
      } finally {
        await database.close();
      }
    });

    it('keeps the lease of a longer run at any wall clock', async () => {
      const nodes = await Promise.all([node({ processLeaseMs: 1_200 }), node({ processLeaseMs: 1_200 })]);
      const job = await accept('a');
      let runs = 0;
      for (const from of nodes) {
        work(
          async () => {
            runs += 1;
            for (const jump of [-DAY_MS, DAY_MS / 2, -1_000, DAY_MS / 4]) {
              await turn(600);
              clock.wall += jump;
            }
            return 'long';
          },
          { from },
        );
      }
      expect(await ended(job)).to.include({ state: 'completed', attempts: 1, result: 'long' });
      expect(runs).to.equal(1);
    });

    it('deletes a job and its owners 24 h after its end', async () => {
      const jobs = [await accept('a'), await accept('b')];
      await accept('a', { owner: 'two' });
      const workers = work(async () => 'done');
      for (const job of jobs) await ended(job);
      await workers.stop();
      const waiting = await accept('waiting');
      const { id } = jobs[0] as JobRecord;
      clock.advance(DAY_MS - 1);
      expect(await state.jobs.find(id, 'one')).to.include({ id });
      clock.advance(1);
      expect(await state.jobs.find(id, 'one')).to.equal(undefined);

      work(async () => 'done');
      await ended(waiting);
      const database = await openDatabase(place);
      try {
        for (;;) {
          const rows = await database.run((queries) => queries.selectFrom('jobs').select('id').execute());
          if (rows.length === 1) break;
          await turn();
        }
        const owners = await database.run((queries) => queries.selectFrom('job_owners').selectAll().execute());
        expect(owners).to.deep.equal([]);
      } finally {
        await database.close();
      }
    });

    it('refuses calls after its close, and stops its workers', async () => {
      const job = await accept('a');
      let aborted = false;
      let begun = false;
      const closed = await node();
      work(
        (_job, signal) => {
          begun = true;
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              aborted = true;
              reject(signal.reason);
            });
          });
        },
        { from: closed },
      );
      while (!begun) await turn();
      await closed.close();
      expect(aborted).to.equal(true);
      expect(await state.jobs.find(job.id, 'one')).to.include({ state: 'queued' });
      const calls = [
        closed.jobs.accept({ job: newJob('b') }),
        closed.jobs.find(job.id, 'one'),
        closed.jobs.active(kind),
      ];
      for (const error of await Promise.all(calls.map(rejection))) {
        expect(error).to.include({ code: 'upstream_unavailable' });
      }
    });
  });
}

function turn(ms = 1): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
