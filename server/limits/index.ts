export { countUse, type DailyQuota, dayOf, forgetOldDays, readUsed } from './daily-quotas.js';
export { acceptSlot, consumeRateLimit, slotRequest } from './limits.js';
export { openWindows } from './open-windows.js';
export type { SlotTable } from './slots.js';
export { createSlotTable } from './slots.js';
export type { SlotAnswer, SlotRequest, WindowFamily, Windows } from './windows.js';
export { createWindows } from './windows.js';
