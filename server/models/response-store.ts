import type { Logger, StoredResponse, StoredResponses } from '../../core/contracts/index.js';
import type { Database, Selectable } from '../../core/database/index.js';
import { createRowInsertScript, createWriteBehind, isStorable } from '../../core/database/index.js';
import type { StoredResponsesTable } from './tables.js';

/** Responses that wait for the database; then the oldest are not remembered. */
const CAPACITY = 10_000;

export interface ClosableStoredResponses extends StoredResponses {
  close(): Promise<void>;
}

/** Stored responses in SQL. */
export function createStoredResponses(database: Database, logger: Logger): ClosableStoredResponses {
  /** Not in the database yet. */
  const fresh = new Map<string, StoredResponse>();
  const insert = createRowInsertScript({
    queries: database.queries,
    table: 'stored_responses',
    sample: { id: '', account_id: '', model: '', upstream: '', created_at: 0 },
    finish: (rows) => rows.onConflict((conflict) => conflict.doNothing()),
  });

  function forgetFresh(response: StoredResponse): void {
    const name = nameOf(response);
    if (fresh.get(name) === response) fresh.delete(name);
  }

  const writing = createWriteBehind<StoredResponse>({
    database,
    name: 'stored responses',
    capacity: CAPACITY,
    shed(waiting) {
      const excess = Math.ceil(waiting.length / 10);
      for (const response of waiting.slice(0, excess)) forgetFresh(response);
      logger.warn('responses will not be found again', { count: excess });
      return waiting.slice(excess);
    },
    *write(responses) {
      const wanted = responses.filter((response) => fresh.get(nameOf(response)) === response);
      yield* insert(wanted.map(toRow));
    },
    done: (responses) => responses.forEach(forgetFresh),
    logger,
  });

  return {
    remember(response) {
      fresh.set(nameOf(response), response);
      writing.push(response);
    },
    flushInTime: () => writing.flushInTime(),
    async find(id, owner) {
      const known = fresh.get(nameOf({ id, owner }));
      if (known) return known;
      if (!isStorable(id)) return undefined;
      const row = await database.run((queries) =>
        queries
          .selectFrom('stored_responses')
          .selectAll()
          .where('id', '=', id)
          .where('account_id', '=', owner)
          .executeTakeFirst(),
      );
      return row && toResponse(row);
    },
    async forget(id, owner) {
      fresh.delete(nameOf({ id, owner }));
      // What is being written at this moment is there afterwards.
      await writing.tried();
      await database.run((queries) =>
        queries.deleteFrom('stored_responses').where('id', '=', id).where('account_id', '=', owner).execute(),
      );
    },
    close: () => writing.close(),
  };
}

function nameOf({ id, owner }: Pick<StoredResponse, 'id' | 'owner'>): string {
  return `${owner}\n${id}`;
}

function toRow({ id, owner, model, upstream, createdAt }: StoredResponse): StoredResponsesTable {
  return { id, account_id: owner, model, upstream, created_at: Math.floor(createdAt) };
}

function toResponse(row: Selectable<StoredResponsesTable>): StoredResponse {
  return {
    id: row.id,
    owner: row.account_id,
    model: row.model,
    upstream: row.upstream,
    createdAt: row.created_at,
  };
}
