/*
 * Answers of text models that come in one piece. `readWholeAnswer` takes ids, usage and state from the bytes without
 * parsing them as one object, and replaces the model name of the upstream by the public one. Large answers, such as
 * thousands of vectors or the log probabilities of a long text, are read in the thread of `large-work.ts`: reading 32
 * MB takes a third of a second, longer than the event loop may be held. So the main thread only copies the chunks as
 * they arrive, at most 8 KiB at a time; buffers are transferred, not copied. Answers below 256 KiB stay on the main
 * thread. The usage of an answer that broke off is estimated from its beginning.
 */

import type { Usage } from '../../contracts/index.js';
import { GatewayError, isGatewayError } from '../../runtime/index.js';
import { NO_TEXT, sampleBytes, type TextSample, WrittenText } from '../counting/samples.js';
import { COMMA, isText, OPEN_BRACE, OPEN_BRACKET, QUOTE, readValue, walkElements, walkFields } from '../json.js';
import { LARGE_TEXT, workInThread } from '../large-work.js';
import { MAX_ITEMS, readItemId } from '../streams/response-events.js';
import { rewordFailure, type Wording } from '../streams/stream-failures.js';
import { countSearches, nestedUsage, readUsage, readUsageBytes, withSearches, withTier } from '../usage-shapes.js';
import { convertVectors, type VectorForm } from '../vectors.js';

/** An answer with more values than this was written by the model, even if no text is found in it. */
const MAX_VALUES = 100_000;

/** States of a response that is still in progress. */
const OPEN_STATES: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);

const LAST_STATES: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** An answer that came in one piece. */
export interface WholeAnswer {
  /** Contains the public name of the model. */
  body: Buffer;
  usage?: Usage;
  /** Id of a response. */
  id?: string;
  /** Ids of its output items. */
  itemIds: readonly string[];
  /** Whether it is a background response without a known usage. */
  open: boolean;
  /** Whether it is a response that the upstream reports as ended, in any state. */
  ended: boolean;
  /** `upstream_error` if the body only contains an error. */
  refusal?: GatewayError;
  /** The text of the model in it. */
  sample(): TextSample;
}

/**
 * Reads what the gateway needs to know of an answer, and replaces the upstream's model name by the public one.
 * @param isResponse Whether it is an object of the responses route, which has an id and may be in progress.
 * @throws GatewayError `upstream_error` if it is no JSON object.
 */
export function readWholeAnswer(bytes: Buffer, wording: Wording, isResponse: boolean): WholeAnswer {
  const answer: WholeAnswer = {
    body: bytes,
    itemIds: [],
    open: false,
    ended: false,
    sample: () => sampleAnswer(bytes, isResponse),
  };
  let modelStart = 0;
  let modelEnd = 0;
  let failed = false;
  let ending = false;
  let tier: unknown;
  let searches = 0;
  let nested: Buffer | undefined;
  let choicesStart = 0;
  try {
    const end = walkFields(bytes, 0, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (isText(bytes, nameStart, nameEnd, 'model')) {
          modelStart = valueStart;
          modelEnd = valueEnd;
        } else if (isText(bytes, nameStart, nameEnd, 'error')) failed ||= valueEnd - valueStart > 2;
        else if (isText(bytes, nameStart, nameEnd, 'service_tier')) tier = readValue(bytes, valueStart, valueEnd);
        else if (!isResponse) return;
        else if (isText(bytes, nameStart, nameEnd, 'id')) answer.id = String(readValue(bytes, valueStart, valueEnd));
        else if (isText(bytes, nameStart, nameEnd, 'status')) {
          const state = readValue(bytes, valueStart, valueEnd);
          answer.open = OPEN_STATES.has(state);
          answer.ended = LAST_STATES.has(state);
        }
      } else if (first === OPEN_BRACE) {
        if (isText(bytes, nameStart, nameEnd, 'usage'))
          answer.usage = readUsage(readValue(bytes, valueStart, valueEnd));
        else if (isText(bytes, nameStart, nameEnd, 'error')) failed = true;
        else if (isText(bytes, nameStart, nameEnd, 'x_groq')) nested = nestedUsage(bytes, valueStart);
      } else if (first === OPEN_BRACKET) {
        ending = true;
        if (isResponse && isText(bytes, nameStart, nameEnd, 'output')) {
          answer.itemIds = itemIdsOf(bytes, valueStart);
          searches = countSearches(bytes, valueStart, valueEnd);
        } else if (isText(bytes, nameStart, nameEnd, 'choices')) choicesStart = valueStart;
      }
    });
    if (!answer.usage && choicesStart > 0) nested ??= usageOfChoices(bytes, choicesStart);
    if (!answer.usage && nested) answer.usage = readUsageBytes(nested);
    if (answer.usage) withSearches(withTier(answer.usage, tier), searches);
    if (bytes.toString('latin1', end + 1).trim() !== '') throw new SyntaxError('There is more than one object.');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError('upstream_error', 'The model did not answer with JSON.');
  }
  // A failed response still has its output list, or at least a final status; an error body has neither.
  if (failed && !ending && !(answer.ended && answer.id !== undefined))
    answer.refusal = new GatewayError('upstream_error', 'The model answered with an error.');
  else if (failed) answer.body = rewordFailure(bytes, wording);
  else if (modelStart > 0) {
    answer.body = Buffer.concat([bytes.subarray(0, modelStart), wording.modelText, bytes.subarray(modelEnd)]);
  }
  if (wording.vectors && !failed) answer.body = convertVectors(answer.body, wording.vectors);
  return answer;
}

/** Of the last choice that has one: of Kimi, and no list of anything else. */
function usageOfChoices(bytes: Buffer, start: number): Buffer | undefined {
  let found: Buffer | undefined;
  walkElements(bytes, start, (choiceStart) => {
    if (bytes[choiceStart] === OPEN_BRACE) found = nestedUsage(bytes, choiceStart) ?? found;
  });
  return found;
}

function itemIdsOf(bytes: Buffer, start: number): string[] {
  const ids: string[] = [];
  walkElements(bytes, start, (itemStart) => {
    if (bytes[itemStart] !== OPEN_BRACE || ids.length === MAX_ITEMS) return;
    const id = readItemId(bytes, itemStart);
    if (id !== undefined) ids.push(id);
  });
  return ids;
}

/** What the model wrote in an answer, which may be cut off. */
function sampleAnswer(bytes: Buffer, isResponse: boolean): TextSample {
  const written = new WrittenText(isResponse);
  written.addAnswer(bytes);
  return written.isEmpty && hasManyValues(bytes) ? sampleBytes([bytes]) : written.take();
}

/** @param ratio Of the whole answer to these bytes. */
function hasManyValues(bytes: Buffer, ratio = 1): boolean {
  if (bytes.length * ratio <= MAX_VALUES) return false;
  let values = 0;
  for (const byte of bytes) if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) values += 1;
  return values * ratio > MAX_VALUES;
}

const PART_BYTES = 1024 * 1024;

interface HowToRead {
  modelText: string;
  isResponse: boolean;
  vectors?: VectorForm;
  /** Whether a sample of the text is taken if no usage was reported. */
  isSampled: boolean;
}

interface ReadAnswer {
  answer: Omit<WholeAnswer, 'body' | 'sample' | 'refusal'>;
  sample?: TextSample;
  /** Message of the refusal. */
  refused?: string;
}

/** The chunks of an answer. */
export class AnswerBytes {
  #chunks: Uint8Array[] = [];
  /** Of a large answer. */
  #parts: Buffer<ArrayBuffer>[] | undefined;
  /** A copy, once the parts are given away. */
  #beginning: Buffer | undefined;
  /** Bytes in the last part. */
  #filled = 0;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get isLarge(): boolean {
    return this.#length > LARGE_TEXT;
  }

  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (!this.isLarge) {
      this.#chunks.push(chunk);
      return;
    }
    if (this.#chunks.length > 0) {
      const before = this.#chunks;
      this.#chunks = [];
      for (const one of before) this.#copy(one);
    }
    this.#copy(chunk);
  }

  /** All bytes of an answer that is not large. */
  whole(): Buffer {
    const [only] = this.#chunks;
    return this.#chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(this.#chunks);
  }

  /** Gives the bytes of a large answer away. */
  take(): Uint8Array<ArrayBuffer>[] {
    const parts = this.#parts ?? [];
    const last = parts.at(-1);
    if (last) parts[parts.length - 1] = last.subarray(0, this.#filled);
    this.#beginning = Buffer.from(parts[0]?.subarray(0, LARGE_TEXT) ?? []);
    this.#parts = undefined;
    return parts;
  }

  /** What the model wrote in an answer that broke off. Of a large one, the rest is estimated by its beginning. */
  sample(isResponse: boolean): TextSample {
    if (!this.isLarge) return sampleAnswer(this.whole(), isResponse);
    const beginning = this.#beginning ?? this.#parts?.[0]?.subarray(0, LARGE_TEXT) ?? Buffer.alloc(0);
    const ratio = this.#length / beginning.length;
    const sample = sampleAnswer(beginning, isResponse);
    const isWritten = sample.text !== '' || hasManyValues(beginning, ratio);
    const { text, scale } = sample.text === '' && isWritten ? sampleBytes([beginning]) : sample;
    return { text, scale: scale * ratio };
  }

  #copy(chunk: Uint8Array): void {
    this.#parts ??= [];
    const parts = this.#parts;
    for (let done = 0; done < chunk.length; ) {
      let part = parts.at(-1);
      if (!part || this.#filled === PART_BYTES) {
        part = Buffer.allocUnsafeSlow(PART_BYTES);
        parts.push(part);
        this.#filled = 0;
      }
      const length = Math.min(chunk.length - done, PART_BYTES - this.#filled);
      part.set(chunk.subarray(done, done + length), this.#filled);
      this.#filled += length;
      done += length;
    }
  }
}

/** The main thread knows what callers must not read; here, an upstream's words are left out. */
const plainWords = () => 'The model reported a failure.';

/** Runs in the thread. */
export function readAnswer(
  bytes: Buffer,
  { modelText, isResponse, isSampled, vectors }: HowToRead,
): ReadAnswer & { body: Buffer } {
  const wording = { modelText: Buffer.from(modelText), plainWords, ...(vectors && { vectors }) };
  const { body, sample, refusal, ...answer } = readWholeAnswer(bytes, wording, isResponse);
  return {
    body,
    answer,
    ...(refusal && { refused: refusal.message }),
    ...(isSampled && !answer.usage && { sample: sample() }),
  };
}

/**
 * Reads a large answer in the worker thread; an upstream's words about a failure are
 * replaced. It is read to its end even if its client leaves: what it used is in it.
 * @throws GatewayError `upstream_error` if it is no JSON object.
 */
export async function readLargeAnswer(
  bytes: AnswerBytes,
  how: Omit<HowToRead, 'modelText'> & { modelText: Buffer },
): Promise<WholeAnswer> {
  const { modelText, isResponse, isSampled, vectors } = how;
  const asked = { modelText: modelText.toString(), isResponse, isSampled, ...(vectors && { vectors }) };
  const work = { module: import.meta.url, name: 'readAnswer', run: readAnswer };
  try {
    const { body, answer, sample = NO_TEXT, refused } = await workInThread(work, bytes.take(), asked);
    const refusal = refused === undefined ? undefined : new GatewayError('upstream_error', refused);
    return { ...answer, body, sample: () => sample, ...(refusal && { refusal }) };
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    throw new GatewayError('upstream_error', 'The answer of the model cannot be read.', { cause });
  }
}
