import {
  type Database,
  type DatabaseClock,
  dueRows,
  type Kysely,
  type Migrations,
  sql,
  sqlMigration,
  type Tables,
  type TakeRequest,
} from '../../core/database/index.js';
import type { JobsTable } from '../../core/jobs/index.js';

/** One try to tell of the end of a job, which nobody else makes until its lease is over. */
export interface WebhookTry {
  jobId: string;
  /** Whose job it is. */
  accountId: string;
  url: string;
  /** Which one it is, from 1. */
  number: number;
}

/** Of each account one try. */
export interface WebhookInput extends TakeRequest {
  /** Milliseconds after which a try of which nothing was heard is followed by another. */
  leaseMs: number;
}

export interface WebhookPause {
  /** Milliseconds until the next try. */
  waitMs: number;
  /** Events of one account that may wait for a further try. */
  mostWaiting: number;
}

/** Which of an account's secrets is the newest. */
export interface WebhookSecretVersion {
  /** 1 is the first, which every account has. */
  version: number;
  /** Milliseconds since it took the place of the one before it; absent where it is the first. */
  changedMsAgo?: number;
}

/**
 * Events that tell of the ends of jobs: one for each job that was accepted with a `webhookUrl`, written down in the
 * transaction that ends it, whichever way that is, and kept until it was delivered or given up, or the job is forgotten.
 * Every call throws GatewayError `upstream_unavailable` where the database does not answer.
 */
export interface Webhooks {
  /** Begins tries that are due: first tries before later ones, the longest due first. */
  takeDue(wish: WebhookInput): Promise<readonly WebhookTry[]>;
  /** There is no further try: it was delivered, or given up. Nothing where another try has begun. */
  settle(tried: WebhookTry): Promise<void>;
  /** Another follows after a while. False, and nothing is changed, where too many of the account wait already. */
  postpone(tried: WebhookTry, pause: WebhookPause): Promise<boolean>;
  /** As if it had not begun. */
  giveBack(tried: WebhookTry): Promise<void>;
  /** Events that are neither delivered nor given up, of all accounts. */
  waiting(): Promise<number>;
  secretVersion(accountId: string): Promise<WebhookSecretVersion>;
  /** From now on another secret is the newest. */
  rotateSecret(accountId: string): Promise<WebhookSecretVersion>;
}

/** Of an account without a row. */
const FIRST_VERSION = 1;

/** Events about the ends of jobs, in the rows of the jobs themselves. */
export function createWebhooks(database: Database, times: DatabaseClock): Webhooks {
  const due = dueRows(database.engine, { table: 'jobs', key: ['id'], dueAt: 'webhookDueAt' });

  /** Whatever a try changes, unless another has begun: then its lease was over. */
  function change(tried: WebhookTry, values: Partial<Pick<JobsTable, 'webhookUrl' | 'webhookDueAt' | 'webhookTries'>>) {
    return (queries: Kysely<Tables>) =>
      queries
        .updateTable('jobs')
        .set(values)
        .where('id', '=', tried.jobId)
        .where('webhookTries', '=', tried.number)
        .where('webhookDueAt', 'is not', null)
        .execute();
  }

  async function isFull(queries: Kysely<Tables>, accountId: string, most: number): Promise<boolean> {
    const beyond = await queries
      .selectFrom('jobs')
      .select('id')
      .where('owner', '=', accountId)
      .where('webhookDueAt', '>', 0)
      .limit(1)
      // It is one of them itself.
      .offset(most)
      .executeTakeFirst();
    return beyond !== undefined;
  }

  return {
    takeDue: ({ most, except, leaseMs }) =>
      database.run(async (queries) => {
        const now = await times.read(queries);
        if (!(await due.isAny(queries, now))) return [];
        const others = except.length === 0 ? sql`` : sql`and owner not in (${sql.join([...except])})`;
        const firstOfEach = sql`id in (
          select id from (
            select id, "webhookDueAt", row_number() over (partition by owner order by "webhookDueAt", id) as turn
            from jobs where "webhookDueAt" <= ${now} ${others}
          ) as ranked where turn = 1 order by "webhookDueAt", id limit ${most})`;
        const rows = await queries
          .updateTable('jobs')
          .set(({ eb }) => ({ webhookDueAt: now + leaseMs, webhookTries: eb('webhookTries', '+', 1) }))
          .where(due.first({ now, most, among: firstOfEach }))
          .returning(['id', 'owner', 'webhookUrl', 'webhookTries'])
          .$narrowType<{ webhookUrl: string }>()
          .execute();
        return rows.map(({ id, owner, webhookUrl, webhookTries }) => ({
          jobId: id,
          accountId: owner,
          url: webhookUrl,
          number: webhookTries,
        }));
      }),

    async settle(tried) {
      // Nobody needs the address any more, and it may be good for more than this.
      await database.run(change(tried, { webhookUrl: null, webhookDueAt: null }));
    },

    postpone: (tried, { waitMs, mostWaiting }) =>
      database.run(async (queries) => {
        if (await isFull(queries, tried.accountId, mostWaiting)) return false;
        const now = await times.read(queries);
        await change(tried, { webhookDueAt: now + waitMs })(queries);
        return true;
      }),

    async giveBack(tried) {
      await database.run(change(tried, { webhookDueAt: 0, webhookTries: tried.number - 1 }));
    },

    waiting: () =>
      database.run(async (queries) => {
        const { waiting } = await queries
          .selectFrom('jobs')
          .select(({ fn }) => fn.countAll<number>().as('waiting'))
          .where('webhookDueAt', 'is not', null)
          .executeTakeFirstOrThrow();
        return waiting;
      }),

    secretVersion: (accountId) =>
      database.run(async (queries) => {
        const now = await times.read(queries);
        const row = await queries
          .selectFrom('webhook_secrets')
          .selectAll()
          .where('accountId', '=', accountId)
          .executeTakeFirst();
        return toVersion(row, now);
      }),

    rotateSecret: (accountId) =>
      database.run(async (queries) => {
        const now = await times.read(queries);
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
      }),
  };
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

/** Accounts whose secret is not their first one any more. The secrets themselves are nowhere; see server/webhooks/webhooks.ts. */
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
