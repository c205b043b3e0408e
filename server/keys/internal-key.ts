/*
 * The internal key of a site account, with which pages of the site make requests for the signed-in user. It is made at
 * the first request. Plan, budgets and rate limits are those of the account, as for every other key of it, so it
 * allows nothing more. It has no secret, so that it works through a session alone; lists of keys omit it, and it does
 * not count among the keys that an account may have. It is suspended, erased and given another plan together with the
 * other keys. The account is locked while the key is made, so that simultaneous first requests, of any number of
 * processes, make one.
 */

import type { Clock } from '../../core/runtime/index.js';
import type { ApiKeys } from './api-keys.js';
import type { ApiKeyRecord } from './key-rows.js';
import type { KeyTable } from './key-table.js';

export interface InternalKeysOptions<Terms> {
  keys: Pick<ApiKeys<Terms>, 'findInternal' | 'issueInternal'>;
  table: Pick<KeyTable, 'admit' | 'refresh'>;
  /** What an account without a plan gets. */
  freeTier: () => Terms;
  clock: Clock;
}

/** Admits signed-in users with the internal keys of their accounts. */
export class InternalKeys<Terms> {
  readonly #options: InternalKeysOptions<Terms>;

  constructor(options: InternalKeysOptions<Terms>) {
    this.#options = options;
  }

  /**
   * The internal key of an account, which is made if there is none. Without a plan the account gets the free tier, as
   * with a key that its user makes.
   * @throws GatewayError `account_suspended`, `account_not_found`.
   */
  async admit(accountId: string): Promise<ApiKeyRecord> {
    const { keys, table, freeTier, clock } = this.#options;
    const known = await keys.findInternal(accountId);
    if (known && (known.expiresAt === null || known.expiresAt > clock.now())) return table.admit(known);
    const made = await keys.issueInternal({ accountId, otherwise: freeTier() });
    await table.refresh();
    return table.admit(made);
  }
}
