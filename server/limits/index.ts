export { countUse, type DailyQuota, dayOf, forgetOldDays, readUsed } from './daily-quotas.js';
export {
  type ConsumeRequest,
  consumeRateLimit,
  consumeRequest,
  createRateLimits,
  openWindows,
  type RateLimitFamily,
  type RateLimitResult,
  type RateLimits,
  sendRateLimit,
} from './rate-limit.js';
export { limitMigrations } from './rate-limit-statements.js';
export { createRateLimitTable, type RateLimitTable } from './rate-limit-table.js';
