/*
 * Converts answers that came in one piece. A small one is converted at once, a large one by the same function in a
 * worker thread: so how long the event loop is held does not grow with the answer.
 */

import { tooLong } from '../chats/response-writer.js';
import type { BodyConverter } from '../chats/translation.js';
import { LARGE_TEXT, type Work, workInThread } from '../large-work.js';
import { AnswerBytes } from './whole-answers.js';

/** The longest answer that is translated as a whole: many times what a model writes. */
const MAX_TRANSLATED_BYTES = 16 * 1024 * 1024;

/** How an answer is converted. */
export interface WholeConversion<How> extends Work<How, object> {
  run(bytes: Buffer, how: How): string;
}

/**
 * Gathers a body and converts it at its end.
 * @param how What the function gets: plain values, maps and sets.
 * @throws GatewayError `upstream_error` if it is longer than `maxBytes`, default 16 MiB.
 */
export function createWholeConverter<How>(
  conversion: WholeConversion<How>,
  how: How,
  maxBytes = MAX_TRANSLATED_BYTES,
): BodyConverter {
  const bytes = new AnswerBytes();
  let left: AbortController | undefined;
  return {
    push(chunk) {
      if (bytes.length + chunk.length > maxBytes) throw tooLong();
      bytes.add(chunk);
      return '';
    },
    finish() {
      if (!bytes.isLarge) return conversion.run(bytes.whole(), how);
      left = new AbortController();
      return workInThread(conversion, bytes.take(), how, left.signal).then(({ body }) => body);
    },
    close: () => left?.abort(),
  };
}

/** Converts an answer that is there. It is given away. */
export async function convertWhole<How>(
  conversion: WholeConversion<How>,
  bytes: Uint8Array,
  how: How,
  signal?: AbortSignal,
): Promise<Buffer> {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (whole.length <= LARGE_TEXT) return Buffer.from(conversion.run(whole, how));
  if (whole.length > MAX_TRANSLATED_BYTES) throw tooLong();
  return (await workInThread(conversion, [whole as Buffer<ArrayBuffer>], how, signal)).body;
}
