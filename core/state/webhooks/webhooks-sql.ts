import type { Database } from '../../database/index.js';
import { type Kysely, sql } from '../../database/index.js';
import type { JobClock } from '../../jobs/index.js';
import type { JobsTable, Tables, WebhookSecretsTable } from '../schema.js';
import type { WebhookSecretVersion, Webhooks, WebhookTry } from './webhooks.js';

/** Of an account without a row. */
const FIRST_VERSION = 1;

/** Events about the ends of jobs, in the rows of the jobs themselves. */
export function createWebhooks(database: Database, times: JobClock): Webhooks {
  const lock = database.engine === 'postgres' ? sql`for no key update skip locked` : sql``;

  /** Whatever a try changes, unless another has begun: then its lease was over. */
  function change(
    tried: WebhookTry,
    values: Partial<Pick<JobsTable, 'webhook_url' | 'webhook_due_at' | 'webhook_tries'>>,
  ) {
    return (queries: Kysely<Tables>) =>
      queries
        .updateTable('jobs')
        .set(values)
        .where('id', '=', tried.jobId)
        .where('webhook_tries', '=', tried.number)
        .where('webhook_due_at', 'is not', null)
        .execute();
  }

  async function isFull(queries: Kysely<Tables>, accountId: string, most: number): Promise<boolean> {
    const beyond = await queries
      .selectFrom('jobs')
      .select('id')
      .where('account_id', '=', accountId)
      .where('webhook_due_at', '>', 0)
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
        const due = await queries
          .selectFrom('jobs')
          .select('id')
          .where('webhook_due_at', '<=', now)
          .$if(except.length > 0, (query) => query.where('account_id', 'not in', except))
          .limit(1)
          .executeTakeFirst();
        // Mostly there is none: then nothing is written.
        if (!due) return [];
        const others = except.length === 0 ? sql`` : sql`and account_id not in (${sql.join([...except])})`;
        const rows = await queries
          .updateTable('jobs')
          .set(({ eb }) => ({ webhook_due_at: now + leaseMs, webhook_tries: eb('webhook_tries', '+', 1) }))
          .where(
            sql<boolean>`id in (select id from jobs where webhook_due_at <= ${now} and id in (
              select id from (
                select id, webhook_due_at, row_number() over (partition by account_id order by webhook_due_at, id) as turn
                from jobs where webhook_due_at <= ${now} ${others}
              ) as ranked where turn = 1 order by webhook_due_at, id limit ${most}) ${lock})`,
          )
          .returning(['id', 'account_id', 'webhook_url', 'webhook_tries'])
          .$narrowType<{ webhook_url: string }>()
          .execute();
        return rows.map(({ id, account_id, webhook_url, webhook_tries }) => ({
          jobId: id,
          accountId: account_id,
          url: webhook_url,
          number: webhook_tries,
        }));
      }),

    async settle(tried) {
      // Nobody needs the address any more, and it may be good for more than this.
      await database.run(change(tried, { webhook_url: null, webhook_due_at: null }));
    },

    postpone: (tried, { waitMs, mostWaiting }) =>
      database.run(async (queries) => {
        if (await isFull(queries, tried.accountId, mostWaiting)) return false;
        const now = await times.read(queries);
        await change(tried, { webhook_due_at: now + waitMs })(queries);
        return true;
      }),

    async giveBack(tried) {
      await database.run(change(tried, { webhook_due_at: 0, webhook_tries: tried.number - 1 }));
    },

    waiting: () =>
      database.run(async (queries) => {
        const { waiting } = await queries
          .selectFrom('jobs')
          .select(({ fn }) => fn.countAll<number>().as('waiting'))
          .where('webhook_due_at', 'is not', null)
          .executeTakeFirstOrThrow();
        return waiting;
      }),

    secretVersion: (accountId) =>
      database.run(async (queries) => {
        const now = await times.read(queries);
        const row = await queries
          .selectFrom('webhook_secrets')
          .selectAll()
          .where('account_id', '=', accountId)
          .executeTakeFirst();
        return toVersion(row, now);
      }),

    rotateSecret: (accountId) =>
      database.run(async (queries) => {
        const now = await times.read(queries);
        const row = await queries
          .insertInto('webhook_secrets')
          .values({ account_id: accountId, version: FIRST_VERSION + 1, changed_at: now })
          .onConflict((conflict) =>
            conflict
              .column('account_id')
              .doUpdateSet({ version: sql<number>`webhook_secrets.version + 1`, changed_at: now }),
          )
          .returningAll()
          .executeTakeFirstOrThrow();
        return toVersion(row, now);
      }),
  };
}

function toVersion(row: WebhookSecretsTable | undefined, now: number): WebhookSecretVersion {
  if (!row) return { version: FIRST_VERSION };
  return { version: row.version, changedMsAgo: Math.max(0, now - row.changed_at) };
}
