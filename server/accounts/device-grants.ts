import { randomInt } from 'node:crypto';
import type { DatabaseClock } from '../../core/database/index.js';
import {
  type Database,
  deleteBeyond,
  deleteExpired,
  type ExpiringTable,
  type Selectable,
  storable,
} from '../../core/database/index.js';
import { locked } from './account-table.js';
import type { DeviceGrantsTable } from './tables.js';

/** A program that waits to be let in by somebody who is signed in (RFC 8628). Times are milliseconds since 1970. */
export interface DeviceGrant {
  /** 8 letters, no vowels, without a hyphen. */
  userCode: string;
  /** What the program calls itself; whoever approves it sees this. At most 100 characters. */
  clientName: string;
  createdAt: number;
  expiresAt: number;
}

export interface NewDeviceGrant {
  /** SHA-256 of the device code in lower-case hex. */
  deviceHash: string;
  clientName: string;
}

/**
 * What a poll answers, in the words of RFC 8628 and RFC 6749. `invalid_grant`: there is no such device code, or it was
 * traded in before.
 */
export type DevicePoll =
  | { status: 'granted'; userId: string }
  | {
      status: 'authorization_pending' | 'slow_down';
      /** Seconds to wait before the next poll. */
      interval: number;
    }
  | { status: 'access_denied' | 'expired_token' | 'invalid_grant' };

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface DeviceGrants {
  /** Good for 10 minutes. The latest 20,000 are kept. */
  create(grant: NewDeviceGrant): Promise<DeviceGrant & { interval: number }>;
  /** One that waits for an answer, by its user code as a person types it: case and whatever is no letter do not matter. */
  find(userCode: string): Promise<DeviceGrant | undefined>;
  /** Lets the program in as this user. False where nothing waits under the code (any more). */
  approve(userCode: string, userId: string): Promise<boolean>;
  deny(userCode: string): Promise<boolean>;
  /** `granted` is answered once. Whoever polls before their interval is over has to wait 5 s longer from then on. */
  poll(deviceHash: string): Promise<DevicePoll>;
}

const GOOD_MS = 10 * 60_000;
/** That long it is still said that one has expired. */
const KEPT_MS = 10 * 60_000;
const MOST = 20_000;
const MAX_CLIENT_NAME = 100;
/** As RFC 8628 proposes: no vowels, so that no words come about. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
const CODE_LENGTH = 8;
const FIRST_INTERVAL_SECONDS = 5;
const SLOWER_SECONDS = 5;
const LAST_INTERVAL_SECONDS = 60;

/** Device grants in SQL. */
export function createDeviceGrants(database: Database, times: DatabaseClock): DeviceGrants {
  const { engine } = database;
  const table: ExpiringTable = { engine, table: 'device_grants', key: 'device_hash' };

  async function answer(userCode: string, change: Pick<DeviceGrantsTable, 'state' | 'user_id'>): Promise<boolean> {
    const { numUpdatedRows } = await database.run((queries) =>
      queries
        .updateTable('device_grants')
        .set(change)
        .where('user_code', '=', lettersOf(userCode))
        .where('state', '=', 'pending')
        .where('expires_at', '>', times.now)
        .executeTakeFirstOrThrow(),
    );
    return numUpdatedRows > 0n;
  }

  return {
    create: ({ deviceHash, clientName }) =>
      database.run(async (queries) => {
        const at = await times.read(queries);
        await deleteExpired(queries, table, at - KEPT_MS);
        await deleteBeyond(queries, table, MOST);
        for (;;) {
          const row = await queries
            .insertInto('device_grants')
            .values({
              device_hash: deviceHash,
              user_code: newUserCode(),
              client_name: storable(clientName, MAX_CLIENT_NAME),
              state: 'pending',
              user_id: null,
              interval_seconds: FIRST_INTERVAL_SECONDS,
              polled_at: null,
              created_at: at,
              expires_at: at + GOOD_MS,
            })
            .onConflict((conflict) => conflict.column('user_code').doNothing())
            .returningAll()
            .executeTakeFirst();
          if (row) return { ...toDeviceGrant(row), interval: row.interval_seconds };
        }
      }),

    async find(userCode) {
      const row = await database.run((queries) =>
        queries
          .selectFrom('device_grants')
          .selectAll()
          .where('user_code', '=', lettersOf(userCode))
          .where('state', '=', 'pending')
          .where('expires_at', '>', times.now)
          .executeTakeFirst(),
      );
      return row && toDeviceGrant(row);
    },

    approve: (userCode, userId) => answer(userCode, { state: 'approved', user_id: userId }),
    deny: (userCode) => answer(userCode, { state: 'denied', user_id: null }),

    poll: (deviceHash) =>
      database.transaction(async (transaction): Promise<DevicePoll> => {
        const rows = transaction.selectFrom('device_grants').selectAll().where('device_hash', '=', deviceHash);
        const row = await locked(engine, rows).executeTakeFirst();
        if (!row) return { status: 'invalid_grant' };
        const at = await times.read(transaction);
        if (row.expires_at <= at) return { status: 'expired_token' };
        if (row.state === 'denied') return { status: 'access_denied' };
        if (row.state === 'approved' && row.user_id !== null) {
          await transaction.deleteFrom('device_grants').where('device_hash', '=', deviceHash).execute();
          return { status: 'granted', userId: row.user_id };
        }
        const tooSoon = row.polled_at !== null && at - row.polled_at < row.interval_seconds * 1_000;
        const slower = Math.min(row.interval_seconds + SLOWER_SECONDS, LAST_INTERVAL_SECONDS);
        const interval = tooSoon ? slower : row.interval_seconds;
        await transaction
          .updateTable('device_grants')
          .set({ polled_at: at, interval_seconds: interval })
          .where('device_hash', '=', deviceHash)
          .execute();
        return { status: tooSoon ? 'slow_down' : 'authorization_pending', interval };
      }),
  };
}

function newUserCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('');
}

function lettersOf(typed: string): string {
  return typed
    .slice(0, 100)
    .toUpperCase()
    .replace(/[^A-Z]/g, '');
}

function toDeviceGrant(row: Selectable<DeviceGrantsTable>): DeviceGrant {
  return {
    userCode: row.user_code,
    clientName: row.client_name,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
