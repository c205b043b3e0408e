/** The Chromium of the npm package. */

import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import {
  findChromium,
  findPackagedChromium,
  findSystemChromium,
  type PackagedChromium,
  unpackChromium,
  unpackFolder,
} from '../../../server/settings/executables.js';
import { longIt } from '../../support/runner/variants.js';

describe('the Chromium of the npm package', () => {
  let packaged: PackagedChromium;
  let folder: string;
  let home: string;

  before(function () {
    const found = findPackagedChromium();
    if (!found) this.skip();
    packaged = found;
  });

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-unpack-'));
    home = path.join(folder, 'browser', packaged.version);
  });

  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is unpacked once for all processes, runs, and replaces an older one', async () => {
    // Somebody began long ago and was killed; an upgrade has taken place since.
    await mkdir(path.join(folder, 'browser', '1.0.0'), { recursive: true });
    await mkdir(home, { recursive: true });
    const lock = path.join(home, 'chromium.lock');
    await writeFile(lock, '');
    await utimes(lock, 0, 0);
    const made = await Promise.all([1, 2, 3].map(() => unpackChromium(packaged, folder)));
    for (const { path: file } of made) expect(file).to.equal(path.join(home, 'chromium'));
    const { stdout } = await promisify(execFile)(made[0]?.path ?? '', ['--version']);
    expect(stdout).to.match(/^Chromium \d+\./);
    expect(await readdir(home)).to.deep.equal(['chromium']);
    expect(await readdir(path.join(folder, 'browser'))).to.deep.equal([packaged.version]);

    const { mtimeMs } = await stat(path.join(home, 'chromium'));
    await unpackChromium(packaged, folder);
    expect((await stat(path.join(home, 'chromium'))).mtimeMs).to.equal(mtimeMs);
  });

  it('leaves nothing behind when it cannot be unpacked', async () => {
    const error = await unpackChromium({ ...packaged, folder: path.join(folder, 'nowhere') }, folder).catch(
      (thrown: NodeJS.ErrnoException) => thrown,
    );
    expect(error).to.include({ code: 'ENOENT' });
    expect(await readdir(home)).to.deep.equal([]);
  });

  longIt('includes libraries for systems that lack them', async () => {
    const libraries = path.join(folder, 'lib');
    await unpackFolder(path.join(packaged.folder, 'al2023.tar.br'), libraries);
    const names = await readdir(libraries);
    expect(names).to.include.members(['libnss3.so', 'libnspr4.so', 'libexpat.so.1']);
    // The loader takes them for what they are.
    const { path: file } = await unpackChromium(packaged, folder);
    const { stderr } = await promisify(execFile)(file, ['--version'], {
      env: { LD_LIBRARY_PATH: libraries, LD_DEBUG: 'files' },
    });
    expect(stderr).to.match(new RegExp(`calling init: ${libraries}/libnss3\\.so`));
  });

  it("is preferred to the system's, and unused if another one is configured", async () => {
    const program = path.join(folder, 'chromium');
    await writeFile(program, '#!/bin/sh\n');
    await chmod(program, 0o755);
    const find = async (configured?: string, searchPath?: string) =>
      (await findChromium({ configured, searchPath }, folder))?.description;
    expect(await findSystemChromium({ searchPath: folder })).to.equal(program);
    expect(await find(program, '/nowhere')).to.equal(program);
    expect(await find(undefined, folder)).to.match(/npm/);
    expect(await find('/nowhere/chromium', folder)).to.equal(undefined);
  });
});
