/*
 * Collects the text that a model wrote from the bytes of answers and events, to estimate its tokens where the upstream
 * reports none. Whole answers and streams go through the same code, which keeps their estimates equal. Of each choice,
 * only the beginning is stored; the number of all bytes scales the estimate.
 */

import { isText, type TextVisitor, walkTexts } from '../json.js';
import { MAX_STORED_BYTES, type TextSample } from './prompts.js';

export const NO_TEXT: TextSample = { text: '', scale: 1 };

/** Fields with text of a model. Other texts are ids, types, signatures, encrypted content, images and tokens of log probabilities. */
const WRITTEN = ['content', 'text', 'arguments', 'refusal', 'input', 'code', 'transcript'];
/** Streams of a response do not have the names of functions. The last one is of messages. */
const WRITTEN_IN_CHATS = [...WRITTEN, 'name', 'partial_json'];
/** A stream has the thoughts before the words, and a whole answer may have them after. */
const THOUGHTS = ['reasoning_content', 'reasoning', 'thinking'];
/** Fields whose texts are not the model's, or are elsewhere as well. */
const NOT_WRITTEN = ['logprobs', 'annotations', 'reasoning_details', 'results', 'outputs', 'output', 'tools'];
/** Some servers send the input of a tool as an object. */
const INPUTS = ['arguments', 'input'];
const ANSWER_LISTS = ['choices', 'output', 'content'];
/** Further choices share the last place. */
const MAX_CHOICES = 16;
const MAX_CHOICE_BYTES = 4 * 1024;
const FIRST_BYTES = 1_024;

/** What a model wrote in one answer. */
export class WrittenText implements TextVisitor {
  readonly #fields: readonly string[];
  readonly #words: SampledTexts[] = [];
  readonly #thoughts: SampledTexts[] = [];
  #place = 0;
  #isAnswer = false;

  constructor(isResponse: boolean) {
    this.#fields = isResponse ? WRITTEN : WRITTEN_IN_CHATS;
  }

  /**
   * Adds the texts of a message, a delta or a list of output items: JSON from `start` to `end`.
   * @param choice Index of the choice that it belongs to.
   */
  add(bytes: Uint8Array, start: number, end: number, choice = 0): void {
    this.#place = Math.max(0, Math.min(choice, MAX_CHOICES - 1)) || 0;
    walkTexts(bytes, start, end, this);
  }

  /** Adds the content between the quotes of a JSON text. */
  addText(bytes: Uint8Array, start: number, end: number): void {
    this.#place = 0;
    this.#addTo(this.#words, bytes, start, end);
  }

  /** Adds the texts of a whole answer, which may be cut off. */
  addAnswer(bytes: Uint8Array): void {
    this.#place = 0;
    this.#isAnswer = true;
    walkTexts(bytes, 0, bytes.length, this);
    this.#isAnswer = false;
  }

  get isEmpty(): boolean {
    return this.#words.length === 0 && this.#thoughts.length === 0;
  }

  take(): TextSample {
    const all = [...this.#thoughts, ...this.#words].filter((texts) => texts !== undefined);
    const stored = all.reduce((sum, texts) => sum + texts.storedBytes, 0);
    const inAll = all.reduce((sum, texts) => sum + texts.bytes, 0);
    return { text: all.map((texts) => texts.text()).join(''), scale: stored === 0 ? 1 : inAll / stored };
  }

  nested(bytes: Uint8Array, nameStart: number, nameEnd: number, depth: number): 'read' | 'skip' | 'take' {
    const isNamed = (name: string) => isText(bytes, nameStart, nameEnd, name);
    if (this.#isAnswer && depth === 1) return ANSWER_LISTS.some(isNamed) ? 'read' : 'skip';
    if (NOT_WRITTEN.some(isNamed)) return 'skip';
    return INPUTS.some(isNamed) ? 'take' : 'read';
  }

  text(bytes: Uint8Array, nameStart: number, nameEnd: number, start: number, end: number): void {
    for (const name of this.#fields) {
      if (!isText(bytes, nameStart, nameEnd, name)) continue;
      this.#addTo(this.#words, bytes, start, end);
      return;
    }
    if (THOUGHTS.some((name) => isText(bytes, nameStart, nameEnd, name)))
      this.#addTo(this.#thoughts, bytes, start, end);
  }

  #addTo(places: SampledTexts[], bytes: Uint8Array, start: number, end: number): void {
    const place = this.#place;
    let texts = places[place];
    if (!texts) {
      texts = new SampledTexts(place === 0 ? MAX_STORED_BYTES : MAX_CHOICE_BYTES);
      places[place] = texts;
    }
    texts.add(bytes, start, end);
  }
}

/** Collects JSON texts, without their quotes, up to a number of bytes. */
class SampledTexts {
  readonly #maxBytes: number;
  #stored: Buffer | undefined;
  /** Bytes of all texts, and of the stored part. */
  bytes = 0;
  storedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(bytes: Uint8Array, start: number, end: number): void {
    this.bytes += end - start;
    const length = Math.min(end - start, this.#maxBytes - this.storedBytes);
    if (length <= 0) return;
    // Not from Node's pool: a part stored during a stream would keep all 64 KiB of the pool.
    let stored = this.#stored ?? Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, length));
    if (this.storedBytes + length > stored.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(stored.length * 2, this.storedBytes + length));
      stored.copy(larger, 0, 0, this.storedBytes);
      stored = larger;
    }
    stored.set(bytes.subarray(start, start + length), this.storedBytes);
    this.#stored = stored;
    this.storedBytes += length;
  }

  /** The stored part. */
  text(): string {
    return plainText(this.#stored?.toString('utf8', 0, this.storedBytes) ?? '');
  }
}

function plainText(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`);
  } catch {
    // The stored part may end in the middle of an escape.
    return raw;
  }
}

/** The beginning of an incomplete answer. */
export function sampleBytes(chunks: readonly Uint8Array[]): TextSample {
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (bytes === 0) return NO_TEXT;
  const text = Buffer.concat(chunks, Math.min(bytes, MAX_STORED_BYTES)).toString('utf8');
  return { text, scale: Math.max(1, bytes / MAX_STORED_BYTES) };
}
