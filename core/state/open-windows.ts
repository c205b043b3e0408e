import type { Transaction } from 'kysely';
import type { Tables } from './schema.js';
import { type OpenWindow, type SlotTable, type WindowKey, windowName } from './slots.js';

/** The windows of one transaction: locked and read together, however many ask, and written down together. */
export interface OpenWindows {
  /** One of those that were opened. */
  of(key: WindowKey): OpenWindow;
  /** Writes down what was taken of all of them; it counts when the transaction commits. */
  save(): Promise<void>;
}

/** @param wanted What may be asked for later; what is not there costs nothing. */
export async function openWindows(
  transaction: Transaction<Tables>,
  slots: SlotTable,
  wanted: readonly (WindowKey | undefined)[],
): Promise<OpenWindows> {
  const windows = await slots.open(
    transaction,
    wanted.filter((key) => key !== undefined),
  );
  return {
    of(key) {
      const window = windows.get(windowName(key));
      if (!window) throw new Error('A window is asked that was not opened.');
      return window;
    },
    save: () => slots.save(transaction, windows.values()),
  };
}
