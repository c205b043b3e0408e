/*
 * Exports the usage of a person. An erasure deletes the single requests. It keeps the rest: totals and charges are
 * bookkeeping under the random ids of account and keys, reservations end with their requests, and background responses
 * with their settlement.
 */

import { type Database, sql } from '../../core/database/index.js';
import { keysOf } from '../keys/index.js';
import { type PersonalRecords, pages, parseJson, withTimes } from '../personal-records/index.js';

const ROWS = 500;

export const usagePersonalRecords: PersonalRecords = {
  tables: {
    job_charges: 'retained',
    reservations: 'retained',
    usage_entries: 'deleted',
    usage_totals: 'retained',
    background_responses: 'retained',
  },

  eraseWork: (database, accountId, { signal }) => eraseEntries(database, accountId, signal),

  exported: (database, { accountId }) => ({
    usageTotals: () => readTotals(database, accountId),
    usageEntries: () => readEntries(database, accountId),
    jobCharges: () => readCharges(database, accountId),
  }),
};

/** Those of requests that still run are written later: an erasure is repeated. */
async function eraseEntries(database: Database, accountId: string, signal?: AbortSignal): Promise<void> {
  for (const { id: keyId } of await database.run((queries) => keysOf(queries, accountId))) {
    for (let full = true; full; ) {
      signal?.throwIfAborted();
      const { numAffectedRows } = await database.run((queries) =>
        sql`delete from usage_entries where "keyId" = ${keyId} and (at, "requestId") in (
          select at, "requestId" from usage_entries
          where "keyId" = ${keyId} and "accountId" = ${accountId} limit ${ROWS})`.execute(queries),
      );
      full = Number(numAffectedRows) === ROWS;
    }
  }
}

/** The index of the entries begins with the key. */
async function* readEntries(database: Database, accountId: string) {
  for (const { id: keyId } of await database.run((queries) => keysOf(queries, accountId))) {
    const rows = pages<{ at: number; requestId: string }>(database, ROWS, (after) => (queries) => {
      const page = queries
        .selectFrom('usage_entries')
        .selectAll()
        .where('keyId', '=', keyId)
        .where('accountId', '=', accountId)
        .orderBy('at')
        .orderBy('requestId')
        .limit(ROWS);
      if (!after) return page.execute();
      return page.where(sql<boolean>`(at, "requestId") > (${after.at}, ${after.requestId})`).execute();
    });
    for await (const row of rows) yield withTimes(row);
  }
}

function readTotals(database: Database, accountId: string) {
  type Total = { day: string; keyId: string; route: string; model: string };
  return pages<Total>(database, ROWS, (after) => (queries) => {
    const page = queries
      .selectFrom('usage_totals')
      .selectAll()
      .where('accountId', '=', accountId)
      .orderBy('day')
      .orderBy('keyId')
      .orderBy('route')
      .orderBy('model')
      .limit(ROWS);
    if (!after) return page.execute();
    const { day, keyId, route, model } = after;
    return page.where(sql<boolean>`(day, "keyId", route, model) > (${day}, ${keyId}, ${route}, ${model})`).execute();
  });
}

async function* readCharges(database: Database, accountId: string) {
  const rows = pages<{ jobId: string; usage: string | null }>(
    database,
    ROWS,
    (after) => (queries) =>
      queries
        .selectFrom('job_charges')
        .select(['jobId', 'kind', 'model', 'units', 'usage', 'cost', 'at'])
        .where('accountId', '=', accountId)
        .where('jobId', '>', after?.jobId ?? '')
        .orderBy('jobId')
        .limit(ROWS)
        .execute(),
  );
  for await (const row of rows) yield { ...withTimes(row), usage: parseJson(row.usage) };
}
