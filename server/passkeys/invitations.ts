/*
 * Invitations: links with a secret of 256 bits, by which a person gets an account without an identity provider. Each link works
 * once, until it expires, for any person who has it. One that names an existing user replaces all passkeys and recovery
 * codes of that user, for a person who has lost them. One for a new user may give the account a plan. The first operator's invitation, which the start prints, ends as
 * soon as the gateway has an operator. A used, expired, withdrawn and unknown link get the same answer.
 */

import { randomBytes } from 'node:crypto';
import {
  type Database,
  type DatabaseClock,
  deleteExpired,
  isStorable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { hasOperator, lockOperators, type UserRole } from '../accounts/index.js';
import { writeAudit } from '../audit/index.js';
import { isVisible } from '../format/index.js';
import { hashToken, isBrowserToken, newToken } from '../keys/index.js';
import type { PlanTerms } from '../plans/index.js';
import type { InvitationsTable } from './tables.js';

const HOUR_MS = 3_600_000;
/** Of the first operator's invitation. */
export const FIRST_HOURS = 1;
export const INVITATION_HOURS = 72;
/** 30 days. */
export const MAX_INVITATION_HOURS = 720;
export const MAX_PERSON_NAME = 100;

export interface InvitationInput {
  /** Default `member`. With `userId`, the user keeps the role. */
  role?: UserRole;
  /** Suggested name of the person, at most 100 characters. Default: none. */
  name?: string;
  /** An existing user who lost all passkeys and recovery codes. Default: the invitation makes a new user. */
  userId?: string;
  /** The plan that the new account gets. Default: none, so the free tier. */
  terms?: PlanTerms;
  /** Hours until it expires, 1 to 720. Default: 72; 1 for the first operator. */
  hours?: number;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
}

/** An open invitation. Times are milliseconds since 1970. */
export type InvitationRecord = Omit<InvitationsTable, 'hash' | 'isFirst'>;

export interface NewInvitation extends InvitationRecord {
  /** The secret of the link; it is not stored. */
  token: string;
}

/** The secret follows `#`, so browsers send it to no server and no proxy has it in a log. */
export function invitationLink(siteUrl: string, { token }: Pick<NewInvitation, 'token'>): string {
  return `${siteUrl}/invite#${token}`;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export class Invitations {
  readonly #database: Database;
  readonly #times: DatabaseClock;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
  }

  /**
   * Makes an invitation. Writes the audit row `invitation.created` (subject: its id).
   * @throws GatewayError `user_not_found`, `invalid_value` for a name without a visible character, for the hours, or for a
   *   plan that the account could not get.
   */
  invite(input: InvitationInput): Promise<NewInvitation> {
    return this.#database.transaction(async (transaction) => {
      const isFirst = input.role === 'operator' && !input.userId && !(await hasOperator(transaction));
      return this.#make(transaction, { ...input, hours: input.hours ?? (isFirst ? FIRST_HOURS : INVITATION_HOURS) });
    });
  }

  /** An invitation for the first operator; undefined if the gateway has an operator. */
  inviteFirst(): Promise<NewInvitation | undefined> {
    return this.#database.transaction(async (transaction) => {
      if (await hasOperator(transaction)) return undefined;
      return this.#make(transaction, { role: 'operator', hours: FIRST_HOURS, actor: 'gateway' }, true);
    });
  }

  /** Open ones, newest first. */
  list(): Promise<readonly InvitationRecord[]> {
    return this.#database.run((queries) =>
      queries
        .selectFrom('invitations')
        .select(['id', 'role', 'name', 'userId', 'terms', 'invitedBy', 'createdAt', 'expiresAt'])
        .where('expiresAt', '>', this.#times.now)
        .orderBy('createdAt', 'desc')
        .orderBy('id')
        .execute(),
    );
  }

  /** Withdraws an open invitation. False if there is none of that id. Writes the audit row `invitation.withdrawn`. */
  withdraw({ id, actor, note }: { id: string; actor: string; note?: string }): Promise<boolean> {
    if (!isStorable(id)) return Promise.resolve(false);
    return this.#database.transaction(async (transaction) => {
      const at = await this.#times.read(transaction);
      const taken = transaction.deleteFrom('invitations').where('id', '=', id).where('expiresAt', '>', at);
      if (!(await taken.returning('id').executeTakeFirst())) return false;
      await writeAudit(transaction, { subject: id, at, actor, action: 'invitation.withdrawn', note });
      return true;
    });
  }

  /** @throws GatewayError `invitation_invalid`. */
  async find(token: string): Promise<InvitationsTable> {
    const found =
      isBrowserToken(token) &&
      (await this.#database.run((queries) =>
        queries
          .selectFrom('invitations')
          .selectAll()
          .where('hash', '=', hashToken(token))
          .where('expiresAt', '>', this.#times.now)
          .executeTakeFirst(),
      ));
    if (!found) throw invalidInvitation();
    return found;
  }

  async #make(
    transaction: Transaction<Tables>,
    { role = 'member', name, userId, terms, hours = INVITATION_HOURS, actor, note }: InvitationInput,
    isFirst = false,
  ): Promise<NewInvitation> {
    if (!Number.isInteger(hours) || hours < 1 || hours > MAX_INVITATION_HOURS) {
      const message = `hours must be a whole number from 1 to ${MAX_INVITATION_HOURS}.`;
      throw new GatewayError('invalid_value', message, { param: 'hours' });
    }
    if (terms && (userId !== undefined || role === 'operator')) {
      const why =
        role === 'operator' ? 'operators have the plan operator.' : 'the user keeps the account with its plan.';
      throw new GatewayError('invalid_value', `plan must be left out: ${why}`, { param: 'plan' });
    }
    const user = userId === undefined ? undefined : await findInvited(transaction, userId);
    const at = await this.#times.read(transaction);
    await deleteExpired(transaction, { engine: this.#database.engine, table: 'invitations', key: 'hash' }, at);
    const token = newToken();
    const record = {
      id: `inv_${randomBytes(8).toString('hex')}`,
      role: user?.role ?? role,
      name: user ? user.name : name === undefined ? null : readPersonName(name),
      userId: user?.id ?? null,
      terms: terms ? JSON.stringify(terms) : null,
      invitedBy: actor,
      createdAt: at,
      expiresAt: at + hours * HOUR_MS,
    };
    const row = { ...record, hash: hashToken(token), isFirst: isFirst ? 1 : 0 };
    await transaction.insertInto('invitations').values(row).execute();
    const to = terms ? `${record.role}, plan ${terms.planId}` : record.role;
    await writeAudit(transaction, { subject: record.id, at, actor, action: 'invitation.created', to, note });
    return { ...record, token };
  }
}

/**
 * Uses an invitation: deletes it, with all others for the first operator if it makes one.
 * @throws GatewayError `invitation_invalid`.
 */
export async function takeInvitation(
  transaction: Transaction<Tables>,
  { engine, hash, at }: { engine: Database['engine']; hash: string; at: number },
): Promise<InvitationsTable> {
  const wanted = transaction.selectFrom('invitations').select('role').where('hash', '=', hash);
  // Before any row is locked: two operators who accept at the same moment would wait for each other.
  if ((await wanted.executeTakeFirst())?.role === 'operator') await lockOperators(transaction, engine);
  const taken = await transaction
    .deleteFrom('invitations')
    .where('hash', '=', hash)
    .where('expiresAt', '>', at)
    .returningAll()
    .executeTakeFirst();
  if (!taken) throw invalidInvitation();
  if (taken.role !== 'operator') return taken;
  if (taken.isFirst === 1 && (await hasOperator(transaction))) throw invalidInvitation();
  await transaction.deleteFrom('invitations').where('isFirst', '=', 1).execute();
  return taken;
}

/** Id of the plan that the new account gets. Null: none. */
export function invitedPlan({ terms }: Pick<InvitationRecord, 'terms'>): string | null {
  return terms === null ? null : (JSON.parse(terms) as PlanTerms).planId;
}

/** @throws GatewayError `invalid_value`. */
export function readPersonName(text: string): string {
  const name = text.trim();
  if (isVisible(name) && name.length <= MAX_PERSON_NAME) return name;
  const message = `name must be 1 to ${MAX_PERSON_NAME} visible characters.`;
  throw new GatewayError('invalid_value', message, { param: 'name' });
}

async function findInvited(transaction: Transaction<Tables>, userId: string) {
  const users = transaction.selectFrom('users').select(['id', 'role', 'name']).where('id', '=', userId);
  const user = isStorable(userId) ? await users.executeTakeFirst() : undefined;
  if (!user) throw new GatewayError('user_not_found', 'There is no such user.');
  return user;
}

export function invalidInvitation(): GatewayError {
  return new GatewayError('invitation_invalid', 'This invitation was used, has expired or was withdrawn.');
}
