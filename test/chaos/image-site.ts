/** A gateway with an image upstream that can be killed at a chosen moment of a job. */

import { EventEmitter } from 'node:events';
import { type FSWatcher, watch } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Database, openDatabase } from '../../core/database/database.js';
import { systemClock } from '../../core/runtime/time.js';
import { createKeyRecord, type Grant } from '../../server/keys/key-rows.js';
import { createPepper } from '../../server/keys/keys.js';
import { openState } from '../../server/state.js';
import { ListLogger } from '../support/databases/engines.js';
import { type ImageUpstream, type ImageUpstreamRequest, startImageUpstream } from '../support/images/image-upstream.js';
import type { Environment } from '../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';

export const PEPPER = 'a pepper that only runs of faults are made with';

/** Told; seen by the upstream; answered by it; being written; lying in the data folder. */
export const MOMENTS = ['accepted', 'asked', 'answered', 'writing', 'stored'] as const;
export type Moment = (typeof MOMENTS)[number];

export interface ImageSiteOptions {
  keys: number;
  /** Image requests of a key in 60 seconds. */
  rpm: number;
  /** Default: SQLite. */
  databaseUrl?: string;
  /** Default: a new one. */
  folder?: string;
  environment?: Environment;
}

/** One gateway with its upstream, that is killed and started again on the same data. */
export interface ImageSite {
  readonly upstream: ImageUpstream;
  readonly folder: string;
  /** API keys, made before the first start. */
  readonly keys: readonly string[];
  readonly rpm: number;
  /** Emits every {@link Moment} as it is seen from outside. */
  readonly moments: EventEmitter<Record<Moment, []>>;
  /** The process that runs; undefined while none does. */
  readonly gateway: GatewayProcess | undefined;
  start(environment?: Environment): Promise<GatewayProcess>;
  /** SIGKILL. */
  kill(): Promise<void>;
  openDatabase(): Promise<Database>;
  remove(): Promise<void>;
}

/** What clients and judges need of a site, however many processes it has. */
export interface OrderSite extends Pick<ImageSite, 'upstream' | 'keys' | 'rpm' | 'moments' | 'openDatabase'> {
  /** A process that takes requests; undefined while none does. */
  readonly gateway: Pick<GatewayProcess, 'url' | 'request'> | undefined;
}

export async function openImageSite(options: ImageSiteOptions): Promise<ImageSite> {
  const { databaseUrl, rpm } = options;
  const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), 'mediagate-faults-')));
  const moments: ImageSite['moments'] = new EventEmitter();
  moments.setMaxListeners(0);
  const upstream = await startImageUpstream({ onAnswered: () => moments.emit('answered') });
  const keys = await makeKeys(folder, options);
  let gateway: GatewayProcess | undefined;
  let watcher: FSWatcher | undefined;

  async function kill(): Promise<void> {
    const ended = gateway?.kill();
    gateway = undefined;
    watcher?.close();
    await ended;
  }

  return {
    upstream,
    folder,
    keys,
    rpm,
    moments,
    get gateway() {
      return gateway;
    },
    async start(environment = {}) {
      const settings = {
        KEY_PEPPER: PEPPER,
        LOG_LEVEL: 'error',
        IMAGE_UPSTREAM_URL: upstream.baseUrl,
        TRUSTED_ORIGINS: upstream.origin,
        ...(databaseUrl && { DATABASE_URL: databaseUrl }),
        ...options.environment,
        ...environment,
      };
      const started = await startGatewayProcess({ dataFolder: folder, environment: settings });
      watcher = watch(path.join(folder, 'files'), (_event, name) => {
        if (name?.startsWith('.incoming-')) moments.emit('writing');
        if (name?.startsWith('img_')) moments.emit('stored');
      });
      gateway = started;
      return started;
    },
    kill,
    openDatabase: () => openDatabase({ dataDir: folder, databaseUrl }),
    async remove() {
      await kill();
      await upstream.close();
      if (options.folder === undefined) await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Makes the upstream draw after up to so many milliseconds, and tells of every request. */
export function drawSlowly({ upstream, moments }: Pick<OrderSite, 'upstream' | 'moments'>, slowestMs: number): void {
  upstream.behave((_request: ImageUpstreamRequest) => {
    moments.emit('asked');
    return { does: 'image', delayMs: 1 + Math.random() * slowestMs };
  });
}

export interface KeysWanted {
  keys: number;
  rpm: number;
  databaseUrl?: string;
  /** Default: images alone. */
  grants?: readonly Grant[];
}

/** Straight into the database, since a process for each would take as long as the rest of a short run. */
export async function makeKeys(dataDir: string, wanted: KeysWanted): Promise<string[]> {
  const { keys, rpm, databaseUrl, grants = ['images'] } = wanted;
  const state = await openState({ dataDir, databaseUrl, clock: systemClock, logger: new ListLogger() });
  try {
    const made: string[] = [];
    for (let index = 0; index < keys; index += 1) {
      const wanted = { name: `faults ${index}`, grants, rpm, expiresAt: null };
      const { key, record } = createKeyRecord(wanted, createPepper(Buffer.from(PEPPER)), Date.now());
      await state.keys.insert(record);
      made.push(key);
    }
    return made;
  } finally {
    await state.close();
  }
}
