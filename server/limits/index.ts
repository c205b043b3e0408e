/*
 * Rate limits of keys and daily quotas of accounts. Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export { countUse, type DailyQuota, forgetOldDays, readUsed } from './daily-quotas.js';
export {
  consumeRateLimit,
  consumeRequest,
  createRateLimits,
  forgetRateLimits,
  type RateLimits,
  sendRateLimit,
} from './rate-limit.js';
export { limitMigrations } from './rate-limit-statements.js';
export {
  type ConsumeRequest,
  createRateLimitTable,
  openWindows,
  type RateLimitFamily,
  type RateLimitResult,
  type RateLimitTable,
} from './windows.js';
