/*
 * API keys: their form, their table, their verification and their changes. Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export {
  type ApiKeyRecord,
  type ApiKeyRow,
  type ApiKeys,
  accountAt,
  createApiKeys,
  type Grant,
  insertKey,
  isValidRow,
  type KeyGrant,
  type KeyPlan,
  keyMigrations,
  keysOf,
  type NewKeyRecord,
  soonerOf,
  toKeyRecord,
} from './api-keys.js';
export {
  createAuth,
  followKey,
  type KeyRateLimits,
  type KeyTable,
  keyOf,
  openKeyTable,
  pollingKeyOf,
  readRateLimits,
} from './authentication.js';
export { createKeyUpdates, describeLimits, type KeyChange, type KeyUpdates, lockKey } from './key-updates.js';
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
  isPlanKey,
  isValidKey,
  isValidState,
  KEY_GRANTS,
  type KeyState,
  type KeyText,
  keyAt,
  keyState,
  LOCAL_ACCOUNT,
  maskedKey,
  type NewKey,
  NO_PLAN,
  namedKeyId,
  newDeviceToken,
  newestKey,
  newToken,
  type Pepper,
  queueShareOf,
  quotaSubject,
} from './keys.js';
