/*
 * The events of ended jobs, in the rows of the jobs. A job with an address is not shared. The transaction that ends a job
 * makes its event due, for every way of ending. Taking events moves their time by a lease of the row, in the statement
 * that finds them. One statement takes one event of each account, so that an account with many events does not delay
 * others; the next statement may take another one. An attempt changes the row only if no other one has begun since.
 * With the delivery, or after the last attempt, the address is deleted, because it may contain credentials; that of a
 * failed job stays with its input, for a retry. If 1,000
 * events of an account wait for a repetition already, a further one is given up instead of repeated.
 */

import {
  type Database,
  type DatabaseClock,
  dueRows,
  type Kysely,
  type Migrations,
  type RawBuilder,
  sql,
  sqlMigration,
  type Tables,
  type TakeRequest,
} from '../../core/database/index.js';
import type { JobsTable } from '../../core/jobs/index.js';

/** One delivery attempt; no other process makes one until its lease is over. */
export interface WebhookTry {
  jobId: string;
  /** Account of the job. */
  accountId: string;
  url: string;
  /** Number of the attempt, from 1. */
  number: number;
}

/** One attempt per account. */
export interface WebhookInput extends TakeRequest {
  /** Milliseconds after which an attempt without a result is followed by another. */
  leaseMs: number;
}

export interface WebhookPause {
  /** Milliseconds until the next attempt. */
  waitMs: number;
  /** Events of one account that may wait for another attempt. */
  maxWaiting: number;
}

/** The number of an account's current secret. */
export interface WebhookSecretVersion {
  /** 1 is the first, which every account has. */
  version: number;
  /** Milliseconds since it replaced the previous one; absent for the first. */
  changedMsAgo?: number;
}

/** State of an account without a row. */
const FIRST_VERSION = 1;

/**
 * Events of completed jobs: one for each job that was accepted with a `webhookUrl`, written in the transaction that
 * ends it, for every way of ending, and kept until it is delivered or given up, or the job is deleted. Every method
 * throws GatewayError `upstream_unavailable` if the database does not answer.
 */
export class Webhooks {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #due: ReturnType<typeof dueRows>;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
    this.#due = dueRows(database.engine, { table: 'jobs', key: ['id'], dueAt: 'webhookDueAt' });
  }

  /** Takes due events: first attempts before later ones, the longest due first. */
  takeDue({ max, except, leaseMs }: WebhookInput): Promise<readonly WebhookTry[]> {
    return this.#database.run(async (queries) => {
      const now = await this.#times.read(queries);
      if (!(await this.#due.isAny(queries, now))) return [];
      const others = except.length === 0 ? sql`` : sql`and owner not in (${sql.join([...except])})`;
      const firstOfEach = sql`id in (
        select id from (
          select id, "webhookDueAt", row_number() over (partition by owner order by "webhookDueAt", id) as turn
          from jobs where "webhookDueAt" <= ${now} ${others}
        ) as ranked where turn = 1 order by "webhookDueAt", id limit ${max})`;
      return queries
        .updateTable('jobs')
        .set(({ eb }) => ({ webhookDueAt: now + leaseMs, webhookTries: eb('webhookTries', '+', 1) }))
        .where(this.#due.first({ now, max, among: firstOfEach }))
        .returning(['id as jobId', 'owner as accountId', 'webhookUrl as url', 'webhookTries as number'])
        .$narrowType<{ url: string }>()
        .execute();
    });
  }

  /** There is no further attempt: it was delivered, or given up. No effect if another attempt has begun. */
  async settle(tried: WebhookTry): Promise<void> {
    // The URL may contain credentials. It is needed further where the job may be retried, as long as its input is kept.
    const webhookUrl = sql<string | null>`case when state = 'failed' and input <> 'null' then "webhookUrl" end`;
    await this.#database.run(change(tried, { webhookUrl, webhookDueAt: null }));
  }

  /** Schedules another attempt. False, without a change, if too many events of the account wait already. */
  postpone(tried: WebhookTry, { waitMs, maxWaiting }: WebhookPause): Promise<boolean> {
    return this.#database.run(async (queries) => {
      if (await isFull(queries, tried.accountId, maxWaiting)) return false;
      const now = await this.#times.read(queries);
      await change(tried, { webhookDueAt: now + waitMs })(queries);
      return true;
    });
  }

  /** Reverts the attempt. */
  async giveBack(tried: WebhookTry): Promise<void> {
    await this.#database.run(change(tried, { webhookDueAt: 0, webhookTries: tried.number - 1 }));
  }

  /** Number of pending events of all accounts. */
  waiting(): Promise<number> {
    return this.#database.run(async (queries) => {
      const { waiting } = await queries
        .selectFrom('jobs')
        .select(({ fn }) => fn.countAll<number>().as('waiting'))
        .where('webhookDueAt', 'is not', null)
        .executeTakeFirstOrThrow();
      return waiting;
    });
  }

  secretVersion(accountId: string): Promise<WebhookSecretVersion> {
    return this.#database.run(async (queries) => {
      const now = await this.#times.read(queries);
      const row = await queries
        .selectFrom('webhook_secrets')
        .selectAll()
        .where('accountId', '=', accountId)
        .executeTakeFirst();
      return toVersion(row, now);
    });
  }

  /** Rotates the secret. */
  rotateSecret(accountId: string): Promise<WebhookSecretVersion> {
    return this.#database.run(async (queries) => {
      const now = await this.#times.read(queries);
      const row = await queries
        .insertInto('webhook_secrets')
        .values({ accountId, version: FIRST_VERSION + 1, changedAt: now })
        .onConflict((conflict) =>
          conflict
            .column('accountId')
            .doUpdateSet({ version: sql<number>`webhook_secrets.version + 1`, changedAt: now }),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
      return toVersion(row, now);
    });
  }
}

/** Changes of an attempt, unless another one has begun: then its lease was over. */
type Changed = Partial<Pick<JobsTable, 'webhookDueAt' | 'webhookTries'>> & { webhookUrl?: RawBuilder<string | null> };

function change(tried: WebhookTry, values: Changed) {
  return (queries: Kysely<Tables>) =>
    queries
      .updateTable('jobs')
      .set(values)
      .where('id', '=', tried.jobId)
      .where('webhookTries', '=', tried.number)
      .where('webhookDueAt', 'is not', null)
      .execute();
}

async function isFull(queries: Kysely<Tables>, accountId: string, max: number): Promise<boolean> {
  const beyond = await queries
    .selectFrom('jobs')
    .select('id')
    .where('owner', '=', accountId)
    .where('webhookDueAt', '>', 0)
    .limit(1)
    // The event itself is among those counted.
    .offset(max)
    .executeTakeFirst();
  return beyond !== undefined;
}

function toVersion(row: WebhookSecretsTable | undefined, now: number): WebhookSecretVersion {
  if (!row) return { version: FIRST_VERSION };
  return { version: row.version, changedMsAgo: Math.max(0, now - row.changedAt) };
}

declare module '../../core/database/tables.js' {
  interface Tables {
    webhook_secrets: WebhookSecretsTable;
  }
}

/** Accounts that have rotated their secret. The secrets themselves are not stored; see server/webhooks/webhooks.ts. */
export interface WebhookSecretsTable {
  accountId: string;
  version: number;
  changedAt: number;
}

/** The table of the versions of webhook secrets. */
export const webhookMigrations: Migrations = {
  '0001-webhooks': sqlMigration(
    `create table webhook_secrets ("accountId" text primary key, version integer not null, "changedAt" bigint not null)`,
  ),
};
