export { createSlotTable } from './slots.js';
export type { SlotAnswer, SlotRequest, Windows } from './windows.js';
export { createWindows } from './windows-sql.js';
