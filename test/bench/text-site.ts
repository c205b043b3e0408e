/** Starts everything that the text benchmarks need: upstream, client, gateway and contenders, each on its core. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packageRoot } from '../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { launcherEnvironment } from './image-server.js';
import { LOADING_CORE, MEASURED_CORE, pin } from './pinning.js';
import { startPortkey } from './portkey.js';
import { PUBLIC_MODEL, UPSTREAM_MODEL } from './text-answers.js';
import type { LoadOrder, LoadReport, LoadTarget } from './text-load.js';

/** A server between the client and the upstream. */
export interface Contender extends LoadTarget {
  name: string;
  pid: number;
}

/** Everything that the model routes are measured with: the upstream and its client on one core, the others on another. */
export interface TextSite {
  readonly upstream: LoadTarget;
  readonly gateway: Contender;
  /** A bare pipe. */
  readonly floor: Contender;
  /** Undefined where it could not be had; why was printed. */
  readonly portkey?: Contender;
  /** @throws Error where an answer was not 200, or not whole. */
  load(order: LoadOrder): Promise<LoadReport>;
  /** When the upstream was hung up on the next time, on the clock that all processes share, in nanoseconds. */
  nextHangUp(): Promise<bigint>;
  stop(): Promise<void>;
}

const SECRET = 'sk-bench-0123456789abcdef';

export interface TextSiteOptions {
  /** Starts the other gateway as well. */
  withPortkey: boolean;
  /** What the upstream waits before each answer, in milliseconds. Default 0. */
  answerMs?: number;
  /** Processes of the gateway that answer requests. Several may use all cores. Default 1. */
  workers?: number;
}

export async function startTextSite({ withPortkey, answerMs = 0, workers = 1 }: TextSiteOptions): Promise<TextSite> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-text-'));
  const children: ChildProcess[] = [];
  let gateway: GatewayProcess | undefined;
  const stop = async () => {
    for (const child of children) child.kill();
    await gateway?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const start = (name: string, core: number, ...args: string[]) => {
    const child = fork(path.join(packageRoot, 'dist', 'test', 'bench', name), args);
    children.push(child);
    pin(child.pid ?? 0, core);
    return child;
  };
  try {
    const loader = start('text-load.js', LOADING_CORE);
    const upstreamProcess = start('text-upstream.js', LOADING_CORE, String(answerMs));
    const [upstream] = (await once(upstreamProcess, 'message')) as [string];
    const floorProcess = start('text-floor.js', MEASURED_CORE, upstream);
    const [floor] = (await once(floorProcess, 'message')) as [string];
    gateway = await startChatGateway(folder, upstream, workers);
    if (workers === 1) pin(gateway.pid, MEASURED_CORE);
    const { key } = await gateway.makeKey({ grants: ['text'], rpm: 1_000_000 });
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` });
    const portkey = withPortkey ? await tryPortkey(children) : undefined;
    return {
      upstream: { url: upstream, headers: bearer(SECRET) },
      gateway: { name: 'mediagate', url: gateway.url, pid: gateway.pid, headers: bearer(key) },
      floor: { name: 'floor', url: floor, pid: floorProcess.pid ?? 0, headers: bearer(SECRET) },
      ...(portkey && {
        portkey: {
          ...portkey,
          headers: {
            ...bearer(SECRET),
            'x-portkey-provider': 'openai',
            'x-portkey-custom-host': `${upstream}/v1`,
          },
        },
      }),
      async load(order) {
        loader.send(order);
        const [{ done, failed }] = (await once(loader, 'message')) as [{ done?: LoadReport; failed?: string }];
        if (!done) throw new Error(`${order.kind} at ${order.url}: ${failed}`);
        return done;
      },
      async nextHangUp() {
        const [{ hungUpAt }] = (await once(upstreamProcess, 'message')) as [{ hungUpAt: string }];
        return BigInt(hungUpAt);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As `npm start` starts it, with one model that is at the upstream, and with metrics. */
export async function startChatGateway(folder: string, upstream: string, workers: number): Promise<GatewayProcess> {
  const plugins = path.join(folder, 'plugins.config.json');
  const model = { id: PUBLIC_MODEL, use: 'mediagate/plugins/openai_text', trustedOrigins: [upstream] };
  const options = {
    models: [{ id: PUBLIC_MODEL, model: UPSTREAM_MODEL }],
    upstreams: [{ url: `${upstream}/v1`, apiKey: SECRET }],
  };
  await writeFile(plugins, JSON.stringify({ plugins: [{ ...model, options }] }));
  return startGatewayProcess({
    environment: {
      ...{ PLUGINS_CONFIG: plugins, METRICS_PORT: '0', WORKERS: String(workers) },
      ...launcherEnvironment(),
    },
  });
}

async function tryPortkey(children: ChildProcess[]): Promise<Pick<Contender, 'name' | 'url' | 'pid'> | undefined> {
  try {
    const { process: child, url } = await startPortkey();
    children.push(child);
    pin(child.pid ?? 0, MEASURED_CORE);
    return { name: 'Portkey', url, pid: child.pid ?? 0 };
  } catch (error) {
    process.stderr.write(`not measured beside Portkey: ${error instanceof Error ? error.message : String(error)}\n`);
    return undefined;
  }
}
