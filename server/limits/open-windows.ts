import type { Script } from '../../core/database/index.js';
import { type OpenWindow, type SlotTable, type WindowKey, windowName } from './slots.js';

/** The windows of one transaction: locked and read together, however many ask, and written down together. */
export interface OpenWindows {
  /** One of those that were opened. */
  of(key: WindowKey): OpenWindow;
  /** Writes down what was taken of all of them; it counts when the transaction commits. */
  save(): Script<void>;
}

/** @param wanted What may be asked for later; what is not there costs nothing. */
export function* openWindows(slots: SlotTable, wanted: readonly (WindowKey | undefined)[]): Script<OpenWindows> {
  const windows = yield* slots.open(wanted.filter((key) => key !== undefined));
  return {
    of(key) {
      const window = windows.get(windowName(key));
      if (!window) throw new Error('A window is asked that was not opened.');
      return window;
    },
    save: () => slots.save(windows.values()),
  };
}
