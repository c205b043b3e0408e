/*
 * The worker thread behind `file-counter.ts`. It reads the files of one body after the other, at a lower priority than
 * the main thread, and reports which file it is at, so that a timeout can name it. Files are cached by their hash,
 * because every turn of a conversation sends them again. Of a long text, eight random parts are sampled, so no part of
 * it can be written to look cheap.
 */

import { createHash, randomInt } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { READ_KINDS, ReadingLimits, readFile, UnreadableDocument } from '../../documents/index.js';
import { lowerThreadPriority } from '../../runtime/index.js';
import type { FileAnswer, FileTask, ReadFile } from './file-counter.js';
import { filesIn, type InlineFile, MAX_STORED_BYTES, type TextSample } from './samples.js';

lowerThreadPriority();

/** Parts of a long text that are counted: at random places, so that none of it can be written to be cheap. */
const SAMPLES = 8;

/** Files that were read, by their hashes: every turn of a conversation has them again. */
const known = new Map<string, ReadFile>();
const MAX_KNOWN = 64;

parentPort?.on('message', ({ body }: FileTask) => {
  parentPort?.postMessage(readBody(Buffer.from(body.buffer, body.byteOffset, body.byteLength)));
});

function readBody(body: Buffer): FileAnswer {
  const limits = new ReadingLimits();
  const files: ReadFile[] = [];
  for (const file of filesIn(JSON.parse(body.toString('utf8')))) {
    const { path } = file;
    parentPort?.postMessage({ reading: path } satisfies FileAnswer);
    try {
      files.push(read(file, limits));
    } catch (error) {
      const why = error instanceof UnreadableDocument ? error.message : 'is damaged';
      return { unread: { path, why, accepted: READ_KINDS } };
    }
  }
  return { files };
}

function read({ data, type, filename }: InlineFile, limits: ReadingLimits): ReadFile {
  const hash = createHash('sha256')
    .update(JSON.stringify([data, type, filename]))
    .digest('hex');
  const before = known.get(hash);
  if (before) return before;
  const { text, pages, isImage, seconds } = readFile(bytesOf(data), limits, { type, filename });
  const file = { sample: sampleOf(text), pages, images: isImage ? 1 : 0, seconds };
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(hash, file);
  return file;
}

/** Of a data URL, of base64, or of a text that is neither. */
function bytesOf(data: string): Buffer {
  const text = data.trimStart();
  const isUrl = /^data:/i.test(text.slice(0, 5));
  const content = isUrl ? text.slice(text.indexOf(',') + 1) : text;
  if (/^[A-Za-z\d+/_=\s-]*$/.test(content)) {
    // Readers differ in what they do with more after the end.
    if (/=\s*[^=\s]/.test(content)) throw new UnreadableDocument('is no base64');
    return Buffer.from(content, 'base64');
  }
  if (!isUrl) return Buffer.from(content);
  return Buffer.from(content.replace(/%([\da-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16))));
}

function sampleOf(text: string): TextSample {
  if (text.length <= MAX_STORED_BYTES) return { text, scale: 1 };
  const length = MAX_STORED_BYTES / SAMPLES;
  const parts = Array.from({ length: SAMPLES }, () => {
    const from = randomInt(text.length - length);
    return text.slice(from, from + length);
  });
  return { text: parts.join('\n'), scale: text.length / MAX_STORED_BYTES };
}
