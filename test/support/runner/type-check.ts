/*
 * The types of all sources, checked while the tests run: esbuild has made the scripts that they use, without a look at types. The
 * compiler computes for half a minute, in which most tests wait, so it runs with a lower priority and keeps no test from a core.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { packageRoot } from '../package-root.js';

const COMPILER = path.join(packageRoot, 'node_modules', 'typescript', 'bin', 'tsc');

/**
 * Starts the check. It ends with this process.
 * @returns Resolves with what the compiler reports, which is empty if all types are right.
 */
export async function checkTypes(): Promise<string> {
  // One checker: each further one computes again what the parts have in common.
  const child = spawn(process.execPath, [COMPILER, '-p', packageRoot, '--noEmit', '--checkers', '1'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const kill = () => child.kill();
  process.once('exit', kill);
  if (child.pid !== undefined) os.setPriority(child.pid, os.constants.priority.PRIORITY_BELOW_NORMAL);
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  process.off('exit', kill);
  const report = `${output}${errors}`.trim();
  return code === 0 ? '' : report || `The compiler ended with ${code}.`;
}
