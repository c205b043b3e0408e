/**
 * A real gateway in the process of the test: all that `mediagate serve` opens, with its own state and listener. It starts in a
 * tenth of the time of a process. For suites whose subject is neither the process nor what it prints.
 */

import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { createRecordingLogger } from 'mediagate/testing';
import { createKeyRecord } from '../../../server/keys/key-rows.js';
import { startServing } from '../../../server/main.js';
import { loadPeppers } from '../../../server/settings/secrets.js';
import { readSettings } from '../../../server/settings/settings.js';
import { openStateOf } from '../../../server/state.js';
import { placeMigratedFile } from '../databases/migrated-file.js';
import { type Environment, runCommand } from './command-line.js';
import { createGatewayClient, type GatewayProcess, type GatewayProcessOptions } from './gateway-process.js';

/** As a process, without what only a process has. */
export type GatewayHere = Omit<GatewayProcess, 'pid' | 'output'>;

/** Starts a gateway on a free port, which answers when this resolves. */
export async function startGatewayHere({
  proxy,
  dataFolder: given,
  environment: more,
}: Omit<GatewayProcessOptions, 'firstRun' | 'role'> = {}): Promise<GatewayHere> {
  const dataFolder = given ?? (await mkdtemp(path.join(tmpdir(), 'mediagate-data-')));
  if (given === undefined && more?.DATABASE_URL === undefined) await placeMigratedFile(dataFolder);
  if (proxy) trust(proxy.caPath);
  const environment: Environment = {
    DATA_DIR: dataFolder,
    HOST: '127.0.0.1',
    PORT: '0',
    BROWSER: 'off',
    // Nothing balances the load of a test.
    DRAIN_SECONDS: '0',
    // The second is for commands: here it is too late.
    ...(proxy && { EGRESS_PROXY_URL: proxy.url, NODE_EXTRA_CA_CERTS: proxy.caPath }),
    ...more,
  };
  const settings = readSettings(environment);
  const serving = await startServing({
    settings,
    environment: { PATH: process.env.PATH, ...environment },
    services: { logger: createRecordingLogger() },
    print: () => undefined,
  });
  let ended: Promise<number> | undefined;
  const end = async () => {
    await serving.stop();
    if (given === undefined) await rm(dataFolder, { recursive: true, force: true });
    return 0;
  };
  const stop = () => {
    ended ??= end();
    return ended;
  };
  return {
    ...createGatewayClient(serving.banner.address),
    dataFolder,
    command: (...args) => runCommand(args, environment),
    async makeKey(wanted = {}) {
      const [pepper] = await loadPeppers(settings);
      const terms = { name: 'test', grants: ['extract'], rpm: 100_000, expiresAt: null, ...wanted } as const;
      const { key, record } = createKeyRecord(terms, pepper, Date.now());
      const state = await openStateOf(settings, createRecordingLogger());
      await state.keys.insert(record).finally(() => state.close());
      return { id: record.id, key };
    },
    stop,
    async kill() {
      await stop();
    },
  };
}

const authorities = getCACertificates('default');

/** As NODE_EXTRA_CA_CERTS does for a process, which is read when that starts. The last one counts. */
function trust(caPath: string): void {
  setDefaultCACertificates([...authorities, readFileSync(caPath, 'utf8')]);
}
