import { createHmac } from 'node:crypto';
import { type Clock, GatewayError, isGatewayError } from 'mediagate';
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

/** Keys of an account that may be good at once; one that was rotated and goes on beside its successor does not count. */
export const MAX_KEYS = 10;

/**
 * By what a request that is sent again is known, and answered with the key it made. The key follows from both, so that it
 * need not be kept: the session's secret is nowhere in the state.
 */
export interface Repeat {
  /** Token of the session. */
  secret: string;
  /** As the Idempotency-Key has it. */
  key: string;
}

export interface CreateKeyInput {
  accountId: string;
  /** 1 to 100 characters. */
  name: string;
  /** Default: each request is one of its own. */
  repeat?: Repeat;
}

export interface RotateKeyInput {
  accountId: string;
  /** Public id. Default: the only key that is good. */
  id?: string;
  /** Milliseconds that the old key goes on beside the new one. */
  overlapMs: number;
  /** Default: each request is one of its own. */
  repeat?: Repeat;
}

export interface MadeKey {
  /** The key itself. This is the only time that anybody sees it. */
  key: string;
  record: ApiKeyRecord;
  /** Whether an earlier request made it. */
  replayed: boolean;
}

/** Makes and ends the keys of accounts. What it changes holds on this node at once, on others within 5 s. */
export interface KeyService {
  /**
   * The first key of an account; it comes with the free tier where the account has no plan.
   * @throws GatewayError `key_exists` where it has a good one, `idempotency_key_reused`, `account_suspended`.
   */
  makeFirst(wish: CreateKeyInput): Promise<MadeKey>;
  /** One more. @throws GatewayError `too_many_keys` beyond {@link MAX_KEYS}, otherwise as `makeFirst`. */
  makeFurther(wish: CreateKeyInput): Promise<MadeKey>;
  /**
   * @throws GatewayError `key_not_found`, `key_replaced`, `idempotency_key_reused`, `account_suspended`,
   * `missing_required_parameter` where several keys are good and none is named.
   */
  rotate(wish: RotateKeyInput): Promise<MadeKey & { replaced: ApiKeyRecord }>;
  /** One that was revoked before stays so. @throws GatewayError `key_not_found`. */
  revoke(accountId: string, id: string): Promise<ApiKeyRecord>;
  /** Revokes every key of the account that is not; those that it revoked. */
  revokeAll(accountId: string): Promise<readonly ApiKeyRecord[]>;
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
      // The same request may have come twice at the same time.
      const meanwhile = await find();
      if (meanwhile) return { key, record: meanwhile, replayed: true };
      throw error;
    }
  }

  async function make({ accountId, name, repeat }: CreateKeyInput, maxKeys: number): Promise<MadeKey> {
    const text = keyTextOf('make', accountId, repeat);
    const otherwise = planTerms(options.catalogue.freeTier.id, options);
    if (!otherwise) throw new Error('the catalogue has no free tier');
    const made = await once(accountId, text, repeat, () =>
      keys.issue({ accountId, key: { ...hashed(text), name }, otherwise, maxKeys }),
    );
    if (made.record.name !== name) throw reused();
    // Keys that are not in the table are looked up, but only so many in a second: whoever guesses uses those up.
    await table.refresh();
    return made;
  }

  async function findOwn(id: string, accountId: string): Promise<ApiKeyRecord | undefined> {
    const found = await keys.find(id);
    return found?.accountId === accountId ? found : undefined;
  }

  async function onlyKey(accountId: string): Promise<string> {
    const now = clock.now();
    const good = (await keys.listOf(accountId)).filter((record) => isValidKey(record, now));
    const standing = good.filter(({ replacedBy }) => !good.some(({ id }) => id === replacedBy));
    const [only, another] = standing;
    if (!only)
      throw new GatewayError('key_not_found', 'This account has no key that is good. POST /api/user makes one.');
    if (!another) return only.id;
    const message = `This account has ${standing.length} keys: keyId must say which one is meant.`;
    throw new GatewayError('missing_required_parameter', message, { param: 'keyId' });
  }

  return {
    async makeFirst(wish) {
      try {
        return await make(wish, 1);
      } catch (error) {
        if (!isGatewayError(error) || error.code !== 'too_many_keys') throw error;
        const message =
          'This account has a key already, which is not shown again. POST /api/user/rotate replaces it, POST /api/user/keys makes one more.';
        throw new GatewayError('key_exists', message);
      }
    },
    makeFurther: (wish) => make(wish, MAX_KEYS),

    async rotate({ accountId, id: named, overlapMs, repeat }) {
      const text = keyTextOf('rotate', accountId, repeat);
      const made = await once(accountId, text, repeat, async () => {
        const id = named ?? (await onlyKey(accountId));
        return keys.rotate({ accountId, id, successor: hashed(text), overlapMs });
      });
      await table.refresh();
      // One whose overlap this rotation cut short comes before it.
      const known = await keys.listOf(accountId);
      const replaced = known.findLast(({ replacedBy }) => replacedBy === made.record.id);
      if (!replaced || (named !== undefined && named !== replaced.id)) throw reused();
      return { ...made, replaced };
    },

    async revoke(accountId, id) {
      await keys.revoke(id, clock.now(), accountId);
      const record = await findOwn(id, accountId);
      if (!record) throw new GatewayError('key_not_found', 'This account has no such key.');
      await table.refresh();
      return record;
    },

    async revokeAll(accountId) {
      const revoked: ApiKeyRecord[] = [];
      for (const { id, revokedAt } of await keys.listOf(accountId)) {
        if (revokedAt !== null || !(await keys.revoke(id, clock.now(), accountId))) continue;
        const record = await findOwn(id, accountId);
        if (record) revoked.push(record);
      }
      await table.refresh();
      return revoked;
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
