/** Private folders for work in progress, and their removal after a crash. */

import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { ScratchFolders } from '../../../core/media/ffmpeg-process.js';

describe('folders for work in progress', () => {
  let parent: string;
  beforeEach(async () => {
    parent = await mkdtemp(path.join(tmpdir(), 'mediagate-scratch-test-'));
  });
  afterEach(() => rm(parent, { recursive: true, force: true }));

  it('are private, separate, and removed with their content', async () => {
    const scratch = new ScratchFolders(path.join(parent, 'not', 'there', 'yet'));
    await scratch.sweep();
    const [one, other] = await Promise.all([scratch.take(), scratch.take()]);
    expect(one.path).to.not.equal(other.path);
    expect((await stat(one.path)).mode & 0o777).to.equal(0o700);
    await writeFile(path.join(one.path, 'source'), 'x');
    await one.remove();
    await one.remove();
    expect(await readdir(path.dirname(one.path))).to.deep.equal([path.basename(other.path)]);
  });

  it('are removed after a crash, except new ones and those of others', async () => {
    const scratch = new ScratchFolders(parent);
    const [old, young] = [await scratch.take(), await scratch.take()];
    await writeFile(path.join(old.path, 'source'), 'x');
    const foreign = path.join(parent, 'somebody-else');
    await mkdir(foreign);
    for (const folder of [old.path, foreign]) await utimes(folder, new Date(0), new Date(0));
    await scratch.sweep();
    expect((await readdir(parent)).sort()).to.deep.equal([path.basename(young.path), 'somebody-else'].sort());
  });
});
