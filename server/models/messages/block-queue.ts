import type { Block } from './message.js';
import { createStopCutter } from './stop-sequences.js';

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
