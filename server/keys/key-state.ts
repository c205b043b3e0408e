import type { ApiKeyRecord, ApiKeys } from './api-keys.js';

/** `active`, `rotated` (it goes on until the end of its overlap), or why it is good no longer. */
export type KeyState = 'active' | 'rotated' | 'suspended' | 'expired' | 'revoked';

export function keyState({ revokedAt, expiresAt, suspendedAt, replacedBy }: ApiKeyRecord, now: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  if (suspendedAt !== null) return 'suspended';
  return replacedBy === null ? 'active' : 'rotated';
}

/** Whether it opens anything. */
export function isGood(record: ApiKeyRecord, now: number): boolean {
  return isGoodState(keyState(record, now));
}

export function isGoodState(state: KeyState): boolean {
  return state === 'active' || state === 'rotated';
}

/** The key that an account acts with on pages. */
export async function newestKey(
  keys: Pick<ApiKeys, 'listOf'>,
  accountId: string,
  now: number,
): Promise<ApiKeyRecord | undefined> {
  const all = await keys.listOf(accountId);
  return all.findLast((key) => key.revokedAt === null && (key.expiresAt ?? Number.POSITIVE_INFINITY) > now);
}
