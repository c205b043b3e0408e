import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { CountAnswer, CountTask } from './tokens.js';

/** The other thread: counts the tokens of texts, one after the other. What looks like a control token is text like any other. */
parentPort?.on('message', ({ id, text }: CountTask) => {
  const tokens = countTokens(text, { disallowedSpecial: new Set() });
  parentPort?.postMessage({ id, tokens } satisfies CountAnswer);
});
