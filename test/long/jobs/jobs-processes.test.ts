/** Jobs whose processes are killed or paused while they run. */

import { expect } from 'chai';
import type { JobRecord } from '../../../core/jobs/records.js';
import type { State } from '../../../server/state.js';
import {
  chaosTarget,
  ledgerOf,
  startWorkerProcess,
  type WorkerOptions,
  type WorkerProcess,
} from '../../core/jobs/job-processes.js';
import type { WorkOrder } from '../../core/jobs/job-worker.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { runJobsChaos } from '../../support/jobs/jobs-chaos.js';
import { judgeLedger } from '../../support/jobs/run-ledger.js';
import { until } from '../../support/until.js';

const JOB_LEASE_MS = 2_000;

for (const engine of engines) {
  describe(`processes that run jobs and die on ${engine.name}`, function () {
    this.timeout(300_000);
    let place: Place;
    let state: State;
    let processes: WorkerProcess[];

    beforeEach(async function () {
      processes = [];
      place = await engine.place(this);
      state = await place.open();
    });

    afterEach(async () => {
      for (const each of processes) await each.kill();
      await place?.remove();
    });

    async function start(options: WorkerOptions = {}): Promise<WorkerProcess> {
      const started = await startWorkerProcess(place, options);
      processes.push(started);
      return started;
    }

    async function accept(dedupeKey: string, input: WorkOrder): Promise<JobRecord> {
      const job = { kind: 'extraction', owner: 'one', dedupeKey, input, maxActive: 100 } as const;
      return (await state.jobs.accept({ job })).job as JobRecord;
    }

    async function look({ id }: JobRecord): Promise<JobRecord> {
      const job = await state.jobs.find(id, 'one');
      if (!job) throw new Error('An accepted job is gone.');
      return job;
    }

    function ended(job: JobRecord): Promise<JobRecord> {
      return until(async () => {
        const seen = await look(job);
        return (seen.state === 'completed' || seen.state === 'failed') && seen;
      });
    }

    function judge() {
      return judgeLedger(ledgerOf(place).read());
    }

    for (const killAt of ['begin', 'end'] as const) {
      it(`resume a job whose process is killed at the ${killAt} of its run, without waiting for its lease`, async () => {
        const job = await accept('killed', { ms: 5, killAt });
        await (await start()).ended;
        expect(await look(job)).to.include({ state: 'running', attempts: 1 });
        // The lease of this one is so long that the test would end before it.
        await start({ processLeaseMs: 600_000 });
        expect(await ended(job)).to.include({ state: 'completed', attempts: 2 });
        expect(judge()).to.deep.equal({ runs: 2, overlapping: 0, endedTwice: 0 });
      });
    }

    it('keep completed jobs when the process is killed', async () => {
      const job = await accept('killed', { ms: 5, killAt: 'after' });
      await (await start()).ended;
      await start();
      const { attempts, result } = await ended(job);
      expect(result).to.have.property('attempt', attempts);
      expect(await look(job)).to.deep.equal(await ended(job));
      expect(judge()).to.include({ overlapping: 0, endedTwice: 0 });
    });

    it('resume in the order of acceptance', async () => {
      const jobs: JobRecord[] = [];
      for (let index = 0; index < 6; index += 1) {
        jobs.push(await accept(`${index}`, { ms: 1, killAt: index === 2 ? 'begin' : undefined }));
      }
      await (await start({ concurrency: 1 })).ended;
      const before = ledgerOf(place).read().length;
      await start({ concurrency: 1 });
      for (const job of jobs) expect(await ended(job)).to.include({ state: 'completed' });
      const resumed = ledgerOf(place)
        .read()
        .slice(before)
        .flatMap((line) => (line.event === 'begin' ? [line.job] : []));
      // Of those that had been run, the last may not have been written down.
      expect(resumed.slice(-4)).to.deep.equal(jobs.slice(2).map(({ id }) => id));
    });

    it('refuse the result of a process that was stopped for longer than its lease', async () => {
      const job = await accept('zombie', { ms: 1_000 });
      const zombie = await start({ processLeaseMs: JOB_LEASE_MS });
      // Not by the row, which says so before the process has heard of it: stopped there it would begin nothing.
      await until(() =>
        ledgerOf(place)
          .read()
          .some((line) => line.event === 'begin' && line.pid === zombie.pid),
      );
      zombie.signal('SIGSTOP');
      await start({ processLeaseMs: JOB_LEASE_MS });
      const done = await ended(job);
      zombie.signal('SIGCONT');
      expect(done).to.include({ state: 'completed', attempts: 2 });
      await until(() =>
        ledgerOf(place)
          .read()
          .some((line) => line.event !== 'begin' && line.pid === zombie.pid),
      );
      const late = await accept('late', { ms: 1 });
      await ended(late);
      expect(await look(job)).to.deep.equal(done);
    });

    it('fail a job that kills each of its processes, and no others', async () => {
      const before = await accept('before', { ms: 400 });
      const poison = await accept('poison', { ms: 20, killAt: 'end', killInRun: 0 });
      const others: JobRecord[] = [];
      for (let index = 0; index < 8; index += 1) others.push(await accept(`${index}`, { ms: 400 }));
      let deaths = 0;
      let last: WorkerProcess | undefined;
      while ((await look(poison)).state !== 'failed') {
        const victim = await start({ concurrency: 3 });
        last = victim;
        const died = await Promise.race([victim.ended.then(() => true), ended(poison).then(() => false)]);
        if (died) deaths += 1;
      }
      expect(deaths).to.equal(5);
      expect((await look(poison)).error).to.include({ code: 'interrupted', retryable: true });
      expect(await look(poison)).to.include({ attempts: 5 });
      for (const job of [before, ...others]) expect(await ended(job)).to.include({ state: 'completed' });
      await last?.kill();
      expect(judge()).to.include({ overlapping: 0, endedTwice: 0 });
    });

    it('lose no job and run none twice when they are killed at random', async () => {
      const target = chaosTarget(place, state, 20);
      const report = await runJobsChaos(target, { jobs: 60, kills: 4, lifeMs: 60, timeoutMs: 90_000 });
      expect(report).to.include({ accepted: 60, completed: 60, kills: 4, refused: 0 });
      expect(report).to.include({ lost: 0, failed: 0, overlapping: 0, completedTwice: 0 });
    });

    it('share the jobs of one state while one of two processes is killed', async () => {
      const jobs: JobRecord[] = [];
      for (let index = 0; index < 40; index += 1) jobs.push(await accept(`${index}`, { ms: 10 }));
      const [first] = await Promise.all([start(), start()]);
      await until(async () => (await look(jobs[10] as JobRecord)).state !== 'queued');
      ledgerOf(place).write({ event: 'killed', pid: first.pid });
      await first.kill();
      await start();
      for (const job of jobs) expect(await ended(job)).to.include({ state: 'completed' });
      expect(judge()).to.include({ overlapping: 0, endedTwice: 0 });
    });
  });
}
