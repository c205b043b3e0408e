/*
 * Closes resources in the reverse order of their opening. If opening fails halfway, what was opened before is closed.
 */

/** Resources to close, last opened first. */
export interface CloseList {
  add(close: () => unknown): void;
  /** Closes all of them, even if some throw. @throws the first error, after everything was closed. */
  close(): Promise<void>;
}

function createCloseList(): CloseList {
  const closers: (() => unknown)[] = [];
  return {
    add: (close) => void closers.push(close),
    async close() {
      const failures: unknown[] = [];
      for (let close = closers.pop(); close; close = closers.pop()) {
        try {
          await close();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** Returns what `open` creates; if it fails, what it had opened before is closed. */
export async function openOrClose<Opened>(open: (opened: CloseList) => Promise<Opened>): Promise<Opened> {
  const opened = createCloseList();
  try {
    return await open(opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}
