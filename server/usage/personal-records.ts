/*
 * Exports the usage of a person. An erasure deletes the single requests and what they asked. It keeps the rest: totals and charges are
 * bookkeeping under the random ids of account and keys, reservations end with their requests, and background responses
 * with their settlement.
 */

import { type Database, sql } from '../../core/database/index.js';
import { keysOf } from '../keys/index.js';
import { type PersonalRecords, pages, parseJson, withTimes } from '../personal-records/index.js';
import { deleteInputs } from './request-inputs.js';

const ROWS = 500;

export const usagePersonalRecords: PersonalRecords = {
  tables: {
    job_charges: 'retained',
    reservations: 'retained',
    usage_entries: 'deleted',
    usage_totals: 'retained',
    usage_days: 'retained',
    background_responses: 'retained',
    request_input_settings: 'deleted',
    request_inputs: 'deleted',
  },

  async erase(transaction, { accountId }) {
    await transaction.deleteFrom('request_input_settings').where('accountId', '=', accountId).execute();
  },

  async eraseWork(database, accountId, { signal }) {
    await deleteInputs(database, { accountId }, signal);
    await eraseEntries(database, accountId, signal);
  },

  exported: (database, { accountId }) => ({
    usageTotals: () => readTotals(database, accountId),
    usageEntries: () => readEntries(database, accountId),
    jobCharges: () => readCharges(database, accountId),
    async requestInputSettings() {
      const row = await database.run((queries) =>
        queries
          .selectFrom('request_input_settings')
          .select(['days', 'changedAt'])
          .where('accountId', '=', accountId)
          .executeTakeFirst(),
      );
      return row ? withTimes(row) : null;
    },
    requestInputs: () => readInputs(database, accountId),
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

async function* readInputs(database: Database, accountId: string) {
  const rows = pages<{ requestId: string }>(
    database,
    ROWS,
    (after) => (queries) =>
      queries
        .selectFrom('request_inputs')
        .select(['requestId', 'keyId', 'at', 'text'])
        .where('accountId', '=', accountId)
        .where('requestId', '>', after?.requestId ?? '')
        .orderBy('requestId')
        .limit(ROWS)
        .execute(),
  );
  for await (const row of rows) yield withTimes(row);
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
