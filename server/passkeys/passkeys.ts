/*
 * Passkeys of users: registration on an invitation or by a signed-in user, sign-in, recovery, and their list. A
 * registration consumes its invitation in the transaction that makes the user, so one link makes one user. A signature
 * is checked outside of transactions, and its counter is written only if no other sign-in has written a higher one
 * meanwhile: a copy of an authenticator that counts is noticed at its first use beside the other. Every change of what
 * can sign in writes an audit row, and a suspended user can do none of this.
 */

import { randomUUID } from 'node:crypto';
import type { Database, DatabaseClock, Tables, Transaction } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { changeRole, createUser, grantPlan, lockAccount, lockUser, refuseSuspended } from '../accounts/index.js';
import { type AuditAction, writeAudit } from '../audit/index.js';
import type { PlanTerms } from '../plans/index.js';
import type { Ceremony } from './challenges.js';
import { invalidInvitation, takeInvitation } from './invitations.js';
import { renewRecoveryCodes, takeRecoveryCode } from './recovery-codes.js';
import type { PasskeysTable } from './tables.js';
import type { KnownPasskey, NewPasskey } from './webauthn.js';

/** Issuer of users who have no identity provider; their subject is their id. */
const ISSUER = 'urn:mediagate:passkeys';
export const MAX_PASSKEYS = 20;
export const MAX_PASSKEY_NAME = 100;

/** A passkey, as its user and operators see it. Times are milliseconds since 1970. */
export type PasskeyRecord = Pick<PasskeysTable, 'id' | 'name' | 'kind' | 'host' | 'createdAt' | 'lastUsedAt'>;

/** What a browser has registered. */
export interface Registration {
  passkey: NewPasskey;
  /** Name of the passkey. */
  name: string;
  host: string;
}

export interface AcceptedInvitation {
  userId: string;
  /** Shown once. */
  recoveryCodes: readonly string[];
}

interface OwnPasskey {
  userId: string;
  id: string;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Passkeys {
  readonly #database: Database;
  readonly #times: DatabaseClock;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
  }

  /** Of a user, oldest first. */
  list(userId: string): Promise<readonly PasskeyRecord[]> {
    return this.#database.run((queries) =>
      queries
        .selectFrom('passkeys')
        .select(['id', 'name', 'kind', 'host', 'createdAt', 'lastUsedAt'])
        .where('userId', '=', userId)
        .orderBy('createdAt')
        .orderBy('id')
        .execute(),
    );
  }

  /** Ids and transports of a user's passkeys of a host, which a browser does not register twice. */
  async known(userId: string, host: string): Promise<{ id: string; transports: readonly string[] }[]> {
    const rows = await this.#database.run((queries) =>
      queries
        .selectFrom('passkeys')
        .select(['id', 'transports'])
        .where('userId', '=', userId)
        .where('host', '=', host)
        .execute(),
    );
    return rows.map(({ id, transports }) => ({ id, transports: JSON.parse(transports) as string[] }));
  }

  /** How many recovery codes a user has left. */
  async countRecoveryCodes(userId: string): Promise<number> {
    const { count } = await this.#database.run((queries) =>
      queries
        .selectFrom('recovery_codes')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('userId', '=', userId)
        .executeTakeFirstOrThrow(),
    );
    return Number(count);
  }

  /** How many passkeys are bound to other host names, where no browser offers them. */
  async countElsewhere(host: string): Promise<number> {
    const { count } = await this.#database.run((queries) =>
      queries
        .selectFrom('passkeys')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('host', '<>', host)
        .executeTakeFirstOrThrow(),
    );
    return Number(count);
  }

  /**
   * Uses the invitation of the ceremony: makes the user with role and plan of the invitation, or replaces passkeys, recovery
   * codes and sessions of the user that it names.
   * @throws GatewayError `invitation_invalid`, `passkey_refused`, `account_suspended`, `user_not_found`.
   */
  accept({ invitationHash, userId, name }: Ceremony, registration: Registration): Promise<AcceptedInvitation> {
    const { engine } = this.#database;
    return this.#database.transaction(async (transaction) => {
      const at = await this.#times.read(transaction);
      const invitation = await takeInvitation(transaction, { engine, hash: invitationHash ?? '', at });
      const { invitedBy, role, terms } = invitation;
      const id = invitation.userId ?? userId ?? '';
      if (invitation.userId === null) {
        const identity = { issuer: ISSUER, subject: id, email: null, name };
        const made = await createUser(transaction, { engine, id, identity, at });
        if (!made) throw invalidInvitation();
        const account = await lockAccount(transaction, engine, made.accountId);
        const user = { id, role: 'member' } as const;
        await changeRole({ transaction, engine, user, account, role, at, actor: `user:${id}` });
        if (terms !== null) {
          const plan = JSON.parse(terms) as PlanTerms;
          await grantPlan({ transaction, engine, account, id: `grant_${randomUUID()}`, terms: plan, at });
          const line = { subject: account.id, at, actor: invitedBy, action: 'plan.granted', to: plan.planId } as const;
          await writeAudit(transaction, line);
        }
      } else await this.#forgetAccess(transaction, id);
      await this.#insert(transaction, id, registration, at);
      await this.#note(transaction, id, 'invitation.accepted', at, `invited by ${invitedBy}`);
      const recoveryCodes = await renewRecoveryCodes(transaction, id, at);
      await transaction.updateTable('users').set({ lastSignInAt: at }).where('id', '=', id).execute();
      return { userId: id, recoveryCodes };
    });
  }

  /** Adds a passkey. @throws GatewayError `passkey_refused`, `account_suspended`, `user_not_found`. */
  add(userId: string, registration: Registration): Promise<PasskeyRecord> {
    return this.#change(userId, async (transaction, at) => {
      const all = await transaction.selectFrom('passkeys').select('id').where('userId', '=', userId).execute();
      if (all.length >= MAX_PASSKEYS) {
        throw new GatewayError('passkey_refused', `An account has at most ${MAX_PASSKEYS} passkeys. Remove one first.`);
      }
      const { id, name, kind, host, createdAt, lastUsedAt } = await this.#insert(transaction, userId, registration, at);
      await this.#note(transaction, userId, 'passkey.added', at);
      return { id, name, kind, host, createdAt, lastUsedAt };
    });
  }

  /** @throws GatewayError `passkey_not_found`, `account_suspended`, `user_not_found`. */
  rename({ userId, id }: OwnPasskey, name: string): Promise<void> {
    return this.#change(userId, async (transaction) => {
      const update = transaction
        .updateTable('passkeys')
        .set({ name })
        .where('id', '=', id)
        .where('userId', '=', userId);
      if ((await update.executeTakeFirstOrThrow()).numUpdatedRows === 0n) throw notFound();
    });
  }

  /** @throws GatewayError `passkey_not_found`, `last_passkey`, `account_suspended`, `user_not_found`. */
  remove({ userId, id }: OwnPasskey): Promise<void> {
    return this.#change(userId, async (transaction, at) => {
      const all = await transaction.selectFrom('passkeys').select('id').where('userId', '=', userId).execute();
      if (!all.some((one) => one.id === id)) throw notFound();
      if (all.length === 1) {
        const message = 'This is the last passkey of the account. Add another one first.';
        throw new GatewayError('last_passkey', message);
      }
      await transaction.deleteFrom('passkeys').where('id', '=', id).execute();
      await this.#note(transaction, userId, 'passkey.removed', at);
    });
  }

  /** The passkey and its user, for the check of a signature. */
  async find(id: string): Promise<(KnownPasskey & { userId: string }) | undefined> {
    return this.#database.run((queries) =>
      queries
        .selectFrom('passkeys')
        .select(['id', 'userId', 'publicKey', 'counter'])
        .where('id', '=', id)
        .executeTakeFirst(),
    );
  }

  /**
   * Records a sign-in whose signature was checked. False if the counter has not grown: the authenticator was copied, or a
   * signature is replayed.
   * @throws GatewayError `account_suspended`, `user_not_found`.
   */
  recordSignIn({ id, userId }: OwnPasskey, counter: number): Promise<boolean> {
    return this.#change(userId, async (transaction, at) => {
      const { numUpdatedRows } = await transaction
        .updateTable('passkeys')
        .set({ counter, lastUsedAt: at })
        .where('id', '=', id)
        .where(({ eb, or, and }) =>
          or([eb('counter', '<', counter), and([eb('counter', '=', 0), eb.lit(counter === 0)])]),
        )
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) return false;
      await transaction.updateTable('users').set({ lastSignInAt: at }).where('id', '=', userId).execute();
      return true;
    });
  }

  /** Writes the audit row `passkey.refused`: the counter of a passkey has not grown. */
  recordCopy(userId: string): Promise<void> {
    return this.#change(userId, (transaction, at) =>
      this.#note(transaction, userId, 'passkey.refused', at, 'the signature counter has not grown'),
    );
  }

  /** Uses a recovery code. @returns Its user; undefined if the code is unknown or used. @throws `account_suspended`. */
  recover(code: string): Promise<string | undefined> {
    return this.#database.transaction(async (transaction) => {
      const userId = await takeRecoveryCode(transaction, code);
      if (userId === undefined) return undefined;
      const at = await this.#lock(transaction, userId);
      await transaction.updateTable('users').set({ lastSignInAt: at }).where('id', '=', userId).execute();
      await this.#note(transaction, userId, 'recovery.used', at);
      return userId;
    });
  }

  /** Replaces all recovery codes of a user. @returns The new ones, to be shown once. */
  renewRecoveryCodes(userId: string): Promise<readonly string[]> {
    return this.#change(userId, async (transaction, at) => {
      const codes = await renewRecoveryCodes(transaction, userId, at);
      await this.#note(transaction, userId, 'recovery.renewed', at);
      return codes;
    });
  }

  #change<Result>(
    userId: string,
    work: (transaction: Transaction<Tables>, at: number) => Promise<Result>,
  ): Promise<Result> {
    return this.#database.transaction(async (transaction) => work(transaction, await this.#lock(transaction, userId)));
  }

  /** @returns The time. */
  async #lock(transaction: Transaction<Tables>, userId: string): Promise<number> {
    const { accountId } = await lockUser(transaction, this.#database.engine, userId);
    refuseSuspended(await lockAccount(transaction, this.#database.engine, accountId));
    return this.#times.read(transaction);
  }

  /** Nothing that the user had signs in any more. */
  async #forgetAccess(transaction: Transaction<Tables>, userId: string): Promise<void> {
    await this.#lock(transaction, userId);
    for (const table of ['passkeys', 'sessions', 'device_grants'] as const)
      await transaction.deleteFrom(table).where('userId', '=', userId).execute();
  }

  async #insert(
    transaction: Transaction<Tables>,
    userId: string,
    { passkey, name, host }: Registration,
    createdAt: number,
  ): Promise<PasskeysTable> {
    const { transports, ...rest } = passkey;
    const row = { ...rest, transports: JSON.stringify(transports), userId, name, host, createdAt, lastUsedAt: null };
    const inserted = transaction.insertInto('passkeys').values(row);
    const made = await inserted
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .execute();
    if (made.length > 0) return row;
    throw new GatewayError('passkey_refused', 'This passkey is registered already.');
  }

  #note(
    transaction: Transaction<Tables>,
    subject: string,
    action: AuditAction,
    at: number,
    note?: string,
  ): Promise<void> {
    return writeAudit(transaction, { subject, at, actor: `user:${subject}`, action, note });
  }
}

function notFound(): GatewayError {
  return new GatewayError('passkey_not_found', 'This account has no such passkey.');
}
