export { countUse, type DailyQuota, dayOf, forgetOldDays, readUsed } from './daily-quotas.js';
export type { SlotAnswer, SlotRequest, WindowFamily, Windows } from './rate-limit.js';
export { acceptSlot, consumeRateLimit, createWindows, openWindows, slotRequest } from './rate-limit.js';
export type { SlotTable } from './rate-limit-table.js';
export { createSlotTable } from './rate-limit-table.js';
