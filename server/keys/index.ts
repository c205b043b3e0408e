export type { ApiKeyRecord, ApiKeys, Grant, KeyPlan, NewKeyRecord } from './api-keys.js';
export {
  type ApiKeyRow,
  accountAt,
  createApiKeys,
  isValidRow,
  keyAt,
  keysOf,
  soonerOf,
  toKeyRecord,
} from './api-keys.js';
export { createAuth, keyOf } from './authentication.js';
export { type KeyTable, type KeyWindows, openKeyTable, readWindows } from './key-table.js';
export {
  createKey,
  createKeyRecord,
  createPepper,
  deriveKey,
  GRANTS,
  hashKey,
  hashToken,
  isBrowserToken,
  isDeviceToken,
  isValidKey,
  isValidState,
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
  quotaSubject,
} from './keys.js';
