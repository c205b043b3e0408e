/*
 * Receives the blocks of a converted answer (texts, thinking, calls of tools) and writes them as events or as the
 * content of one message. Blocks of an upstream may arrive interleaved, such as parallel calls; the queue passes them
 * on one after the other, in the order of their beginnings. At most 32 MiB may wait behind an unfinished block; beyond
 * that the answer fails. Stop sequences are found across chunks by the algorithm of Knuth, Morris and Pratt, so the
 * time is linear in the text. Numbers of a tool's input keep their digits.
 */

import type { Usage } from '../../../core/contracts/index.js';
import { drawRandomBytes, encodeTypedEvent, isRecord } from '../../../core/runtime/index.js';
import { fitToolId, markNumbers, type ToolNames } from '../../../core/text/index.js';

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

/** A block of an answer when it begins. */
export type Block = { type: 'text' } | { type: 'thinking' } | { type: 'tool_use'; id: string; name: string };

/** Why an answer ended. */
export interface MessageEnd {
  reason: StopReason;
  /** Set for `stop_sequence`. */
  sequence?: string;
}

const ID_BYTES = 18;

/** Fields of `message` that exist from the beginning. */
export function newMessage(model: string) {
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    container: null,
    diagnostics: null,
  } as const;
}

/**
 * A tool call, from what the model sent so far, with the client's name of the tool and an id that its vendor accepts.
 * Undefined if it does not name the tool.
 */
export function toolUseOf(id: unknown, name: unknown, names: ToolNames): Block | undefined {
  if (typeof name !== 'string' || name === '') return undefined;
  // Unique in a conversation.
  const own = typeof id === 'string' && id !== '' ? fitToolId(id) : newId('toolu');
  return { type: 'tool_use', id: own, name: names.decode(name).name };
}

function newId(prefix: string): string {
  return `${prefix}_${drawRandomBytes(ID_BYTES).toString('base64url')}`;
}

/** Fields of the end of an answer; all null before the end. */
export function describeEnd(end: MessageEnd | undefined) {
  const refusal = { type: 'refusal', category: null, explanation: null };
  return {
    stop_reason: end?.reason ?? null,
    stop_sequence: end?.sequence ?? null,
    stop_details: end?.reason === 'refusal' ? refusal : null,
  };
}

/** Input tokens from the cache, and those written to it, are reported beside the input, not in it. */
export function describeUsage(usage: Usage | undefined) {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0, cacheWriteTokens = 0, reasoningTokens } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}

/** Includes fields that only whole messages have. */
export function describeWholeUsage(usage: Usage | undefined) {
  return {
    ...describeUsage(usage),
    cache_creation: null,
    inference_geo: null,
    service_tier: null,
    speed: null,
  };
}

/** A block as it begins. */
export function describeBlock(block: Block) {
  if (block.type === 'text') return { type: 'text', text: '', citations: null };
  // An empty signature: thinking is never sent back to the model.
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { type: 'tool_use', id: block.id, name: block.name, input: {}, caller: { type: 'direct' } };
}

/** Fields of a delta: its type, and the field of its text. */
const DELTAS = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  tool_use: ['input_json_delta', 'partial_json'],
} as const;

/** An event of the format, in bytes. */
export function encodeEvent(type: string, fields: object = {}): Buffer {
  return Buffer.from(encodeTypedEvent(type, fields));
}

/** Writes blocks as events. */
export function createEventSink(send: (event: Buffer) => void): BlockSink {
  let index = -1;
  let kind: Block['type'] = 'text';
  return {
    start(block) {
      index += 1;
      kind = block.type;
      send(encodeEvent('content_block_start', { index, content_block: describeBlock(block) }));
    },
    add(text) {
      const [type, field] = DELTAS[kind];
      send(encodeEvent('content_block_delta', { index, delta: { type, [field]: text } }));
    },
    stop: () => send(encodeEvent('content_block_stop', { index })),
  };
}

/** Collects blocks for an answer in one piece. */
export class ContentSink implements BlockSink {
  readonly #gathered: { block: Block; pieces: string[] }[] = [];

  start(block: Block): void {
    this.#gathered.push({ block, pieces: [] });
  }

  add(text: string): void {
    this.#gathered.at(-1)?.pieces.push(text);
  }

  stop(): void {}

  /**
   * Numbers are still marked.
   * @param isCut Whether the answer may end in the middle of a tool's input, which is then empty.
   * @throws SyntaxError if a tool's input is no JSON object.
   */
  content(isCut: boolean): object[] {
    return this.#gathered.map(({ block, pieces }, index) => {
      const text = pieces.join('');
      if (block.type !== 'tool_use') return { ...describeBlock(block), [DELTAS[block.type][1]]: text };
      return { ...describeBlock(block), input: readInput(text, isCut && index === this.#gathered.length - 1) };
    });
  }
}

function readInput(text: string, isCut: boolean): unknown {
  if (text.trim() === '') return {};
  try {
    const input: unknown = JSON.parse(markNumbers(text));
    if (!isRecord(input)) throw new SyntaxError('The input of a tool is an object.');
    return input;
  } catch (error) {
    if (isCut) return {};
    throw error;
  }
}

/** Receives blocks one after the other. */
export interface BlockSink {
  start(block: Block): void;
  /** Adds to the current block: text, or JSON of a tool's input. */
  add(text: string): void;
  stop(): void;
}

/** Maximum characters that wait behind an unfinished block: the same as the bytes of an event. */
const MAX_WAITING = 32 * 1024 * 1024;
/** Cost of a block, and of a waiting piece, besides its characters. */
const PIECE_COST = 64;

interface Entry {
  block: Block;
  /** Waits until the blocks before it are done. */
  waiting: string[];
  isStarted: boolean;
  hasText: boolean;
  isClosed: boolean;
}

/** Serializes blocks that may arrive interleaved, such as parallel tool calls, in the order of their beginnings. */
export class BlockQueue {
  readonly #sink: BlockSink;
  readonly #cutter: StopCutter;
  readonly #all = new Map<string, Entry>();
  readonly #line: Entry[] = [];
  /** Index of the current block in the line. */
  #head = 0;
  #waitingSize = 0;
  #isOverfull = false;

  /** @param stops Stop sequences, which apply to text only. */
  constructor(sink: BlockSink, stops: readonly string[]) {
    this.#sink = sink;
    this.#cutter = new StopCutter(stops);
  }

  /** The stop sequence that ended the text: nothing after it is passed on. */
  get stop(): string | undefined {
    return this.#cutter.stop;
  }

  /** Whether the limit of waiting text was exceeded: later text was lost, and the answer must fail. */
  get isOverfull(): boolean {
    return this.#isOverfull;
  }

  /** No effect if the key exists. */
  open(key: string, block: Block): void {
    if (this.#all.has(key) || !this.#keep('')) return;
    const entry: Entry = { block, waiting: [], isStarted: false, hasText: false, isClosed: false };
    this.#all.set(key, entry);
    this.#line.push(entry);
    this.#advance();
  }

  /** No effect if the key is unknown or closed. */
  add(key: string, text: string): void {
    const entry = this.#all.get(key);
    if (!entry || entry.isClosed || text === '' || !this.#keep(text)) return;
    entry.hasText = true;
    entry.waiting.push(text);
    if (entry === this.#line[this.#head]) this.#advance();
  }

  /** Idempotent. */
  close(key: string): void {
    const entry = this.#all.get(key);
    if (!entry) return;
    entry.isClosed = true;
    this.#advance();
  }

  closeAll(): void {
    for (const entry of this.#all.values()) entry.isClosed = true;
    this.#advance();
  }

  /** Whether anything was added to it. */
  hasText(key: string): boolean {
    return this.#all.get(key)?.hasText ?? false;
  }

  /** @returns Whether there was room for it. */
  #keep(text: string): boolean {
    this.#waitingSize += text.length + PIECE_COST;
    this.#isOverfull ||= this.#waitingSize > MAX_WAITING;
    return !this.#isOverfull;
  }

  /** An empty text block is omitted; a tool call may have empty input. */
  #advance(): void {
    for (let entry = this.#line[this.#head]; entry && this.stop === undefined; entry = this.#line[this.#head]) {
      if (entry.block.type === 'tool_use') this.#start(entry);
      for (const text of entry.waiting.splice(0)) {
        this.#waitingSize -= text.length + PIECE_COST;
        this.#write(entry, text);
      }
      if (!entry.isClosed || this.stop !== undefined) return;
      const rest = this.#cutter.flush();
      if (rest !== '') this.#give(entry, rest);
      if (entry.isStarted) this.#sink.stop();
      this.#head += 1;
    }
  }

  #write(entry: Entry, text: string): void {
    if (this.stop !== undefined) return;
    const allowed = entry.block.type === 'text' ? this.#cutter.push(text) : text;
    if (allowed !== '') this.#give(entry, allowed);
    if (this.stop !== undefined && entry.isStarted) this.#sink.stop();
  }

  #give(entry: Entry, text: string): void {
    this.#start(entry);
    this.#sink.add(text);
  }

  #start(entry: Entry): void {
    if (entry.isStarted) return;
    entry.isStarted = true;
    this.#sink.start(entry.block);
  }
}

/** One sequence, and how much of it the current text ends with. */
interface Search {
  sequence: string;
  /**
   * For each prefix of the sequence, by its length minus one: length of the longest shorter prefix that it ends with.
   */
  shorter: Uint16Array;
  matched: number;
}

/**
 * Ends texts at stop sequences. The result does not depend on the chunks: the sequence that is complete first ends the
 * text, and of those with the same end the longest. The time is linear in the text, for any sequences.
 */
export class StopCutter {
  readonly #searches: readonly Search[];
  #held = '';
  #stop: string | undefined;

  constructor(sequences: readonly string[]) {
    this.#searches = sequences.map(createSearch);
  }

  /** The matched sequence. */
  get stop(): string | undefined {
    return this.#stop;
  }

  /**
   * @returns The part of the text that can be passed on: without a possible beginning of a sequence, and nothing after
   *   one.
   */
  push(text: string): string {
    if (this.#stop !== undefined) return '';
    if (this.#searches.length === 0) return text;
    const all = this.#held + text;
    for (let at = this.#held.length; at < all.length; at += 1) {
      const stop = this.#matchAt(all.charCodeAt(at));
      if (stop === undefined) continue;
      this.#stop = stop;
      this.#held = '';
      return all.slice(0, at + 1 - stop.length);
    }
    const start = all.length - this.#searches.reduce((max, { matched }) => Math.max(max, matched), 0);
    this.#held = all.slice(start);
    return all.slice(0, start);
  }

  /** Ends a text and begins another. @returns What was held back. */
  flush(): string {
    const rest = this.#held;
    this.#held = '';
    for (const search of this.#searches) search.matched = 0;
    return rest;
  }

  /** The longest sequence that this letter completes. */
  #matchAt(letter: number): string | undefined {
    let longest: string | undefined;
    for (const search of this.#searches) {
      advance(search, letter);
      const { sequence, matched } = search;
      if (matched === sequence.length && matched > (longest?.length ?? 0)) longest = sequence;
    }
    return longest;
  }
}

/** By Knuth, Morris and Pratt: no character is read twice. */
function createSearch(sequence: string): Search {
  const search: Search = { sequence, shorter: new Uint16Array(sequence.length), matched: 0 };
  for (let at = 1; at < sequence.length; at += 1) {
    advance(search, sequence.charCodeAt(at));
    search.shorter[at] = search.matched;
  }
  search.matched = 0;
  return search;
}

function advance(search: Search, letter: number): void {
  const { sequence, shorter } = search;
  while (search.matched > 0 && sequence.charCodeAt(search.matched) !== letter) {
    search.matched = shorter[search.matched - 1] ?? 0;
  }
  if (sequence.charCodeAt(search.matched) === letter) search.matched += 1;
}
