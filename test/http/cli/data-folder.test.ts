/** The data folder: room and permissions. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { makeFolder } from '../../../core/runtime/folder-names.js';
import { checkRoom } from '../../../server/settings/secrets.js';
import { mountSmallDisk } from '../../chaos/small-disk.js';
import { runCommand } from '../../support/processes/command-line.js';
import { rejection } from '../../support/rejection.js';

describe('checkRoom', () => {
  it('accepts a folder with room, and refuses a full or missing one', async () => {
    await checkRoom(tmpdir(), 1);
    expect(String(await rejection(checkRoom(tmpdir(), Number.MAX_SAFE_INTEGER)))).to.contain('bytes are free');
    expect(await rejection(checkRoom(path.join(tmpdir(), 'not-there')))).to.have.property('code', 'ENOENT');
  });

  it('refuses a disk without inodes', async function () {
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-inodes-'));
    const disk = await mountSmallDisk(folder, 64, 'nr_inodes=80');
    try {
      if (!disk) {
        if (this.test) this.test.title += ' (left out: no disk can be mounted here)';
        return this.skip();
      }
      await checkRoom(folder);
      for (let count = 0; count < 40; count += 1) await writeFile(path.join(folder, `${count}`), '');
      expect(String(await rejection(checkRoom(folder)))).to.contain('inodes are free');
    } finally {
      await disk?.remove();
      await rm(folder, { recursive: true });
    }
  });
});

describe('a data folder that cannot be made', () => {
  it('is refused at once, with the name of its setting', async function () {
    if (process.platform !== 'linux') return this.skip();
    expect(await rejection(makeFolder('/proc/1/x'))).to.include({ code: 'invalid_value', param: 'DATA_DIR' });
    for (const command of [['serve'], ['keys', 'create']]) {
      const { code, stderr } = await runCommand(command, { DATA_DIR: '/proc/1/x', PORT: '0' });
      expect([code !== 0, stderr.includes('DATA_DIR')], stderr).to.deep.equal([true, true]);
    }
  });
});
