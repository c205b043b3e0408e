/** What requests asked: stored only for accounts that turned it on, as long as they say, and gone when they turn it off. */

import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import { DatabaseClock } from '../../../core/database/index.js';
import type { State } from '../../../server/state.js';
import { type RequestInput, RequestInputs } from '../../../server/usage/index.js';
import { UsageSweeper } from '../../../server/usage/usage-sweep.js';
import { engines, ListLogger, ManualClock, type Place } from '../../support/databases/engines.js';
import { settlement } from '../../support/models/model-requests.js';

const DAY_MS = 24 * 3_600_000;
const NOW = Date.UTC(2026, 5, 15, 12);

for (const engine of engines) {
  describe(`inputs of requests on ${engine.name}`, () => {
    let place: Place;
    let clock: ManualClock;
    let state: State;
    let inputs: RequestInputs;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      clock = new ManualClock(NOW);
      state = await place.open({ clock, rateLimitClock: clock });
      inputs = state.requestLog.inputs;
      await inputs.watch();
    });
    afterEach(async () => {
      await state.close();
      await place.remove();
    });

    const input = (requestId: string, more: Partial<RequestInput> = {}): RequestInput => ({
      ...{ accountId: 'one', keyId: 'a', at: clock.now(), requestId, text: `what ${requestId} asked` },
      ...more,
    });
    const textsOf = async (accountId: string, ...ids: string[]) => {
      await inputs.flush();
      const texts = await inputs.textsOf(accountId, ids);
      return texts && ids.map((id) => texts.get(id) ?? null);
    };

    it('are stored only from when the account turns them on, and only of that account', async () => {
      inputs.keep(input('r0'));
      expect([inputs.isStored('one'), await inputs.daysOf('one'), await textsOf('one', 'r0')]).to.deep.equal([
        false,
        null,
        undefined,
      ]);
      await inputs.setDays('one', 7);
      inputs.keep(input('r1'));
      inputs.keep(input('r2', { accountId: 'two' }));
      expect(await textsOf('one', 'r0', 'r1', 'r2')).to.deep.equal([null, 'what r1 asked', null]);
      expect(await textsOf('two', 'r1', 'r2')).to.equal(undefined);
      expect(await inputs.daysOf('one')).to.equal(7);
    });

    it('are cut, and hold nothing that a database cannot', async () => {
      await inputs.setDays('one', 1);
      inputs.keep(input('r1', { text: 'é'.repeat(5_000) }));
      inputs.keep(input('r2', { text: 'a\u0000b\nc\ud800' }));
      inputs.keep(input('r3', { text: '' }));
      const [long, odd, none] = (await textsOf('one', 'r1', 'r2', 'r3')) ?? [];
      expect([long?.length, long?.at(-1)]).to.deep.equal([1_000, '…']);
      expect(odd).to.equal('a b c\ufffd');
      expect(none).to.equal(null);
    });

    it('are deleted at once when the account turns them off, and none follows from another node', async () => {
      const database = await openDatabase(place);
      const other = new RequestInputs({ database, times: new DatabaseClock(clock), logger: new ListLogger() });
      await inputs.setDays('one', 30);
      await other.watch();
      for (let index = 0; index < 1_500; index += 1) inputs.keep(input(`r${index}`));
      inputs.keep(input('waiting'));
      await inputs.setDays('one', null);
      // This node has not read the change.
      expect(other.isStored('one')).to.equal(true);
      other.keep(input('late'));
      await other.flush();
      await inputs.flush();
      const count = await database.run((queries) => queries.selectFrom('request_inputs').selectAll().execute());
      expect(count).to.have.length(0);
      await inputs.setDays('one', 30);
      other.keep(input('again'));
      await other.close();
      await database.close();
      expect(await textsOf('one', 'r1', 'late', 'again')).to.deep.equal([null, null, 'what again asked']);
    });

    it('expire by the days of their account, in the answers at once and in the table with the next sweep', async () => {
      await inputs.setDays('one', 7);
      await inputs.setDays('two', 30);
      inputs.keep(input('r1'));
      inputs.keep(input('r2', { accountId: 'two' }));
      await inputs.flush();
      clock.advance(8 * DAY_MS);
      inputs.keep(input('r3'));
      expect(await textsOf('one', 'r1', 'r3')).to.deep.equal([null, 'what r3 asked']);
      const database = await openDatabase(place);
      await new UsageSweeper(database, new DatabaseClock(clock)).sweep();
      const left = await database.run((queries) =>
        queries.selectFrom('request_inputs').select('requestId').orderBy('requestId').execute(),
      );
      await database.close();
      expect(left.map(({ requestId }) => requestId)).to.deep.equal(['r2', 'r3']);
      await inputs.setDays('two', 3);
      expect(await textsOf('two', 'r2')).to.deep.equal([null]);
    });

    it('are read with the rows of the log, and deleted with them', async () => {
      await inputs.setDays('one', 7);
      const at = NOW - 3_600_000;
      state.admissions.settle(settlement({ accountId: 'one', keyId: 'a', at, requestId: 'r1' }));
      state.admissions.settle(settlement({ accountId: 'one', keyId: 'a', at, requestId: 'r2' }));
      await state.admissions.flush();
      inputs.keep(input('r1', { at }));
      await inputs.flush();
      const query = { keyIds: ['a'], accountId: 'one', from: 0, to: NOW + DAY_MS };
      const read = async (withInputs: boolean) =>
        (await state.requestLog.list({ ...query, withInputs }, 9)).map(({ requestId, input: text }) => [
          requestId,
          text,
        ]);
      expect(await read(true)).to.have.deep.members([
        ['r1', 'what r1 asked'],
        ['r2', null],
      ]);
      expect(await read(false)).to.have.deep.members([
        ['r1', undefined],
        ['r2', undefined],
      ]);
      expect(await state.requestLog.delete({ keyIds: ['a'], accountId: 'one' }, NOW)).to.equal(2);
      expect(await textsOf('one', 'r1')).to.deep.equal([null]);
    });
  });
}
