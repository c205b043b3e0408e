/** Wake-ups of waiters without polls. */

import { getEventListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import { sql } from '../../../core/database/kysely.js';
import type { NewJob, WorkOptions } from '../../../core/jobs/jobs.js';
import type { JobRecord } from '../../../core/jobs/records.js';
import type { State } from '../../../server/state.js';
import { type Engine, engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { inTime } from '../../support/in-time.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const kind = 'image' as const;
/** No node polls before the test is over: only a wake-up can end a wait. */
const DAY_MS = 24 * 3_600_000;
const LEASE_MS = 900;

/** All ways in which a job ends, each on the node that is named. */
interface Way {
  name: string;
  state: JobRecord['state'];
  code?: string;
  end(node: State, job: JobRecord, jobs: WakeJobs): Promise<unknown>;
}

const WAYS: readonly Way[] = [
  { name: 'completed', state: 'completed', end: async (node, _job, jobs) => jobs.work(node, async () => 'picture') },
  {
    name: 'failed',
    state: 'failed',
    code: 'internal_error',
    end: async (node, _job, jobs) =>
      jobs.work(node, async () => {
        throw new Error('broken');
      }),
  },
  {
    name: 'was cancelled by its account',
    state: 'cancelled',
    code: 'cancelled',
    end: (node, { id }) => node.jobs.cancel(id, 'one'),
  },
  {
    name: 'was cancelled by the operator',
    state: 'cancelled',
    code: 'cancelled',
    end: (node, { id }) => node.jobs.cancelAsOperator({ id, actor: 'operator', note: 'test' }),
  },
  {
    name: 'expired in the queue',
    state: 'failed',
    code: 'queue_expired',
    async end(node, _job, jobs) {
      jobs.clock.advance(60_000);
      jobs.work(node, async () => undefined, { concurrency: 0, maxQueuedMs: 60_000 });
    },
  },
  {
    name: 'was cut off for good',
    state: 'failed',
    code: 'interrupted',
    async end(node, job, jobs) {
      await jobs.giveToDeadRunner(job);
      jobs.work(node, async () => undefined, { concurrency: 0, maxAttempts: 1 });
    },
  },
];

/** Not the promise itself: a promise of it would be resolved by it. */
interface Wait {
  over: Promise<JobRecord | undefined>;
}

interface WakeJobs {
  place: Place;
  clock: ManualClock;
  open(): Promise<State>;
  submit(node: State, wish?: Partial<NewJob>): Promise<JobRecord>;
  work(node: State, run: WorkOptions['run'], more?: Partial<WorkOptions>): { stop(): Promise<void> };
  /** The job runs from then on, for a process that shows no life. */
  giveToDeadRunner(job: JobRecord): Promise<void>;
  /** Begins to wait, and resolves when the wait can only be ended by a wake-up. */
  beginWait(node: State, job: JobRecord, signal?: AbortSignal): Promise<Wait>;
}

async function createWakeJobs(engine: Engine, context: Mocha.Context): Promise<WakeJobs> {
  const place = await engine.reusedPlace(context);
  const clock = new ManualClock(Date.UTC(2026, 5, 15, 12));
  return {
    place,
    clock,
    open: () => place.open({ rateLimitClock: clock, jobPollMs: DAY_MS, processLeaseMs: LEASE_MS }),
    async submit(node, wish) {
      const job = { kind, owner: 'one', keyId: 'one', input: null, maxActive: 1_000, ...wish };
      const { job: accepted } = await node.jobs.accept({ job });
      if (!accepted) throw new Error('The job was not accepted.');
      return accepted;
    },
    work: (node, run, more) => node.jobs.work({ kind, concurrency: 1, run, ...more }),
    async giveToDeadRunner({ id }) {
      const database = await openDatabase(place);
      try {
        const processId = '["elsewhere",1,"",""]';
        await sql`update jobs set state = 'running', attempts = 1, "processId" = ${processId} where id = ${id}`.execute(
          database.queries,
        );
      } finally {
        await database.close();
      }
    },
    async beginWait(node, { id }, signal) {
      const over = node.jobs.waitFor(id, 'one', { timeoutMs: DAY_MS, ...(signal && { signal }) });
      over.catch(() => undefined);
      // The wait looks at the job once. These looks come after that one.
      for (let looks = 0; looks < 5; looks += 1) await node.jobs.find(id, 'one');
      await sleep(20);
      return { over };
    },
  };
}

for (const engine of engines) {
  describe(`wake-ups of waiters for jobs on ${engine.name}, without polls`, () => {
    let jobs: WakeJobs;
    let state: State;

    beforeEach(async function () {
      jobs = await createWakeJobs(engine, this);
      state = await jobs.open();
    });
    afterEach(() => jobs?.place.remove());

    /** On PostgreSQL the first wait connects to hear of ends, and looks when it is connected. That look hides what is tested. */
    async function untilListening(node: State): Promise<void> {
      if (engine.name === 'sqlite') return;
      const other = await jobs.open();
      const job = await jobs.submit(node);
      const wait = await jobs.beginWait(node, job);
      await other.jobs.cancel(job.id, 'one');
      await inTime(wait.over);
    }

    for (const { name, state: is, code, end } of WAYS) {
      it(`wake all waiters on the same node when the job ${name}`, async () => {
        await untilListening(state);
        const job = await jobs.submit(state);
        const waits = [await jobs.beginWait(state, job), await jobs.beginWait(state, job)];
        await end(state, job, jobs);
        for (const wait of waits) {
          const ended = await inTime(wait.over);
          expect(ended).to.include({ id: job.id, state: is });
          expect(ended?.error?.code).to.equal(code);
        }
      });

      if (engine.name === 'postgres')
        it(`wake waiters on another node when the job ${name}`, async () => {
          const other = await jobs.open();
          await untilListening(other);
          const job = await jobs.submit(state);
          const wait = await jobs.beginWait(other, job);
          await end(state, job, jobs);
          const ended = await inTime(wait.over);
          expect(ended).to.include({ id: job.id, state: is });
          expect(ended?.error?.code).to.equal(code);
        });
    }

    it('do not wake waiters for another job', async () => {
      await untilListening(state);
      const [job, other] = [await jobs.submit(state), await jobs.submit(state)];
      let over = false;
      const wait = await jobs.beginWait(state, job);
      wait.over.then(
        () => {
          over = true;
        },
        () => undefined,
      );
      const otherWait = await jobs.beginWait(state, other);
      await state.jobs.cancel(other.id, 'one');
      await inTime(otherWait.over);
      await state.jobs.find(job.id, 'one');
      expect(over).to.equal(false);
      await state.jobs.cancel(job.id, 'one');
      expect(await inTime(wait.over)).to.include({ id: job.id, state: 'cancelled' });
    });

    it('wake all waiters whose jobs expire at the same time', async () => {
      await untilListening(state);
      const all = [await jobs.submit(state), await jobs.submit(state), await jobs.submit(state)];
      const waits: Wait[] = [];
      for (const job of all) waits.push(await jobs.beginWait(state, job));
      jobs.clock.advance(60_000);
      jobs.work(state, async () => undefined, { concurrency: 0, maxQueuedMs: 60_000 });
      for (const wait of waits) expect((await inTime(wait.over))?.error).to.include({ code: 'queue_expired' });
    });

    it('wake the workers when an aborted job is to run again', async () => {
      const job = await jobs.submit(state);
      await jobs.giveToDeadRunner(job);
      const waiting = await jobs.beginWait(state, job);
      jobs.work(state, async ({ attempts }) => attempts, { maxAttempts: 2 });
      expect(await inTime(waiting.over)).to.include({ state: 'completed', attempts: 2, result: 2 });
    });

    it('abort the run of a job that is cancelled, at once', async () => {
      const job = await jobs.submit(state);
      let signal: AbortSignal | undefined;
      jobs.work(state, (_job, given) => {
        signal = given;
        return new Promise((_resolve, reject) => given.addEventListener('abort', () => reject(given.reason)));
      });
      await until(() => signal);
      await state.jobs.cancel(job.id, 'one');
      await until(() => signal?.aborted);
      expect(signal?.reason).to.include({ code: 'cancelled' });
    });

    it('leave no listener on the signal of a caller', async () => {
      const hangUp = new AbortController();
      const { signal } = hangUp;
      const listeners = () => getEventListeners(signal, 'abort').length;
      const [ended, open, waiting] = [await jobs.submit(state), await jobs.submit(state), await jobs.submit(state)];
      const wait = await jobs.beginWait(state, ended, signal);
      expect(listeners(), 'while it waits').to.equal(1);
      await state.jobs.cancel(ended.id, 'one');
      await inTime(wait.over);
      expect(listeners(), 'after the end').to.equal(0);
      await state.jobs.waitFor(ended.id, 'one', { timeoutMs: DAY_MS, signal });
      expect(listeners(), 'of a job that had ended').to.equal(0);
      for (let round = 0; round < 3; round += 1) {
        expect(await state.jobs.waitFor(open.id, 'one', { timeoutMs: 5, signal })).to.include({ state: 'queued' });
      }
      expect(listeners(), 'after the time').to.equal(0);
      const refused = rejection((await jobs.beginWait(state, waiting, signal)).over);
      hangUp.abort(new Error('The client hung up.'));
      expect(await refused).to.equal(signal.reason);
      expect(listeners(), 'after the hang-up').to.equal(0);
    });
  });
}
