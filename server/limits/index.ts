export { countUse, type DailyQuota, dayOf, forgetOldDays, readUsed } from './daily-quotas.js';
export type { SlotTable } from './rate-window.js';
export { createSlotTable } from './rate-window.js';
export type { SlotAnswer, SlotRequest, WindowFamily, Windows } from './windows.js';
export { acceptSlot, consumeRateLimit, createWindows, openWindows, slotRequest } from './windows.js';
