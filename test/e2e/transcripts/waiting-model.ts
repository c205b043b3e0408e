/** A model that writes each call with its process to CALLS_FILE, and answers as soon as there is a GATE_FILE. */

import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Contributions, definePlugin } from 'mediagate';

export const MODEL = 'waiting-stt';

export default definePlugin({
  name: 'waiting',
  apiVersion: 1,
  summary: 'Recognises speech when it may.',
  provides: ['audio'],
  setup: (): Contributions => ({
    audioProviders: [
      {
        models: [{ id: MODEL, operations: ['transcribe'] }],
        async transcribe({ signal }) {
          appendFileSync(process.env.CALLS_FILE ?? '', `${process.pid}\n`);
          while (!existsSync(process.env.GATE_FILE ?? '')) await sleep(50, undefined, { signal });
          return { text: 'Slow water.', language: 'en', segments: [{ start: 0, end: 2, text: 'Slow water.' }] };
        },
      },
    ],
  }),
});
