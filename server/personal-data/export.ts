/*
 * A copy of everything that is stored about a user, as one JSON document. It is read in pages while it is sent, so an
 * account of any size needs little memory; jobs are read five at a time, since their results may be large. The document
 * contains no secret, no hash of one, and no name or note of an operator. The input and the webhook address of a job
 * are included only if the job is the account's own, and not one that it joined. Times are written as ISO 8601.
 */

import { type Database, type DatabaseClock, type Kysely, sql, type Tables } from '../../core/database/index.js';
import { encodeAccountKey, type UserRecord } from '../accounts/index.js';
import { isoTime } from '../format/index.js';
import { keysOf, toKeyRecord } from '../keys/index.js';

const ROWS = 500;
/** Results of jobs may be large. */
const JOBS = 5;
const CHUNK = 64 * 1024;

/** Reads everything stored about a user. */
export interface PersonalExport {
  /** One JSON document, read in pages while it is sent. It contains no secret and no hash of one. */
  read(user: UserRecord): AsyncIterable<Uint8Array>;
}

export interface PersonalExportOptions {
  database: Database;
  times: DatabaseClock;
}

type Read<Row> = (queries: Kysely<Tables>) => Promise<readonly Row[]>;

export function createPersonalExport({ database, times }: PersonalExportOptions): PersonalExport {
  /** All rows, in pages. */
  async function* pages<Row>(rows: number, read: (after: Row | undefined) => Read<Row>): AsyncGenerator<Row> {
    for (let after: Row | undefined, full = true; full; ) {
      const page = await database.run(read(after));
      yield* page;
      after = page.at(-1);
      full = page.length === rows;
    }
  }

  const all = <Row>(read: Read<Row>) => pages<Row>(Number.POSITIVE_INFINITY, () => read);

  async function* keys(accountId: string, now: number) {
    for await (const row of all((queries) => keysOf(queries, accountId))) yield encodeAccountKey(toKeyRecord(row), now);
  }

  async function* orders(accountId: string) {
    const rows = pages<{ code: string; createdAt: number }>(ROWS, (after) => (queries) => {
      const page = queries
        .selectFrom('orders')
        .select(['code', 'planId', 'amount', 'currency', 'state', 'paidAmount', 'createdAt', 'expiresAt', 'paidAt'])
        .where('accountId', '=', accountId)
        .orderBy('createdAt')
        .orderBy('code')
        .limit(ROWS);
      if (!after) return page.execute();
      return page.where(sql<boolean>`("createdAt", code) > (${after.createdAt}, ${after.code})`).execute();
    });
    for await (const order of rows) {
      const transfers = await database.run((queries) =>
        queries
          .selectFrom('bank_transactions')
          .select(['provider', 'id', 'amount', 'currency', 'text', 'at'])
          .where('orderCode', '=', order.code)
          .execute(),
      );
      yield { ...withTimes(order), transfers: transfers.map(withTimes) };
    }
  }

  async function* planGrants(accountId: string) {
    const rows = all((queries) =>
      queries
        .selectFrom('plan_grants')
        .select(['id', 'terms', 'grantedAt', 'takenBackAt'])
        .where('accountId', '=', accountId)
        .orderBy('number')
        .execute(),
    );
    for await (const grant of rows) yield { ...withTimes(grant), terms: JSON.parse(grant.terms) };
  }

  async function* usageEntries(accountId: string) {
    // The index of the entries begins with the key.
    const ids = await database.run((queries) => keysOf(queries, accountId));
    for (const { id: keyId } of ids) {
      const rows = pages<{ at: number; requestId: string }>(ROWS, (after) => (queries) => {
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

  async function* usageTotals(accountId: string) {
    type Total = { day: string; keyId: string; route: string; model: string };
    yield* pages<Total>(ROWS, (after) => (queries) => {
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

  /** Active, ended and joined ones. */
  async function* jobIds(accountId: string) {
    yield* all((queries) =>
      queries
        .selectFrom('jobs')
        .select('id')
        .where(sql<boolean>`state in ('queued', 'running')`)
        .where('owner', '=', accountId)
        .execute(),
    );
    yield* pages<{ id: string; createdAt: number }>(ROWS, (after) => (queries) => {
      const page = queries
        .selectFrom('jobs')
        .select(['id', 'createdAt'])
        .where('owner', '=', accountId)
        .where(sql<boolean>`"finishedAt" is not null`)
        .orderBy('createdAt')
        .orderBy('id')
        .limit(ROWS);
      if (!after) return page.execute();
      return page.where(sql<boolean>`("createdAt", id) > (${after.createdAt}, ${after.id})`).execute();
    });
    yield* all((queries) =>
      queries.selectFrom('job_owners').select('jobId as id').where('owner', '=', accountId).execute(),
    );
  }

  async function* jobs(accountId: string) {
    for await (const ids of batches(jobIds(accountId), JOBS)) {
      const rows = await database.run((queries) =>
        queries
          .selectFrom('jobs')
          .select(['id', 'kind', 'state', 'owner', 'attempts', 'createdAt', 'startedAt', 'finishedAt'])
          .select(['summary', 'input', 'result', 'error', 'webhookUrl'])
          .where(
            'id',
            'in',
            ids.map(({ id }) => id),
          )
          .execute(),
      );
      for (const { owner, summary, input, result, error, webhookUrl, ...row } of rows) {
        const isOwn = owner === accountId;
        yield {
          ...withTimes(row),
          summary: parse(summary),
          // It is cleared when the job has ended. That of a joined job is another account's.
          input: isOwn ? parse(input) : null,
          result: parse(result),
          error: parse(error),
          webhookUrl: isOwn ? webhookUrl : null,
        };
      }
    }
  }

  async function* charges(accountId: string) {
    const rows = pages<{ jobId: string; usage: string | null }>(
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
    for await (const row of rows) yield { ...withTimes(row), usage: parse(row.usage) };
  }

  async function* responses(accountId: string) {
    const rows = pages<{ id: string }>(
      ROWS,
      (after) => (queries) =>
        queries
          .selectFrom('stored_responses')
          .select(['id', 'model', 'createdAt'])
          .where('owner', '=', accountId)
          .where('id', '>', after?.id ?? '')
          .orderBy('id')
          .limit(ROWS)
          .execute(),
    );
    for await (const row of rows) yield withTimes(row);
  }

  async function* responseItems(accountId: string) {
    const rows = pages<{ id: string }>(
      ROWS,
      (after) => (queries) =>
        queries
          .selectFrom('response_items')
          .select(['id', 'createdAt'])
          .where('owner', '=', accountId)
          .where('id', '>', after?.id ?? '')
          .orderBy('id')
          .limit(ROWS)
          .execute(),
    );
    for await (const row of rows) yield withTimes(row);
  }

  async function* sessions(userId: string) {
    const rows = all((queries) =>
      queries
        .selectFrom('sessions')
        .select(['kind', 'createdAt', 'lastSeenAt', 'expiresAt'])
        .where('userId', '=', userId)
        .execute(),
    );
    for await (const row of rows) yield withTimes(row);
  }

  /** Without operators' names and notes. */
  async function* history({ id, accountId }: UserRecord) {
    for (const subject of [id, accountId]) {
      const rows = pages<{ number: number; actor: string }>(
        ROWS,
        (after) => (queries) =>
          queries
            .selectFrom('audit_entries')
            .select(['number', 'at', 'actor', 'action', 'from', 'to'])
            .where('subject', '=', subject)
            .where('number', '>', after?.number ?? 0)
            .orderBy('number')
            .limit(ROWS)
            .execute(),
      );
      for await (const { actor, number: _number, ...row } of rows) {
        yield { ...withTimes(row), by: actor.split(':', 1)[0] };
      }
    }
  }

  async function* parts(user: UserRecord): AsyncGenerator<string> {
    const { id, accountId } = user;
    const { now, account, webhook } = await database.run(async (queries) => ({
      now: await times.read(queries),
      account: await queries.selectFrom('accounts').selectAll().where('id', '=', accountId).executeTakeFirst(),
      webhook: await queries
        .selectFrom('webhook_secrets')
        .select(['version', 'changedAt'])
        .where('accountId', '=', accountId)
        .executeTakeFirst(),
    }));
    yield `{"exportedAt":${json(isoTime(now))},\n"user":${json(withTimes({ ...user }))}`;
    yield `,\n"account":${json(account && decodeAccount(account))}`;
    yield `,\n"webhooks":${json({ secret: webhook ? withTimes(webhook) : { version: 1 } })}`;
    const lists = {
      sessions: sessions(id),
      keys: keys(accountId, now),
      planGrants: planGrants(accountId),
      orders: orders(accountId),
      usageTotals: usageTotals(accountId),
      usageEntries: usageEntries(accountId),
      jobCharges: charges(accountId),
      jobs: jobs(accountId),
      storedResponses: responses(accountId),
      responseItems: responseItems(accountId),
      history: history(user),
    };
    for (const [name, rows] of Object.entries(lists)) {
      yield `,\n${json(name)}:[`;
      let separator = '\n';
      for await (const row of rows as AsyncIterable<unknown>) {
        yield separator + json(row);
        separator = ',\n';
      }
      yield ']';
    }
    yield '}\n';
  }

  return {
    async *read(user) {
      let text = '';
      for await (const part of parts(user)) {
        text += part;
        if (text.length < CHUNK) continue;
        yield Buffer.from(text);
        text = '';
      }
      yield Buffer.from(text);
    },
  };
}

async function* batches<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<Item[]> {
  let batch: Item[] = [];
  for await (const item of items) {
    batch.push(item);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

function parse(text: string | null): unknown {
  return text === null ? null : JSON.parse(text);
}

function decodeAccount({ grants, models, followingPlans, ...account }: Tables['accounts']) {
  return {
    ...withTimes(account),
    grants: parse(grants),
    models: parse(models),
    followingPlans: parse(followingPlans),
  };
}

/** Numbers of fields that are times, as ISO 8601. */
function withTimes<Row extends object>(row: Row): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) =>
      typeof value === 'number' && (name === 'at' || name.endsWith('At')) ? [name, isoTime(value)] : [name, value],
    ),
  );
}
