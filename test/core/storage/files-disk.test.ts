/** Files on the local disk: permissions, changed bytes, crashes and expiry. */

import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { systemClock } from '../../../core/runtime/time.js';
import { type DiskFiles, openDiskFiles } from '../../../core/storage/files-disk.js';
import { createManualClock } from '../../../core/testing/fakes.js';
import { rejection } from '../../support/rejection.js';
import { content, describeStorage, refusal } from './storage-contract.js';

describeStorage('storage on disk', async (clock) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-files-'));
  const files = await openDiskFiles(folder, clock);
  async function close(): Promise<void> {
    files.close();
    await rm(folder, { recursive: true, force: true });
  }
  return { files, close };
});

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

  it('leaves nothing of a write that fails', async () => {
    async function* breaking() {
      yield Buffer.from('new, but');
      throw new Error('cut off');
    }
    const body = breaking();
    await files.write({ name: 'same.txt', contentType: 'text/plain', body }).catch(() => undefined);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('stays within its folder', async () => {
    await writeFile(path.join(parent, 'outside.txt'), 'secret');
    const file = { name: '../outside.txt', contentType: 'text/plain', body: Buffer.from('x') };
    expect(await refusal(files.write(file))).to.equal('invalid_value');
    expect(await refusal(files.delete('../outside.txt'))).to.equal('invalid_value');
    expect(await readFile(path.join(parent, 'outside.txt'), 'utf8')).to.equal('secret');
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('follows no link, and reads only files that it wrote', async () => {
    await writeFile(path.join(parent, 'outside.txt'), 'secret');
    await symlink(path.join(parent, 'outside.txt'), path.join(folder, 'link.txt'));
    await mkdir(path.join(folder, 'folder.txt'));
    await writeFile(path.join(folder, 'foreign.txt'), 'not ours');
    await files.write({ name: 'damaged.txt', contentType: 'text/plain', body: Buffer.from('x') });
    await appendFile(path.join(folder, 'damaged.txt'), 'y');
    for (const name of ['link.txt', 'folder.txt', 'foreign.txt', 'damaged.txt']) {
      const outcome = await files.read(name).catch((error: unknown) => error);
      expect(outcome, name).to.include({ code: 'storage_error', retryable: false });
    }
  });

  it('returns no changed bytes, of its own files or those of an earlier process', async () => {
    const file = path.join(folder, 'same.txt');
    await files.write({ name: 'same.txt', contentType: 'text/plain', body: Buffer.alloc(200_000, 'x') });
    const whole = await readFile(file);
    const found = await files.read('same.txt');
    const flipped = Buffer.from(whole);
    flipped.write('y', 100_000);
    // Beyond the step of the clock that the file system goes by.
    await setTimeout(50);
    await writeFile(file, flipped);
    expect(await refusal(content(found))).to.equal('storage_error');
    const later = await openDiskFiles(folder, systemClock);
    for (const storage of [files, later]) {
      for (const ask of [
        () => storage.stat('same.txt'),
        () => storage.read('same.txt'),
        () => storage.read('same.txt', { start: 0, end: 9 }),
      ]) {
        const failure = await rejection(ask());
        expect(failure).to.include({ code: 'storage_error', retryable: false });
        expect((failure as Error).cause).to.match(/same\.txt/);
      }
    }
    await setTimeout(50);
    await writeFile(file, whole);
    for (const storage of [files, later]) {
      expect((await content(await storage.read('same.txt'))).equals(whole.subarray(0, 200_000))).to.equal(true);
    }
    later.close();
  });

  it('is readable only by its owner, and removes the rest of a crash', async () => {
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

  it('removes a file with the first sweep after its time', async () => {
    const clock = createManualClock();
    const timed = await openDiskFiles(path.join(parent, 'timed'), clock);
    const expiresAt = new Date(clock.now() + 1_000);
    await timed.write({ name: 'short.txt', contentType: 'text/plain', body: Buffer.from('x'), expiresAt });
    await timed.write({ name: 'long.txt', contentType: 'text/plain', body: Buffer.from('x') });
    await clock.advance(999);
    await timed.sweep();
    expect(await timed.stat('short.txt')).to.include({ source: 'local_cache' });
    await clock.advance(1);
    await timed.sweep();
    expect(await readdir(path.join(parent, 'timed'))).to.deep.equal(['long.txt']);
    timed.close();
  });

  it('sweeps only its own files', async () => {
    await writeFile(path.join(parent, 'outside.txt'), 'secret');
    await symlink(path.join(parent, 'outside.txt'), path.join(folder, 'link.txt'));
    await symlink(path.join(parent, 'nowhere'), path.join(folder, 'dangling.txt'));
    await mkdir(path.join(folder, 'folder.txt'));
    await writeFile(path.join(folder, 'foreign.txt'), 'not ours');
    await files.sweep();
    expect((await readdir(folder)).sort()).to.deep.equal(['dangling.txt', 'folder.txt', 'foreign.txt', 'link.txt']);
  });
});
