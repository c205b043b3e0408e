/*
 * Estimates tokens where an upstream reports none. A worker thread has the tokenizer, which takes 80 MB and 0.4 s to
 * load, so all gateways of a process share it. It starts on first use and ends after 30 idle seconds. Only 32 KiB of
 * each text are stored and counted, and the result is scaled to the whole length. If the thread is too slow or 256 texts
 * are waiting, the length alone decides, so a count never rejects and never blocks an answer.
 */

import { Worker } from 'node:worker_threads';
import { FileCounter } from './file-counter.js';
import { inputTokensOf, type PromptSample, type TextSample } from './samples.js';

export interface CountTask {
  id: number;
  text: string;
}

export interface CountAnswer {
  id: number;
  tokens: number;
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

/** The thread of the process, which has the tokenizer while texts arrive. */
class TokenThread {
  readonly #waiting = new Map<number, (tokens: number | undefined) => void>();
  #thread: Worker | undefined;
  #tasks = 0;
  #idle: NodeJS.Timeout | undefined;

  /** Undefined where it is too slow, has failed, or is asked too much. */
  ask(text: string): Promise<number | undefined> {
    if (this.#waiting.size >= MAX_WAITING) return Promise.resolve(undefined);
    clearTimeout(this.#idle);
    this.#thread ??= this.#start();
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    this.#tasks += 1;
    const timer = setTimeout(() => void this.#end(), TIMEOUT_MS);
    timer.unref();
    this.#waiting.set(this.#tasks, (tokens) => {
      clearTimeout(timer);
      resolve(tokens);
    });
    this.#thread.postMessage({ id: this.#tasks, text } satisfies CountTask);
    return promise;
  }

  #start(): Worker {
    const started = new Worker(new URL('./token-thread.js', import.meta.url), { execArgv: [] });
    started.on('message', ({ id, tokens }: CountAnswer) => {
      this.#waiting.get(id)?.(tokens);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
    });
    const fail = () => {
      if (this.#thread === started) void this.#end();
    };
    started.on('error', fail).on('exit', fail);
    // Must follow the listeners, which would undo it: the thread must not keep the process alive.
    started.unref();
    return started;
  }

  #end(): Promise<unknown> | undefined {
    const ending = this.#thread;
    this.#thread = undefined;
    clearTimeout(this.#idle);
    for (const settle of this.#waiting.values()) settle(undefined);
    this.#waiting.clear();
    return ending?.terminate();
  }
}

const thread = new TokenThread();

/** Estimates the tokens of the texts and files of one gateway. */
export class TokenCounter {
  readonly #files = new FileCounter((sample) => this.#countSample(sample));
  readonly #pending = new Set<(tokens: undefined) => void>();
  #isClosed = false;

  /**
   * Estimates the tokens of the whole text from its stored part; by its length alone if counting takes too long. Never
   * rejects.
   */
  async count({ text, scale }: TextSample): Promise<number> {
    if (text === '') return 0;
    const tokens = (await this.#ask(text)) ?? inputTokensOf(Buffer.byteLength(text));
    return Math.max(1, Math.round(tokens * scale));
  }

  /**
   * Upper estimate of the tokens of a request's input: those of its texts (a quarter more if only a part was counted;
   * one for each byte if none was), 16 for each message, and those of names and images. Files are not included. Never rejects.
   */
  async countInput({ messages, otherTokens, listedTokens, ...sample }: PromptSample): Promise<number> {
    return (await this.#countSample(sample)) + messages * MESSAGE_TOKENS + otherTokens + listedTokens;
  }

  /**
   * Upper estimate of the tokens of the files in a JSON body.
   * @throws GatewayError `unsupported_value` naming the field of a file that cannot be read; `queue_full`.
   */
  countFiles(body: Uint8Array, owner: string): Promise<number> {
    return this.#files.count(body, owner);
  }

  /** Pending counts are then estimated by length. */
  close(): void {
    this.#isClosed = true;
    for (const settle of this.#pending) settle(undefined);
    this.#files.close();
  }

  async #countSample({ text, scale }: TextSample): Promise<number> {
    const tokens = text === '' ? 0 : ((await this.#ask(text)) ?? Buffer.byteLength(text));
    return Math.ceil(tokens * scale * (scale > 1 ? SAMPLE_MARGIN : 1));
  }

  #ask(text: string): Promise<number | undefined> {
    if (this.#isClosed) return Promise.resolve(undefined);
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    this.#pending.add(resolve);
    thread.ask(text).then((tokens) => {
      this.#pending.delete(resolve);
      resolve(tokens);
    });
    return promise;
  }
}
