import type { Database } from '../../database/index.js';
import { deleteBeyond, deleteExpired, type ExpiringTable } from '../../database/index.js';
import type { JobClock } from '../../jobs/index.js';
import type { SignIns } from './sign-ins.js';

const GOOD_MS = 10 * 60_000;
const MOST = 20_000;

/** Sign-ins that have begun, in SQL. */
export function createSignIns(database: Database, times: JobClock): SignIns {
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
