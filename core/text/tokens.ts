import { Worker } from 'node:worker_threads';
import type { Usage } from '../contracts/index.js';
import { readValue } from './json.js';
import { inputTokensOf, MAX_TOKENS } from './requests.js';

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

/** Bytes of a text that are kept, or letters. More would make the few streams that are cut off dear for all the others. */
export const KEPT_BYTES = 32 * 1024;
const FIRST_BYTES = 1_024;

/** A text that may become long: its beginning, and how long it is. */
export interface TextSample {
  text: string;
  /** How many times as long the whole is; at least 1. */
  scale: number;
}

export const NO_TEXT: TextSample = { text: '', scale: 1 };

/** Gathers what a stream says, as the JSON texts that it says it in. */
export interface SampleTaker {
  /** Adds what stands between the quotes of a JSON text. */
  add(bytes: Uint8Array, start: number, end: number): void;
  take(): TextSample;
}

export function createSampleTaker(): SampleTaker {
  let kept: Buffer | undefined;
  let keptBytes = 0;
  let bytesInAll = 0;

  return {
    add(bytes, start, end) {
      bytesInAll += end - start;
      const length = Math.min(end - start, KEPT_BYTES - keptBytes);
      if (length <= 0) return;
      // Not of Node's pool: a part that is kept for as long as a stream takes keeps all 64 KiB of it.
      kept ??= Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, length));
      if (keptBytes + length > kept.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(kept.length * 2, keptBytes + length));
        kept.copy(larger, 0, 0, keptBytes);
        kept = larger;
      }
      kept.set(bytes.subarray(start, start + length), keptBytes);
      keptBytes += length;
    },
    take() {
      const raw = kept?.toString('utf8', 0, keptBytes) ?? '';
      return { text: plainText(raw), scale: keptBytes === 0 ? 1 : bytesInAll / keptBytes };
    },
  };
}

function plainText(raw: string): string {
  try {
    return JSON.parse(`"${raw}"`);
  } catch {
    // What was kept ends in the middle of an escape.
    return raw;
  }
}

/** Members whose text is no text for a model: files and sounds, told in base64. */
const DATA_MEMBERS = new Set(['data', 'file_data', 'b64_json', 'image_url']);
/** What says how a request is to be answered, not what is asked. */
const PROMPT_MEMBERS = ['messages', 'input', 'instructions', 'tools', 'functions', 'prompt', 'text', 'response_format'];

/** What a request gives a model to read. */
export function samplePrompt(parsed: Readonly<Record<string, unknown>>): TextSample {
  return sampleTexts(PROMPT_MEMBERS.map((name) => parsed[name]));
}

/** All texts in a value, however deep. */
export function sampleTexts(value: unknown): TextSample {
  const texts: string[] = [];
  let kept = 0;
  let inAll = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === 'string') {
      if (next.startsWith('data:')) continue;
      inAll += next.length;
      if (kept >= KEPT_BYTES) continue;
      const text = next.slice(0, KEPT_BYTES - kept);
      texts.push(text);
      kept += text.length;
    } else if (Array.isArray(next)) {
      for (const element of next.toReversed()) open.push(element);
    } else if (typeof next === 'object' && next !== null) {
      for (const [name, member] of Object.entries(next).reverse()) if (!DATA_MEMBERS.has(name)) open.push(member);
    }
  }
  return { text: texts.join('\n'), scale: kept === 0 ? 1 : inAll / kept };
}

/** The beginning of an answer that did not come to its end. */
export function sampleBytes(chunks: readonly Uint8Array[]): TextSample {
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (bytes === 0) return NO_TEXT;
  const text = Buffer.concat(chunks, Math.min(bytes, KEPT_BYTES)).toString('utf8');
  return { text, scale: Math.max(1, bytes / KEPT_BYTES) };
}

type Members = Readonly<Record<string, unknown>>;

/**
 * What an upstream reports, under the names of either format.
 * @returns Undefined where it says nothing, or that nothing was used: no answer is made of no tokens.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const total = count(value.total_tokens);
  let input = count(value.prompt_tokens) ?? count(value.input_tokens);
  let output = count(value.completion_tokens) ?? count(value.output_tokens);
  if (total !== undefined && input === undefined && output !== undefined) input = Math.max(0, total - output);
  if (total !== undefined && output === undefined && input !== undefined) output = Math.max(0, total - input);
  if ((input ?? 0) + (output ?? 0) === 0 && !total) return undefined;
  const read = membersOf(value.prompt_tokens_details ?? value.input_tokens_details);
  const written = membersOf(value.completion_tokens_details ?? value.output_tokens_details);
  const cached = count(read.cached_tokens);
  const reasoning = count(written.reasoning_tokens);
  const usage: Usage = { totalTokens: total ?? (input ?? 0) + (output ?? 0) };
  if (input !== undefined) usage.inputTokens = input;
  if (output !== undefined) usage.outputTokens = output;
  if (cached !== undefined) usage.cachedTokens = cached;
  if (reasoning !== undefined) usage.reasoningTokens = reasoning;
  return usage;
}

/** As {@link readUsage}, of an object as its JSON. Undefined where that is none. */
export function readUsageBytes(bytes: Uint8Array): Usage | undefined {
  try {
    return readUsage(readValue(bytes, 0, bytes.length));
  } catch {
    // Only where it ends was looked at before.
    return undefined;
  }
}

/** What nobody can have used is not said. */
function count(value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS;
  return isCount ? value : undefined;
}

function membersOf(value: unknown): Members {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}
