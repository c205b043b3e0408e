/*
 * Erases and exports which responses an account has stored at model vendors. The upstream deletes a response first, and
 * its row goes last; one that cannot be deleted now stays for the next time, and does not delay the others.
 */

import type { Database, Kysely, Tables } from '../../core/database/index.js';
import { type ErasureWork, type PersonalRecords, pages, withTimes } from '../personal-records/index.js';

const ROWS = 50;
const EXPORTED_ROWS = 500;

export const responsePersonalRecords: PersonalRecords = {
  tables: { stored_responses: 'deleted', response_items: 'deleted' },

  async eraseWork(database, accountId, work) {
    await eraseResponses(database, accountId, work);
    await database.run((queries) => queries.deleteFrom('response_items').where('owner', '=', accountId).execute());
  },

  async isWaiting(database, accountId) {
    return (await responsesAfter(database, accountId, '')).length > 0;
  },

  exported: (database, { accountId }) => ({
    storedResponses: () =>
      readOwned(
        database,
        (after) => (queries) =>
          queries
            .selectFrom('stored_responses')
            .select(['id', 'model', 'createdAt'])
            .where('owner', '=', accountId)
            .where('id', '>', after)
            .orderBy('id')
            .limit(EXPORTED_ROWS)
            .execute(),
      ),
    responseItems: () =>
      readOwned(
        database,
        (after) => (queries) =>
          queries
            .selectFrom('response_items')
            .select(['id', 'createdAt'])
            .where('owner', '=', accountId)
            .where('id', '>', after)
            .orderBy('id')
            .limit(EXPORTED_ROWS)
            .execute(),
      ),
  }),
};

async function eraseResponses(database: Database, owner: string, work: ErasureWork): Promise<void> {
  const { deleteResponse, signal, givesUp = false } = work;
  if (!deleteResponse) return;
  for (let after = '', full = true; full; ) {
    const rows = await responsesAfter(database, owner, after);
    for (const { id, openId } of rows) {
      signal?.throwIfAborted();
      const isDeleted = await deleteResponse({ id, owner, isOpen: openId !== null }).then(
        () => true,
        () => false,
      );
      if (!isDeleted && !givesUp) continue;
      await database.run((queries) =>
        queries.deleteFrom('stored_responses').where('owner', '=', owner).where('id', '=', id).execute(),
      );
    }
    after = rows.at(-1)?.id ?? '';
    full = rows.length === ROWS;
  }
}

function responsesAfter(
  database: Database,
  owner: string,
  after: string,
): Promise<{ id: string; openId: string | null }[]> {
  return database.run((queries) =>
    queries
      .selectFrom('stored_responses')
      .leftJoin('background_responses', (join) =>
        join
          .onRef('background_responses.id', '=', 'stored_responses.id')
          .onRef('background_responses.accountId', '=', 'stored_responses.owner'),
      )
      .select(['stored_responses.id', 'background_responses.id as openId'])
      .where('stored_responses.owner', '=', owner)
      .where('stored_responses.id', '>', after)
      .orderBy('stored_responses.id')
      .limit(ROWS)
      .execute(),
  );
}

type ReadAfter = (after: string) => (queries: Kysely<Tables>) => Promise<readonly { id: string }[]>;

async function* readOwned(database: Database, read: ReadAfter) {
  for await (const row of pages<{ id: string }>(database, EXPORTED_ROWS, (after) => read(after?.id ?? ''))) {
    yield withTimes(row);
  }
}
