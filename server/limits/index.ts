export { countUse, type DailyQuota, forgetOldDays, readUsed } from './daily-quotas.js';
export {
  type ConsumeRequest,
  consumeRateLimit,
  consumeRequest,
  createRateLimits,
  createRateLimitTable,
  isSiteAccount,
  openWindows,
  type RateLimitFamily,
  type RateLimitResult,
  type RateLimits,
  type RateLimitTable,
  sendRateLimit,
} from './rate-limit.js';
export { limitMigrations } from './rate-limit-statements.js';
