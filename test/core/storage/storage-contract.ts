/** What every storage must do; each storage's test calls it. */

import { createHash, randomBytes } from 'node:crypto';
import { expect } from 'chai';
import type { Clock, Storage, StoredBody } from '../../../core/contracts/services.js';
import { systemClock } from '../../../core/runtime/time.js';
import { createManualClock } from '../../../core/testing/fakes.js';

export async function content(file: StoredBody | undefined): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of file?.body ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Code of the error that the work ends with; undefined where it ends well. */
export async function refusal(work: Promise<unknown>): Promise<unknown> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  return (outcome as { code?: unknown } | undefined)?.code;
}

export interface OpenedStorage {
  files: Storage;
  close(): Promise<void>;
}

/** What every storage does, whatever keeps the files. `openFresh` gives an empty one. */
export function describeStorage(subject: string, openFresh: (clock: Clock) => Promise<OpenedStorage>): void {
  describe(subject, () => {
    let opened: OpenedStorage | undefined;

    async function open(clock: Clock): Promise<Storage> {
      opened = await openFresh(clock);
      return opened.files;
    }

    afterEach(() => opened?.close());

    it('returns the written bytes, whole and in ranges', async () => {
      const files = await open(systemClock);
      const body = randomBytes(200_000);
      await files.write({ name: 'a-b_C.png', contentType: 'image/png', body });
      const found = await files.read('a-b_C.png');
      expect(await content(found)).to.deep.equal(body);
      expect(found).to.include({ name: 'a-b_C.png', contentType: 'image/png', size: 200_000 });
      expect(found?.etag).to.equal(`"${createHash('sha256').update(body).digest('hex')}"`);
      expect(found?.modifiedAt.getTime()).to.be.within(Date.now() - 60_000, Date.now());
      const stat = await files.stat('a-b_C.png');
      expect(stat).to.deep.include({ size: 200_000, etag: found?.etag, modifiedAt: found?.modifiedAt });
      for (const [start, end] of [
        [0, 0],
        [199_999, 199_999],
        [65_535, 131_073],
        [10, 1_000_000],
      ] as const) {
        const part = await files.read('a-b_C.png', { start, end });
        expect(await content(part)).to.deep.equal(body.subarray(start, end + 1));
        expect(part?.size).to.equal(200_000);
      }
      for (const range of [
        { start: 200_000, end: 200_001 },
        { start: -1, end: 5 },
        { start: 5, end: 4 },
      ]) {
        expect(await refusal(files.read('a-b_C.png', range))).to.equal('invalid_value');
      }
    });

    it('stores a stream, also an empty one', async () => {
      const files = await open(systemClock);
      async function* pieces() {
        yield Buffer.from('one ');
        yield Buffer.from('two');
      }
      await files.write({ name: 'stream.txt', contentType: 'text/plain; charset=utf-8', body: pieces() });
      const stream = await files.read('stream.txt');
      expect(stream?.contentType).to.equal('text/plain; charset=utf-8');
      expect((await content(stream)).toString()).to.equal('one two');
      await files.write({ name: 'empty.txt', contentType: 'text/plain', body: new Uint8Array() });
      const empty = await files.read('empty.txt');
      expect(empty?.size).to.equal(0);
      expect(await content(empty)).to.have.length(0);
    });

    it('keeps the old file if writing the new one fails', async () => {
      const files = await open(systemClock);
      await files.write({ name: 'same.txt', contentType: 'text/plain', body: Buffer.from('old') });
      async function* breaking() {
        yield Buffer.from('new, but');
        throw new Error('cut off');
      }
      const failure = await files
        .write({ name: 'same.txt', contentType: 'text/plain', body: breaking() })
        .catch((error: Error) => error);
      expect(failure).to.be.an('error').with.property('message', 'cut off');
      expect((await content(await files.read('same.txt'))).toString()).to.equal('old');
    });

    it('does not mix two versions of a file', async () => {
      const files = await open(systemClock);
      await files.write({ name: 'same.txt', contentType: 'text/plain', body: Buffer.from('first') });
      const found = await files.read('same.txt');
      await files.write({ name: 'same.txt', contentType: 'text/plain', body: Buffer.from('second') });
      const outcome = await content(found).then(String, (error: { code?: unknown }) => error.code);
      expect(outcome).to.be.oneOf(['first', 'file_not_found']);
      expect((await content(await files.read('same.txt'))).toString()).to.equal('second');
    });

    it('deletes, and accepts a missing file', async () => {
      const files = await open(systemClock);
      await files.write({ name: 'gone.txt', contentType: 'text/plain', body: Buffer.from('x') });
      await files.delete('gone.txt');
      await files.delete('gone.txt');
      expect(await files.read('gone.txt')).to.equal(undefined);
      expect(await files.read('gone.txt', { start: 0, end: 0 })).to.equal(undefined);
      expect(await files.stat('gone.txt')).to.equal(undefined);
    });

    it('refuses invalid names', async () => {
      const files = await open(systemClock);
      const long = `${'a'.repeat(129)}.txt`;
      const odd = [
        '../outside.txt',
        '..',
        '.hidden',
        'a/b.txt',
        'a\\b.txt',
        'a.txt\0',
        'a.TXT',
        '',
        'a',
        'é.txt',
        'a.txt\n',
      ];
      for (const name of [...odd, long]) {
        expect(await refusal(files.read(name)), name).to.equal('invalid_value');
        expect(await refusal(files.stat(name)), name).to.equal('invalid_value');
        expect(await refusal(files.delete(name)), name).to.equal('invalid_value');
        const file = { name, contentType: 'text/plain', body: Buffer.from('x') };
        expect(await refusal(files.write(file)), name).to.equal('invalid_value');
      }
      const file = { name: 'a.txt', contentType: 'text/plain\r\nx: y', body: Buffer.from('x') };
      expect(await refusal(files.write(file))).to.equal('invalid_value');
    });

    it('deletes a file at its expiry', async () => {
      const clock = createManualClock();
      const files = await open(clock);
      const expiresAt = new Date(clock.now() + 1_000);
      await files.write({ name: 'short.txt', contentType: 'text/plain', body: Buffer.from('x'), expiresAt });
      await files.write({ name: 'long.txt', contentType: 'text/plain', body: Buffer.from('x') });
      expect((await files.stat('short.txt'))?.expiresAt).to.deep.equal(expiresAt);
      expect(await files.stat('long.txt')).not.to.have.property('expiresAt');
      await clock.advance(999);
      const underWay = await files.read('short.txt');
      await clock.advance(1);
      expect(await files.stat('short.txt')).to.equal(undefined);
      expect(await files.read('short.txt')).to.equal(undefined);
      expect((await content(underWay)).toString(), 'a reading that had begun').to.equal('x');
      expect(await files.stat('long.txt')).to.include({ name: 'long.txt' });
    });
  });
}
