import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { createGrowingFile, type GrowingFile } from '../../../core/media/growing-file.js';

describe('a file that is read while it grows', () => {
  let folder: string;
  let file: GrowingFile;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-growing-'));
    file = await createGrowingFile(path.join(folder, 'file'));
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function read(body: AsyncIterable<Uint8Array> | undefined): Promise<string> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of body ?? []) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  }

  it('gives everybody all of it, whenever they come', async () => {
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

  it('passes a failure on behind what there is', async () => {
    const chunks = file.follow()?.[Symbol.asyncIterator]();
    await file.append(Buffer.from('one'));
    expect(Buffer.from((await chunks?.next())?.value).toString()).to.equal('one');
    const next = chunks?.next();
    file.fail(new Error('cut'));
    await file.release();
    expect(await next?.catch((error: Error) => error.message)).to.equal('cut');
  });

  it('does not hold up its writer for a reader that waits, never begins, or leaves', async () => {
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
      expect(result.value.byteLength).to.be.at.most(65_536);
      received += result.value.byteLength;
    }
    expect(received).to.equal(2_000_000);
    expect(file.follow(), 'one reader is left').to.not.equal(undefined);
    await never?.return?.();
  });
});
