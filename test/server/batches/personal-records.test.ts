/** Links of batches belong to the account of their batch: each column is exported, and each row erased. */

import { expect } from 'chai';
import { createRecordingLogger } from 'mediagate/testing';
import type { StoredResult } from '../../../core/contracts/index.js';
import { openDatabase } from '../../../core/database/database.js';
import type { UserRecord } from '../../../server/accounts/tables.js';
import { Batches, startBatches } from '../../../server/batches/index.js';
import { createPepper } from '../../../server/keys/index.js';
import type { State } from '../../../server/state.js';
import { useAccount } from '../../support/accounts/used-account.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { richPost } from '../../support/links/invented-documents.js';
import { until } from '../../support/until.js';

const WEIRD = 'https://invented.example/item/\u0000\ud800';

for (const engine of engines) {
  describe(`links of batches on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let user: UserRecord;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open();
      user = await state.users.signIn({ issuer: 'https://id.example', subject: 'anna', email: null, name: null });
      await useAccount(state, user, createPepper(Buffer.alloc(32, 'pepper')));
    });
    afterEach(() => place?.remove());

    it('are exported with every column, and erased with their account', async () => {
      const [key] = await state.keys.listOf(user.accountId);
      const keyId = key?.id ?? '';
      const stored: StoredResult = {
        platform: 'invented',
        link: { kind: 'video', id: '7', url: 'https://invented.example/item/7' },
        extraction: richPost('7'),
        fetchedAt: 1,
        isStale: false,
      };
      const gateway = {
        extractToStore: async () => stored,
        storedResult: () => expect.fail('nothing is read'),
        captions: () => expect.fail('no words are asked for'),
        match: () => ({ platform: 'invented', link: stored.link }),
      };
      const { jobs, keys, batchLinks: links } = state;
      const logger = createRecordingLogger();
      const batches = new Batches({ jobs, links, gateway, maxActive: 1 });
      const { batch } = await batches.submit({ owner: user.accountId, keyId, urls: [WEIRD, 'x'], fields: {} });
      const workers = startBatches({ jobs, keys, links, gateway, linksAtOnce: 2, logger });
      await until(async () => (await batches.find(batch.id, user.accountId)).state === 'completed');
      await workers.stop();

      const chunks: Uint8Array[] = [];
      for await (const bytes of state.personalExport.read(user)) chunks.push(bytes);
      const { batch_links: exported } = JSON.parse(Buffer.concat(chunks).toString());
      expect(exported).to.have.length(2);
      expect(exported[0]).to.deep.include({
        jobId: batch.id,
        position: 0,
        state: 'completed',
        url: WEIRD,
        attempts: 1,
      });
      expect(exported[0].result).to.deep.equal(JSON.parse(JSON.stringify(stored)));

      const database = await openDatabase(place);
      try {
        const tables = await database.queries.introspection.getTables();
        const columns = tables.find(({ name }) => name === 'batch_links')?.columns.map(({ name }) => name);
        expect(Object.keys(exported[0])).to.have.members(columns ?? []);
        await state.erasures.begin({ userId: user.id, actor: `user:${user.id}` });
        await state.erasures.work(user.accountId, { files: state.files });
        const left = await database.queries.selectFrom('batch_links').selectAll().execute();
        expect(left).to.deep.equal([]);
      } finally {
        await database.close();
      }
    });
  });
}
