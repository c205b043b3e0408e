/*
 * Runs work on large texts that must stay on the main thread, such as the translation of a whole answer. The work is
 * cut into stages, and the event loop continues between them. Only one such work runs at a time, so many of them
 * together hold the loop no longer than the longest stage of one.
 */

/** Smaller texts are worked on at once. */
export const LARGE_TEXT = 256 * 1024;
/** The longest answer that is translated as a whole: many times what a model writes. */
export const MAX_TRANSLATED_BYTES = 16 * 1024 * 1024;

let latest: Promise<unknown> = Promise.resolve();

function pause(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Runs the stages one after the other, each with what the one before it returned. */
export function inStages<Result>(stages: readonly ((before: never) => unknown)[]): Promise<Result> {
  const run = async () => {
    let value: unknown;
    for (const stage of stages) {
      value = stage(value as never);
      await pause();
    }
    return value as Result;
  };
  const done = latest.then(run, run);
  latest = done.catch(() => undefined);
  return done;
}
