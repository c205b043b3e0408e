/** The fair order of jobs over keys and groups. */

import { expect } from 'chai';
import { isGatewayError, type JobPriority } from 'mediagate';
import type { WorkOptions } from '../../../core/jobs/jobs.js';
import type { JobRecord } from '../../../core/jobs/records.js';
import { engines } from '../../support/databases/engines.js';
import { createImageJobs, type ImageJobs, turn } from '../../support/images/image-jobs.js';

for (const engine of engines) {
  describe(`the fair queue of keys on ${engine.name}`, () => {
    let jobs: ImageJobs;
    let order: string[];

    beforeEach(async function () {
      order = [];
      jobs = await createImageJobs(engine, this);
    });

    afterEach(() => jobs?.place.remove());

    function submit(keyId: string, group?: string, priority?: JobPriority): Promise<JobRecord> {
      jobs.clock.advance(1);
      return jobs.submit({ job: { keyId, group, priority, summary: keyId } });
    }

    /** Runs everything and notes whose turn it was. */
    async function runAll(all: readonly JobRecord[], more: Partial<WorkOptions> = {}): Promise<void> {
      const workers = jobs.work(async ({ summary }) => order.push(String(summary)), more);
      for (const job of all) await jobs.ended(job);
      await workers.stop();
    }

    it('runs one job of each key, then the next of each, the oldest first', async () => {
      const all: JobRecord[] = [];
      for (const keyId of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) all.push(await submit(keyId));
      await runAll(all);
      expect(order.join('')).to.equal('abcabaa');
    });

    it('lets no key starve another: one job runs before a hundred of another key', async () => {
      const many = await Promise.all(Array.from({ length: 100 }, () => submit('flood')));
      const workers = jobs.work(async ({ summary }) => {
        order.push(String(summary));
        // In the middle of the flood.
        if (order.length === 30) single = await submit('single');
      });
      let single: JobRecord | undefined;
      for (const job of many) await jobs.ended(job);
      await jobs.ended(single as JobRecord);
      await workers.stop();
      expect(order.indexOf('single')).to.equal(30);
      expect(order).to.have.length(101);
    });

    it('puts a returning key behind the waiting ones, and a new key before the second job of any', async () => {
      const all: JobRecord[] = [];
      for (const keyId of ['a', 'a', 'b', 'b']) all.push(await submit(keyId));
      const workers = jobs.work(async ({ summary }) => {
        order.push(String(summary));
        if (order.length === 1) all.push(await submit('a'), await submit('c'));
      });
      while (order.length < 6) await turn();
      for (const job of all) await jobs.ended(job);
      await workers.stop();
      expect(order.join('')).to.equal('abcaba');
    });

    it('gives a late key no credit for the time before', async () => {
      const all: JobRecord[] = [];
      for (let index = 0; index < 8; index += 1) all.push(await submit('a'));
      const workers = jobs.work(async ({ summary }) => {
        order.push(String(summary));
        if (order.length === 4) for (let index = 0; index < 3; index += 1) all.push(await submit('b'));
      });
      while (order.length < 11) await turn();
      for (const job of all) await jobs.ended(job);
      await workers.stop();
      expect(order.join('')).to.equal('aaaabababaa');
    });

    it('survives a restart, and counts jobs without a key as one key', async () => {
      const all = [await submit('a'), await submit('a'), await submit('b')];
      jobs.clock.advance(1);
      const anonymous = await jobs.submit({ job: { keyId: undefined, summary: '-' } });
      await jobs.state.close();
      const from = await jobs.open();
      from.jobs.work({ kind: 'image', concurrency: 1, run: async ({ summary }) => order.push(String(summary)) });
      for (const { id } of [...all, anonymous]) {
        while ((await from.jobs.find(id, 'one'))?.state !== 'completed') await turn();
      }
      expect(order.join('')).to.equal('ab-a');
    });

    it('limits running jobs of a key, over two nodes, and runs those of others meanwhile', async () => {
      const other = await jobs.open();
      const all: JobRecord[] = [];
      for (let index = 0; index < 12; index += 1) all.push(await submit('a'));
      for (let index = 0; index < 4; index += 1) all.push(await submit('b'));
      const running = new Map<string, number>();
      let most = 0;
      let together = 0;
      for (const from of [jobs.state, other]) {
        jobs.work(
          async ({ summary }) => {
            const keyId = String(summary);
            running.set(keyId, (running.get(keyId) ?? 0) + 1);
            most = Math.max(most, running.get(keyId) ?? 0);
            together = Math.max(together, (running.get('a') ?? 0) + (running.get('b') ?? 0));
            await turn(10);
            running.set(keyId, (running.get(keyId) ?? 0) - 1);
          },
          { from, concurrency: 4, maxPerKey: 2 },
        );
      }
      for (const job of all) await jobs.ended(job);
      expect(most).to.equal(2);
      expect(together).to.be.above(2);
    });

    it('takes turns between groups first, and within a group between its keys', async () => {
      const all: JobRecord[] = [];
      for (const keyId of ['a', 'a', 'a', 'b']) all.push(await submit(keyId, 'many'));
      for (const keyId of ['c', 'c']) all.push(await submit(keyId, 'one'));
      const positions = await Promise.all(all.map(({ id }) => jobs.state.jobs.queuePosition(id)));
      expect(positions).to.deep.equal([1, 5, 6, 3, 2, 4]);
      await runAll(all);
      expect(order.join('')).to.equal('acbcaa');
    });

    it('lets no two groups delay a third by repeated submits', async () => {
      const all = await Promise.all(Array.from({ length: 6 }, () => submit('f')));
      const workers = jobs.work(async ({ summary }) => {
        order.push(String(summary));
        if (summary === 'a' || summary === 'b' || order.length === 1) {
          const next = order.length === 1 ? ['a', 'b'] : [String(summary)];
          // The next job comes once this one has ended.
          setTimeout(async () => order.length < 30 && (await Promise.all(next.map((keyId) => submit(keyId)))), 5);
        }
        await turn(order.length === 1 ? 50 : 10);
      });
      for (const job of all) await jobs.ended(job);
      await workers.stop();
      expect(order.length).to.be.below(25);
    });

    it('delays the first job of a group by one running job at most, beside 1,000 of ten keys of another, over two nodes', async () => {
      const other = await jobs.open();
      const keys = Array.from({ length: 10 }, (_, index) => `flood${index}`);
      await Promise.all(
        Array.from({ length: 1_000 }, (_, index) =>
          jobs.accept({
            from: index % 2 === 0 ? jobs.state : other,
            job: { keyId: keys[index % 10], group: 'flood', summary: 'flood' },
          }),
        ),
      );
      const first = Promise.withResolvers<JobRecord>();
      const workers = [jobs.state, other].map((from) =>
        jobs.work(
          async ({ summary }) => {
            order.push(String(summary));
            const started = order.length;
            if (started === 20)
              first.resolve(await jobs.submit({ job: { keyId: 's', group: 's', summary: 'single' } }));
            await turn(20);
          },
          { from },
        ),
      );
      const single = await first.promise;
      const submittedAfter = order.length;
      await jobs.ended(single);
      // The other node may have claimed one at the moment of the submission.
      expect(order.indexOf('single') - submittedAfter).to.be.below(2);
      await Promise.all(workers.map((each) => each.stop()));
    });

    it('limits a group to its share of open jobs, over two nodes, and leaves others the rest', async () => {
      const other = await jobs.open();
      const ask = (from = jobs.state, group = 'flood', keyId = 'one') =>
        jobs.accept({ from, job: { keyId, group, groupShare: 0.1, maxActive: 50 } }).then(
          ({ job }) => job ?? 'none',
          (error) => error,
        );
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, index) =>
          ask(index % 2 === 0 ? jobs.state : other, 'flood', `key${index % 10}`),
        ),
      );
      const refused = answers.filter(isGatewayError);
      expect(answers.length - refused.length).to.equal(5);
      for (const error of refused) expect(error).to.include({ code: 'too_many_open_jobs', retryAfterSeconds: 5 });
      expect(await ask(other, 'quiet')).to.include({ state: 'queued' });
      // A group without a share may fill the queue.
      const free = await Promise.all(Array.from({ length: 44 }, () => jobs.accept({ job: { maxActive: 50 } })));
      expect(free.filter(({ job }) => job)).to.have.length(44);
      expect(await ask(other, 'quiet')).to.include({ code: 'queue_full' });
      const [accepted] = answers.filter((answer) => !isGatewayError(answer));
      await jobs.state.jobs.cancel(accepted.id, 'one');
      expect(await ask(other)).to.include({ state: 'queued' });
      expect(await ask()).to.include({ code: 'too_many_open_jobs' });
    });

    it('orders the keys of a group by priority, without effect on other groups', async () => {
      const all: JobRecord[] = [];
      for (const [keyId, group, priority] of [
        ['l', 'g', 'low'],
        ['l', 'g', 'low'],
        ['o', 'other', 'low'],
        ['o', 'other', 'low'],
        ['o', 'other', 'low'],
        ['m', 'g', 'normal'],
        ['n', 'g', undefined],
        ['m', 'g', 'normal'],
        ['h', 'g', 'high'],
        ['i', 'g', 'high'],
        ['h', 'g', 'high'],
      ] as const) {
        all.push(await submit(keyId, group, priority));
      }
      await runAll(all);
      // Of each pair of turns one is the other group's, as long as it has jobs.
      expect(order.filter((keyId) => keyId !== 'o').join('')).to.equal('hihmnmll');
      expect(order.join('')).to.match(/^(?:o[a-z]|[a-z]o){3}/);
    });

    it("interrupts no running job, and keeps the order of one key's jobs at any priority", async () => {
      const first = await submit('a', 'g', 'low');
      const all = [first, await submit('a', 'g', 'low')];
      const workers = jobs.work(async ({ summary }) => {
        order.push(String(summary));
        if (order.length === 1) all.push(await submit('b', 'g', 'high'), await submit('a', 'g', 'high'));
      });
      while (order.length < 4) await turn();
      for (const job of all) await jobs.ended(job);
      await workers.stop();
      expect(order.join('')).to.equal('abaa');
    });

    it('reports the place of a job', async () => {
      const all: JobRecord[] = [];
      for (const keyId of ['a', 'a', 'b']) all.push(await submit(keyId));
      const positions = () => Promise.all(all.map(({ id }) => jobs.state.jobs.queuePosition(id)));
      expect(await positions()).to.deep.equal([1, 3, 2]);
      await jobs.state.jobs.cancel((all[0] as JobRecord).id, 'one');
      expect(await positions()).to.deep.equal([undefined, 2, 1]);
      expect(await jobs.state.jobs.queuePosition('imgjob_\u0000')).to.equal(undefined);
    });
  });
}
