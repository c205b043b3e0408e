/*
 * API keys: their form, their table, their verification and their changes. Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export { ApiKeys } from './api-keys.js';
export {
  createAuth,
  type KeyRateLimits,
  keyOf,
  pollingKeyOf,
  readRateLimits,
  type VerifyToken,
} from './authentication.js';
export { InternalKeys } from './internal-key.js';
export { BALANCE_PLAN_ID, decodeBalance, type KeyBalance, type KeyPayers, payersOf } from './key-balance.js';
export { INTERNAL_NAME, type KeyOwners } from './key-issue.js';
export {
  type ApiKeyRecord,
  type ApiKeyRow,
  accountAt,
  createKeyRecord,
  effectiveModels,
  encodeKey,
  GRANTS,
  type Grant,
  insertKey,
  isAdminKey,
  isPlanKey,
  isSiteAccount,
  isValidKey,
  isValidState,
  KEY_GRANTS,
  type KeyGrant,
  type KeyPlan,
  type KeyState,
  keyAt,
  keyState,
  keysOf,
  LOCAL_ACCOUNT,
  lockKey,
  lockKeys,
  type NewKey,
  NO_PLAN,
  OPERATOR_KEY_GRANTS,
  queueShareOf,
  quotaSubject,
  rateLimitOf,
  soonerOf,
  toKeyRecord,
} from './key-rows.js';
export { KeyService, type MadeKey, type Repeat } from './key-service.js';
export { followKey, isKeyEnd, KeyTable } from './key-table.js';
export { describeLimits, type KeyChange, updateKey } from './key-updates.js';
export {
  createKey,
  createPepper,
  hashKey,
  hashToken,
  isAgentToken,
  isBrowserToken,
  isDeviceToken,
  maskedKey,
  namedKeyId,
  newAgentToken,
  newDeviceToken,
  newToken,
  type Pepper,
} from './keys.js';
export { decodeOwn, describeOwnLimits, type OwnLimitsChange, OwnLimitsShape } from './own-limits.js';
export { keyPersonalRecords } from './personal-records.js';
export { keyMigrations } from './tables.js';
