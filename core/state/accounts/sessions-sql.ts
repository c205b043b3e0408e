import type { Database, Selectable, Transaction } from '../../database/index.js';
import { deleteExpired } from '../../database/index.js';
import type { JobClock } from '../../jobs/index.js';
import { GatewayError } from '../../runtime/index.js';
import { writeAudit } from '../audit/index.js';
import type { SessionsTable, Tables } from '../schema.js';
import { lockAccount, lockAccountOf, refuseSuspended } from './account-table.js';
import type { SessionRecord, Sessions } from './sessions.js';
import { selectUsers, toUserRecord } from './user-rows.js';

type SessionRow = Selectable<SessionsTable>;

const MOST_OF_USER = 50;
const TOUCH_MS = 60_000;

/** Sessions in SQL. */
export function createSessions(database: Database, times: JobClock): Sessions {
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
