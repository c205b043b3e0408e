export { countUse, type DailyQuota, dayOf, forgetOldDays, readUsed } from './daily-quotas.js';
export type { SlotTable } from './slots.js';
export { createSlotTable } from './slots.js';
export type { SlotAnswer, SlotRequest, WindowFamily, Windows } from './windows.js';
export { acceptSlot, consumeRateLimit, createWindows, openWindows, slotRequest } from './windows.js';
