/** A file that is read while it grows. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { GrowingFile } from '../../../core/media/ffmpeg-process.js';

describe('a file that is read while it grows', () => {
  let folder: string;
  let file: GrowingFile;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-growing-'));
    file = await GrowingFile.create(path.join(folder, 'file'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function read(body: AsyncIterable<Uint8Array> | undefined): Promise<string> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body ?? []) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  it('gives every reader the whole file at any time', async () => {
    const early = read(file.follow());
    await file.append(Buffer.from('one '));
    const later = read(file.follow());
    await file.append(Buffer.from('two'));
    file.finish();
    const last = read(file.follow());
    await file.release();
    expect(await Promise.all([early, later, last])).to.deep.equal(['one two', 'one two', 'one two']);
    expect(file.size).to.equal(7);
    expect(file.follow(), 'once everybody has left').to.equal(undefined);
  });

  it('keeps the order for a reader that falls behind and catches up', async () => {
    const pieces = Array.from({ length: 40 }, (_, index) =>
      Buffer.alloc(1 + index * 5_000, String.fromCharCode(65 + index)),
    );
    const chunks = file.follow()?.[Symbol.asyncIterator]();
    const received: Uint8Array[] = [];
    for (const [index, piece] of pieces.entries()) {
      await file.append(piece);
      const result = index % 3 === 0 ? await chunks?.next() : undefined;
      if (result && !result.done) received.push(result.value);
    }
    file.finish();
    await file.release();
    for (let result = await chunks?.next(); result && !result.done; result = await chunks?.next())
      received.push(result.value);
    expect(Buffer.concat(received).equals(Buffer.concat(pieces))).to.equal(true);
  });

  it('reports a failure after the bytes before it', async () => {
    const chunks = file.follow()?.[Symbol.asyncIterator]();
    await file.append(Buffer.from('one'));
    expect(Buffer.from((await chunks?.next())?.value).toString()).to.equal('one');
    const next = chunks?.next();
    file.fail(new Error('cut'));
    await file.release();
    expect(await next?.catch((error: Error) => error.message)).to.equal('cut');
  });

  it('does not slow its writer down for a reader that waits, never begins, or leaves', async () => {
    const waiting = file.follow()?.[Symbol.asyncIterator]();
    const never = file.follow()?.[Symbol.asyncIterator]();
    const leaving = file.follow()?.[Symbol.asyncIterator]();
    const pending = leaving?.next();
    await leaving?.return?.();
    const chunk = Buffer.alloc(1_000_000, 'x');
    await file.append(chunk);
    await file.append(chunk);
    file.finish();
    await file.release();
    // It asked before it left; what becomes of that is its own affair, as long as it ends.
    await pending?.catch(() => undefined);
    let received = 0;
    for (let result = await waiting?.next(); result && !result.done; result = await waiting?.next()) {
      received += result.value.byteLength;
    }
    expect(received).to.equal(2_000_000);
    await never?.return?.();
    expect(file.follow(), 'once everybody has left').to.equal(undefined);
  });
});
