import { Worker } from 'node:worker_threads';
import { inputTokensOf } from './text-request.js';
import type { TextSample } from './text-sample.js';

export interface CountTask {
  id: number;
  text: string;
}

export interface CountAnswer {
  id: number;
  tokens: number;
}

/** Estimates tokens where no upstream reported them. */
export interface TokenCounter {
  /** Tokens of the whole text by those of the part of it that was kept; by its length alone where counting takes too long. Never rejects. */
  count(sample: TextSample): Promise<number>;
  /** What is being counted is then estimated by its length. */
  close(): Promise<void>;
}

/** Texts that may wait to be counted; each is at most 32 KiB. */
const MAX_WAITING = 256;
const PATIENCE_MS = 10_000;
/** The table of tokens takes 80 MB of memory: it is not kept for longer than it may be of use. */
const IDLE_MS = 30_000;

/** Loads the tokenizer in a thread of its own when it is first needed: it takes 0.4 s, and long texts as much again. */
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
    // After the listeners, which would undo it: a thread keeps no process alive.
    started.unref();
    return started;
  }

  function ask(text: string): Promise<number | undefined> {
    if (closed || waiting.size >= MAX_WAITING) return Promise.resolve(undefined);
    clearTimeout(idle);
    thread ??= start();
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    tasks += 1;
    const patience = setTimeout(end, PATIENCE_MS);
    patience.unref();
    waiting.set(tasks, (tokens) => {
      clearTimeout(patience);
      resolve(tokens);
    });
    thread.postMessage({ id: tasks, text } satisfies CountTask);
    return promise;
  }

  return {
    async count({ text, scale }) {
      if (text === '') return 0;
      const tokens = (await ask(text)) ?? inputTokensOf(Buffer.byteLength(text));
      return Math.max(1, Math.round(tokens * scale));
    },
    async close() {
      closed = true;
      await end();
    },
  };
}
