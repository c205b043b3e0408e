/*
 * The worker thread that counts tokens, one text after the other. Text that looks like a control token is counted as
 * plain text, so callers cannot make the tokenizer throw.
 */

import { parentPort } from 'node:worker_threads';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import type { CountAnswer, CountTask } from './tokens.js';

parentPort?.on('message', ({ id, text }: CountTask) => {
  const tokens = countTokens(text, { disallowedSpecial: new Set() });
  parentPort?.postMessage({ id, tokens } satisfies CountAnswer);
});
