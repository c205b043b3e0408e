/*
 * What the health of a process depends on: its database, its data folder, and, for a while, files, cache, settings that
 * agree with those of other processes, and the other workers of its machine.
 */

import { stat } from 'node:fs/promises';
import { GatewayError } from '../core/runtime/index.js';
import { checkRoom, type Settings } from './settings/index.js';
import type { State } from './state.js';
import type { WorkerSiblings } from './workers/index.js';

/** What the health of the process depends on. */
export function checksOf(
  { settings: { dataDir, databaseUrl }, state }: { settings: Settings; state: State },
  siblings?: WorkerSiblings,
) {
  return {
    checks: {
      // A write: a read-only database accepts no job.
      database: () => state.instances.beat(),
      // With an external database, a full folder affects only MP3 files.
      data_folder: () => (databaseUrl === undefined ? checkRoom(dataDir) : stat(dataDir)),
    },
    softChecks: {
      files: () => state.pingFiles(),
      cache: () => state.pingCache(),
      settings_agree: () => agree(state),
      ...(siblings && { workers: () => allWork(siblings) }),
    },
  };
}

/** @throws GatewayError `invalid_value` if another process on the same database has different settings. */
async function agree({ instances }: State): Promise<void> {
  const settings = await instances.differing();
  if (settings.length === 0) return;
  throw new GatewayError('invalid_value', `Another gateway process has another ${settings.join(', ')}.`);
}

/** @throws GatewayError `invalid_value` if a worker of this machine is down or not ready yet. */
async function allWork(siblings: WorkerSiblings): Promise<void> {
  const missing = siblings.states().filter(({ state }) => state === 'down' || state === 'starting');
  if (missing.length === 0) return;
  const list = missing.map(({ index, state }) => `${index} (${state})`).join(', ');
  throw new GatewayError('invalid_value', `These workers do not answer requests: ${list}.`);
}
