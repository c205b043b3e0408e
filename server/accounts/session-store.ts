import type { DatabaseClock } from '../../core/database/index.js';
import {
  type Database,
  deleteExpired,
  type Selectable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import { lockAccount, lockAccountOf, refuseSuspended } from './account-table.js';
import type { SessionsTable } from './tables.js';
import { selectUsers, toUserRecord } from './user-rows.js';
import type { UserChange, UserRecord } from './users.js';

/** `browser`: sent as a cookie by itself. `device`: a bearer token that a program sends on purpose. */
export type SessionKind = 'browser' | 'device';

/** Somebody who is signed in. Times are milliseconds since 1970. */
export interface SessionRecord {
  /** SHA-256 of the secret in lower-case hex; the secret itself is nowhere. */
  hash: string;
  userId: string;
  kind: SessionKind;
  createdAt: number;
  /** When it ends as things stand: by its idle time or its lifetime, whichever is sooner. */
  expiresAt: number;
}

export interface NewSession {
  /** SHA-256 of the secret in lower-case hex. */
  hash: string;
  userId: string;
  kind: SessionKind;
  /** Milliseconds without a request after which it ends. */
  idleMs: number;
  /** Milliseconds after which it ends in any case. */
  lifetimeMs: number;
}

export interface SignedIn {
  session: SessionRecord;
  user: UserRecord;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface Sessions {
  /**
   * Of the sessions of a user, 50 at most go on: the one that was seen longest ago ends for a new one.
   * @throws GatewayError `account_suspended`, `user_not_found`.
   */
  create(session: NewSession): Promise<SessionRecord>;
  /**
   * The session and its user. Undefined where there is none, or it has ended. Counts as a sign of life, which is written
   * down once a minute at most.
   */
  find(hash: string): Promise<SignedIn | undefined>;
  /** False where there was none any more. */
  end(hash: string): Promise<boolean>;
  /**
   * Ends those of a user, and what their devices wait for; their keys go on. How many sessions there were; where there were
   * any, it writes the audit row `user.signed-out`.
   * @throws GatewayError `user_not_found`.
   */
  endAllOf(end: UserChange): Promise<number>;
}

type SessionRow = Selectable<SessionsTable>;

const MOST_OF_USER = 50;
const TOUCH_MS = 60_000;

/** Sessions in SQL. */
export function createSessions(database: Database, times: DatabaseClock): Sessions {
  const { engine } = database;

  return {
    create: ({ hash, userId, kind, idleMs, lifetimeMs }) =>
      database.transaction(async (transaction) => {
        const user = await selectUsers(transaction).where('users.id', '=', userId).executeTakeFirst();
        if (!user) throw new GatewayError('user_not_found', 'There is no such user.');
        refuseSuspended(await lockAccount(transaction, engine, user.account_id));
        const at = await times.read(transaction);
        await deleteExpired(transaction, { engine, table: 'sessions', key: 'hash' }, at);
        await endLongestUnseen(transaction, userId);
        const row: SessionRow = {
          hash,
          user_id: userId,
          kind,
          created_at: at,
          last_seen_at: at,
          idle_ms: idleMs,
          ends_at: at + lifetimeMs,
          expires_at: at + Math.min(idleMs, lifetimeMs),
        };
        await transaction.insertInto('sessions').values(row).execute();
        return toSession(row);
      }),

    async find(hash) {
      return database.run(async (queries) => {
        const row = await queries
          .selectFrom('sessions')
          .selectAll()
          .select(times.now.as('now'))
          .where('hash', '=', hash)
          .executeTakeFirst();
        if (!row || row.expires_at <= row.now) return undefined;
        const user = await selectUsers(queries).where('users.id', '=', row.user_id).executeTakeFirst();
        if (!user || user.suspended_at !== null) return undefined;
        if (row.now - row.last_seen_at < TOUCH_MS) return { session: toSession(row), user: toUserRecord(user) };
        const seen = { last_seen_at: row.now, expires_at: Math.min(row.ends_at, row.now + row.idle_ms) };
        await queries.updateTable('sessions').set(seen).where('hash', '=', hash).execute();
        return { session: toSession({ ...row, ...seen }), user: toUserRecord(user) };
      });
    },

    async end(hash) {
      const { numDeletedRows } = await database.run((queries) =>
        queries.deleteFrom('sessions').where('hash', '=', hash).executeTakeFirstOrThrow(),
      );
      return numDeletedRows > 0n;
    },

    endAllOf: ({ userId, actor, note }) =>
      database.transaction(async (transaction) => {
        await lockAccountOf(transaction, engine, userId);
        await transaction.deleteFrom('device_grants').where('user_id', '=', userId).execute();
        const ended = transaction.deleteFrom('sessions').where('user_id', '=', userId);
        const count = Number((await ended.executeTakeFirstOrThrow()).numDeletedRows);
        if (count === 0) return 0;
        const at = await times.read(transaction);
        await writeAudit(transaction, { subject: userId, at, actor, action: 'user.signed-out', note });
        return count;
      }),
  };
}

/** Makes room for one more. */
async function endLongestUnseen(transaction: Transaction<Tables>, userId: string): Promise<void> {
  await transaction
    .deleteFrom('sessions')
    .where('hash', 'in', (old) =>
      old
        .selectFrom('sessions')
        .select('hash')
        .where('user_id', '=', userId)
        .orderBy('last_seen_at', 'desc')
        .orderBy('hash')
        .limit(MOST_OF_USER)
        .offset(MOST_OF_USER - 1),
    )
    .execute();
}

function toSession(row: SessionRow): SessionRecord {
  return {
    hash: row.hash,
    userId: row.user_id,
    kind: row.kind,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
