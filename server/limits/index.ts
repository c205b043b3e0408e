export { countUse, type DailyQuota, dayOf, forgetOldDays, readUsed } from './daily-quotas.js';
export {
  acceptSlot,
  consumeRateLimit,
  createWindows,
  openWindows,
  type SlotAnswer,
  type SlotRequest,
  slotRequest,
  type WindowFamily,
  type Windows,
} from './rate-limit.js';
export { limitMigrations } from './rate-limit-statements.js';
export { createSlotTable, type SlotTable } from './rate-limit-table.js';
