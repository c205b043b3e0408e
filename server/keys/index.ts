/*
 * API keys: their form, their table, their verification and their changes. Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export { ApiKeys } from './api-keys.js';
export { createAuth, type KeyRateLimits, keyOf, pollingKeyOf, readRateLimits } from './authentication.js';
export type { KeyOwners } from './key-issue.js';
export {
  type ApiKeyRecord,
  type ApiKeyRow,
  accountAt,
  type Grant,
  insertKey,
  type KeyGrant,
  type KeyPlan,
  keyAt,
  keyMigrations,
  keysOf,
  lockKey,
  soonerOf,
  toKeyRecord,
} from './key-rows.js';
export { KeyService, type MadeKey, type Repeat } from './key-service.js';
export { followKey, KeyTable } from './key-table.js';
export { describeLimits, type KeyChange, updateKey } from './key-updates.js';
export {
  createKey,
  createKeyRecord,
  createPepper,
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
  keyState,
  LOCAL_ACCOUNT,
  maskedKey,
  type NewKey,
  NO_PLAN,
  namedKeyId,
  newDeviceToken,
  newToken,
  type Pepper,
  queueShareOf,
  quotaSubject,
} from './keys.js';
