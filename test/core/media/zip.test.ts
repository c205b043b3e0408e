/** Archives: what other programs read of them, and what a failing file leaves. */

import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { zip } from '../../../core/media/index.js';
import { readZip } from '../../support/links/read-zip.js';

async function* chunksOf(...chunks: Uint8Array[]) {
  yield* chunks;
}

async function* files(...all: [string, AsyncIterable<Uint8Array>][]) {
  for (const [name, bytes] of all) yield { name, bytes };
}

async function whole(archive: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const DATE = new Date('2026-06-15T12:30:10Z');

describe('an archive', () => {
  it('is a ZIP with each file under its name, in any script', async () => {
    const content = randomBytes(100_000);
    const archive = await whole(
      zip(
        files(
          ['Ö 😀 01.jpg', chunksOf(content.subarray(0, 7), content.subarray(7))],
          ['Ö 😀 02.mp4', chunksOf(Buffer.from('second'))],
          ['empty', chunksOf()],
        ),
        DATE,
      ),
    );
    const found = readZip(archive);
    expect(found.map(({ name }) => name)).to.deep.equal(['Ö 😀 01.jpg', 'Ö 😀 02.mp4', 'empty']);
    expect(found[0]?.content.equals(content)).to.equal(true);
    expect(found[1]?.content.toString()).to.equal('second');
  });

  it('fails with its file, before a directory is written', async () => {
    async function* failing() {
      yield Buffer.from('begun');
      throw new Error('broken off');
    }
    const sent: Uint8Array[] = [];
    const reading = (async () => {
      for await (const chunk of zip(files(['a', chunksOf(Buffer.from('x'))], ['b', failing()]), DATE)) sent.push(chunk);
    })();
    const error = await reading.catch((thrown: Error) => thrown);
    expect((error as Error).message).to.equal('broken off');
    expect(Buffer.concat(sent).includes(Buffer.from('PK\x01\x02', 'latin1'))).to.equal(false);
  });
});
