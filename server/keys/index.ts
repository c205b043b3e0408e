export { type ApiKeyRow, isGoodRow, keysOf, soonerOf, toKeyRecord } from './api-key-rows.js';
export type { ApiKeyRecord, ApiKeys, Grant, KeyIssue, KeyPlan, KeyRotation, NewKeyRecord } from './api-keys.js';
export { createApiKeys } from './api-keys.js';
export { createAuth, keyOf } from './auth.js';
export { isGood, isGoodState, type KeyState, keyState, newestKey } from './key-state.js';
export { type KeyTable, type KeyTableOptions, openKeyTable } from './key-table.js';
export { type KeyWindows, lookAtWindows } from './key-windows.js';
export {
  createKey,
  createKeyRecord,
  createPepper,
  deriveKey,
  GRANTS,
  hashKey,
  holderOf,
  type KeyText,
  LOCAL_ACCOUNT,
  maskedKey,
  type NewKey,
  namedKeyId,
  type Pepper,
} from './keys.js';
export { accountAt, keyAt } from './plan-following.js';
export { hashToken, isBrowserToken, isDeviceToken, newDeviceToken, newToken } from './tokens.js';
