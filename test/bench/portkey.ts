/** Installs and starts the Portkey gateway for comparison. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { packageRoot } from '../support/package-root.js';
import { freePort } from '../support/processes/free-port.js';

const SOURCE = path.join(packageRoot, 'test', 'bench', 'portkey');
const SERVER = path.join('node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js');
const INSTALL_MS = 180_000;
const START_MS = 20_000;

/** The other gateway, as its package comes, with the versions of its lock file. */
export interface Portkey {
  process: ChildProcess;
  url: string;
}

/** @throws Error where npm cannot install it or it does not start. */
export async function startPortkey(): Promise<Portkey> {
  const server = path.join(await install(), SERVER);
  const port = await freePort();
  const child = spawn(process.execPath, ['--max-semi-space-size=16', server, `--port=${port}`, '--headless'], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}`;
  const deadline = AbortSignal.timeout(START_MS);
  while (!(await answers(url))) {
    if (deadline.aborted || child.exitCode !== null) {
      child.kill();
      throw new Error('it did not start');
    }
    await sleep(100);
  }
  return { process: child, url };
}

/** Kept in the folder of temporary files, under a name that changes with the lock file. */
async function install(): Promise<string> {
  const lock = await readFile(path.join(SOURCE, 'package-lock.json'));
  const folder = path.join(
    tmpdir(),
    `mediagate-portkey-${createHash('sha256').update(lock).digest('hex').slice(0, 16)}`,
  );
  if (existsSync(path.join(folder, SERVER))) return folder;
  const temporary = await mkdtemp(`${folder}-`);
  try {
    for (const name of ['package.json', 'package-lock.json'])
      await copyFile(path.join(SOURCE, name), path.join(temporary, name));
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
    await promisify(execFile)('npm', args, { cwd: temporary, timeout: INSTALL_MS });
    await rename(temporary, folder);
    return folder;
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    throw new Error('npm could not install it', { cause: error });
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    // It does not listen yet.
    return false;
  }
}
