/*
 * Finds, signs in, suspends and resumes users. The first sign-in of an issuer and subject creates the user with an
 * account; when two nodes create it at the same moment, one insert has no effect and the user of the other is used. A
 * suspension ends sessions, disables the keys and cancels the jobs of the account in one transaction; a concurrent
 * sign-in waits for it or is ended by it. With the development provider, the first user becomes the operator under a
 * named lock. Every change writes an audit row, and a gateway that has an operator keeps one; see roles.ts.
 */

import { randomBytes } from 'node:crypto';
import {
  beginsWith,
  type Engine,
  isStorable,
  type Kysely,
  lockNamed,
  sql,
  storable,
  type Tables,
  type TextStart,
  type Transaction,
} from '../../core/database/index.js';
import type { JobAdministration } from '../../core/jobs/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import { lockKeys } from '../keys/index.js';
import { lockAccount, lockAccountOf, locked, refuseSuspended } from './account-plans.js';
import type { AccountsOptions } from './accounts.js';
import { hashIdentity, type IdentitySecrets, restoreAllowance } from './erased-allowances.js';
import { changeRole, hasOperator, keepOperator } from './roles.js';
import type { UserRecord, UserRole } from './tables.js';

export interface Identity {
  /** At most 2,048 characters; `subject` 255. */
  issuer: string;
  subject: string;
  email: string | null;
  name: string | null;
}

export interface SignInOptions {
  /**
   * Makes the user the operator if it is the first of this database, as {@link Users.setRole} does. Default false.
   */
  firstIsOperator?: boolean;
}

export interface SignedIn extends UserRecord {
  /** This sign-in made the user the operator. */
  becameOperator?: true;
}

export interface UserPage {
  /** Maximum number of users. */
  limit: number;
  /** Users created before this one, by its id. Default: from the newest on. */
  before?: string;
  /** Users created before this place. Default: from the newest on. */
  after?: { at: number; id: string };
  /**
   * Beginning of the address, of the name, of what follows its first word, of its last word, of the id or of the id of
   * the account, in any letters. Of each of them, the first 1,000 matches count. Default: all users.
   */
  search?: string;
  state?: 'active' | 'suspended';
}

/** Matches of a search by one column. */
const MAX_MATCHES = 1_000;

/** An operation on a user. */
export interface UserChange {
  userId: string;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  /** Reason, in the actor's words. */
  note?: string;
}

const MAX_ISSUER = 2_048;
/** As in OpenID Connect. */
const MAX_SUBJECT = 255;
const MAX_EMAIL = 320;
const MAX_NAME = 200;

export interface UsersOptions extends AccountsOptions {
  identitySecrets: IdentitySecrets;
  jobs: Pick<JobAdministration, 'cancelAll'>;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Users {
  readonly #database: UsersOptions['database'];
  readonly #times: UsersOptions['times'];
  readonly #jobs: UsersOptions['jobs'];
  readonly #identitySecrets: UsersOptions['identitySecrets'];

  constructor({ database, times, jobs, identitySecrets }: UsersOptions) {
    this.#database = database;
    this.#times = times;
    this.#jobs = jobs;
    this.#identitySecrets = identitySecrets;
  }

  /**
   * The user of this issuer and subject, with the provider's current email and name; created with an account at the
   * first sign-in.
   * @throws GatewayError `account_suspended`, `invalid_value` if issuer or subject cannot be stored.
   */
  async signIn(identity: Identity, { firstIsOperator = false }: SignInOptions = {}): Promise<SignedIn> {
    checkIdentity(identity);
    const profile = { email: storableText(identity.email, MAX_EMAIL), name: storableText(identity.name, MAX_NAME) };
    const hashes = hashIdentity(identity, await this.#identitySecrets());
    return this.#database.transaction(async (transaction) => {
      const at = await this.#times.read(transaction);
      const becomesOperator = firstIsOperator && (await this.#isFirst(transaction));
      const known =
        (await this.#findByIdentity(transaction, identity)) ??
        (await this.#make(transaction, { identity: { ...identity, ...profile }, hashes, at }));
      refuseSuspended(known);
      const change = { ...profile, lastSignInAt: at };
      await transaction.updateTable('users').set(change).where('id', '=', known.id).execute();
      const user = { ...known, ...change };
      if (!becomesOperator) return user;
      const { engine } = this.#database;
      const account = await lockAccount(transaction, engine, known.accountId);
      await changeRole({ transaction, engine, user: known, account, role: 'operator', at, actor: 'gateway' });
      return { ...user, role: 'operator', becameOperator: true as const };
    });
  }

  async find(id: string): Promise<UserRecord | undefined> {
    if (!isStorable(id)) return undefined;
    return this.#database.run((queries) => selectUsers(queries).where('users.id', '=', id).executeTakeFirst());
  }

  /** Stores the language of the user's pages. It is a preference, so it writes no audit row. */
  async setLanguage(userId: string, language: string): Promise<void> {
    await this.#database.run((queries) =>
      queries.updateTable('users').set({ language }).where('id', '=', userId).execute(),
    );
  }

  findByAccount(accountId: string): Promise<UserRecord | undefined> {
    return this.#database.run((queries) =>
      selectUsers(queries).where('users.accountId', '=', accountId).executeTakeFirst(),
    );
  }

  /** The users of those accounts that have one; at most those of a page. */
  async ofAccounts(accountIds: readonly string[]): Promise<readonly UserRecord[]> {
    if (accountIds.length === 0) return [];
    return this.#database.run((queries) => selectUsers(queries).where('users.accountId', 'in', accountIds).execute());
  }

  /** Those of these users that exist; at most those of a page. */
  async ofIds(ids: readonly string[]): Promise<readonly UserRecord[]> {
    if (ids.length === 0) return [];
    return this.#database.run((queries) => selectUsers(queries).where('users.id', 'in', ids).execute());
  }

  /** Users with this email address, ignoring case; newest first. */
  async findByEmail(email: string): Promise<readonly UserRecord[]> {
    if (!isStorable(email)) return [];
    return this.#database.run((queries) =>
      selectUsers(queries)
        .where(({ eb, fn, val }) => eb(fn('lower', ['users.email']), '=', fn('lower', [val(email)])))
        .orderBy('users.createdAt', 'desc')
        .orderBy('users.id', 'desc')
        .execute(),
    );
  }

  /** Newest first. */
  async list({ limit, before, after, search, state }: UserPage): Promise<readonly UserRecord[]> {
    if (!isStorable(`${before}${after?.id}${search}`)) return [];
    return this.#database.run((queries) => {
      const users = selectUsers(queries)
        .orderBy('users.createdAt', 'desc')
        .orderBy('users.id', 'desc')
        .limit(limit)
        .$if(after !== undefined, (some) =>
          some.where(sql<boolean>`(users."createdAt", users.id) < (${after?.at}, ${after?.id})`),
        )
        .$if(search !== undefined, (some) =>
          some.where('users.id', 'in', matching(this.#database.engine, search ?? '')),
        )
        .$if(state === 'active', (some) => some.where('accounts.suspendedAt', 'is', null))
        .$if(state === 'suspended', (some) =>
          some.where('users.accountId', 'in', sql<string>`(select id from accounts where "suspendedAt" is not null)`),
        );
      if (before === undefined) return users.execute();
      return users
        .where(({ eb, refTuple, selectFrom }) =>
          eb(
            refTuple('users.createdAt', 'users.id'),
            '<',
            selectFrom('users as mark')
              .select(['mark.createdAt', 'mark.id'])
              .where('mark.id', '=', before)
              .$asTuple('createdAt', 'id'),
          ),
        )
        .execute();
    });
  }

  /**
   * Ends their sessions and pending device grants, and cancels the queued and running jobs of their account; their keys
   * answer `account_suspended` once nodes have read the change. False if they were already suspended. Writes the audit
   * row `user.suspended`.
   * @throws GatewayError `user_not_found`, `last_operator`.
   */
  async suspend({ userId, actor, note }: UserChange): Promise<boolean> {
    const wake = await this.#database.transaction(async (transaction) => {
      const account = await lockAccountOf(transaction, this.#database.engine, userId);
      if (account.suspendedAt !== null) return undefined;
      const { role } = await this.#find(transaction, userId);
      await keepOperator(transaction, this.#database.engine, { id: userId, role });
      const at = await this.#times.read(transaction);
      await this.#setSuspended(transaction, account.id, at);
      await transaction.deleteFrom('sessions').where('userId', '=', userId).execute();
      await transaction.deleteFrom('device_grants').where('userId', '=', userId).execute();
      await writeAudit(transaction, { subject: userId, at, actor, action: 'user.suspended', note });
      return this.#jobs.cancelAll(transaction, { owner: account.id });
    });
    wake?.();
    return wake !== undefined;
  }

  /** Their keys work again; they must sign in again. False if they were not suspended. Audit row `user.resumed`. */
  resume({ userId, actor, note }: UserChange): Promise<boolean> {
    return this.#database.transaction(async (transaction) => {
      const account = await lockAccountOf(transaction, this.#database.engine, userId);
      if (account.suspendedAt === null) return false;
      const at = await this.#times.read(transaction);
      await this.#setSuspended(transaction, account.id, null);
      await writeAudit(transaction, { subject: userId, at, actor, action: 'user.resumed', note });
      return true;
    });
  }

  /**
   * Gives the user a role. An operator's account gets the operator's plan, and loses it with the role. False if the
   * user had the role. Writes the audit row `user.role-changed`.
   * @throws GatewayError `user_not_found`, `last_operator`.
   */
  setRole({ userId, role, actor, note }: UserChange & { role: UserRole }): Promise<boolean> {
    const { engine } = this.#database;
    return this.#database.transaction(async (transaction) => {
      const account = await lockAccountOf(transaction, engine, userId);
      const user = await this.#find(transaction, userId);
      const at = await this.#times.read(transaction);
      return changeRole({ transaction, engine, user, account, role, at, actor, note });
    });
  }

  /** Whether there is an operator who is not suspended. */
  hasOperator(): Promise<boolean> {
    return this.#database.run((queries) => hasOperator(queries));
  }

  /** Of an account that is locked. */
  #find(transaction: Transaction<Tables>, userId: string): Promise<UserRecord> {
    return selectUsers(transaction).where('users.id', '=', userId).executeTakeFirstOrThrow();
  }

  async #setSuspended(transaction: Transaction<Tables>, accountId: string, suspendedAt: number | null): Promise<void> {
    const { engine } = this.#database;
    const change = { suspendedAt };
    await transaction.updateTable('accounts').set(change).where('id', '=', accountId).execute();
    const keys = await lockKeys(transaction, engine, accountId);
    if (keys.length === 0) return;
    const keyChange = { ...change, changedAt: this.#times.now };
    await transaction.updateTable('api_keys').set(keyChange).where('id', 'in', keys).execute();
  }

  async #make(
    transaction: Transaction<Tables>,
    { identity, hashes, at }: { identity: Identity; hashes: readonly string[]; at: number },
  ): Promise<UserRecord> {
    const { engine } = this.#database;
    const made = await createUser(transaction, { engine, id: newUserId(), identity, hashes, at });
    // Undefined if another node created the user at the same moment.
    return made ?? ((await this.#findByIdentity(transaction, identity)) as UserRecord);
  }

  /** Two first sign-ins at the same moment wait for each other. */
  async #isFirst(transaction: Transaction<Tables>): Promise<boolean> {
    if (this.#database.engine === 'postgres') await transaction.executeQuery(lockNamed('first user'));
    const anyUser = await transaction.selectFrom('users').select('id').limit(1).executeTakeFirst();
    return anyUser === undefined;
  }

  /** A concurrent suspension waits for this sign-in, and then ends it. */
  async #findByIdentity(
    transaction: Transaction<Tables>,
    { issuer, subject }: Identity,
  ): Promise<UserRecord | undefined> {
    const users = selectUsers(transaction).where('users.issuer', '=', issuer).where('users.subject', '=', subject);
    return locked(this.#database.engine, users).executeTakeFirst();
  }
}

/** Ids of the users that a search finds, read along an index of each column. */
function matching(engine: Engine, search: string) {
  const places: readonly (readonly [column: string, start?: TextStart])[] = /^(?:user|acct)_./.test(search)
    ? [['id'], ['accountId']]
    : [['email'], ['name'], ['name', 'second word'], ['name', 'last word']];
  const found = places.map(([column, start], index) => {
    const begins = beginsWith(engine, column, search, start);
    const first = sql`select id from users where ${begins} limit ${sql.lit(MAX_MATCHES)}`;
    return sql`select id from (${first}) as ${sql.ref(`place_${index}`)}`;
  });
  return sql<string>`(${sql.join(found, sql` union all `)})`;
}

export interface NewUser {
  engine: Engine;
  /** As {@link newUserId} makes it. */
  id: string;
  identity: Identity;
  /** Keyed hashes of the identity, which an erased user may have had. Default: none. */
  hashes?: readonly string[];
  at: number;
}

/** Creates a user with an account. Undefined if a user has this issuer and subject. */
export async function createUser(
  transaction: Transaction<Tables>,
  { engine, id, identity, hashes = [], at }: NewUser,
): Promise<UserRecord | undefined> {
  const { issuer, subject, name } = identity;
  const account = { id: newId('acct'), createdAt: at };
  const role = 'member' as const;
  const user = { id, accountId: account.id, issuer, subject, name, createdAt: at, lastSignInAt: at, role };
  await transaction.insertInto('accounts').values(account).execute();
  const made = await transaction
    .insertInto('users')
    .values(user)
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
    .returning('id')
    .executeTakeFirst();
  if (made) {
    if (hashes.length > 0) await restoreAllowance({ transaction, engine, accountId: account.id, hashes, at });
    return { ...user, email: null, suspendedAt: null, language: null };
  }
  await transaction.deleteFrom('accounts').where('id', '=', account.id).execute();
  return undefined;
}

export function newUserId(): string {
  return newId('user');
}

function newId(prefix: 'acct' | 'user'): string {
  return `${prefix}_${randomBytes(16).toString('hex')}`;
}

function storableText(text: string | null, max: number): string | null {
  return text === null ? null : storable(text, max) || null;
}

/** Cutting or cleaning them could merge two persons. */
function checkIdentity({ issuer, subject }: Identity): void {
  const bounds = [
    ['issuer', issuer, MAX_ISSUER],
    ['subject', subject, MAX_SUBJECT],
  ] as const;
  for (const [param, text, max] of bounds) {
    if (text !== '' && text.length <= max && storable(text, max) === text) continue;
    const message = `The ${param} of an identity must be 1 to ${max} characters without control characters.`;
    throw new GatewayError('invalid_value', message, { param });
  }
}

/** Users with data of their accounts. */
export function selectUsers(queries: Kysely<Tables>) {
  return queries
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.id', 'users.accountId')
    .selectAll('users')
    .select('accounts.suspendedAt');
}

/**
 * Locks a user and the account until the end of the transaction. A session that is being created refers to the row of
 * the user, so it waits.
 * @throws GatewayError `user_not_found`.
 */
export async function lockUser(
  transaction: Transaction<Tables>,
  engine: Engine,
  userId: string,
): Promise<Tables['users']> {
  const users = transaction.selectFrom('users').selectAll().where('id', '=', userId);
  const user = isStorable(userId) ? await locked(engine, users).executeTakeFirst() : undefined;
  if (!user) throw new GatewayError('user_not_found', 'There is no such user.');
  await lockAccount(transaction, engine, user.accountId);
  return user;
}
