/*
 * Pending ceremonies. A challenge has 256 random bits and is valid for 5 minutes, once, in the browser that began: the
 * browser has a cookie whose hash is stored beside that of the challenge. So a ceremony that was recorded, or begun in
 * another browser, cannot be finished. The latest 20,000 are stored.
 */

import {
  type Database,
  type DatabaseClock,
  deleteBeyond,
  deleteExpired,
  type ExpiringTable,
} from '../../core/database/index.js';
import { hashToken, newToken } from '../keys/index.js';
import type { PasskeyChallengesTable } from './tables.js';

const VALID_MS = 5 * 60_000;
const MAX = 20_000;

export type Ceremony = Pick<PasskeyChallengesTable, 'purpose' | 'userId' | 'invitationHash' | 'name'>;

export class Challenges {
  readonly #database: Database;
  readonly #times: DatabaseClock;
  readonly #table: ExpiringTable;

  constructor(database: Database, times: DatabaseClock) {
    this.#database = database;
    this.#times = times;
    this.#table = { engine: database.engine, table: 'passkey_challenges', key: 'hash' };
  }

  /** @param browser Secret of the browser's cookie. @returns The challenge. */
  async begin(ceremony: Ceremony, browser: string): Promise<string> {
    const challenge = newToken();
    await this.#database.run(async (queries) => {
      const at = await this.#times.read(queries);
      await deleteExpired(queries, this.#table, at);
      await deleteBeyond(queries, this.#table, MAX);
      const hashes = { hash: hashToken(challenge), browserHash: hashToken(browser) };
      await queries
        .insertInto('passkey_challenges')
        .values({ ...ceremony, ...hashes, expiresAt: at + VALID_MS })
        .execute();
    });
    return challenge;
  }

  /** Returns a ceremony once, and only to the browser that began it. */
  take(challenge: string, browser: string, purpose: Ceremony['purpose']): Promise<Ceremony | undefined> {
    return this.#database.run((queries) =>
      queries
        .deleteFrom('passkey_challenges')
        .where('hash', '=', hashToken(challenge))
        .where('browserHash', '=', hashToken(browser))
        .where('purpose', '=', purpose)
        .where('expiresAt', '>', this.#times.now)
        .returning(['purpose', 'userId', 'invitationHash', 'name'])
        .executeTakeFirst(),
    );
  }
}

const MAX_CLIENT_DATA = 4_096;

/** The challenge that a credential signed; undefined if it has none. */
export function challengeOf(credential: unknown): string | undefined {
  const { response } = (credential ?? {}) as { response?: { clientDataJSON?: unknown } };
  const text = response?.clientDataJSON;
  if (typeof text !== 'string' || text.length > MAX_CLIENT_DATA) return undefined;
  try {
    const { challenge } = JSON.parse(Buffer.from(text, 'base64url').toString()) as { challenge?: unknown };
    return typeof challenge === 'string' && /^[\w-]{43}$/.test(challenge) ? challenge : undefined;
  } catch {
    return undefined;
  }
}
