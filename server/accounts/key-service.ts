/*
 * Makes, rotates and revokes keys for a signed-in user. With an `Idempotency-Key` the new key is derived from it and
 * from the secret of the session, so a repeated request returns the same key although no key is stored. Two equal
 * requests at the same moment make one key: the second finds the row of the first. After each change this node reads
 * the changed keys at once; other nodes follow within 5 s. An account may have ten valid keys.
 */

import { createHmac } from 'node:crypto';
import { type Clock, GatewayError, isGatewayError } from '../../core/runtime/index.js';
import {
  type ApiKeyRecord,
  createKey,
  deriveKey,
  hashKey,
  isValidKey,
  type KeyTable,
  type KeyText,
  type Pepper,
} from '../keys/index.js';
import { type PlanTermsOptions, planTerms } from '../plans/index.js';
import type { AccountKeys } from './key-issue.js';

/** Maximum valid keys of an account; a rotated one that is valid beside its successor does not count. */
export const MAX_KEYS = 10;

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
  /** Default: every request is new. */
  repeat?: Repeat;
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

/**
 * Makes, rotates and revokes the keys of accounts. Changes are effective on this node at once, on others within 5 s.
 */
export interface KeyService {
  /**
   * The first key of an account; it includes the free tier if the account has no plan.
   * @throws GatewayError `key_exists` if it has a valid one, `idempotency_key_reused`, `account_suspended`.
   */
  makeFirst(input: CreateKeyInput): Promise<MadeKey>;
  /** A further key. @throws GatewayError `too_many_keys` beyond {@link MAX_KEYS}, otherwise as `makeFirst`. */
  makeFurther(input: CreateKeyInput): Promise<MadeKey>;
  /**
   * @throws GatewayError `key_not_found`, `key_replaced`, `idempotency_key_reused`, `account_suspended`,
   *   `missing_required_parameter` if several keys are valid and none is named.
   */
  rotate(input: RotateKeyInput): Promise<MadeKey & { replaced: ApiKeyRecord }>;
  /**
   * Cancels the key's queued and running jobs, unless they are kept for the account. No effect if it was already revoked.
   * @throws GatewayError `key_not_found`.
   */
  revoke(input: RevokeKeyInput): Promise<ApiKeyRecord>;
}

export interface KeyServiceOptions extends PlanTermsOptions {
  keys: Pick<AccountKeys, 'find' | 'listOf' | 'issue' | 'rotate' | 'revoke'>;
  table: Pick<KeyTable, 'refresh'>;
  /** The newest. */
  pepper: Pepper;
  clock: Clock;
}

export function createKeyService(options: KeyServiceOptions): KeyService {
  const { keys, table, pepper, clock } = options;

  function hashed({ id, key }: KeyText) {
    return { id, hash: hashKey(key, pepper), pepperVersion: pepper.version };
  }

  /** Makes the key, or finds the one that the same request made before. */
  async function once(
    accountId: string,
    { id, key }: KeyText,
    repeat: Repeat | undefined,
    make: () => Promise<ApiKeyRecord>,
  ): Promise<MadeKey> {
    const find = async () => (repeat ? findOwn(id, accountId) : undefined);
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

  async function make({ accountId, actor, name, repeat }: CreateKeyInput, maxKeys: number): Promise<MadeKey> {
    const text = keyTextOf('make', accountId, repeat);
    const otherwise = planTerms(options.catalogue.freeTier.id, options);
    if (!otherwise) throw new Error('the catalogue has no free tier');
    const made = await once(accountId, text, repeat, () =>
      keys.issue({ accountId, key: { ...hashed(text), name }, otherwise, maxKeys, actor }),
    );
    if (made.record.name !== name) throw reused();
    // Unknown keys are looked up with a limit per second, which guessing uses up.
    await table.refresh();
    return made;
  }

  async function findOwn(id: string, accountId: string): Promise<ApiKeyRecord | undefined> {
    const found = await keys.find(id);
    return found?.accountId === accountId ? found : undefined;
  }

  async function onlyKey(accountId: string): Promise<string> {
    const now = clock.now();
    const valid = (await keys.listOf(accountId)).filter((record) => isValidKey(record, now));
    const current = valid.filter(({ replacedBy }) => !valid.some(({ id }) => id === replacedBy));
    const [only, another] = current;
    if (!only) throw new GatewayError('key_not_found', 'This account has no valid key. POST /api/user creates one.');
    if (!another) return only.id;
    const message = `This account has ${current.length} keys: name one of them in keyId.`;
    throw new GatewayError('missing_required_parameter', message, { param: 'keyId' });
  }

  return {
    async makeFirst(input) {
      try {
        return await make(input, 1);
      } catch (error) {
        if (!isGatewayError(error) || error.code !== 'too_many_keys') throw error;
        const message =
          'This account has a key already, and it is not shown again. POST /api/user/rotate replaces it; POST /api/user/keys creates another one.';
        throw new GatewayError('key_exists', message);
      }
    },
    makeFurther: (input) => make(input, MAX_KEYS),

    async rotate({ accountId, actor, id: named, overlapMs, repeat }) {
      const text = keyTextOf('rotate', accountId, repeat);
      const made = await once(accountId, text, repeat, async () => {
        const id = named ?? (await onlyKey(accountId));
        return keys.rotate({ accountId, id, successor: hashed(text), overlapMs, audit: { actor } });
      });
      await table.refresh();
      // A key comes before it if this rotation ended the key's overlap.
      const known = await keys.listOf(accountId);
      const replaced = known.findLast(({ replacedBy }) => replacedBy === made.record.id);
      if (!replaced || (named !== undefined && named !== replaced.id)) throw reused();
      return { ...made, replaced };
    },

    async revoke({ accountId, actor, id, keepsJobs }) {
      await keys.revoke(id, clock.now(), accountId, keepsJobs, actor);
      const record = await findOwn(id, accountId);
      if (!record) throw new GatewayError('key_not_found', 'This account has no such key.');
      await table.refresh();
      return record;
    },
  };
}

function keyTextOf(purpose: string, accountId: string, repeat: Repeat | undefined): KeyText {
  if (!repeat) return createKey();
  const seed = createHmac('sha256', repeat.secret)
    .update(JSON.stringify([purpose, accountId, repeat.key]))
    .digest();
  return deriveKey(seed);
}

function reused(): GatewayError {
  const message = 'This Idempotency-Key was used for another request before. Use a new one.';
  return new GatewayError('idempotency_key_reused', message, { param: 'Idempotency-Key' });
}
