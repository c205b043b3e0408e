/*
 * Rate limits of keys and daily quotas of accounts. Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export { countUse, type DailyQuota, forgetOldDays, readUsed } from './daily-quotas.js';
export { limitPersonalRecords } from './personal-records.js';
export {
  consumeRateLimit,
  consumeRequest,
  forgetRateLimits,
  isSiteAccount,
  RateLimits,
  sendRateLimit,
} from './rate-limit.js';
export { limitMigrations } from './rate-limit-statements.js';
export {
  type ConsumeRequest,
  type OpenWindows,
  openWindows,
  type RateLimitFamily,
  type RateLimitResult,
  RateLimitTable,
} from './windows.js';
