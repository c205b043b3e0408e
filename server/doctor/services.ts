import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Logger, openFiles, type PlatformInfo, type PluginStatus, systemClock } from 'mediagate';
import { isStateThere, readDifferences, readSchema } from '../backup/index.js';
import { groupEntries } from '../entry-groups.js';
import { checkPlatforms } from '../observability/index.js';
import { openGateway } from '../open-gateway.js';
import type { Settings } from '../settings/index.js';
import { type Finding, messageOf } from './checks.js';

const CONNECT_MS = 3_000;
const PROBE_MS = 3_600_000;
const CHECK_FILE = 'Check the plugins file that PLUGINS_CONFIG names.';

/** Makes and changes nothing. */
export async function checkDatabase(settings: Settings): Promise<Finding> {
  const name = 'database';
  try {
    if (!(await isStateThere(settings))) return { name, level: 'ok', detail: 'none yet: "mediagate serve" makes it' };
    const { pending } = await readSchema(settings);
    const engine = settings.databaseUrl === undefined ? 'SQLite in the data folder' : 'PostgreSQL';
    const later = pending.length > 0 ? '; the next start brings its schema up to date' : '';
    const differing = pending.length > 0 ? [] : await readDifferences(settings);
    if (differing.length > 0) {
      const detail = `${engine}; the gateway processes on it differ in ${differing.join(', ')}`;
      return { name, level: 'warn', detail, advice: 'Give all of them the same value, and restart those that differ.' };
    }
    return { name, level: 'ok', detail: engine + later };
  } catch (error) {
    const advice = settings.databaseUrl
      ? 'Check DATABASE_URL and that the database runs.'
      : 'Check that DATA_DIR may be written.';
    return { name, level: 'fail', detail: messageOf(error), advice };
  }
}

/**
 * Writes, looks at and removes a small file: a key may be allowed some of that alone. It goes by a folder of its own, since
 * that of a gateway may have files which wait for a gateway to upload them.
 */
export async function checkFiles(settings: Settings, logger: Logger): Promise<Finding> {
  const { filesUrl } = settings;
  const name = 'files';
  if (!filesUrl) return { name, level: 'ok', detail: 'in the data folder' };
  const advice = 'Check FILES_URL: host, bucket, region, and that its key may list, read, write and delete.';
  const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-doctor-'));
  try {
    const files = await openFiles({ dataDir, filesUrl, clock: systemClock, logger });
    try {
      await files.ping();
      const probe = `doctor-${randomUUID()}.txt`;
      const expiresAt = new Date(systemClock.now() + PROBE_MS);
      await files.write({ name: probe, contentType: 'text/plain', expiresAt, body: Buffer.from(probe) });
      const source = (await files.stat(probe))?.source;
      await files.delete(probe);
      // The address is not repeated: it holds the key.
      if (source !== 'local_cache') return { name, level: 'ok', detail: 'the object store takes and gives them' };
      return { name, level: 'fail', detail: 'the object store answers, and does not take a file', advice };
    } finally {
      await files.close();
    }
  } catch (error) {
    return { name, level: 'fail', detail: messageOf(error), advice };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

export async function checkProxy({ egressProxyUrl }: Settings): Promise<Finding> {
  const name = 'egress proxy';
  if (!egressProxyUrl) return { name, level: 'ok', detail: 'none: plugins connect directly' };
  const { hostname, port } = new URL(egressProxyUrl);
  // The address alone: the URL may hold a password.
  const address = `${hostname}:${port || '80'}`;
  try {
    await canConnect(hostname.replace(/^\[|\]$/g, ''), Number(port || '80'));
    return { name, level: 'ok', detail: `${address} accepts connections` };
  } catch (error) {
    const detail = `${address} cannot be reached (${messageOf(error)})`;
    return { name, level: 'fail', detail, advice: 'Check EGRESS_PROXY_URL and that the proxy runs.' };
  }
}

function canConnect(host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: CONNECT_MS });
    socket.once('connect', () => {
      socket.destroy();
      resolve();
    });
    socket.once('timeout', () => socket.destroy(new Error('no answer in time')));
    socket.once('error', reject);
  });
}

export async function checkPlugins(
  settings: Settings,
  environment: NodeJS.ProcessEnv,
  logger: Logger,
): Promise<Finding> {
  const name = 'plugins';
  try {
    const gateway = await openGateway({ settings, environment, logger, baseUrl: () => '', lookOnly: true });
    try {
      const entries = groupEntries(gateway.plugins().filter(({ state }) => state !== 'disabled'));
      const failed = entries.filter(({ state }) => state !== 'ready');
      const ways = gateway.platforms();
      const ready = entries.filter(({ state }) => state === 'ready').map((entry) => describeReady(entry, ways));
      const detail = [
        ready.length > 0 ? `${ready.join(', ')} ready` : 'none is ready',
        ...failed.map(({ id, reason }) => `${id} failed: ${reason ?? 'no reason given'}`),
      ].join('; ');
      const level = failed.length > 0 || ready.length === 0 || !checkPlatforms(ways).ok ? 'warn' : 'ok';
      return {
        name,
        level,
        detail,
        ...(level === 'warn' && { advice: adviceFor(failed) }),
      };
    } finally {
      await gateway.close();
    }
  } catch (error) {
    return {
      name,
      level: 'fail',
      detail: messageOf(error),
      advice: CHECK_FILE,
    };
  }
}

/** Values that the file takes from the environment are not to be found in it. */
function adviceFor(failed: readonly PluginStatus[]): string {
  const variables = new Set(failed.flatMap(({ badVariable }) => badVariable ?? []));
  const correct = variables.size > 0 ? [`Correct ${[...variables].join(', ')} in the environment.`] : [];
  const isFileAtFault = variables.size === 0 || failed.some(({ badVariable }) => badVariable === undefined);
  return [...correct, ...(isFileAtFault ? [CHECK_FILE] : [])].join(' ');
}

/** Methods that this machine or the settings leave out are named: what they would add is then missing. */
function describeReady({ id, serves, standIn }: PluginStatus, platforms: readonly PlatformInfo[]): string {
  if (standIn) return `${id} (stand-in for ${serves.join(', ')})`;
  const missing = platforms
    .filter(({ key }) => serves.includes(key))
    .flatMap(({ methods }) => methods.flatMap(({ name, available }) => (available ? [] : [name])));
  return missing.length > 0 ? `${id} (without ${missing.join(', ')})` : id;
}
