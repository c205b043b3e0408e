import { createEngineThread } from './engine-thread.js';
import type { HearAnswer, HearOrder } from './hearing-thread.js';
import type { SpeakAnswer, SpeakOrder } from './speaking-thread.js';

const hearing = createEngineThread<HearOrder, HearAnswer>({ module: new URL('./hearing-thread.js', import.meta.url) });
const speaking = createEngineThread<SpeakOrder, SpeakAnswer>({
  module: new URL('./speaking-thread.js', import.meta.url),
});

/** The engines of this process. All entries share them: each would hold the same weights. */
export const engines = { hearing, speaking };
export type Engines = typeof engines;

let users = 0;

/** @returns what ends the use; the last one to do so ends the threads. */
export function useEngines(): () => Promise<void> {
  users += 1;
  let used = true;
  return async () => {
    if (!used) return;
    used = false;
    users -= 1;
    if (users === 0) await Promise.all([hearing.end(), speaking.end()]);
  };
}
