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

  it('deflates the files that ask for it, beside those that do not', async () => {
    const text = Buffer.from('a line of a table\r\n'.repeat(10_000));
    async function* all() {
      yield { name: 'links.csv', bytes: chunksOf(text.subarray(0, 5), text.subarray(5)), isDeflated: true };
      yield { name: 'plain', bytes: chunksOf(text) };
      yield { name: 'empty', bytes: chunksOf(), isDeflated: true };
    }
    const archive = await whole(zip(all(), DATE));
    expect(archive.length).to.be.within(text.length, 1.05 * text.length);
    const found = readZip(archive);
    expect(found.map(({ name }) => name)).to.deep.equal(['links.csv', 'plain', 'empty']);
    expect(found.map(({ content }) => content.equals(text))).to.deep.equal([true, true, false]);
  });

  it('fails with its file, before a directory is written', async () => {
    async function* failing() {
      yield Buffer.from('begun');
      throw new Error('broken off');
    }
    async function* all(isDeflated: boolean) {
      yield { name: 'a', bytes: chunksOf(Buffer.from('x')) };
      yield { name: 'b', bytes: failing(), isDeflated };
    }
    for (const isDeflated of [false, true]) {
      const sent: Uint8Array[] = [];
      const reading = (async () => {
        for await (const chunk of zip(all(isDeflated), DATE)) sent.push(chunk);
      })();
      const error = await reading.catch((thrown: Error) => thrown);
      expect((error as Error).message).to.equal('broken off');
      expect(Buffer.concat(sent).includes(Buffer.from('PK\x01\x02', 'latin1'))).to.equal(false);
    }
  });
});
