/*
 * Starts the gateway for the runner of a public gateway board, from the folder `board-manifest` beside this file. The
 * runner knows one key, which stands in the manifest; it is derived from a fixed seed and exists only in the database
 * that this program makes. All settings but the address, the database and the models are the defaults.
 */

import { spawn } from 'node:child_process';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createRecordingLogger } from 'mediagate/testing';
import { createKeyRecord } from '../../server/keys/key-rows.js';
import { deriveKey, hashKey } from '../../server/keys/keys.js';
import { loadPeppers } from '../../server/settings/secrets.js';
import { readSettings } from '../../server/settings/settings.js';
import { openStateOf } from '../../server/state.js';
import { packageRoot } from '../support/package-root.js';

const [port = '', plugins = ''] = process.argv.slice(2);
if (!/^\d+$/.test(port) || plugins === '') {
  console.error('Usage: board-launch.js PORT PLUGINS_CONFIG');
  process.exit(2);
}

const environment = {
  ...process.env,
  DATA_DIR: await mkdtemp(path.join(tmpdir(), 'mediagate-board-')),
  HOST: '127.0.0.1',
  PORT: port,
  PLUGINS_CONFIG: plugins,
};
await insertKey();
const gateway = spawn(process.execPath, [path.join(packageRoot, 'server', 'run.cjs'), 'serve'], {
  env: environment,
  stdio: 'inherit',
});
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => gateway.kill(signal));
gateway.on('exit', (code) => process.exit(code ?? 1));

async function insertKey(): Promise<void> {
  const settings = readSettings(environment);
  const [pepper] = await loadPeppers(settings);
  const { id, key } = deriveKey(Buffer.alloc(32));
  const { record } = createKeyRecord(
    { name: 'board', grants: ['text'], rpm: null, expiresAt: null },
    pepper,
    Date.now(),
  );
  const state = await openStateOf(settings, createRecordingLogger());
  await state.keys.insert({ ...record, id, hash: hashKey(key, pepper) }).finally(() => state.close());
}
