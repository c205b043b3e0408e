import type { Tables, Transaction } from '../../core/database/index.js';
import { type ApiKeyRow, isValidRow } from '../keys/index.js';
import { ENTRIES_KEPT_MS } from '../usage/index.js';

/** Of an account, to be shown. */
const KEPT = 20;
/** By then everybody who used it has written that down, and every node has read that it is good no longer. */
const SETTLED_MS = 60 * 60 * 1000;

/**
 * Deletes keys that are no longer good, all but the latest, so that making and revoking them heaps nothing up. One that was
 * used stays as long as entries of the ledger go by its id.
 * @param keys All of an account, oldest first.
 */
export async function forgetEndedKeys(
  transaction: Transaction<Tables>,
  keys: readonly ApiKeyRow[],
  now: number,
): Promise<void> {
  const ended = keys.filter((row) => !isValidRow(row, now));
  const old = ended.slice(0, Math.max(0, ended.length - KEPT)).filter((row) => isForgettable(row, now));
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return;
  await transaction.deleteFrom('rate_slots').where('key_id', 'in', ids).execute();
  await transaction.deleteFrom('rate_windows').where('key_id', 'in', ids).execute();
  await transaction.deleteFrom('api_keys').where('id', 'in', ids).execute();
}

function isForgettable({ changed_at, last_used_at }: ApiKeyRow, now: number): boolean {
  if (now - changed_at < SETTLED_MS) return false;
  return last_used_at === null || now - last_used_at > ENTRIES_KEPT_MS + SETTLED_MS;
}
