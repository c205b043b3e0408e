import type { DatabaseClock } from '../../core/database/index.js';
import { type Database, deleteBeyond, deleteExpired, type ExpiringTable } from '../../core/database/index.js';

/** A sign-in that has begun: what its callback is checked against. */
export interface SignInAttempt {
  /** SHA-256 of the `state` parameter in lower-case hex. */
  stateHash: string;
  /** SHA-256 of what the browser that began it holds in a cookie. */
  browserHash: string;
  nonce: string;
  /** Of PKCE. */
  codeVerifier: string;
  /** Own path to go on to. */
  returnTo: string;
}

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface SignIns {
  /** Good for 10 minutes. The latest 20,000 are kept. */
  begin(attempt: SignInAttempt): Promise<void>;
  /** Gives an attempt out once, and only to the browser that began it; undefined otherwise, and when it is too old. */
  take(stateHash: string, browserHash: string): Promise<SignInAttempt | undefined>;
}

const GOOD_MS = 10 * 60_000;
const MOST = 20_000;

/** Sign-ins that have begun, in SQL. */
export function createSignIns(database: Database, times: DatabaseClock): SignIns {
  const table: ExpiringTable = { engine: database.engine, table: 'sign_ins', key: 'state_hash' };

  return {
    async begin({ stateHash, browserHash, nonce, codeVerifier, returnTo }) {
      await database.run(async (queries) => {
        const at = await times.read(queries);
        await deleteExpired(queries, table, at);
        await deleteBeyond(queries, table, MOST);
        await queries
          .insertInto('sign_ins')
          .values({
            state_hash: stateHash,
            browser_hash: browserHash,
            nonce,
            code_verifier: codeVerifier,
            return_to: returnTo,
            expires_at: at + GOOD_MS,
          })
          .execute();
      });
    },

    async take(stateHash, browserHash) {
      const row = await database.run((queries) =>
        queries
          .deleteFrom('sign_ins')
          .where('state_hash', '=', stateHash)
          .where('browser_hash', '=', browserHash)
          .where('expires_at', '>', times.now)
          .returningAll()
          .executeTakeFirst(),
      );
      if (!row) return undefined;
      return { stateHash, browserHash, nonce: row.nonce, codeVerifier: row.code_verifier, returnTo: row.return_to };
    },
  };
}
