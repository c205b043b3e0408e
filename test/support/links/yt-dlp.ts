/** The yt-dlp of this machine. */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The yt-dlp of this machine; undefined where there is none. */
export const ytDlpPath = (process.env.PATH ?? '')
  .split(path.delimiter)
  .map((folder) => path.join(folder, 'yt-dlp'))
  .find((file) => existsSync(file));

/** Runs it without any settings of the machine. @throws Error with its own words. */
export async function runYtDlp(folder: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(ytDlpPath ?? 'yt-dlp', ['--ignore-config', '--no-cache-dir', ...args], { cwd: folder });
  return stdout;
}
