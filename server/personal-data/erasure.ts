/*
 * Erasure of a person, in two steps. `begin` is one transaction in which every folder deletes or clears its rows: the
 * user with sessions, device grants and webhook secret, the names of the keys, the texts of transfers, and what the audit
 * log says about the person in words. From then on the account has no user and no valid key. `work` deletes in batches
 * what may be much: jobs with their files, stored answers, and responses at the upstream. Each batch deletes files first
 * and rows last, so work that was interrupted is repeated from the rows that are left.
 *
 * The row in `erasures` stays open for two hours, and every minute a server repeats `work` for open rows. So a server
 * that was killed finishes at its next start, and a request that was running during the erasure leaves nothing behind.
 * Orders, transfers, usage, job charges, budgets and plan grants stay under the random ids of account and user: they
 * are bookkeeping. What the free allowance of the period had used stays under a keyed hash of the identity, until the
 * period ends.
 */

import {
  type Database,
  type DatabaseClock,
  isStorable,
  type Migrations,
  sql,
  sqlMigration,
} from '../../core/database/index.js';
import { forgetAllowances, hashIdentity, type IdentitySecrets, keepOperator, lockUser } from '../accounts/index.js';
import { writeAudit } from '../audit/index.js';
import type { ErasureWork, PersonalRecords } from '../personal-records/index.js';

export interface Erasure {
  userId: string;
  accountId: string;
  /** Milliseconds since 1970. */
  startedAt: number;
  /** Null while a server still repeats it. */
  finishedAt: number | null;
}

export interface ErasuresOptions {
  database: Database;
  times: DatabaseClock;
  /** Of all folders; they are erased in this order. */
  records: readonly PersonalRecords[];
  identitySecrets: IdentitySecrets;
}

/** Longer than any request runs. */
const OPEN_MS = 2 * 60 * 60 * 1000;
/** After this time a response that its upstream does not delete is given up. */
const GIVE_UP_MS = 24 * 60 * 60 * 1000;
/** Erasures per sweep. */
const MAX_OPEN = 100;

/** Every method throws GatewayError `upstream_unavailable` if the database does not answer. */
export class Erasures {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #records: readonly PersonalRecords[];
  readonly #identitySecrets: IdentitySecrets;

  constructor({ database, times, records, identitySecrets }: ErasuresOptions) {
    this.#database = database;
    this.#times = times;
    this.#records = records;
    this.#identitySecrets = identitySecrets;
  }

  /**
   * Erases the user. Audit row `user.erased`.
   * @param erased.actor As in the audit log.
   * @throws GatewayError `user_not_found`, `last_operator`.
   */
  async begin({ userId, actor }: { userId: string; actor: string }): Promise<Erasure> {
    const secrets = await this.#identitySecrets();
    const { engine } = this.#database;
    return this.#database.transaction(async (transaction) => {
      const user = await lockUser(transaction, engine, userId);
      await keepOperator(transaction, engine, user);
      const at = await this.#times.read(transaction);
      const identityHashes = hashIdentity(user, secrets);
      const person = { ...user, engine, at, changedAt: this.#times.now, identityHashes };
      for (const { erase } of this.#records) await erase?.(transaction, person);
      const erasure = { accountId: user.accountId, userId, startedAt: at, finishedAt: null };
      await transaction.insertInto('erasures').values(erasure).execute();
      await writeAudit(transaction, { subject: userId, at, actor, action: 'user.erased' });
      return erasure;
    });
  }

  /**
   * Deletes the work of an erased account. May be repeated.
   * @throws What deleting a file throws; the reason of the signal.
   */
  async work(accountId: string, work: ErasureWork): Promise<void> {
    for (const { eraseWork } of this.#records) await eraseWork?.(this.#database, accountId, work);
  }

  /** By the id of the user or the account. */
  async find(id: string): Promise<Erasure | undefined> {
    if (!isStorable(id)) return undefined;
    return this.#database.run((queries) =>
      queries
        .selectFrom('erasures')
        .selectAll()
        .where(({ eb, or }) => or([eb('accountId', '=', id), eb('userId', '=', id)]))
        .executeTakeFirst(),
    );
  }

  /** Repeats open erasures, and closes those that were repeated for long enough. Returns how many were open. */
  async sweep(work: ErasureWork): Promise<number> {
    await this.#database.transaction(async (transaction) =>
      forgetAllowances(transaction, await this.#times.read(transaction)),
    );
    const open = await this.#database.run((queries) =>
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
        await this.#repeat(erasure, work);
      } catch (error) {
        work.signal?.throwIfAborted();
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
    return open.length;
  }

  /** Repeats an erasure. It ends if it was old enough before that, and nothing waits for an upstream. */
  async #repeat({ accountId, startedAt }: Erasure, work: ErasureWork): Promise<void> {
    const now = await this.#database.run((queries) => this.#times.read(queries));
    const ageMs = now - startedAt;
    await this.work(accountId, { ...work, givesUp: ageMs >= GIVE_UP_MS });
    if (ageMs < OPEN_MS) return;
    for (const { isWaiting } of this.#records) if (await isWaiting?.(this.#database, accountId)) return;
    await this.#database.run((queries) =>
      queries.updateTable('erasures').set({ finishedAt: now }).where('accountId', '=', accountId).execute(),
    );
  }
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
