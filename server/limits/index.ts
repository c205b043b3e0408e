/*
 * Rate limits of keys and daily quotas of accounts. Other folders import these from here alone.
 */

export { countUse, type DailyQuota, forgetOldDays, readUsed } from './daily-quotas.js';
export { limitErrors } from './errors.js';
export { consumeRateLimit, consumeRequest, createRateLimits, type RateLimits, sendRateLimit } from './rate-limit.js';
export { limitMigrations } from './rate-limit-statements.js';
export {
  type ConsumeRequest,
  createRateLimitTable,
  openWindows,
  type RateLimitFamily,
  type RateLimitResult,
  type RateLimitTable,
} from './windows.js';
