/** What a dead process held, and when others take it over. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import type { JobRecord } from '../../../core/jobs/records.js';
import type { State } from '../../../server/state.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { budget } from '../../support/models/model-requests.js';
import { until } from '../../support/until.js';
import { type Holding, KEY, TOKENS } from './process-holder.js';

const script = fileURLToPath(new URL('process-holder.js', import.meta.url));
const LEASE_MS = 1_500;
const ALL = { from: '2025-01-01', to: '2100-01-01' };

for (const engine of engines) {
  describe(`a process with a job, a reservation and an idempotency key on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let other: State;
    let budgetId: string;
    let job: JobRecord;
    let runs: number;
    let child: ChildProcessByStdio<Writable, Readable, null>;
    let said: string[];

    beforeEach(async function () {
      place = await engine.place(this);
      state = await place.open({ processLeaseMs: LEASE_MS });
      const made = budget({ tokenLimit: 1_000 });
      budgetId = made.id;
      await state.budgets.create(made);
      const accepted = await state.jobs.accept({
        job: { kind: 'extraction', owner: 'one', dedupeKey: 'held', input: null, maxActive: 100 },
      });
      job = accepted.job as JobRecord;
      const { dataDir, databaseUrl } = place;
      const holding: Holding = { dataDir, databaseUrl, processLeaseMs: LEASE_MS, budgetId };
      child = spawn(process.execPath, [script, JSON.stringify(holding)], { stdio: ['pipe', 'pipe', 'inherit'] });
      said = [];
      createInterface({ input: child.stdout }).on('line', (line) => said.push(line));
      await until(() => said.includes('holding'));
      // Two that come after it: what it held is released once.
      other = await place.open({ processLeaseMs: LEASE_MS });
      runs = 0;
      for (const survivor of [state, other]) {
        survivor.jobs.work({
          kind: 'extraction',
          concurrency: 1,
          async run() {
            runs += 1;
            return 'by another';
          },
        });
      }
    });

    afterEach(async () => {
      child?.kill('SIGKILL');
      await place?.remove();
    });

    const find = async () => (await state.jobs.find(job.id, 'one')) as JobRecord;
    const reserved = async () => (await state.budgets.find(budgetId))?.tokensReserved;
    const claim = () => other.idempotentResponses.claim(KEY);

    async function expectReleasedOnce(): Promise<void> {
      expect(await until(async () => (await find()).finishedAt !== null && find())).to.include({
        state: 'completed',
        result: 'by another',
        attempts: 2,
      });
      await until(async () => (await reserved()) === 0);
      const claimed = await until(async () => {
        const found = await claim();
        return found.state === 'begun' && found;
      });
      expect(await other.idempotentResponses.keep(claimed.work, { status: 200, headers: {}, bytes: 2 })).to.equal(true);
      await expectUnchanged();
    }

    async function expectUnchanged(): Promise<void> {
      expect(runs).to.equal(1);
      expect(await find()).to.include({ state: 'completed', result: 'by another', attempts: 2 });
      const used = { tokensReserved: 0, tokensUsed: TOKENS, requestsUsed: 1 };
      expect(await state.budgets.find(budgetId)).to.include(used);
      expect(await state.usage.entries(ALL, 10)).to.have.length(1);
      expect((await claim()).state).to.equal('answered');
    }

    it('keeps all three while it lives', async () => {
      await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
      expect(await find()).to.include({ state: 'running', attempts: 1 });
      expect(await reserved()).to.equal(TOKENS);
      expect((await claim()).state).to.equal('running');
      expect(said).to.deep.equal(['holding']);
    });

    it('loses all three, once, when it is killed', async () => {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
      await expectReleasedOnce();
    });

    it('loses all three when it pauses for a whole lease, and gives them up when it continues', async () => {
      child.kill('SIGSTOP');
      await expectReleasedOnce();
      child.kill('SIGCONT');
      const abandoned = await until(() => said.find((line) => line.startsWith('abandoned')));
      expect(abandoned).to.equal('abandoned {"kept":false}');
      await expectUnchanged();
    });
  });

  describe(`a living process on ${engine.name}`, () => {
    let place: Place;
    beforeEach(async function () {
      place = await engine.place(this);
    });
    afterEach(() => place?.remove());

    it('runs a job again that the database still assigns to it after its end', async () => {
      const state = await place.open({ processLeaseMs: LEASE_MS });
      const attempts: number[] = [];
      state.jobs.work({
        kind: 'extraction',
        concurrency: 1,
        async run(run) {
          attempts.push(run.attempts);
          return 'done';
        },
      });
      const { job } = await state.jobs.accept({
        job: { kind: 'extraction', owner: 'one', dedupeKey: 'lost', input: null, maxActive: 100 },
      });
      const completed = () =>
        until(async () => {
          const found = await state.jobs.find(job?.id ?? '', 'one');
          return found?.state === 'completed' && found;
        });
      await completed();
      const database = await openDatabase(place);
      // As if the end of the run had not been written.
      await database.run((queries) =>
        queries
          .updateTable('jobs')
          .set({ state: 'running', processId: state.instances.id, finishedAt: null, result: null })
          .execute(),
      );
      await database.close();
      const ended = await completed();
      expect(ended.attempts).to.equal(2);
      expect(attempts).to.deep.equal([1, 2]);
    });
  });
}
