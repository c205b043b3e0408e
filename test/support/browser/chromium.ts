/** Chromium of this machine and of the npm package, and its processes. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { BrowserExecutable } from '../../../core/browser/browser-process.js';
import { findChromium } from '../../../server/settings/executables.js';
import { packageRoot } from '../package-root.js';

/**
 * The browser that tests run: what the gateway would find on this machine, unpacked once for all test runs. Where there is
 * none the tests are left pending, which the report shows. They look at processes the way Linux shows them.
 */
export async function chromiumFor(test: Mocha.Context): Promise<BrowserExecutable> {
  const { BROWSER_PATH: configured, PATH: searchPath, TEST_QUICK: isQuick } = process.env;
  if (isQuick) test.skip();
  const found = await findChromium({ configured, searchPath }, path.join(packageRoot, 'dist', 'test-browser'));
  if (!found || process.platform !== 'linux') test.skip();
  return found.prepare();
}

/** Browsers that a gateway's process has started and that run: the leaders of their process groups. */
export function browsersOf(pid: number | undefined): number[] {
  // Children of Debian's Chromium name the folder of its profile as well.
  return listProcesses().flatMap((one) =>
    one.command.includes(`/mediagate-browser-${pid}-`) && one.pid === one.group ? [one.group] : [],
  );
}

/** What runs in these process groups. */
export function processesOf(groups: readonly number[]): number[] {
  return listProcesses().flatMap(({ pid, group }) => (groups.includes(group) ? [pid] : []));
}

/** Pages of a browser run in processes of their own. */
export function pageProcessesOf(groups: readonly number[]): number[] {
  return listProcesses().flatMap(({ pid, group, command }) =>
    groups.includes(group) && command.includes('--type=renderer') ? [pid] : [],
  );
}

interface RunningProcess {
  pid: number;
  group: number;
  command: string;
}

/** Without those that have ended and only wait to be collected. */
function listProcesses(): RunningProcess[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const status = readFileSync(`/proc/${name}/stat`, 'utf8');
        // The name of the program, in parentheses, may itself hold spaces.
        const [state, , group] = status.slice(status.lastIndexOf(')') + 2).split(' ');
        const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
        return state === 'Z' ? [] : [{ pid: Number(name), group: Number(group), command }];
      } catch {
        // It ended while it was looked at.
        return [];
      }
    });
}
