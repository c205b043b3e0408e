/** Counts of requests whose commit may not have been confirmed. */

import { expect } from 'chai';
import { type Database, openDatabase } from '../../../core/database/database.js';
import { GatewayError } from '../../../core/runtime/errors.js';
import { RequestCounts } from '../../../server/usage/request-counts.js';
import { UsageLog } from '../../../server/usage/usage-log.js';
import { engines, ListLogger, type Place } from '../../support/databases/engines.js';

const AT = Date.UTC(2026, 5, 15, 12);
const ALL = { from: '2026-06-01', to: '2026-06-30' };
const ONE = { keyId: 'key1', accountId: 'local', route: '/v1/extract', model: 'invented', latencyMs: 5.4, at: AT };

for (const engine of engines) {
  describe(`counts of requests on ${engine.name}`, () => {
    let place: Place;

    before(async function () {
      place = await engine.place(this);
    });
    after(() => place?.remove());

    it('are written once, with or without a confirmed commit, and at the end', async () => {
      const logger = new ListLogger();
      const database = await openDatabase({ ...place, logger });
      let lost = 0;
      // The first commit gets no answer, and the second does not happen.
      const unlucky: Pick<Database, 'queries' | 'script'> = {
        queries: database.queries,
        async script(begin) {
          lost += 1;
          if (lost === 2) throw new GatewayError('upstream_unavailable', 'no connection');
          const result = await database.script(begin);
          if (lost === 1) throw new GatewayError('upstream_unavailable', 'no answer');
          return result;
        },
      };
      const counts = new RequestCounts({ database: unlucky, logger });
      const log = new UsageLog(database, counts);
      const totals = async () =>
        (await log.totals(ALL)).map(({ day, keyId, requests, failed, latencyMsSum }) => [
          day,
          keyId,
          requests,
          failed,
          latencyMsSum,
        ]);
      counts.count({ ...ONE, requests: 3, failed: 1 });
      counts.count({ ...ONE, requests: 1, failed: 0 });
      await counts.flush();
      expect(await totals()).to.deep.equal([['2026-06-15', 'key1', 4, 1, 10]]);
      counts.count({ ...ONE, requests: 2, failed: 0 });
      await counts.flush();
      expect(await totals()).to.deep.equal([['2026-06-15', 'key1', 6, 1, 15]]);
      expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn', 'info']);
      expect(lost).to.equal(4);
      counts.count({ ...ONE, keyId: 'key2', requests: 1, failed: 0 });
      await counts.close();
      expect(await totals()).to.have.length(2);
      await database.close();
    });
  });
}
