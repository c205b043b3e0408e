/** Stored sums of days are those of the totals, before and after they are stored. */

import { expect } from 'chai';
import type { State } from '../../../server/state.js';
import type { RecentSums } from '../../../server/usage/index.js';
import { engines, ManualClock, type Place } from '../../support/databases/engines.js';
import { settlement } from '../../support/models/model-requests.js';

const DAY_MS = 86_400_000;
const RANGE = { from: '2026-06-10', to: '2026-06-15' };

for (const engine of engines) {
  describe(`sums of days on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let clock: ManualClock;

    before(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(Date.UTC(2026, 5, 15, 12));
      state = await place.open({ clock, rateLimitClock: clock });
      for (let index = 0; index < 120; index += 1) {
        state.admissions.settle(
          settlement({
            keyId: `key${index % 9}`,
            accountId: `acct_${index % 9}`,
            model: `m-${index % 4}`,
            status: index % 10 === 0 ? 502 : 200,
            at: clock.now() - (index % 5) * DAY_MS,
          }),
        );
      }
      await state.admissions.flush();
    });
    after(() => place?.remove());

    const shown = ({ daysOfModels, ...sums }: RecentSums) => ({ ...sums, ofModel: daysOfModels.get('m-0') });
    const read = async () => shown(await state.usageDays.read(RANGE, new Set(['m-3']), 5));
    async function expected() {
      const sum = (by: 'day' | 'model' | 'account', limit: number) =>
        state.usageSums.read({ by, ...RANGE, platforms: ['m-3'], limit });
      const ofModel = await state.usageSums.read({ by: 'day', model: 'm-0', ...RANGE, platforms: [], limit: 10 });
      const sums = { days: await sum('day', 10), models: await sum('model', 5), accounts: await sum('account', 5) };
      return { ...sums, ofModel: ofModel.toReversed() };
    }

    it('are the same from the totals, from stored days, and from both', async () => {
      const whole = await expected();
      expect(whole.days).to.have.length(5);
      expect(await read()).to.deep.equal(whole);
      await state.usageDays.store(clock.now());
      expect(await read(), 'stored').to.deep.equal(whole);
      state.admissions.settle(settlement({ keyId: 'key1', accountId: 'acct_1', model: 'm-1', at: clock.now() }));
      await state.admissions.flush();
      expect(await read(), 'with a request of today').to.deep.equal(await expected());
      await state.usageDays.store(clock.now());
      expect(await read(), 'stored twice').to.deep.equal(await expected());
    });

    it('of today are stored where there are many, for five minutes', async () => {
      const whole = await expected();
      const readStored = async () => shown(await state.usageDays.read(RANGE, new Set(['m-3']), 5, true));
      // The sweep of this process may have stored some when it started.
      clock.advance(5 * 60_000);
      await state.usageDays.storeToday(clock.now(), Number.MAX_SAFE_INTEGER);
      expect(await readStored(), 'none is stored').to.deep.equal(whole);
      await state.usageDays.storeToday(clock.now(), 0);
      const { open, ...stored } = await readStored();
      expect(stored).to.deep.equal(whole);
      expect(open?.at).to.equal(clock.now());
      state.admissions.settle(settlement({ keyId: 'key1', accountId: 'acct_1', model: 'm-1', at: clock.now() }));
      await state.admissions.flush();
      await state.usageDays.storeToday(clock.now(), 0);
      expect((await readStored()).days, 'within five minutes').to.deep.equal(whole.days);
      const after = await expected();
      expect(await read(), 'read from the totals').to.deep.equal(after);
      clock.advance(5 * 60_000);
      await state.usageDays.storeToday(clock.now(), 0);
      expect((await readStored()).days).to.deep.equal(after.days);
      clock.advance(5 * 60_000);
      await state.usageDays.storeToday(clock.now(), Number.MAX_SAFE_INTEGER);
      expect(await readStored(), 'few are not stored').to.deep.equal(after);
    });

    it('say which days may have a model or a route', async () => {
      for (const [dimension, name] of [
        ['model', 'm-0'],
        ['route', '/v1/chat/completions'],
      ] as const) {
        const days = await state.usageDays.daysWith(dimension, name, RANGE);
        expect(days, name).to.include('2026-06-15').and.include('2026-06-14');
        expect(await state.usageDays.daysWith(dimension, 'none', RANGE)).to.deep.equal(['2026-06-15']);
      }
    });

    it('are forgotten after 40 days', async () => {
      await state.usageDays.store(clock.now() + 60 * DAY_MS);
      expect(await read()).to.deep.equal(await expected());
    });

    it('are those of all keys of a day that is read in several steps', async () => {
      // Four steps of 2,000 rows.
      const at = clock.now();
      for (let index = 0; index < 6_000; index += 1) {
        const [keyId, accountId] = [`many${index}`, `acct_many${index % 1_500}`];
        state.admissions.settle(settlement({ keyId, accountId, model: `m-${index % 3}`, at }));
      }
      await state.admissions.flush();
      const day = '2026-06-15';
      const range = { from: day, to: day };
      const sum = (by: 'day' | 'model' | 'account', limit: number) =>
        state.usageSums.read({ by, ...range, platforms: [], limit });
      const [read, days, models] = [
        await state.usageDays.read(range, new Set(), 5),
        await sum('day', 9),
        await sum('model', 5),
      ];
      expect([read.days, read.models]).to.deep.equal([days, models]);
      const requests = ({ counts }: { counts: { requests: number } }) => counts.requests;
      expect(read.accounts.map(requests)).to.deep.equal((await sum('account', 5)).map(requests));
      expect(days[0]?.counts.requests).to.be.greaterThan(6_000);
    });
  });
}
