/** Starts the gateway of the image benchmarks with an instant model, and sends it commands. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ImageSite, openImageSite } from '../chaos/image-site.js';
import { packageRoot } from '../support/package-root.js';
import type { Environment } from '../support/processes/command-line.js';
import type { GatewayProcess } from '../support/processes/gateway-process.js';
import type { LoadedRequest } from './http-load.js';

/** Each may poll twenty times a second, and a quick machine runs three rounds of 6,000 polls in one. */
const KEYS = 1_000;
const RPM = 1_000_000;

/** As the launcher starts the server, and has started this process; what it says of memory goes with every command. */
export function launcherEnvironment(): Environment {
  const names = ['MALLOC_ARENA_MAX', 'UV_THREADPOOL_SIZE', 'VIPS_BLOCK_UNTRUSTED'];
  const set = names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name] ?? '']]));
  return Object.fromEntries(set);
}

/** A gateway whose model does nothing, and the servers that it is measured against. */
export interface ImageServer {
  readonly site: ImageSite;
  readonly gateway: GatewayProcess;
  /** Key for request number `index`. */
  keyOf(index: number): string;
  /** A job that is wanted, which costs a queue as little as can be. */
  submission(index: number, members?: object): LoadedRequest;
  /** Makes a picture and gives its job. */
  make(members?: object): Promise<{ id: string; data: { url: string; bytes: number }[] }>;
  /** Starts the floors; see image-floor.ts. */
  startFloor(): Promise<Floor>;
  stop(): Promise<void>;
}

export interface Floor {
  process: ChildProcess;
  submits: string;
  koa: string;
  files: string;
}

export interface ImageServerOptions {
  /** Besides: `IMAGE_WORKERS=0` leaves every job in the queue. */
  environment?: Environment;
  /** Milliseconds that the model takes, and spends waiting. Default 0. */
  modelMs?: number;
  /** Pictures at first for which it takes no time. Default 0. */
  quickPictures?: number;
}

export async function startImageServer(options: ImageServerOptions = {}): Promise<ImageServer> {
  const site = await openImageSite({ keys: KEYS, rpm: RPM });
  const plugins = path.join(site.folder, 'plugins.config.json');
  const use = path.join(packageRoot, 'dist', 'test', 'bench', 'instant-image.js');
  const { modelMs: takesMs = 0, quickPictures = 0 } = options;
  const plugin = { id: 'instant_image', use, options: { takesMs, quickPictures } };
  await writeFile(plugins, JSON.stringify({ plugins: [plugin] }));
  const settings = { PLUGINS_CONFIG: plugins, IMAGE_MAX_ACTIVE: '1000000', ...options.environment };
  const gateway = await site.start({ ...launcherEnvironment(), ...settings });
  let floor: ChildProcess | undefined;

  const keyOf = (index: number) => site.keys[index % site.keys.length] ?? '';
  const submission: ImageServer['submission'] = (index, members = {}) => ({
    method: 'POST',
    path: '/v1/images/jobs',
    headers: { authorization: `Bearer ${keyOf(index)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gen-img-2', prompt: `picture ${index}`, ...members }),
    status: 202,
  });

  return {
    site,
    gateway,
    keyOf,
    submission,
    async make(members) {
      const { path: target, ...init } = submission(0, members);
      const submitted = await gateway.request(target, init);
      for (;;) {
        const { json } = await gateway.request(`${target}/${submitted.json.id}?wait=30`, { headers: init.headers });
        if (json.status === 'completed') return json;
        if (json.pending === 0) throw new Error(`The picture was not made: ${JSON.stringify(json.error)}`);
        await sleep(50);
      }
    },
    async startFloor() {
      floor = fork(path.join(packageRoot, 'dist', 'test', 'bench', 'image-floor.js'), [site.folder]);
      const [origins] = (await once(floor, 'message')) as [Omit<Floor, 'process'>];
      return { process: floor, ...origins };
    },
    async stop() {
      floor?.kill();
      await site.remove();
    },
  };
}
