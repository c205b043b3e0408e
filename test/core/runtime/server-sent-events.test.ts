/** The writer of server-sent events: the bytes of an event, and the comments of a stream that waits. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { encodeEvent, encodeLongEvent, encodeTypedEvent, withKeepAlive } from '../../../core/runtime/index.js';

const QUIET_MS = 30;

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bytes) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function* slowly(...pieces: string[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    await sleep(QUIET_MS * 3);
    yield Buffer.from(piece);
  }
}

describe('server-sent events', () => {
  it('writes the name of an event, and repeats it as the type of its data', () => {
    expect(encodeEvent('1')).to.equal('data: 1\n\n');
    expect(encodeEvent('1', 'error')).to.equal('event: error\ndata: 1\n\n');
    expect(encodeTypedEvent('ping')).to.equal('event: ping\ndata: {"type":"ping"}\n\n');
    expect(encodeTypedEvent('a', { b: 1 })).to.equal('event: a\ndata: {"type":"a","b":1}\n\n');
  });

  it('sends a comment while no event comes, and none within a long event', async () => {
    async function* events() {
      yield encodeEvent('1');
      await sleep(QUIET_MS * 3);
      yield encodeLongEvent('id: 2', slowly('a', 'b'));
    }
    const text = await textOf(withKeepAlive(events(), QUIET_MS));
    expect(text).to.match(/^data: 1\n\n(: keep-alive\n\n)+id: 2\ndata: ab\n\n$/);
  });

  it('rethrows the error of the source, also after a comment', async () => {
    async function* events() {
      yield* [] as string[];
      await sleep(QUIET_MS * 3);
      throw new Error('broken');
    }
    const failure = await textOf(withKeepAlive(events(), QUIET_MS)).catch((error: unknown) => error);
    expect(failure).to.have.property('message', 'broken');
  });

  it('ends its source when the reader stops while it waits', async () => {
    let isEnded = false;
    async function* events() {
      try {
        yield encodeEvent('1');
        await sleep(QUIET_MS * 3);
        yield encodeEvent('2');
      } finally {
        isEnded = true;
      }
    }
    for await (const bytes of withKeepAlive(events(), QUIET_MS)) if (String(bytes).startsWith(':')) break;
    expect(isEnded).to.equal(false);
    await sleep(QUIET_MS * 4);
    expect(isEnded).to.equal(true);
  });
});
