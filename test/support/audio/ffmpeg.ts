/** Finds the ffmpeg of this machine and runs it for tests. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findFfmpeg } from '../../../server/settings/executables.js';

/** The ffmpeg that a gateway on this machine would use; undefined where there is none. */
export const ffmpegPath = await findFfmpeg({ configured: process.env.FFMPEG_PATH, searchPath: process.env.PATH });

/** Runs it by hand. @throws Error with its own words. */
export async function runFfmpeg(...parameters: readonly string[]): Promise<void> {
  await promisify(execFile)(ffmpegPath ?? 'ffmpeg', ['-nostdin', '-loglevel', 'error', '-y', ...parameters]);
}

/** Parameters for a tone of so many seconds as an input. */
export function tone(seconds: number): string[] {
  return ['-f', 'lavfi', '-i', `sine=frequency=440:duration=${seconds}`];
}
