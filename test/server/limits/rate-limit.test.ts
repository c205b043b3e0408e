/** Rolling windows of rate limits under any order of requests and any clock. */

import { expect } from 'chai';
import fc from 'fast-check';
import { openDatabase } from '../../../core/database/database.js';
import type { RateLimitResult } from '../../../server/limits/rate-limit.js';
import type { State } from '../../../server/state.js';
import { engines, ManualClock, type Place, postgresEngine } from '../../support/databases/engines.js';
import { isLongRun } from '../../support/runner/variants.js';

const family = 'image' as const;

for (const engine of engines) {
  describe(`rolling windows on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let keys = 0;
    let keyId: string;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock();
      state = await place.open({ rateLimitClock: clock });
    });

    after(() => place?.remove());

    beforeEach(() => {
      keyId = `key${keys++}`;
    });

    function take(limit: number, count = 1, from: State = state): Promise<RateLimitResult> {
      return from.rateLimits.consume({ keyId, family, count, limit });
    }

    it('accepts exactly the limit of many simultaneous requests', async () => {
      const answers = await Promise.all(Array.from({ length: 200 }, () => take(15)));
      expect(answers.filter(({ accepted }) => accepted)).to.have.length(15);
      expect(answers.filter(({ accepted }) => accepted).map(({ remaining }) => remaining)).to.have.members(
        Array.from({ length: 15 }, (_, index) => index),
      );
      for (const { accepted, retryAfterMs } of answers) expect(retryAfterMs).to.equal(accepted ? 0 : 60_000);
    });

    it('accepts exactly the limit over two openings of the same database', async () => {
      const other = await place.open({ rateLimitClock: clock });
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) => take(15, 1, index % 2 === 0 ? state : other)),
      );
      expect(answers.filter(({ accepted }) => accepted)).to.have.length(15);
    });

    it('frees each slot 60 s after it was taken, to the millisecond', async () => {
      for (let index = 0; index < 3; index += 1) {
        expect(await take(3)).to.include({ accepted: true, remaining: 2 - index });
        clock.advance(1_000);
      }
      expect(await take(3)).to.deep.equal({
        accepted: false,
        limit: 3,
        remaining: 0,
        retryAfterMs: 57_000,
        resetMs: 57_000,
      });
      clock.advance(56_999);
      expect(await take(3)).to.include({ accepted: false, retryAfterMs: 1 });
      clock.advance(1);
      expect(await take(3)).to.deep.equal({ accepted: true, limit: 3, remaining: 0, retryAfterMs: 0, resetMs: 1_000 });
      expect(await take(3)).to.include({ accepted: false, retryAfterMs: 1_000 });
      clock.advance(1_000);
      expect(await take(3)).to.include({ accepted: true, remaining: 0 });
    });

    it('returns many slots one by one, while more are taken', async () => {
      const look = () => state.rateLimits.peek({ keyId, family, count: 1, limit: 40 });
      for (let slot = 0; slot < 40; slot += 1) {
        expect(await take(40)).to.include({ accepted: true, remaining: 39 - slot });
        clock.advance(1_000);
      }
      clock.advance(19_999);
      for (let slot = 0; slot < 80; slot += 1) {
        expect(await look()).to.include({ accepted: false, retryAfterMs: 1, resetMs: 1 });
        clock.advance(1);
        expect(await look()).to.include({ accepted: true, remaining: 1 });
        expect(await take(40)).to.include({ accepted: true, remaining: 0 });
        clock.advance(slot === 39 ? 20_999 : 999);
      }
    });

    it('takes several slots all or nothing, and reports when they will be free', async () => {
      expect(await take(5, 2)).to.include({ accepted: true, remaining: 3 });
      clock.advance(10_000);
      expect(await take(5, 2)).to.include({ accepted: true, remaining: 1 });
      expect(await take(5, 2)).to.include({ accepted: false, remaining: 1, retryAfterMs: 50_000, resetMs: 50_000 });
      expect(await take(5, 4)).to.include({ accepted: false, remaining: 1, retryAfterMs: 60_000, resetMs: 50_000 });
      expect(await take(5, 6)).to.include({ accepted: false, remaining: 1 });
      clock.advance(50_000);
      expect(await take(5, 2)).to.include({ accepted: true, remaining: 1 });
    });

    it('takes no slot on peek', async () => {
      const peek = () => state.rateLimits.peek({ keyId, family, count: 1, limit: 2 });
      expect(await peek()).to.deep.equal({ accepted: true, limit: 2, remaining: 2, retryAfterMs: 0, resetMs: 0 });
      await take(2);
      clock.advance(100);
      expect(await peek()).to.include({ accepted: true, remaining: 1, resetMs: 59_900 });
      expect(await peek()).to.include({ accepted: true, remaining: 1, resetMs: 59_900 });
      await take(2);
      expect(await peek()).to.include({ accepted: false, remaining: 0, retryAfterMs: 59_900 });
    });

    it('separates keys and families', async () => {
      await take(1);
      expect(await take(1)).to.include({ accepted: false });
      expect(await state.rateLimits.consume({ keyId, family: 'link_data', count: 1, limit: 1 })).to.include({
        accepted: true,
      });
      expect(await state.rateLimits.consume({ keyId: `${keyId}-other`, family, count: 1, limit: 1 })).to.include({
        accepted: true,
      });
    });

    it('counts live slots against a limit that was lowered, and against 0', async () => {
      await take(10, 3);
      clock.advance(5_000);
      await take(10, 3);
      expect(await take(4)).to.include({ accepted: false, remaining: 0, retryAfterMs: 55_000 });
      expect(await take(3)).to.include({ accepted: false, remaining: 0, retryAfterMs: 60_000 });
      expect(await take(0)).to.include({ accepted: false, remaining: 0 });
      expect(await take(7)).to.include({ accepted: true, remaining: 0 });
    });

    it('keeps slots over a restart', async () => {
      const first = await place.open({ rateLimitClock: clock });
      await take(2, 2, first);
      await first.close();
      clock.advance(20_000);
      const second = await place.open({ rateLimitClock: clock });
      expect(await take(2, 1, second)).to.include({ accepted: false, retryAfterMs: 40_000 });
      clock.advance(40_000);
      expect(await take(2, 2, second)).to.include({ accepted: true });
    });

    it('ignores a wall clock that jumps', async () => {
      await take(1);
      clock.wall -= 3_600_000;
      clock.advance(10_000);
      expect(await take(1)).to.include({ accepted: false, retryAfterMs: 50_000 });
      clock.wall += 7_200_000;
      clock.advance(10_000);
      expect(await take(1)).to.include({ accepted: false, retryAfterMs: 40_000 });
      clock.advance(40_000);
      expect(await take(1)).to.include({ accepted: true });
    });

    it('neither frees slots early nor blocks for long after a restart with the clock set back', async () => {
      await take(1);
      clock.advance(30_000);
      const later = new ManualClock(clock.wall - 3_600_000);
      const reopened = await place.open({ rateLimitClock: later });
      expect(await take(1, 1, reopened)).to.include({ accepted: false, retryAfterMs: 60_000 });
      later.advance(20_000);
      const third = await place.open({ rateLimitClock: later });
      expect(await take(1, 1, third)).to.include({ accepted: false, retryAfterMs: 40_000 });
      later.advance(40_000);
      expect(await take(1, 1, reopened)).to.include({ accepted: true });
      expect(await take(1, 1, third)).to.include({ accepted: false, retryAfterMs: 60_000 });
    });

    it('ignores a wall clock that is corrected after a restart, while nothing is free', async () => {
      await take(1);
      const later = new ManualClock(clock.wall);
      const reopened = await place.open({ rateLimitClock: later });
      expect(await take(1, 1, reopened)).to.include({ accepted: false, retryAfterMs: 60_000 });
      later.wall += 3_600_000;
      later.advance(10_000);
      expect(await take(1, 1, reopened)).to.include({ accepted: false, retryAfterMs: 50_000 });
    });

    it('matches a list of times for any requests and clock changes', async () => {
      const step = fc.record({
        advance: fc.oneof(
          fc.constant(0),
          fc.integer({ min: 1, max: 3_000 }),
          fc.integer({ min: 1, max: 30_000 }),
          fc.constantFrom(59_999, 60_000, 60_001),
        ),
        setWall: fc.oneof(
          { weight: 9, arbitrary: fc.constant(0) },
          { weight: 1, arbitrary: fc.integer({ min: -4e6, max: 4e6 }) },
        ),
        count: fc.integer({ min: 1, max: 4 }),
        limit: fc.oneof(fc.integer({ min: 0, max: 8 }), fc.integer({ min: 40, max: 80 })),
        take: fc.boolean(),
      });
      await fc.assert(
        // In quick lists more slots are live than the window's row has room for.
        fc.asyncProperty(
          fc.array(step, { maxLength: 60, size: 'max' }),
          fc.constantFrom(1, 20),
          async (steps, pace) => {
            const key = { keyId: `key${keys++}`, family };
            let taken: number[] = [];
            for (const { advance, setWall, count, limit, take: takes } of steps) {
              clock.advance(Math.floor(advance / pace));
              clock.wall += setWall;
              const now = clock.monotonic();
              taken = taken.filter((at) => now - at < 60_000);
              const accepted = taken.length + count <= limit;
              const expected: Partial<RateLimitResult> = { accepted, limit };
              if (!accepted && count <= limit) {
                expected.retryAfterMs = (taken[taken.length + count - limit - 1] as number) + 60_000 - now;
              }
              if (accepted && takes) taken.push(...Array<number>(count).fill(now));
              expected.remaining = Math.max(0, limit - taken.length);
              expected.resetMs = taken.length === 0 ? 0 : (taken[0] as number) + 60_000 - now;
              const answer = await state.rateLimits[takes ? 'consume' : 'peek']({ ...key, count, limit });
              expect(answer).to.include(expected);
            }
          },
        ),
        { numRuns: (engine.name === 'sqlite' ? 20 : 7) * (isLongRun ? 3 : 1) },
      );
    });

    it('keeps few expired slots of a key in long use', async () => {
      const database = await openDatabase(place);
      try {
        const rowsNow = () =>
          database.run((queries) => queries.selectFrom('rate_slots').selectAll().where('keyId', '=', keyId).execute());
        for (let second = 0; second < 200; second += 1) {
          await take(1_000);
          clock.advance(1_000);
        }
        expect((await rowsNow()).length).to.be.within(40, 80);
        clock.advance(60_000);
        for (let minute = 0; minute < 50; minute += 1) {
          expect(await take(1_000)).to.include({ remaining: 999 });
          clock.advance(60_000);
        }
        expect((await rowsNow()).length).to.be.at.most(80);
      } finally {
        await database.close();
      }
    });

    it('counts exactly at a limit of 100,000', async () => {
      const many = Array.from({ length: 40 }, (_, index) => index);
      for (const _ of many) {
        await Promise.all(many.map(() => take(100_000, 50)));
        clock.advance(100);
      }
      expect(await take(100_000)).to.include({ accepted: true, remaining: 100_000 - 80_001 });
      expect(await take(100_000, 50_000)).to.include({ accepted: false });
      clock.advance(60_000);
      expect(await take(100_000)).to.include({ accepted: true, remaining: 99_999 });
    });
  });
}

describe('rolling windows by the clock of PostgreSQL', () => {
  it("uses the database's clock by default, so that nodes with wrong clocks agree", async function () {
    const place = await postgresEngine.reusedPlace(this);
    try {
      const ahead = await place.open({ clock: new ManualClock(Date.UTC(2050, 0, 1)) });
      const behind = await place.open({ clock: new ManualClock(0) });
      const request = { keyId: 'shared', family, count: 1, limit: 2 };
      expect(await ahead.rateLimits.consume(request)).to.include({ accepted: true, remaining: 1 });
      expect(await behind.rateLimits.consume(request)).to.include({ accepted: true, remaining: 0 });
      const refused = await ahead.rateLimits.consume(request);
      expect(refused.accepted).to.equal(false);
      expect(refused.retryAfterMs).to.be.within(30_000, 60_000);
    } finally {
      await place.remove();
    }
  });
});
