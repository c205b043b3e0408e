/*
 * Closes resources in the reverse order of their opening. If opening fails halfway, what was opened before is closed.
 */

/** Resources to close, last opened first. */
export class CloseList {
  readonly #closers: (() => unknown)[] = [];

  add(close: () => unknown): void {
    void this.#closers.push(close);
  }

  /** Closes all of them, even if some throw. @throws the first error, after everything was closed. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Returns what `open` creates; if it fails, what it had opened before is closed. */
export async function openOrClose<Opened>(open: (opened: CloseList) => Promise<Opened>): Promise<Opened> {
  const opened = new CloseList();
  try {
    return await open(opened);
  } catch (error) {
    await opened.close();
    throw error;
  }
}
