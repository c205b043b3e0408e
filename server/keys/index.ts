export { type ApiKeyRow, isGoodRow, keysOf, soonerOf, toKeyRecord } from './api-key-rows.js';
export type { ApiKeyRecord, ApiKeys, Grant, KeyPlan, NewKeyRecord } from './api-keys.js';
export { createApiKeys } from './api-keys.js';
export { createAuth, keyOf } from './auth.js';
export { type KeyTable, type KeyTableOptions, type KeyWindows, lookAtWindows, openKeyTable } from './key-table.js';
export {
  createKey,
  createKeyRecord,
  createPepper,
  deriveKey,
  GRANTS,
  hashKey,
  hashToken,
  holderOf,
  isBrowserToken,
  isDeviceToken,
  isGood,
  isGoodState,
  type KeyState,
  type KeyText,
  keyState,
  LOCAL_ACCOUNT,
  maskedKey,
  type NewKey,
  namedKeyId,
  newDeviceToken,
  newestKey,
  newToken,
  type Pepper,
} from './keys.js';
export { accountAt, keyAt } from './plan-following.js';
