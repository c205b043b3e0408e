/** How long models take: percentiles within five per cent, of the last hour, over all workers and nodes. */

import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import type { Siblings } from '../../../core/runtime/index.js';
import { Latencies, StoredLatencies } from '../../../server/usage/index.js';
import { engines, ManualClock } from '../../support/databases/engines.js';

/** Workers that ask each other, as the supervisor lets them. */
function workers(count: number): Siblings[] {
  const replies = Array.from({ length: count }, () => new Map<string, () => unknown>());
  return replies.map((own) => ({
    post() {},
    on() {},
    answer: (topic, reply) => void own.set(topic, reply),
    ask: async (topic) => ({
      running: replies.filter((other) => other !== own).map((other) => structuredClone(other.get(topic)?.())),
    }),
    claim: async () => ({ release() {} }),
  }));
}

describe('latencies of models', () => {
  it('are exact to five per cent, whatever the times are', async () => {
    for (const scale of [1, 40, 3_000, 60_000]) {
      const latencies = new Latencies({ clock: new ManualClock() });
      const times = Array.from({ length: 1_000 }, (_, index) => scale * (1 + ((index * 7_919) % 1_000) / 100));
      for (const totalMs of times) latencies.note('m-5.5', { totalMs, firstMs: totalMs / 4 });
      const sorted = times.toSorted((one, other) => one - other);
      const { answers, total, first } = (await latencies.read()).get('m-5.5')!;
      expect(answers).to.equal(1_000);
      const near = (found: number, exact: number) =>
        expect(Math.abs(found - exact), `${scale}: ${found} for ${exact}`).to.be.at.most(Math.max(1, exact * 0.055));
      near(total.p50, sorted[499]!);
      near(total.p95, sorted[949]!);
      near(first!.p95, sorted[949]! / 4);
    }
  });

  it('are those of the last hour, and of models that answered', async () => {
    const clock = new ManualClock();
    const latencies = new Latencies({ clock });
    latencies.note('m-5.5', { totalMs: 900 });
    expect((await latencies.read()).get('m-5.5')).to.deep.include({ answers: 1, first: undefined });
    clock.advance(40 * 60_000);
    latencies.note('m-6', { totalMs: 20, firstMs: 10 });
    expect([...(await latencies.read()).keys()].sort()).to.deep.equal(['m-5.5', 'm-6']);
    clock.advance(35 * 60_000);
    expect([...(await latencies.read()).keys()]).to.deep.equal(['m-6']);
    clock.advance(3 * 60 * 60_000);
    expect((await latencies.read()).size).to.equal(0);
  });

  it('are added up over the workers of a machine, and bounded', async () => {
    const clock = new ManualClock();
    const [one, other] = workers(2).map((siblings) => new Latencies({ clock, siblings }));
    for (let index = 0; index < 90; index += 1) one!.note('m-5.5', { totalMs: 100 });
    for (let index = 0; index < 10; index += 1) other!.note('m-5.5', { totalMs: 10_000 });
    for (const each of [one!, other!]) {
      const found = (await each.read()).get('m-5.5')!;
      expect(found.answers).to.equal(100);
      expect(found.total.p50).to.be.within(95, 105);
      expect(found.total.p95).to.be.within(9_500, 10_500);
    }
    for (let index = 0; index < 700; index += 1) one!.note(`model-${index}`, { totalMs: 1 });
    expect((await one!.read()).size).to.equal(500);
  });
});

for (const engine of engines)
  describe(`latencies of models over nodes on ${engine.name}`, () => {
    it('are added up, each answer once, also those of a node that has ended, for an hour', async function () {
      const place = await engine.reusedPlace(this);
      const [database, other] = [await openDatabase(place), await openDatabase(place)];
      try {
        const clock = new ManualClock();
        const on = (from: typeof database, siblings?: Siblings) =>
          new Latencies({ clock, stored: new StoredLatencies(from), ...(siblings && { siblings }) });
        const [one, beside] = workers(2).map((siblings) => on(database, siblings));
        const far = on(other);
        const noteMany = (to: Latencies, times: number, totalMs: number) => {
          for (let index = 0; index < times; index += 1) to.note('m-5.5', { totalMs, firstMs: totalMs / 2 });
        };
        noteMany(one!, 60, 100);
        noteMany(beside!, 30, 100);
        noteMany(far, 10, 10_000);
        far.note('m-6', { totalMs: 30 });
        for (let round = 0; round < 2; round += 1) for (const each of [one!, beside!, far]) await each.write();
        for (const each of [one!, beside!, far, on(database)]) {
          const found = await each.read();
          expect(found.get('m-5.5')).to.include({ answers: 100 });
          expect(found.get('m-5.5')!.total.p50).to.be.within(95, 105);
          expect(found.get('m-5.5')!.total.p95).to.be.within(9_500, 10_500);
          expect(found.get('m-5.5')!.first!.p95).to.be.within(4_750, 5_250);
          expect(found.get('m-6')).to.include({ answers: 1 });
        }
        clock.advance(30 * 60_000);
        noteMany(one!, 1, 100);
        await one!.write();
        expect((await one!.read()).get('m-5.5')).to.include({ answers: 101 });
        clock.advance(30 * 60_000);
        expect((await far.read()).get('m-5.5')).to.include({ answers: 1 });
        noteMany(far, 1, 100);
        await far.write();
        expect(await database.queries.selectFrom('model_latencies').selectAll().execute()).to.have.length(2);
      } finally {
        await other.close();
        await database.close();
        await place.remove();
      }
    });
  });
