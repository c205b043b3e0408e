/*
 * Makes, changes, rotates and revokes keys for a signed-in user. With an `Idempotency-Key` the new key is derived from it and
 * from the secret of the session, so a repeated request returns the same key although no key is stored. Two equal
 * requests at the same moment make one key: the second finds the row of the first. After each change this node reads
 * the changed keys at once; other nodes follow within 2 s. An account may have ten valid keys.
 */

import { createHmac } from 'node:crypto';
import { type Clock, GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { ApiKeys } from './api-keys.js';
import { type ApiKeyRecord, isValidKey } from './key-rows.js';
import type { KeyTable } from './key-table.js';
import { createKey, deriveKey, hashKey, type KeyText, type Pepper } from './keys.js';
import type { OwnLimitsChange } from './own-limits.js';

/** Maximum valid keys of an account; a rotated one that is valid beside its successor does not count. */
const MAX_KEYS = 10;

/**
 * Identifies a repeated request, which returns the key of the first one. The key is derived from both values, so that
 * it need not be stored: the session's secret is not in the state.
 */
export interface Repeat {
  /** Token of the session. */
  secret: string;
  /** The Idempotency-Key header. */
  key: string;
}

export interface CreateKeyInput {
  accountId: string;
  /** For the audit log: `user:user_…`. */
  actor: string;
  /** 1 to 100 characters. */
  name: string;
  /** What it is limited to within the plan. Default: nothing. */
  own?: OwnLimitsChange;
  /** Its own budgets: `50 USD/month`. Default: none. */
  budgets?: readonly string[];
  /** Default: every request is new. */
  repeat?: Repeat;
}

/** What is left out stays as it is. */
export interface ChangeKeyInput<Budget> {
  accountId: string;
  /** For the audit log: `user:user_…`. */
  actor: string;
  /** Public id. */
  id: string;
  properties?: { name?: string; own?: OwnLimitsChange };
  /** All of its own budgets from now on. */
  budgets?: readonly Budget[];
}

export interface RotateKeyInput {
  accountId: string;
  /** For the audit log: `user:user_…`. */
  actor: string;
  /** Public id. Default: the only valid key. */
  id?: string;
  /** Milliseconds that the old key stays valid beside the new one. */
  overlapMs: number;
  /** Default: every request is new. */
  repeat?: Repeat;
}

export interface RevokeKeyInput {
  accountId: string;
  /** For the audit log: `user:user_…`. */
  actor: string;
  /** Public id. */
  id: string;
  keepsJobs: boolean;
}

export interface MadeKey {
  /** The key itself, which is returned only here. */
  key: string;
  record: ApiKeyRecord;
  /** Whether an earlier request made it. */
  replayed: boolean;
}

export interface KeyServiceOptions<Terms, Budget> {
  keys: Pick<ApiKeys<Terms>, 'find' | 'listOf' | 'issue' | 'rotate' | 'revoke'>;
  /** Changes keys together with their budgets. */
  budgets: { changeKey(change: ChangeKeyInput<Budget>): Promise<ApiKeyRecord> };
  table: Pick<KeyTable, 'refresh'>;
  /** What an account without a plan gets with its first key. */
  freeTier: () => Terms;
  /** The newest. */
  pepper: Pepper;
  clock: Clock;
}

/**
 * Makes, changes, rotates and revokes the keys of accounts. Changes are effective on this node at once, on others within 2 s.
 */
export class KeyService<Terms, Budget> {
  readonly #options: KeyServiceOptions<Terms, Budget>;

  constructor(options: KeyServiceOptions<Terms, Budget>) {
    this.#options = options;
  }

  /**
   * The first key of an account; it includes the free tier if the account has no plan.
   * @throws GatewayError `key_exists` if it has a valid one, `invalid_value` if a limit exceeds the plan,
   *   `idempotency_key_reused`, `account_suspended`.
   */
  async makeFirst(input: CreateKeyInput): Promise<MadeKey> {
    try {
      return await this.#make(input, 1);
    } catch (error) {
      if (!isGatewayError(error) || error.code !== 'too_many_keys') throw error;
      const message =
        'This account has a key already, and it is not shown again. POST /api/user/rotate replaces it; POST /api/user/keys creates another one.';
      throw new GatewayError('key_exists', message);
    }
  }

  /** A further key. @throws GatewayError `too_many_keys` beyond ten valid ones, otherwise as `makeFirst`. */
  makeFurther(input: CreateKeyInput): Promise<MadeKey> {
    return this.#make(input, MAX_KEYS);
  }

  /**
   * @throws GatewayError `key_not_found`, `key_replaced`, `idempotency_key_reused`, `account_suspended`,
   *   `missing_required_parameter` if several keys are valid and none is named.
   */
  async rotate(input: RotateKeyInput): Promise<MadeKey & { replaced: ApiKeyRecord }> {
    const { accountId, actor, id: named, overlapMs, repeat } = input;
    const { keys, table } = this.#options;
    const text = keyTextOf('rotate', accountId, repeat);
    const made = await this.#once(accountId, text, repeat, async () => {
      const id = named ?? (await this.#onlyKey(accountId));
      return keys.rotate({ accountId, id, successor: this.#hashed(text), overlapMs, audit: { actor } });
    });
    await table.refresh();
    // A key comes before it if this rotation ended the key's overlap.
    const known = await keys.listOf(accountId);
    const replaced = known.findLast(({ replacedBy }) => replacedBy === made.record.id);
    if (!replaced || (named !== undefined && named !== replaced.id)) throw reused();
    return { ...made, replaced };
  }

  /**
   * Changes the name, own limits and budgets of a valid key, all of it or nothing.
   * @throws GatewayError `key_not_found`, `key_replaced`, `invalid_value` if a limit exceeds the plan.
   */
  async change(input: ChangeKeyInput<Budget>): Promise<ApiKeyRecord> {
    const { budgets, table } = this.#options;
    const record = await budgets.changeKey(input);
    await table.refresh();
    return record;
  }

  /**
   * Cancels the key's queued and running jobs, unless they are kept for the account. No effect if it was already revoked.
   * @throws GatewayError `key_not_found`.
   */
  async revoke({ accountId, actor, id, keepsJobs }: RevokeKeyInput): Promise<ApiKeyRecord> {
    const { keys, table, clock } = this.#options;
    await keys.revoke(id, clock.now(), accountId, keepsJobs, actor);
    const record = await this.#findOwn(id, accountId);
    if (!record) throw new GatewayError('key_not_found', 'This account has no such key.');
    await table.refresh();
    return record;
  }

  async #make({ accountId, actor, name, own, budgets, repeat }: CreateKeyInput, maxKeys: number): Promise<MadeKey> {
    const { keys, table, freeTier } = this.#options;
    const text = keyTextOf('make', accountId, repeat);
    const otherwise = freeTier();
    const made = await this.#once(accountId, text, repeat, () =>
      keys.issue({
        ...{ accountId, otherwise, maxKeys, actor },
        key: { ...this.#hashed(text), name },
        ...(own && { own }),
        ...(budgets && { budgets }),
      }),
    );
    if (made.record.name !== name || (made.replayed && !hasSameOwn(made.record, own))) throw reused();
    // Unknown keys are looked up with a limit per second, which guessing uses up.
    await table.refresh();
    return made;
  }

  /** Makes the key, or finds the one that the same request made before. */
  async #once(
    accountId: string,
    { id, key }: KeyText,
    repeat: Repeat | undefined,
    make: () => Promise<ApiKeyRecord>,
  ): Promise<MadeKey> {
    const find = async () => (repeat ? this.#findOwn(id, accountId) : undefined);
    const before = await find();
    if (before) return { key, record: before, replayed: true };
    try {
      return { key, record: await make(), replayed: false };
    } catch (error) {
      // The same request may have arrived twice at the same time.
      const meanwhile = await find();
      if (meanwhile) return { key, record: meanwhile, replayed: true };
      throw error;
    }
  }

  async #findOwn(id: string, accountId: string): Promise<ApiKeyRecord | undefined> {
    const found = await this.#options.keys.find(id);
    return found?.accountId === accountId ? found : undefined;
  }

  async #onlyKey(accountId: string): Promise<string> {
    const now = this.#options.clock.now();
    const valid = (await this.#options.keys.listOf(accountId)).filter((record) => isValidKey(record, now));
    const current = valid.filter(({ replacedBy }) => !valid.some(({ id }) => id === replacedBy));
    const [only, another] = current;
    if (!only) throw new GatewayError('key_not_found', 'This account has no valid key. POST /api/user creates one.');
    if (!another) return only.id;
    const message = `This account has ${current.length} keys: name one of them in keyId.`;
    throw new GatewayError('missing_required_parameter', message, { param: 'keyId' });
  }

  #hashed({ id, key }: KeyText) {
    const { pepper } = this.#options;
    return { id, hash: hashKey(key, pepper), pepperVersion: pepper.version };
  }
}

function keyTextOf(purpose: string, accountId: string, repeat: Repeat | undefined): KeyText {
  if (!repeat) return createKey();
  const seed = createHmac('sha256', repeat.secret)
    .update(JSON.stringify([purpose, accountId, repeat.key]))
    .digest();
  return deriveKey(seed);
}

/** Whether the key has the limits that were asked for. Its end may be given in days from now. */
function hasSameOwn({ own: made = {} }: ApiKeyRecord, { grants, models, rpm }: OwnLimitsChange = {}): boolean {
  const isSameList = made.grants?.join() === grants?.join() && made.models?.length === models?.length;
  return (
    isSameList &&
    made.rpm === (rpm ?? undefined) &&
    !models?.some((names) => !made.models?.some((id) => names.includes(id)))
  );
}

function reused(): GatewayError {
  const message = 'This Idempotency-Key was used for another request before. Use a new one.';
  return new GatewayError('idempotency_key_reused', message, { param: 'Idempotency-Key' });
}
