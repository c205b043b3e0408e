import { drawRandomBytes, type Usage } from 'mediagate';
import { markNumbers } from './exact-json.js';
import { isMembers } from './message-parts.js';

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

/** A piece of an answer, when it begins. */
export type Block = { type: 'text' } | { type: 'thinking' } | { type: 'tool_use'; id: string; name: string };

/** Why an answer ended. */
export interface MessageEnd {
  reason: StopReason;
  /** With `stop_sequence`. */
  sequence?: string;
}

const ID_BYTES = 18;

/** Members of `message` that are there from the beginning. */
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

/** A call of a tool, as far as the model tells of it. Undefined where it does not say which tool that is. */
export function toolUseOf(id: unknown, name: unknown): Block | undefined {
  if (typeof name !== 'string' || name === '') return undefined;
  // No two calls of a conversation have the same one.
  return { type: 'tool_use', id: typeof id === 'string' && id !== '' ? id : newId('toolu'), name };
}

function newId(prefix: string): string {
  return `${prefix}_${drawRandomBytes(ID_BYTES).toString('base64url')}`;
}

/** Members that tell how it ended; of one that has not, null all of them. */
export function describeEnd(end: MessageEnd | undefined) {
  const refusal = { type: 'refusal', category: null, explanation: null };
  return {
    stop_reason: end?.reason ?? null,
    stop_sequence: end?.sequence ?? null,
    stop_details: end?.reason === 'refusal' ? refusal : null,
  };
}

/** What is read from a cache is told beside the input, not in it. */
export function describeUsage(usage: Usage | undefined) {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0, reasoningTokens } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}

/** With members of whole messages alone. */
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
  // Nothing that could be sent back: what a model thought is not asked for again.
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { type: 'tool_use', id: block.id, name: block.name, input: {}, caller: { type: 'direct' } };
}

/** Members that a piece of a block adds to it: kind of the piece, and where its text stands. */
const DELTAS = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  tool_use: ['input_json_delta', 'partial_json'],
} as const;

/** An event of the format, in bytes. */
export function encodeEvent(type: string, members: object = {}): Buffer {
  return Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);
}

/** Tells blocks in events. */
export function createEventSink(tell: (event: Buffer) => void): BlockSink {
  let index = -1;
  let kind: Block['type'] = 'text';
  return {
    start(block) {
      index += 1;
      kind = block.type;
      tell(encodeEvent('content_block_start', { index, content_block: describeBlock(block) }));
    },
    add(text) {
      const [type, member] = DELTAS[kind];
      tell(encodeEvent('content_block_delta', { index, delta: { type, [member]: text } }));
    },
    stop: () => tell(encodeEvent('content_block_stop', { index })),
  };
}

/** Gathers blocks for an answer in one piece. */
export interface ContentSink extends BlockSink {
  /**
   * With numbers marked.
   * @param isCut whether the answer may end in the middle of a tool's input, which then is empty.
   * @throws SyntaxError where a tool is called with what is no JSON object.
   */
  content(isCut: boolean): object[];
}

export function createContentSink(): ContentSink {
  const gathered: { block: Block; pieces: string[] }[] = [];
  return {
    start: (block) => void gathered.push({ block, pieces: [] }),
    add: (text) => void gathered.at(-1)?.pieces.push(text),
    stop() {},
    content: (isCut) =>
      gathered.map(({ block, pieces }, index) => {
        const text = pieces.join('');
        if (block.type !== 'tool_use') return { ...describeBlock(block), [DELTAS[block.type][1]]: text };
        return { ...describeBlock(block), input: readInput(text, isCut && index === gathered.length - 1) };
      }),
  };
}

function readInput(text: string, isCut: boolean): unknown {
  if (text.trim() === '') return {};
  try {
    const input: unknown = JSON.parse(markNumbers(text));
    if (!isMembers(input)) throw new SyntaxError('The input of a tool is an object.');
    return input;
  } catch (error) {
    if (isCut) return {};
    throw error;
  }
}

/** Takes blocks one after the other. */
export interface BlockSink {
  start(block: Block): void;
  /** More of the block that was started last: text, or JSON of a tool's input. */
  add(text: string): void;
  stop(): void;
}

/** Puts what may come mixed, such as calls of several tools at a time, one after the other, in the order in which it began. */
export interface BlockQueue {
  /** Of no effect where there is one of that key. */
  open(key: string, block: Block): void;
  /** Of no effect where there is none, or it is closed. */
  add(key: string, text: string): void;
  /** Idempotent. */
  close(key: string): void;
  /** Nothing more comes of any. */
  closeAll(): void;
  /** Whether anything was added to it. */
  hasSaid(key: string): boolean;
  /** The stop sequence that the text came to: nothing behind it goes on. */
  readonly stop: string | undefined;
  /** Whether more waits than is kept: what came then is lost, and there is no going on. */
  readonly isOverfull: boolean;
}

/** Characters that wait behind a block that is not done, as many as an event may have bytes. */
const MAX_WAITING = 32 * 1024 * 1024;
/** What a block takes to the end, and a piece of one that waits, beside its characters. */
const PIECE_COST = 64;

interface Entry {
  block: Block;
  /** What waits until those before it are done. */
  waiting: string[];
  isStarted: boolean;
  hasSaid: boolean;
  isClosed: boolean;
}

/** @param stops stop sequences, which count in texts alone. */
export function createBlockQueue(sink: BlockSink, stops: readonly string[]): BlockQueue {
  const all = new Map<string, Entry>();
  const line: Entry[] = [];
  /** Of `line`, which goes on at the moment. */
  let head = 0;
  const cutter = createStopCutter(stops);
  let kept = 0;
  let isOverfull = false;

  /** @returns Whether there is room for it. */
  function keep(text: string): boolean {
    kept += text.length + PIECE_COST;
    isOverfull ||= kept > MAX_WAITING;
    return !isOverfull;
  }

  function say(entry: Entry, text: string): void {
    if (cutter.stop !== undefined) return;
    const told = entry.block.type === 'text' ? cutter.push(text) : text;
    if (told !== '') give(entry, told);
    if (cutter.stop !== undefined && entry.isStarted) sink.stop();
  }

  function give(entry: Entry, text: string): void {
    start(entry);
    sink.add(text);
  }

  function start(entry: Entry): void {
    if (entry.isStarted) return;
    entry.isStarted = true;
    sink.start(entry.block);
  }

  /** A text that says nothing is none; a tool is called without words as well. */
  function goOn(): void {
    for (let entry = line[head]; entry && cutter.stop === undefined; entry = line[head]) {
      if (entry.block.type === 'tool_use') start(entry);
      for (const text of entry.waiting.splice(0)) {
        kept -= text.length + PIECE_COST;
        say(entry, text);
      }
      if (!entry.isClosed || cutter.stop !== undefined) return;
      const rest = cutter.flush();
      if (rest !== '') give(entry, rest);
      if (entry.isStarted) sink.stop();
      head += 1;
    }
  }

  return {
    open(key, block) {
      if (all.has(key) || !keep('')) return;
      const entry: Entry = { block, waiting: [], isStarted: false, hasSaid: false, isClosed: false };
      all.set(key, entry);
      line.push(entry);
      goOn();
    },
    add(key, text) {
      const entry = all.get(key);
      if (!entry || entry.isClosed || text === '' || !keep(text)) return;
      entry.hasSaid = true;
      entry.waiting.push(text);
      if (entry === line[head]) goOn();
    },
    close(key) {
      const entry = all.get(key);
      if (!entry) return;
      entry.isClosed = true;
      goOn();
    },
    closeAll() {
      for (const entry of all.values()) entry.isClosed = true;
      goOn();
    },
    hasSaid: (key) => all.get(key)?.hasSaid ?? false,
    get stop() {
      return cutter.stop;
    },
    get isOverfull() {
      return isOverfull;
    },
  };
}

/** Ends texts where one of some sequences comes. */
export interface StopCutter {
  /** @returns What of the text so far can go on now: nothing that a sequence may begin with, and nothing behind one. */
  push(text: string): string;
  /** Ends a text and begins another. @returns What was held back. */
  flush(): string;
  /** The sequence that came. */
  readonly stop: string | undefined;
}

/** One sequence, and how much of it the text ends in. */
interface Search {
  sequence: string;
  /** For each beginning of the sequence, by its length less one: length of the longest shorter one that it ends in. */
  shorter: Uint16Array;
  matched: number;
}

/**
 * Wherever the text is cut, the outcome is the same: that sequence ends it which is whole first, and of those that end at the
 * same place the longest. A text takes as long as it has characters, whatever the sequences.
 */
export function createStopCutter(sequences: readonly string[]): StopCutter {
  const searches = sequences.map(createSearch);
  let held = '';
  let stop: string | undefined;

  return {
    push(text) {
      if (stop !== undefined) return '';
      if (searches.length === 0) return text;
      const all = held + text;
      for (let at = held.length; at < all.length; at += 1) {
        const letter = all.charCodeAt(at);
        for (const search of searches) {
          goOn(search, letter);
          const { sequence, matched } = search;
          if (matched === sequence.length && matched > (stop?.length ?? 0)) stop = sequence;
        }
        if (stop !== undefined) {
          held = '';
          return all.slice(0, at + 1 - stop.length);
        }
      }
      const start = all.length - searches.reduce((most, { matched }) => Math.max(most, matched), 0);
      held = all.slice(start);
      return all.slice(0, start);
    },
    flush() {
      const rest = held;
      held = '';
      for (const search of searches) search.matched = 0;
      return rest;
    },
    get stop() {
      return stop;
    },
  };
}

/** By Knuth, Morris and Pratt: nothing of a text is looked at again. */
function createSearch(sequence: string): Search {
  const search: Search = { sequence, shorter: new Uint16Array(sequence.length), matched: 0 };
  for (let at = 1; at < sequence.length; at += 1) {
    goOn(search, sequence.charCodeAt(at));
    search.shorter[at] = search.matched;
  }
  search.matched = 0;
  return search;
}

function goOn(search: Search, letter: number): void {
  const { sequence, shorter } = search;
  while (search.matched > 0 && sequence.charCodeAt(search.matched) !== letter) {
    search.matched = shorter[search.matched - 1] ?? 0;
  }
  if (sequence.charCodeAt(search.matched) === letter) search.matched += 1;
}
