import type { Transaction } from 'kysely';
import type { Tables } from './schema.js';
import { type OpenWindow, type SlotTable, windowName } from './slots.js';
import type { SlotRequest } from './windows.js';

/** The windows of one transaction: each is locked and read once, however many ask, and written down once. */
export interface OpenWindows {
  open(slot: SlotRequest): Promise<OpenWindow>;
  /** Writes down what was taken of all of them; it counts when the transaction commits. */
  save(): Promise<void>;
}

export function createOpenWindows(transaction: Transaction<Tables>, slots: SlotTable): OpenWindows {
  const windows = new Map<string, OpenWindow>();
  return {
    async open(slot) {
      const name = windowName(slot);
      const window = windows.get(name) ?? (await slots.open(transaction, slot.keyId, slot.family));
      windows.set(name, window);
      return window;
    },
    async save() {
      for (const window of windows.values()) await window.save();
    },
  };
}
