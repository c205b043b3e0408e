/** The sync of a folder that several requests share. */

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { FolderSync } from '../../../core/storage/folders.js';

describe('the sync of a folder', () => {
  let parent: string;

  beforeEach(async () => {
    parent = await mkdtemp(path.join(tmpdir(), 'mediagate-sync-'));
  });

  afterEach(() => rm(parent, { recursive: true, force: true }));

  it('is shared by requests before it begins, and not by later ones', async () => {
    const folderSync = new FolderSync(parent);
    const sync = () => folderSync.sync();
    const first = sync();
    // Not begun yet.
    expect(sync()).to.equal(first);
    await new Promise((resolve) => setImmediate(resolve));
    const second = sync();
    expect(second).to.not.equal(first);
    expect(sync()).to.equal(second);
    let firstIsOver = false;
    first.then(() => {
      firstIsOver = true;
    });
    await second;
    expect(firstIsOver).to.equal(true);
    await folderSync.close();
  });

  it('reports a failure to its waiters, and tries again for others', async () => {
    const folder = path.join(parent, 'folder');
    const folderSync = new FolderSync(folder);
    const sync = () => folderSync.sync();
    const outcomes = await Promise.allSettled([sync(), sync()]);
    expect(outcomes.map(({ status }) => status)).to.deep.equal(['rejected', 'rejected']);
    await mkdir(folder);
    await sync();
    await folderSync.close();
    await sync();
  });
});
