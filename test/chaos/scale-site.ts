/** The nodes of a run of faults with their database, store, cache and clients. */

import { EventEmitter } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { openDatabase } from '../../core/database/database.js';
import { openOrClose } from '../../server/close-list.js';
import { type DatabaseServer, startDatabaseServer } from '../cluster/database-server.js';
import { startRedis } from '../support/databases/redis.js';
import { startImageUpstream } from '../support/images/image-upstream.js';
import { packageRoot } from '../support/package-root.js';
import type { Environment } from '../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { type ObjectProxy, startObjectProxy } from '../support/storage/object-proxy.js';
import { startObjectServer } from '../support/storage/object-server.js';
import { type DatabaseLink, startDatabaseLink } from './database-link.js';
import { type ImageSite, makeKeys, type OrderSite, PEPPER } from './image-site.js';
import { watchSlots } from './scale-slots.js';
import { mountSmallDisk } from './small-disk.js';

const START_AGAIN_MS = 200;
const START_MS = 120_000;
/** A client without an answer for so long asks another node; longer if its request waits for a job. */
const CLIENT_MS = 8_000;
const WAITING_CLIENT_MS = 30_000;
const DISK_MIB = 24;

/** A process of the gateway with everything that is its own, killed and started again on the same data folder. */
export interface ScaleNode {
  readonly name: string;
  /** Undefined: all of the gateway. */
  readonly role: 'api' | 'worker' | undefined;
  readonly takesRequests: boolean;
  readonly runsJobs: boolean;
  readonly dataFolder: string;
  /** Whether the data folder is a disk of its own, small enough to be filled. */
  readonly hasDisk: boolean;
  readonly link: DatabaseLink;
  /** The process that runs; undefined while none does. */
  readonly process: GatewayProcess | undefined;
  /** Tries until the process works, since without a database none does. @throws Error after two minutes. */
  start(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM, as a deploy does it. */
  stop(): Promise<void>;
  /** What it has logged so far, in all its processes. */
  log(): string;
  /** By how many milliseconds its clock is wrong. */
  setClock(offsetMs: number): void;
}

export interface CacheServer {
  readonly pid: number;
  kill(): Promise<void>;
  start(): Promise<void>;
}

/** Three nodes that share a PostgreSQL, an object store and a Redis. */
export interface ScaleSite extends OrderSite {
  readonly nodes: readonly ScaleNode[];
  readonly database: DatabaseServer;
  readonly store: ObjectProxy;
  readonly cache: CacheServer;
  /** May extract links. */
  readonly linkKey: string;
  remove(): Promise<void>;
}

export interface ScaleSiteOptions {
  keys: number;
  rpm: number;
}

const ROLES = [
  { name: 'api', role: 'api', takesRequests: true, runsJobs: false },
  { name: 'all', role: undefined, takesRequests: true, runsJobs: true },
  { name: 'worker', role: 'worker', takesRequests: false, runsJobs: true },
] as const;

/** @throws Error where something does not start; what did is ended. */
export async function openScaleSite(options: ScaleSiteOptions): Promise<ScaleSite> {
  return openOrClose((opened) =>
    open(
      options,
      (close) => opened.add(close),
      () => opened.close(),
    ),
  );
}

async function open(
  { keys: wanted, rpm }: ScaleSiteOptions,
  onClose: (close: () => unknown) => void,
  remove: () => Promise<void>,
): Promise<ScaleSite> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-scale-'));
  onClose(() => rm(folder, { recursive: true, force: true }));
  const database = await startDatabaseServer();
  onClose(() => database.close());
  const objects = await startObjectServer();
  onClose(() => objects.stop());
  const store = await startObjectProxy(objects);
  onClose(() => store.close());
  const cache = await startCache();
  onClose(() => cache.kill());
  const moments: ImageSite['moments'] = new EventEmitter();
  moments.setMaxListeners(0);
  const upstream = await startImageUpstream({ onAnswered: () => moments.emit('answered') });
  onClose(() => upstream.close());

  const databaseUrl = database.url;
  const keys = await makeKeys(folder, { keys: wanted, rpm, databaseUrl });
  const [linkKey = ''] = await makeKeys(folder, { keys: 1, rpm: 100_000, databaseUrl, grants: ['extract'] });
  await watchSlots(databaseUrl);
  const plugins = path.join(folder, 'plugins.config.json');
  await writeFile(plugins, JSON.stringify({ plugins: pluginEntries(upstream.baseUrl) }));
  const environment = {
    KEY_PEPPER: PEPPER,
    LINK_SECRET: PEPPER,
    LOG_LEVEL: 'error',
    PLUGINS_CONFIG: plugins,
    TRUSTED_ORIGINS: upstream.origin,
    FILES_URL: store.filesUrl('scale'),
    CACHE_URL: cache.url,
    EXTRACT_CACHE_SECONDS: '1',
    SITE: 'off',
  };

  const nodes: ScaleNode[] = [];
  for (const role of ROLES) {
    const link = await startDatabaseLink(database.socketPath);
    onClose(() => link.close());
    const dataFolder = path.join(folder, role.name);
    await mkdir(dataFolder);
    const disk = role.takesRequests ? undefined : await mountSmallDisk(dataFolder, DISK_MIB);
    onClose(() => disk?.remove());
    const own = { ...role, link, dataFolder, hasDisk: disk !== undefined };
    const node = createNode(own, { ...environment, DATABASE_URL: link.url });
    onClose(() => node.kill());
    nodes.push(node);
  }
  return {
    upstream,
    keys,
    rpm,
    moments,
    nodes,
    database,
    store,
    cache,
    linkKey,
    get gateway() {
      const open = nodes.flatMap(({ takesRequests, process }) => (takesRequests && process ? [process] : []));
      const chosen = open[Math.floor(Math.random() * open.length)];
      return (
        chosen && { url: chosen.url, request: (target: string, init?: RequestInit) => askInTime(chosen, target, init) }
      );
    },
    openDatabase: () => openDatabase({ dataDir: folder, databaseUrl }),
    remove,
  };
}

type OwnOfNode = Pick<ScaleNode, 'name' | 'role' | 'takesRequests' | 'runsJobs' | 'dataFolder' | 'hasDisk' | 'link'>;

function createNode(own: OwnOfNode, settings: Environment): ScaleNode {
  const { dataFolder, role } = own;
  const clockFile = path.join(path.dirname(dataFolder), `${own.name}.clock`);
  const preload = pathToFileURL(path.join(packageRoot, 'dist', 'test', 'chaos', 'faked-clock.js')).href;
  const environment = { ...settings, CLOCK_FILE: clockFile, NODE_OPTIONS: `--import=${preload}` };
  let running: GatewayProcess | undefined;
  let earlier = '';

  function setClock(offsetMs: number): void {
    writeFileSync(`${clockFile}.new`, String(offsetMs));
    renameSync(`${clockFile}.new`, clockFile);
  }
  setClock(0);

  function leave(): GatewayProcess | undefined {
    const left = running;
    running = undefined;
    return left;
  }

  /** What is under way when it ends is heard as well. */
  async function end(how: 'kill' | 'stop'): Promise<void> {
    const left = leave();
    await left?.[how]();
    earlier += left?.output() ?? '';
  }

  return {
    ...own,
    get process() {
      return running;
    },
    async start() {
      for (const begun = performance.now(); !running; await sleep(START_AGAIN_MS)) {
        running = await startGatewayProcess({ dataFolder, role, environment }).catch((error: unknown) => {
          if (performance.now() - begun > START_MS) throw error;
          return undefined;
        });
      }
    },
    kill: () => end('kill'),
    stop: () => end('stop'),
    log: () => earlier + (running?.output() ?? ''),
    setClock,
  };
}

/** One model and one platform, so that a node starts as fast as it can. */
function pluginEntries(upstreamUrl: string): object[] {
  const built = (...parts: string[]) => path.join(packageRoot, 'dist', ...parts);
  return [
    {
      id: 'openai_image',
      use: built('plugins', 'openai_image', 'index.js'),
      options: { upstreams: [{ url: upstreamUrl }] },
      timeoutMs: 60_000,
    },
    { id: 'invented', use: built('test', 'chaos', 'scale-platform.js') },
  ];
}

async function startCache(): Promise<CacheServer & { url: string }> {
  const first = await startRedis();
  if ('unavailable' in first) throw new Error(`There is no Redis here: ${first.unavailable}.`);
  let running = first;
  const port = Number(new URL(first.url).port);
  return {
    url: first.url,
    get pid() {
      return running.pid;
    },
    kill: () => running.stop(),
    async start() {
      const next = await startRedis({ port });
      if ('unavailable' in next) throw new Error(next.unavailable);
      running = next;
    },
  };
}

function askInTime(chosen: GatewayProcess, target: string, init: RequestInit = {}) {
  const timeoutMs = target.includes('wait=') ? WAITING_CLIENT_MS : CLIENT_MS;
  return chosen.request(target, { signal: AbortSignal.timeout(timeoutMs), ...init });
}
