import { createHash, randomBytes } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { StoredBody } from '../../../core/contracts/services.js';
import { systemClock } from '../../../core/services/clock.js';
import { type DiskFiles, openDiskFiles } from '../../../core/state/files-disk.js';
import { createManualClock } from '../../../core/testing/manual-clock.js';

describe('files on disk', () => {
  let parent: string;
  let folder: string;
  let files: DiskFiles;

  beforeEach(async () => {
    parent = await mkdtemp(path.join(tmpdir(), 'mediagate-files-'));
    folder = path.join(parent, 'files');
    files = await openDiskFiles(folder, systemClock);
  });

  afterEach(() => {
    files.close();
    return rm(parent, { recursive: true, force: true });
  });

  async function content(file: StoredBody | undefined): Promise<Buffer> {
    const chunks: Uint8Array[] = [];
    for await (const chunk of file?.body ?? []) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async function refusal(work: Promise<unknown>): Promise<unknown> {
    const outcome = await work.then(
      () => undefined,
      (error: unknown) => error,
    );
    return (outcome as { code?: unknown } | undefined)?.code;
  }

  it('gives back what was written, whole and in ranges', async () => {
    const body = randomBytes(200_000);
    await files.write({ name: 'a-b_C.png', contentType: 'image/png', body });
    const found = await files.read('a-b_C.png');
    expect(await content(found)).to.deep.equal(body);
    expect(found).to.include({ name: 'a-b_C.png', contentType: 'image/png', size: 200_000 });
    expect(found?.etag).to.equal(`"${createHash('sha256').update(body).digest('hex')}"`);
    expect(found?.modifiedAt.getTime()).to.be.within(Date.now() - 60_000, Date.now());
    expect(await files.stat('a-b_C.png')).to.deep.include({ size: 200_000, etag: found?.etag });
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

  it('takes a stream, and nothing at all', async () => {
    async function* pieces() {
      yield Buffer.from('one ');
      yield Buffer.from('two');
    }
    await files.write({ name: 'stream.txt', contentType: 'text/plain; charset=utf-8', body: pieces() });
    expect((await content(await files.read('stream.txt'))).toString()).to.equal('one two');
    await files.write({ name: 'empty.txt', contentType: 'text/plain', body: new Uint8Array() });
    const empty = await files.read('empty.txt');
    expect(empty?.size).to.equal(0);
    expect(await content(empty)).to.have.length(0);
  });

  it('keeps the old file when the new one fails half-way', async () => {
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
    expect(await readdir(folder)).to.deep.equal(['same.txt']);
  });

  it('does not mix two versions of a file', async () => {
    await files.write({ name: 'same.txt', contentType: 'text/plain', body: Buffer.from('first') });
    const found = await files.read('same.txt');
    await files.write({ name: 'same.txt', contentType: 'text/plain', body: Buffer.from('second') });
    expect(await refusal(content(found))).to.equal('file_not_found');
    expect((await content(await files.read('same.txt'))).toString()).to.equal('second');
  });

  it('deletes, and does not mind what is not there', async () => {
    await files.write({ name: 'gone.txt', contentType: 'text/plain', body: Buffer.from('x') });
    await files.delete('gone.txt');
    await files.delete('gone.txt');
    expect(await files.read('gone.txt')).to.equal(undefined);
    expect(await files.stat('gone.txt')).to.equal(undefined);
  });

  it('refuses names that are none', async () => {
    await writeFile(path.join(parent, 'outside.txt'), 'secret');
    const names = [
      '../outside.txt',
      '..',
      '.hidden',
      'a/b.txt',
      'a\\b.txt',
      'a.txt\0',
      'a.TXT',
      '',
      'a',
      `${'a'.repeat(129)}.txt`,
      'é.txt',
      'a.txt\n',
    ];
    for (const name of names) {
      expect(await refusal(files.read(name)), name).to.equal('invalid_value');
      expect(await refusal(files.stat(name)), name).to.equal('invalid_value');
      expect(await refusal(files.delete(name)), name).to.equal('invalid_value');
      expect(await refusal(files.write({ name, contentType: 'text/plain', body: Buffer.from('x') })), name).to.equal(
        'invalid_value',
      );
    }
    expect(
      await refusal(files.write({ name: 'a.txt', contentType: 'text/plain\r\nx: y', body: Buffer.from('x') })),
    ).to.equal('invalid_value');
    expect(await readFile(path.join(parent, 'outside.txt'), 'utf8')).to.equal('secret');
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('follows no link and reads nothing that it has not written', async () => {
    await writeFile(path.join(parent, 'outside.txt'), 'secret');
    await symlink(path.join(parent, 'outside.txt'), path.join(folder, 'link.txt'));
    await mkdir(path.join(folder, 'folder.txt'));
    await writeFile(path.join(folder, 'foreign.txt'), 'not ours');
    await files.write({ name: 'damaged.txt', contentType: 'text/plain', body: Buffer.from('x') });
    await appendFile(path.join(folder, 'damaged.txt'), 'y');
    for (const name of ['link.txt', 'folder.txt', 'foreign.txt', 'damaged.txt']) {
      const outcome = await files.read(name).catch((error: unknown) => error);
      expect(outcome, name).to.be.an('error');
    }
  });

  it('is for its owner alone, and sweeps up what a crash left', async () => {
    await files.write({ name: 'a.txt', contentType: 'text/plain', body: Buffer.from('x') });
    expect((await stat(folder)).mode & 0o777).to.equal(0o700);
    expect((await stat(path.join(folder, 'a.txt'))).mode & 0o777).to.equal(0o600);
    const [old, young] = [path.join(folder, '.incoming-old'), path.join(folder, '.incoming-young')];
    await writeFile(old, 'half');
    await writeFile(young, 'half');
    await utimes(old, new Date(0), new Date(0));
    (await openDiskFiles(folder, systemClock)).close();
    expect((await readdir(folder)).sort()).to.deep.equal(['.incoming-young', 'a.txt']);
  });

  it('forgets a file when its time is over, and removes it with the next sweep', async () => {
    const clock = createManualClock();
    const timed = await openDiskFiles(path.join(parent, 'timed'), clock);
    const expiresAt = new Date(clock.now() + 1_000);
    await timed.write({ name: 'short.txt', contentType: 'text/plain', body: Buffer.from('x'), expiresAt });
    await timed.write({ name: 'long.txt', contentType: 'text/plain', body: Buffer.from('x') });
    expect((await timed.stat('short.txt'))?.expiresAt).to.deep.equal(expiresAt);
    expect(await timed.stat('long.txt')).not.to.have.property('expiresAt');
    await clock.advance(999);
    await timed.sweep();
    const underWay = await timed.read('short.txt');
    await clock.advance(1);
    expect(await timed.stat('short.txt')).to.equal(undefined);
    expect(await timed.read('short.txt')).to.equal(undefined);
    expect((await content(underWay)).toString(), 'a reading that had begun').to.equal('x');
    await timed.sweep();
    expect(await readdir(path.join(parent, 'timed'))).to.deep.equal(['long.txt']);
    timed.close();
  });

  it('sweeps nothing that is not its own', async () => {
    await writeFile(path.join(parent, 'outside.txt'), 'secret');
    await symlink(path.join(parent, 'outside.txt'), path.join(folder, 'link.txt'));
    await symlink(path.join(parent, 'nowhere'), path.join(folder, 'dangling.txt'));
    await mkdir(path.join(folder, 'folder.txt'));
    await writeFile(path.join(folder, 'foreign.txt'), 'not ours');
    await files.sweep();
    expect((await readdir(folder)).sort()).to.deep.equal(['dangling.txt', 'folder.txt', 'foreign.txt', 'link.txt']);
  });
});
