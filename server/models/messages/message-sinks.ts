import type { BlockSink } from './block-queue.js';
import { markNumbers } from './exact-numbers.js';
import { type Block, describeBlock } from './message.js';
import { isMembers } from './sent.js';

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
