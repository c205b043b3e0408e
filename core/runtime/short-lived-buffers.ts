/*
 * Frees the buffers of media soon after they are sent. They are outside of V8's heap: it notices them only after 64 MiB,
 * and then marks all that is alive, which took half of the processor's time of a merged video. They are young, so a
 * collection of the young generation, which takes a millisecond or two, is enough. Streams of media count their bytes here.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Less than V8 tolerates, with room for buffers that nothing counts. */
const STEP_BYTES = 24 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;

let counted = 0;
let collect: Collect | undefined;

/** Counts bytes of a buffer that was read and will not be needed for long. */
export function countShortLived(bytes: number): void {
  counted += bytes;
  if (counted < STEP_BYTES) return;
  counted = 0;
  collect ??= exposedCollector();
  collect({ type: 'minor' });
}

/** The function that `--expose-gc` gives to contexts that are made after it. */
function exposedCollector(): Collect {
  setFlagsFromString('--expose-gc');
  const exposed: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
  setFlagsFromString('--no-expose-gc');
  return typeof exposed === 'function' ? (exposed as Collect) : () => undefined;
}
