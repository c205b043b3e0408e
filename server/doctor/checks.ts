/*
 * The checks of `mediagate doctor`. They run concurrently; a problem is a finding with a remedy and never an error, and
 * nothing of the state is changed. Checks look at what a start would need: settings, data folder, secrets, database,
 * files, programs, proxy, clock, plugins with their upstreams, prices and sign-in. The object store is tested by
 * writing, reading and deleting a small file, since a key may be allowed only some of that. Passwords and URLs that
 * contain them are never printed.
 */

import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants, existsSync } from 'node:fs';
import { access, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { PlatformInfo, PluginStatus } from '../../core/contracts/index.js';
import { type Logger, systemClock } from '../../core/runtime/index.js';
import { openFiles, secretsOfOthers } from '../../core/storage/index.js';
import { isStateThere, readDifferences, readSchema } from '../backup/index.js';
import { describeLinks, describeListening, hasLocalLinks, localAddress } from '../http/index.js';
import { changesOf } from '../model-changes/index.js';
import { checkPlatforms } from '../observability/index.js';
import { openGateway, readPricesOf, variablesOfPlugins } from '../open-gateway.js';
import { groupEntries } from '../plugin-groups.js';
import { describeUnpriced, PricesError } from '../prices/index.js';
import {
  findChromium,
  findFfmpeg,
  findMisspelt,
  findUnreadFiles,
  MIN_FILES,
  notExecutable,
  packagedFfmpeg,
  roomOf,
  type Settings,
  usedSettingsFile,
} from '../settings/index.js';
import { applyStoredModels, type StoredModels } from '../stored-models.js';
import { API_VERSION } from '../version.js';
import { checkSignIn } from './sign-in-check.js';
import { describeUpstreams, type UpstreamFinding } from './upstream-findings.js';

/** One line of `mediagate doctor`. */
export interface Finding {
  name: string;
  /** `warn`: something optional is missing; `fail`: the gateway will not work. */
  level: 'ok' | 'warn' | 'fail';
  detail: string;
  /** The remedy. */
  advice?: string;
}

/** Oldest major version of ffmpeg that Debian still mends. */
const MIN_FFMPEG = 5;
const FFMPEG_COMMANDS: Partial<Record<NodeJS.Platform, string>> = {
  darwin: 'brew install ffmpeg',
  win32: 'winget install Gyan.FFmpeg',
};
const INSTALL_FFMPEG = FFMPEG_COMMANDS[process.platform] ?? 'apt-get install ffmpeg';

const FREE_SPACE = 'Free some space, or set DATA_DIR to a larger disk.';

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function isDiskFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOSPC';
}

/** Runs all checks concurrently. A problem is a finding, never an error. */
export async function runChecks(settings: Settings, env: NodeJS.ProcessEnv, logger: Logger): Promise<Finding[]> {
  const findings = await Promise.all([
    checkNode(),
    checkSettings(settings, env),
    checkAddress(settings),
    checkRunning(settings),
    checkDatabase(settings),
    checkDataFolder(settings),
    checkSecrets(settings),
    checkFiles(settings, logger),
    checkBrowser(settings, env.PATH),
    checkFfmpeg(settings, env.PATH),
    checkProxy(settings),
    checkClock(systemClock.now()),
    checkPlugins(settings, env, logger),
    checkPrices(settings, env, logger),
    checkSignIn(settings, env, logger),
  ]);
  return findings.flat();
}

/** Whether every variable that looks like a setting is one, and is valid. */
async function checkSettings(settings: Settings, environment: NodeJS.ProcessEnv): Promise<Finding> {
  const name = 'settings';
  // An unreadable plugins file is a finding of its own.
  const misspelt = findMisspelt(environment, await variablesOfPlugins(settings).catch(() => []));
  const wrong = [
    ...(misspelt.length > 0 ? [{ detail: misspelt.join(' '), advice: 'Correct or remove these variables.' }] : []),
    ...findUnreadFiles(),
  ];
  const join = (part: 'detail' | 'advice') => wrong.map((one) => one[part]).join(' ');
  if (wrong.length > 0) return { name, level: 'warn', detail: join('detail'), advice: join('advice') };
  const file = usedSettingsFile();
  const used = file ? `; ${file.names.length} come from ${file.path}` : '';
  return { name, level: 'ok', detail: `no misspelt variables${used}` };
}

/** Whether clients can reach the links in answers. */
async function checkAddress(settings: Settings): Promise<Finding> {
  const address = localAddress(settings);
  const listening = describeListening(settings, address);
  const detail = `listens on ${listening}; links begin with ${describeLinks(settings, address)}`;
  const finding: Finding = { name: 'address', level: hasLocalLinks(settings) ? 'warn' : 'ok', detail };
  if (finding.level === 'ok') return finding;
  return { ...finding, advice: 'Set BASE_URL to the address that other machines use.' };
}

const RUNNING_MS = 1_000;

/** Another process has an environment of its own, and its settings may differ from all that this command says. */
async function checkRunning(settings: Settings): Promise<Finding[]> {
  if (settings.port === 0) return [];
  const address = localAddress(settings);
  const isRunning = await fetch(`${address}/health/live`, { signal: AbortSignal.timeout(RUNNING_MS) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.ok;
    },
    () => false,
  );
  if (!isRunning) return [];
  const detail = `a gateway runs on ${address}; this command cannot see its settings, and checks the variables of this shell`;
  const advice = 'To check that gateway, run doctor with the variables that it was started with.';
  return [{ name: 'running', level: 'ok', detail, advice }];
}

const MINIMUM_NODE = [22, 19] as const;
const VERSION_MS = 5_000;
const DAY_MS = 86_400_000;
const MEBIBYTE = 1024 * 1024;
const LOW_DISK = 1024 * MEBIBYTE;
const NO_DISK = 100 * MEBIBYTE;

function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1]);
  const finding: Finding = { name: 'node', level: enough ? 'ok' : 'fail', detail: version };
  return enough ? finding : { ...finding, advice: `Install Node ${MINIMUM_NODE.join('.')} or newer.` };
}

/** Keys and links expire by the clock; with a wrong clock they expire too early or never. */
async function checkClock(now: number): Promise<Finding> {
  const detail = new Date(now).toISOString();
  const advice = 'Set the clock, best by NTP.';
  if (now < Date.parse(API_VERSION))
    return { name: 'clock', level: 'fail', detail: `${detail} is in the past`, advice };
  const { mtimeMs } = await stat(new URL('../../../package.json', import.meta.url));
  if (mtimeMs > now + DAY_MS)
    return { name: 'clock', level: 'warn', detail: `${detail} is earlier than this installation`, advice };
  return { name: 'clock', level: 'ok', detail };
}

/** A missing folder is not created: the check is whether it can be. */
async function checkDataFolder({ dataDir }: Settings): Promise<Finding> {
  const name = 'data folder';
  const there = existingParent(dataDir);
  const trial = path.join(dataDir, `.doctor-${randomUUID()}`);
  try {
    if (there === dataDir) {
      await writeFile(trial, 'x');
      await rm(trial);
    } else await access(there, constants.W_OK | constants.X_OK);
  } catch (error) {
    return {
      name,
      level: 'fail',
      detail: messageOf(error),
      advice: isDiskFull(error) ? FREE_SPACE : 'Set DATA_DIR to a folder that this user may write.',
    };
  }
  const { free, files } = await roomOf(there);
  const description = there === dataDir ? dataDir : `${dataDir} does not exist yet: "mediagate serve" creates it`;
  const detail = `${description}, ${Math.floor(free / MEBIBYTE).toLocaleString('en-US')} MiB free`;
  const advice = FREE_SPACE;
  if (files < MIN_FILES) {
    const advice = 'Remove files, or set DATA_DIR to a file system with more inodes.';
    return { name, level: 'fail', detail: `${description}: fewer than ${MIN_FILES} inodes free`, advice };
  }
  if (free < NO_DISK) return { name, level: 'fail', detail, advice };
  return free < LOW_DISK ? { name, level: 'warn', detail, advice } : { name, level: 'ok', detail };
}

/** The next start repairs their access; until then others can read them. */
async function checkSecrets({ dataDir }: Settings): Promise<Finding> {
  const name = 'secrets';
  const open = await secretsOfOthers(dataDir).catch(() => []);
  if (open.length === 0) return { name, level: 'ok', detail: 'only this user may read the secrets in the data folder' };
  const detail = `other users can read ${open.join(', ')} in ${path.join(dataDir, 'secrets')}`;
  return { name, level: 'warn', detail, advice: 'Run chmod 600 on them; the next start does so as well.' };
}

/** The folder itself, or the parent that it would be created in. */
function existingParent(folder: string): string {
  const parent = path.dirname(folder);
  return existsSync(folder) || parent === folder ? folder : existingParent(parent);
}

async function checkBrowser({ browser, browserPath, dataDir }: Settings, searchPath?: string): Promise<Finding> {
  if (!browser) return { name: 'browser', level: 'ok', detail: 'switched off by BROWSER=off' };
  const found = await findChromium({ configured: browserPath, searchPath }, dataDir);
  if (found && process.getuid?.() === 0) {
    const detail = `${found.description}; without its sandbox, since it runs as root`;
    return { name: 'browser', level: 'warn', detail, advice: 'Run the gateway as another user.' };
  }
  if (found) return { name: 'browser', level: 'ok', detail: found.description };
  return missing('browser', browserPath, 'Chromium or Chrome', 'apt-get install chromium', 'BROWSER_PATH');
}

export async function checkFfmpeg({ ffmpegPath }: Settings, searchPath?: string): Promise<Finding> {
  const found = await findFfmpeg({ configured: ffmpegPath, searchPath });
  if (found) {
    const version = await versionOf(found);
    const origin = found === packagedFfmpeg() ? ', from npm' : '';
    const detail = `${found}${version ? `, version ${version}` : ''}${origin}`;
    const advice = version === undefined ? 'It does not run. Set FFMPEG_PATH to another one.' : adviceOn(version);
    return advice === undefined
      ? { name: 'ffmpeg', level: 'ok', detail }
      : { name: 'ffmpeg', level: 'warn', detail, advice };
  }
  return missing('ffmpeg', ffmpegPath, 'ffmpeg', INSTALL_FFMPEG, 'FFMPEG_PATH');
}

/** Undefined for versions that are recent enough, and for builds without a release number. */
function adviceOn(version: string): string | undefined {
  const major = /^n?(\d+)\./.exec(version)?.[1];
  if (major === undefined || Number(major) >= MIN_FFMPEG) return undefined;
  return `It is old, and reads files of strangers: install ${MIN_FFMPEG}.0 or later (${INSTALL_FFMPEG}), or set FFMPEG_PATH.`;
}

async function versionOf(ffmpeg: string): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)(ffmpeg, ['-version'], { timeout: VERSION_MS, env: {} });
    return /^ffmpeg version (\S+)/.exec(stdout)?.[1];
  } catch {
    // In any case it cannot be used.
    return undefined;
  }
}

function missing(
  name: string,
  configured: string | undefined,
  program: string,
  command: string,
  setting: string,
): Finding {
  if (configured !== undefined) {
    const advice = `Install it (${command}), set ${setting} to another one, or unset ${setting}.`;
    return { name, level: 'fail', detail: notExecutable(setting, configured), advice };
  }
  const detail = `${program} was not found; plugins that need it are disabled`;
  return { name, level: 'warn', detail, advice: `Install it (${command}), or set ${setting}.` };
}

/** No finding without prices. */
async function checkPrices(settings: Settings, environment: NodeJS.ProcessEnv, logger: Logger): Promise<Finding[]> {
  const name = 'prices';
  try {
    const prices = await readPricesOf(settings, environment);
    if (!prices) return [];
    const gateway = await openGateway({ settings, environment, logger, baseUrl: () => '', readOnly: true });
    await applyStoredModels(settings, { gateway, logger, prices });
    const unpriced = describeUnpriced(prices, gateway);
    await gateway.close();
    if (unpriced.length === 0) return [{ name, level: 'ok', detail: `in ${prices.currency}` }];
    return [
      {
        name,
        level: 'warn',
        detail: unpriced.join(' '),
        advice: 'Set these prices at /admin/models, or in PRICES_FILE.',
      },
    ];
  } catch (error) {
    // An unreadable plugins file is a finding of its own.
    if (!(error instanceof PricesError)) return [];
    return [
      { name, level: 'fail', detail: error.message, advice: 'Correct PRICES_FILE, or the prices in the plugins file.' },
    ];
  }
}

const CONNECT_MS = 3_000;
const PROBE_MS = 3_600_000;
const CHECK_FILE = 'Check the plugins file that PLUGINS_CONFIG names.';

/** Read only. */
async function checkDatabase(settings: Settings): Promise<Finding> {
  const name = 'database';
  try {
    if (!(await isStateThere(settings))) return { name, level: 'ok', detail: 'none yet: "mediagate serve" creates it' };
    const { pending } = await readSchema(settings);
    const engine = settings.databaseUrl === undefined ? 'SQLite in the data folder' : 'PostgreSQL';
    const later = pending.length > 0 ? '; the next start migrates it' : '';
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
 * Writes, reads and removes a small file, since a key may be allowed only some of that. It uses a temporary folder,
 * since the gateway's own may contain files that wait for upload.
 */
async function checkFiles(settings: Settings, logger: Logger): Promise<Finding> {
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
      // The URL is not quoted: it contains the key.
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

async function checkProxy({ egressProxyUrl }: Settings): Promise<Finding> {
  const name = 'egress proxy';
  if (!egressProxyUrl) return { name, level: 'ok', detail: 'none: plugins connect directly' };
  const { hostname, port } = new URL(egressProxyUrl);
  // Only host and port: the URL may contain a password.
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

/** Whether the plugins load, and what their upstreams answer. */
async function checkPlugins(settings: Settings, environment: NodeJS.ProcessEnv, logger: Logger): Promise<Finding[]> {
  const name = 'plugins';
  try {
    await using gateway = await openGateway({ settings, environment, logger, baseUrl: () => '', readOnly: true });
    const stored = await applyStoredModels(settings, { gateway, logger });
    const entries = groupEntries(gateway.plugins().filter(({ state }) => state !== 'disabled'));
    const failed = entries.filter(({ state }) => state !== 'ready');
    const ways = gateway.platforms();
    const ready = entries.filter(({ state }) => state === 'ready').map((entry) => describeReady(entry, ways));
    const detail = [
      ready.length > 0 ? `${ready.join(', ')} ready` : 'none is ready',
      ...failed.map(({ id, reason }) => `${id} failed: ${reason ?? 'no reason given'}`),
    ].join('; ');
    const level = failed.length > 0 || ready.length === 0 || !checkPlatforms(ways).ok ? 'warn' : 'ok';
    const found: Finding = { name, level, detail, ...(level === 'warn' && { advice: adviceFor(failed) }) };
    return [found, ...describeStored(stored), ...describeUpstreams(await gateway.checkUpstreams()).map(asFinding)];
  } catch (error) {
    return [{ name, level: 'fail', detail: messageOf(error), advice: CHECK_FILE }];
  }
}

/** No finding without a change. */
function describeStored({ all, problem }: StoredModels): Finding[] {
  const name = 'models';
  if (problem !== undefined) {
    const advice =
      'The checks above and below are those of the plugins file. With --server doctor checks a running gateway.';
    return [{ name, level: 'warn', detail: `changes that are stored could not be read: ${problem}`, advice }];
  }
  const words = all.flatMap((one) => {
    const changes = changesOf(one).map((change) => change.replaceAll('_', ' '));
    return changes.length > 0 ? [`${one.model} (${changes.join(', ')})`] : [];
  });
  return words.length === 0 ? [] : [{ name, level: 'ok', detail: `changed by operators: ${words.join(', ')}` }];
}

function asFinding({ ok, detail, advice }: UpstreamFinding): Finding {
  return { name: 'upstream', level: ok ? 'ok' : 'warn', detail, ...(advice !== undefined && { advice }) };
}

/** Values from the environment must not be in the file. */
function adviceFor(failed: readonly PluginStatus[]): string {
  const variables = new Set(failed.flatMap(({ badVariable }) => badVariable ?? []));
  const correct = variables.size > 0 ? [`Correct ${[...variables].join(', ')} in the environment.`] : [];
  const needs = new Set(failed.flatMap(({ unmet }) => unmet ?? []));
  const lacking = [...needs].map((need) => `The line "${need}" says how to get what is missing.`);
  const isExplained = ({ badVariable, unmet }: PluginStatus) => badVariable !== undefined || unmet !== undefined;
  const isFileAtFault = failed.length === 0 || !failed.every(isExplained);
  return [...correct, ...lacking, ...(isFileAtFault ? [CHECK_FILE] : [])].join(' ');
}

/** Names methods that this machine or the settings lack: their data is then missing. */
function describeReady({ id, serves, standIn }: PluginStatus, platforms: readonly PlatformInfo[]): string {
  if (standIn) return `${id} (mock for ${serves.join(', ')})`;
  const missing = platforms
    .filter(({ key }) => serves.includes(key))
    .flatMap(({ methods }) => methods.flatMap(({ name, available }) => (available ? [] : [name])));
  return missing.length > 0 ? `${id} (without ${missing.join(', ')})` : id;
}
