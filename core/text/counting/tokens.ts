/*
 * Estimates tokens where an upstream reports none. A worker thread has the tokenizer, which takes 80 MB and 0.4 s to
 * load. It starts on first use and ends after 30 idle seconds. Only 32 KiB of each text are stored and counted, and
 * the result is scaled to the whole length. If the thread is too slow or 256 texts are waiting, the length alone
 * decides, so a count never rejects and never blocks an answer. Streams and whole answers are sampled by the same
 * code, which keeps their estimates equal.
 */

import { Worker } from 'node:worker_threads';
import { isText, type TextVisitor, walkTexts } from '../json.js';
import { createFileCounter } from './file-counter.js';
import { inputTokensOf, MAX_STORED_BYTES, type PromptSample, type TextSample } from './prompts.js';

export interface CountTask {
  id: number;
  text: string;
}

export interface CountAnswer {
  id: number;
  tokens: number;
}

/** Estimates tokens if the upstream reported none. */
export interface TokenCounter {
  /**
   * Estimates the tokens of the whole text from its stored part; by its length alone if counting takes too long. Never
   * rejects.
   */
  count(sample: TextSample): Promise<number>;
  /**
   * Upper estimate of the tokens of a request's input: those of its texts (a quarter more if only a part was counted;
   * one for each byte if none was), 16 for each message, and those of names and images. Files are not included. Never rejects.
   */
  countInput(sample: PromptSample): Promise<number>;
  /**
   * Upper estimate of the tokens of the files in a JSON body.
   * @throws GatewayError `unsupported_value` naming the field of a file that cannot be read; `queue_full`.
   */
  countFiles(body: Uint8Array, owner: string): Promise<number>;
  /** Pending counts are then estimated by length. */
  close(): Promise<void>;
}

/** The rest of a text may have more tokens than its beginning. */
const SAMPLE_MARGIN = 1.25;
/** Tokens that the format of a message adds to its texts. */
const MESSAGE_TOKENS = 16;
/** Maximum number of texts in the queue; each is at most 32 KiB. */
const MAX_WAITING = 256;
const TIMEOUT_MS = 10_000;
/** The token table takes 80 MB of memory, so it is unloaded when it is no longer used. */
const IDLE_MS = 30_000;

/** Loads the tokenizer in a thread on first use: it takes 0.4 s, and long texts as much again. */
export function createTokenCounter(): TokenCounter {
  const waiting = new Map<number, (tokens: number | undefined) => void>();
  let thread: Worker | undefined;
  let tasks = 0;
  let closed = false;
  let idle: NodeJS.Timeout | undefined;

  function end(): Promise<unknown> | undefined {
    const ending = thread;
    thread = undefined;
    clearTimeout(idle);
    for (const settle of waiting.values()) settle(undefined);
    waiting.clear();
    return ending?.terminate();
  }

  function start(): Worker {
    const started = new Worker(new URL('./token-thread.js', import.meta.url), { execArgv: [] });
    started.on('message', ({ id, tokens }: CountAnswer) => {
      waiting.get(id)?.(tokens);
      waiting.delete(id);
      if (waiting.size === 0) {
        idle = setTimeout(end, IDLE_MS);
        idle.unref();
      }
    });
    const fail = () => {
      if (thread === started) end();
    };
    started.on('error', fail).on('exit', fail);
    // Must follow the listeners, which would undo it: the thread must not keep the process alive.
    started.unref();
    return started;
  }

  function ask(text: string): Promise<number | undefined> {
    if (closed || waiting.size >= MAX_WAITING) return Promise.resolve(undefined);
    clearTimeout(idle);
    thread ??= start();
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    tasks += 1;
    const timer = setTimeout(end, TIMEOUT_MS);
    timer.unref();
    waiting.set(tasks, (tokens) => {
      clearTimeout(timer);
      resolve(tokens);
    });
    thread.postMessage({ id: tasks, text } satisfies CountTask);
    return promise;
  }

  async function countSample({ text, scale }: TextSample): Promise<number> {
    const tokens = text === '' ? 0 : ((await ask(text)) ?? Buffer.byteLength(text));
    return Math.ceil(tokens * scale * (scale > 1 ? SAMPLE_MARGIN : 1));
  }

  const files = createFileCounter(countSample);

  return {
    async count({ text, scale }) {
      if (text === '') return 0;
      const tokens = (await ask(text)) ?? inputTokensOf(Buffer.byteLength(text));
      return Math.max(1, Math.round(tokens * scale));
    },
    async countInput({ messages, otherTokens, listedTokens, ...sample }) {
      return (await countSample(sample)) + messages * MESSAGE_TOKENS + otherTokens + listedTokens;
    },
    countFiles: (body, owner) => files.count(body, owner),
    async close() {
      closed = true;
      await Promise.all([end(), files.close()]);
    },
  };
}

const FIRST_BYTES = 1_024;

export const NO_TEXT: TextSample = { text: '', scale: 1 };

/** What a model wrote in an answer: the same for a whole answer and for its stream. */
export interface WrittenText {
  /**
   * Adds the texts of a message, a delta or a list of output items: JSON from `start` to `end`.
   * @param choice Index of the choice that it belongs to. Default 0.
   */
  add(bytes: Uint8Array, start: number, end: number, choice?: number): void;
  /** Adds the content between the quotes of a JSON text. */
  addText(bytes: Uint8Array, start: number, end: number): void;
  /** Adds the texts of a whole answer, which may be cut off. */
  addAnswer(bytes: Uint8Array): void;
  readonly isEmpty: boolean;
  take(): TextSample;
}

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

/**
 * Collects the text of a model from the bytes of answers and events. Both forms go through the same code, so that their
 * estimates are the same.
 */
export function createWrittenText(isResponse: boolean): WrittenText {
  const written = isResponse ? WRITTEN : WRITTEN_IN_CHATS;
  const words: SampleTaker[] = [];
  const thoughts: SampleTaker[] = [];
  let place = 0;
  let isAnswer = false;

  function takerOf(takers: SampleTaker[]): SampleTaker {
    let taker = takers[place];
    if (!taker) {
      taker = createSampleTaker(place === 0 ? MAX_STORED_BYTES : MAX_CHOICE_BYTES);
      takers[place] = taker;
    }
    return taker;
  }

  const visitor: TextVisitor = {
    nested(bytes, nameStart, nameEnd, depth) {
      const isNamed = (name: string) => isText(bytes, nameStart, nameEnd, name);
      if (isAnswer && depth === 1) return ANSWER_LISTS.some(isNamed) ? 'read' : 'skip';
      if (NOT_WRITTEN.some(isNamed)) return 'skip';
      return INPUTS.some(isNamed) ? 'take' : 'read';
    },
    text(bytes, nameStart, nameEnd, start, end) {
      for (const name of written) {
        if (!isText(bytes, nameStart, nameEnd, name)) continue;
        takerOf(words).add(bytes, start, end);
        return;
      }
      if (THOUGHTS.some((name) => isText(bytes, nameStart, nameEnd, name))) takerOf(thoughts).add(bytes, start, end);
    },
  };

  return {
    add(bytes, start, end, choice = 0) {
      place = Math.max(0, Math.min(choice, MAX_CHOICES - 1)) || 0;
      walkTexts(bytes, start, end, visitor);
    },
    addText(bytes, start, end) {
      place = 0;
      takerOf(words).add(bytes, start, end);
    },
    addAnswer(bytes) {
      place = 0;
      isAnswer = true;
      walkTexts(bytes, 0, bytes.length, visitor);
      isAnswer = false;
    },
    get isEmpty() {
      return words.length === 0 && thoughts.length === 0;
    },
    take() {
      const all = [...thoughts, ...words].filter((taker) => taker !== undefined);
      const stored = all.reduce((sum, taker) => sum + taker.storedBytes, 0);
      const inAll = all.reduce((sum, taker) => sum + taker.bytes, 0);
      return { text: all.map((taker) => taker.text()).join(''), scale: stored === 0 ? 1 : inAll / stored };
    },
  };
}

/** Collects JSON texts, without their quotes, up to a number of bytes. */
interface SampleTaker {
  add(bytes: Uint8Array, start: number, end: number): void;
  /** Of all texts, and of the stored part. */
  readonly bytes: number;
  readonly storedBytes: number;
  /** The stored part. */
  text(): string;
}

function createSampleTaker(maxBytes: number): SampleTaker {
  let stored: Buffer | undefined;
  let storedBytes = 0;
  let bytesInAll = 0;

  return {
    add(bytes, start, end) {
      bytesInAll += end - start;
      const length = Math.min(end - start, maxBytes - storedBytes);
      if (length <= 0) return;
      // Not from Node's pool: a part stored during a stream would keep all 64 KiB of the pool.
      stored ??= Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, length));
      if (storedBytes + length > stored.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(stored.length * 2, storedBytes + length));
        stored.copy(larger, 0, 0, storedBytes);
        stored = larger;
      }
      stored.set(bytes.subarray(start, start + length), storedBytes);
      storedBytes += length;
    },
    get bytes() {
      return bytesInAll;
    },
    get storedBytes() {
      return storedBytes;
    },
    text: () => plainText(stored?.toString('utf8', 0, storedBytes) ?? ''),
  };
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
