/*
 * Rate limits of keys and daily quotas of accounts. Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export { countUse, type DailyQuota, forgetOldDays, readUsed } from './daily-quotas.js';
export { forgetRateLimits, limitPersonalRecords } from './personal-records.js';
export {
  type ConsumeRequest,
  type OpenWindows,
  openWindows,
  type RateLimitFamily,
  type RateLimitResult,
  RateLimits,
  RateLimitTable,
  shardOfWindow,
} from './rate-limit.js';
export { consumeRateLimit, sendRateLimit } from './rate-limit-answer.js';
export { limitMigrations } from './rate-limit-statements.js';
