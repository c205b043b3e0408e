/*
 * Erasure of a person, in two steps. `begin` is one transaction: it deletes the user with sessions, device grants and
 * webhook secret, revokes the keys and clears their names, cuts the texts of transfers to the order's code, and clears
 * what the audit log says about the person in words. From then on the account has no user and no valid key. `work`
 * deletes in batches what may be much: jobs with their files, stored answers, and responses at the upstream. Each batch
 * deletes files first and rows last, so work that was interrupted is repeated from the rows that are left.
 *
 * The row in `erasures` stays open for two hours, and every minute a server repeats `work` for open rows. So a server
 * that was killed finishes at its next start, and a request that was running during the erasure leaves nothing behind.
 * Orders, transfers, usage, job charges, budgets and plan grants stay under the random ids of account and user: they
 * are bookkeeping. What the free allowance of the period had used stays under a keyed hash of the identity, until the
 * period ends.
 */

import type { Storage } from '../../core/contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  isStorable,
  type Kysely,
  type Migrations,
  sql,
  sqlMigration,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { filesOfImageJob } from '../../core/images/index.js';
import type { Jobs } from '../../core/jobs/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import {
  forgetAllowances,
  hashIdentity,
  type IdentitySecrets,
  keepAllowance,
  lockAccountOf,
  locked,
  lockKeys,
} from '../accounts/index.js';
import { writeAudit } from '../audit/index.js';
import { answerFileOf } from '../idempotency/index.js';

export interface Erasure {
  userId: string;
  accountId: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Null while a server still repeats it. */
  finishedAt: number | null;
}

export interface OwnedResponse {
  id: string;
  owner: string;
  /** Whether the upstream may still be making it, in the background. */
  isOpen: boolean;
}

export interface ErasureWork {
  files: Pick<Storage, 'delete'>;
  /**
   * Deletes a stored response at its upstream. Undefined without plugins: then these rows stay for a server.
   * @throws any error if it has to be tried again.
   */
  deleteResponse?(response: OwnedResponse): Promise<void>;
  /** Ends the work between two batches. */
  signal?: AbortSignal;
}

/** Every method throws GatewayError `upstream_unavailable` if the database does not answer. */
export interface Erasures {
  /**
   * Erases the user. Audit row `user.erased`.
   * @param actor As in the audit log.
   * @throws GatewayError `user_not_found`.
   */
  begin(erased: { userId: string; actor: string }): Promise<Erasure>;
  /**
   * Deletes the work of an erased account. May be repeated.
   * @throws What deleting a file throws; the reason of the signal.
   */
  work(accountId: string, work: ErasureWork): Promise<void>;
  /** By the id of the user or the account. */
  find(id: string): Promise<Erasure | undefined>;
  /** Repeats open erasures, and closes those that were repeated for long enough. Returns how many were open. */
  sweep(work: ErasureWork): Promise<number>;
}

export interface ErasuresOptions {
  database: Database;
  times: DatabaseClock;
  jobs: Pick<Jobs, 'cancel'>;
  identitySecrets: IdentitySecrets;
}

/** Longer than any request runs. */
const OPEN_MS = 2 * 60 * 60 * 1000;
/** After this time a response that its upstream does not delete is given up. */
const GIVE_UP_MS = 24 * 60 * 60 * 1000;
const ROWS = 50;
/** Erasures per sweep. */
const MAX_OPEN = 100;
export const ERASED_NAME = 'erased';

export function createErasures({ database, times, jobs, identitySecrets }: ErasuresOptions): Erasures {
  const { engine } = database;

  async function cancelJobs(accountId: string, signal: AbortSignal | undefined): Promise<void> {
    const ids = await database.run((queries) =>
      queries
        .selectFrom('jobs')
        .select('id')
        .where(sql<boolean>`state in ('queued', 'running')`)
        .where(ownedBy(accountId))
        .execute(),
    );
    for (const { id } of ids) {
      signal?.throwIfAborted();
      await jobs.cancel(id, accountId).catch((error: unknown) => {
        if (!isGatewayError(error) || error.code !== 'job_already_terminal') throw error;
      });
    }
  }

  async function deleteJobs(accountId: string, { files, signal }: ErasureWork): Promise<void> {
    for (let full = true; full; ) {
      signal?.throwIfAborted();
      const rows = await database.run((queries) =>
        queries
          .selectFrom('jobs')
          .select(['id', 'kind', 'state', 'summary', 'result'])
          .where('owner', '=', accountId)
          .where(sql<boolean>`"finishedAt" is not null`)
          .limit(ROWS)
          .execute(),
      );
      const names = rows.flatMap(({ kind, summary, result }) =>
        kind === 'image' ? filesOfImageJob(JSON.parse(summary), result === null ? null : JSON.parse(result)) : [],
      );
      await Promise.all(names.map((name) => files.delete(name)));
      await database.transaction(async (transaction) => {
        for (const { id } of rows) await leaveOrDelete(transaction, id);
      });
      full = rows.length === ROWS;
    }
    await database.run((queries) =>
      queries
        .deleteFrom('job_owners')
        .where('owner', '=', accountId)
        .where('jobId', 'in', (ended) =>
          ended.selectFrom('jobs').select('id').where(sql<boolean>`"finishedAt" is not null`),
        )
        .execute(),
    );
  }

  async function deleteAnswers(accountId: string, { files, signal }: ErasureWork): Promise<void> {
    for (let full = true; full; ) {
      signal?.throwIfAborted();
      const rows = await database.run((queries) =>
        queries
          .selectFrom('idempotency_keys')
          .select(['hash', 'answerId'])
          .where('accountId', '=', accountId)
          .limit(ROWS)
          .execute(),
      );
      const names = rows.flatMap(({ answerId }) => (answerId === null ? [] : [answerFileOf({ id: answerId })]));
      await Promise.all(names.map((name) => files.delete(name)));
      const hashes = rows.map(({ hash }) => hash);
      if (hashes.length > 0) {
        await database.run((queries) => queries.deleteFrom('idempotency_keys').where('hash', 'in', hashes).execute());
      }
      full = rows.length === ROWS;
    }
  }

  function responsesOf(accountId: string, after: string): Promise<{ id: string; openId: string | null }[]> {
    return database.run((queries) =>
      queries
        .selectFrom('stored_responses')
        .leftJoin('background_responses', (join) =>
          join
            .onRef('background_responses.id', '=', 'stored_responses.id')
            .onRef('background_responses.accountId', '=', 'stored_responses.owner'),
        )
        .select(['stored_responses.id', 'background_responses.id as openId'])
        .where('stored_responses.owner', '=', accountId)
        .where('stored_responses.id', '>', after)
        .orderBy('stored_responses.id')
        .limit(ROWS)
        .execute(),
    );
  }

  /** One that cannot be deleted now stays, and does not hold up the others. */
  async function deleteResponses(accountId: string, { deleteResponse, signal }: ErasureWork): Promise<void> {
    if (!deleteResponse) return;
    for (let after = '', full = true; full; ) {
      const rows = await responsesOf(accountId, after);
      for (const { id, openId } of rows) {
        signal?.throwIfAborted();
        const response = { id, owner: accountId, isOpen: openId !== null };
        const isDeleted = await deleteResponse(response).then(
          () => true,
          () => false,
        );
        if (isDeleted) await forgetResponses(accountId, id);
      }
      after = rows.at(-1)?.id ?? '';
      full = rows.length === ROWS;
    }
  }

  async function forgetResponses(accountId: string, id?: string): Promise<void> {
    await database.run((queries) => {
      const rows = queries.deleteFrom('stored_responses').where('owner', '=', accountId);
      return (id === undefined ? rows : rows.where('id', '=', id)).execute();
    });
  }

  async function work(accountId: string, given: ErasureWork): Promise<void> {
    await cancelJobs(accountId, given.signal);
    await deleteJobs(accountId, given);
    await deleteAnswers(accountId, given);
    await deleteResponses(accountId, given);
    await database.run((queries) => queries.deleteFrom('response_items').where('owner', '=', accountId).execute());
  }

  async function closeAfter({ accountId, startedAt }: Erasure): Promise<void> {
    const now = await database.run((queries) => times.read(queries));
    if (now - startedAt < OPEN_MS) return;
    if (now - startedAt >= GIVE_UP_MS) await forgetResponses(accountId);
    if ((await responsesOf(accountId, '')).length > 0) return;
    await database.run((queries) =>
      queries.updateTable('erasures').set({ finishedAt: now }).where('accountId', '=', accountId).execute(),
    );
  }

  return {
    begin: async ({ userId, actor }) => {
      const secrets = await identitySecrets();
      return database.transaction(async (transaction) => {
        // A session that is being created refers to the row, so it waits and fails.
        const users = transaction.selectFrom('users').selectAll().where('id', '=', userId);
        const user = isStorable(userId) ? await locked(engine, users).executeTakeFirst() : undefined;
        if (!user) throw new GatewayError('user_not_found', 'There is no such user.');
        const { id: accountId } = await lockAccountOf(transaction, engine, userId);
        const at = await times.read(transaction);
        await keepAllowance({ transaction, engine, accountId, hashes: hashIdentity(user, secrets), at });
        await closeAccount(transaction, { userId, accountId, at });
        const keys = await lockKeys(transaction, engine, accountId);
        if (keys.length > 0) {
          const change = { name: ERASED_NAME, suspendedAt: at, changedAt: times.now };
          const revokedAt = sql<number>`coalesce("revokedAt", cast(${at} as bigint))`;
          await transaction
            .updateTable('api_keys')
            .set({ ...change, revokedAt })
            .where('id', 'in', keys)
            .execute();
        }
        await clearBookkeeping(transaction, userId, accountId);
        await clearMentions(transaction, user);
        const erasure = { accountId, userId, startedAt: at, finishedAt: null };
        await transaction.insertInto('erasures').values(erasure).execute();
        await writeAudit(transaction, { subject: userId, at, actor, action: 'user.erased' });
        return erasure;
      });
    },

    work,

    find: (id) =>
      database.run((queries) =>
        isStorable(id)
          ? queries
              .selectFrom('erasures')
              .selectAll()
              .where(({ eb, or }) => or([eb('accountId', '=', id), eb('userId', '=', id)]))
              .executeTakeFirst()
          : Promise.resolve(undefined),
      ),

    async sweep(given) {
      await database.transaction(async (transaction) => forgetAllowances(transaction, await times.read(transaction)));
      const open = await database.run((queries) =>
        queries
          .selectFrom('erasures')
          .selectAll()
          .where(sql<boolean>`"finishedAt" is null`)
          .orderBy('startedAt')
          .limit(MAX_OPEN)
          .execute(),
      );
      let failure: { error: unknown } | undefined;
      for (const erasure of open) {
        try {
          await work(erasure.accountId, given);
          await closeAfter(erasure);
        } catch (error) {
          given.signal?.throwIfAborted();
          failure ??= { error };
        }
      }
      if (failure) throw failure.error;
      return open.length;
    },
  };
}

/** Whether a row of `jobs` belongs to the account, alone or with others. */
function ownedBy(accountId: string) {
  return sql<boolean>`(owner = ${accountId} or id in (select "jobId" from job_owners where owner = ${accountId}))`;
}

/** A job that others joined stays for them, under the first of them. */
async function leaveOrDelete(transaction: Transaction<Tables>, id: string): Promise<void> {
  const heir = await transaction
    .selectFrom('job_owners')
    .select('owner')
    .where('jobId', '=', id)
    .orderBy('owner')
    .limit(1)
    .executeTakeFirst();
  if (!heir) {
    await transaction.deleteFrom('jobs').where('id', '=', id).execute();
    return;
  }
  await transaction
    .updateTable('jobs')
    .set({ owner: heir.owner, keyId: '', requestId: null })
    .where('id', '=', id)
    .execute();
  await transaction.deleteFrom('job_owners').where('jobId', '=', id).where('owner', '=', heir.owner).execute();
}

/** A suspended account accepts no key, order or plan. */
async function closeAccount(
  transaction: Transaction<Tables>,
  { userId, accountId, at }: { userId: string; accountId: string; at: number },
): Promise<void> {
  await transaction.updateTable('accounts').set({ suspendedAt: at }).where('id', '=', accountId).execute();
  await transaction.deleteFrom('sessions').where('userId', '=', userId).execute();
  await transaction.deleteFrom('device_grants').where('userId', '=', userId).execute();
  await transaction.deleteFrom('webhook_secrets').where('accountId', '=', accountId).execute();
  // The rate limits of a site account are kept under its own id.
  await transaction.deleteFrom('rate_slots').where('keyId', '=', accountId).execute();
  await transaction.deleteFrom('rate_windows').where('keyId', '=', accountId).execute();
  await transaction.deleteFrom('users').where('id', '=', userId).execute();
}

/** What people wrote into the bookkeeping of the account. Notes of banks are ids and amounts. */
async function clearBookkeeping(transaction: Transaction<Tables>, userId: string, accountId: string): Promise<void> {
  const orders = transaction.selectFrom('orders').select('code').where('accountId', '=', accountId);
  await transaction
    .updateTable('bank_transactions')
    .set((eb) => ({ text: eb.fn.coalesce('orderCode', sql.lit('')) }))
    .where('orderCode', 'in', orders)
    .execute();
  await transaction
    .updateTable('orders')
    .set({ idempotencyHash: null, fingerprint: null })
    .where('accountId', '=', accountId)
    .execute();
  await transaction
    .updateTable('audit_entries')
    .set({ note: null })
    .where('note', 'is not', null)
    .where('action', '<>', 'order.money')
    .where(({ eb, or }) =>
      or([
        eb('subject', 'in', [userId, accountId]),
        eb('subject', 'in', orders),
        eb('subject', 'in', transaction.selectFrom('api_keys').select('id').where('accountId', '=', accountId)),
        eb('subject', 'in', transaction.selectFrom('jobs').select('id').where(ownedBy(accountId))),
      ]),
    )
    .execute();
}

/** Shorter ones are parts of other words. */
const MIN_MENTION = 3;
const REPLACEMENT = '[erased]';

type Person = Readonly<Pick<Tables['users'], 'email' | 'name' | 'subject'>>;

/** Replaces the person's name, address and subject in the rest of the audit log. */
async function clearMentions(transaction: Transaction<Tables>, { email, name, subject }: Person): Promise<void> {
  const texts = [email, name, subject].filter((text) => text !== null && text.length >= MIN_MENTION) as string[];
  if (texts.length === 0) return;
  const mentions = sql.join(
    texts.map((text) => sql`(${contains('note', text)} or ${contains('actor', text)})`),
    sql` or `,
  );
  const rows = await selectMentions(transaction, sql<boolean>`(${mentions})`);
  const words = texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  const whole = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
  for (const { subject: of, number, note, actor } of rows) {
    const change = { note: note?.replace(whole, REPLACEMENT) ?? null, actor: withoutAddress(actor, [email, subject]) };
    await transaction
      .updateTable('audit_entries')
      .set(change)
      .where('subject', '=', of)
      .where('number', '=', number)
      .execute();
  }
}

function selectMentions(queries: Kysely<Tables>, mentioned: ReturnType<typeof sql<boolean>>) {
  return queries.selectFrom('audit_entries').select(['subject', 'number', 'note', 'actor']).where(mentioned).execute();
}

/** An operator may have the person's name. */
function withoutAddress(actor: string, texts: readonly (string | null)[]): string {
  return texts.some((text) => text !== null && text !== '' && actor.includes(text)) ? REPLACEMENT : actor;
}

/** Ignores case, in letters beyond ASCII only on PostgreSQL. */
function contains(column: 'note' | 'actor', text: string) {
  const like = (pattern: string) => `%${pattern.replace(/[\\%_]/g, '\\$&')}%`;
  const ref = sql.ref(column);
  return sql`(lower(${ref}) like ${like(text.toLowerCase())} escape '\\' or ${ref} like ${like(text)} escape '\\')`;
}

declare module '../../core/database/tables.js' {
  interface Tables {
    erasures: Erasure;
  }
}

/** The table of the erased accounts. It has random ids only. */
export const erasureMigrations: Migrations = {
  '0001-erasures': sqlMigration(
    `create table erasures (
      "accountId" text primary key, "userId" text not null unique, "startedAt" bigint not null, "finishedAt" bigint)`,
    `create index erasures_open on erasures ("startedAt") where "finishedAt" is null`,
  ),
};
