import { expect } from 'chai';
import type { JobRecord, WorkOptions } from '../../../core/jobs/jobs.js';
import { engines } from '../../support/engines.js';
import { createImageJobs, type ImageJobs, turn } from '../../support/image-jobs.js';

for (const engine of engines) {
  describe(`the turns of keys on ${engine.name}`, () => {
    let jobs: ImageJobs;
    let order: string[];

    beforeEach(async function () {
      order = [];
      jobs = await createImageJobs(engine, this);
    });

    afterEach(() => jobs?.place.remove());

    function submit(keyId: string): Promise<JobRecord> {
      jobs.clock.advance(1);
      return jobs.submit({ job: { keyId, summary: keyId } });
    }

    /** Runs everything and notes whose turn it was. */
    async function runAll(all: readonly JobRecord[], more: Partial<WorkOptions> = {}): Promise<void> {
      const workers = jobs.work(async ({ summary }) => order.push(String(summary)), more);
      for (const job of all) await jobs.ended(job);
      await workers.stop();
    }

    it('run one job of each key, then the next of each, the oldest first', async () => {
      const all: JobRecord[] = [];
      for (const keyId of ['a', 'a', 'a', 'a', 'b', 'b', 'c']) all.push(await submit(keyId));
      await runAll(all);
      expect(order.join('')).to.equal('abcabaa');
    });

    it('let no key starve another: one with a job waits for one of a key with a hundred', async () => {
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
      expect(order.indexOf('single')).to.be.within(30, 31);
      expect(order).to.have.length(101);
    });

    it('come to a key that comes back after those that wait, and to a new one before the second of any', async () => {
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

    it('are not saved up: a key that comes late takes turns from then on', async () => {
      const all: JobRecord[] = [];
      for (let index = 0; index < 8; index += 1) all.push(await submit('a'));
      const workers = jobs.work(async ({ summary }) => {
        order.push(String(summary));
        if (order.length === 4) for (let index = 0; index < 3; index += 1) all.push(await submit('b'));
      });
      while (order.length < 11) await turn();
      for (const job of all) await jobs.ended(job);
      await workers.stop();
      expect(order.join('')).to.equal('aaaaabababa');
    });

    it('are kept over a restart, and by jobs without a key as by one key', async () => {
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

    it('run no more jobs of a key at a time than they may, over two nodes, and others meanwhile', async () => {
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

    it('say where a job stands', async () => {
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
