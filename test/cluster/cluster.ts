/** A local cluster of API nodes and workers behind a balancer. */

import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isSystemError } from '../../core/runtime/errors.js';
import { openOrClose } from '../../server/close-list.js';
import type { Environment } from '../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { type Balancer, startBalancer } from './balancer.js';
import { type Engines, startEngines } from './engines.js';

export interface StandOptions {
  /** Default 2 of each. */
  apiNodes?: number;
  workerNodes?: number;
  /** Where everything stays. Default: a temporary folder, removed with the cluster. */
  folder?: string;
  /** Of the balancer. Default: any free one. */
  port?: number;
  /** Settings of all nodes besides those made here. */
  environment?: Environment;
  /** Told what is being started. Default: nobody. */
  progress?(text: string): void;
}

export interface StandNode {
  /** `api-1`, `worker-2`, … */
  readonly name: string;
  readonly role: 'api' | 'worker';
  readonly process: GatewayProcess;
  /** Of its `/metrics`. */
  readonly metricsUrl: string;
}

/** A gateway of several nodes with all that they share, on this machine. */
export interface LocalCluster {
  /** Of the balancer, without a trailing slash. */
  readonly url: string;
  readonly engines: Engines;
  readonly nodes: readonly StandNode[];
  /** Ends the nodes in order, then all else. */
  stop(): Promise<void>;
}

/** @throws Error where something does not start; what did is ended. */
export async function startCluster(options: StandOptions = {}): Promise<LocalCluster> {
  const { apiNodes = 2, workerNodes = 2, port, progress = () => undefined } = options;
  return openOrClose(async (opened) => {
    const folder = options.folder ?? (await mkdtemp(path.join(tmpdir(), 'mediagate-cluster-')));
    if (options.folder === undefined) opened.add(() => rm(folder, { recursive: true, force: true }));
    await mkdir(folder, { recursive: true });
    const engines = await startEngines({ folder: options.folder, progress });
    opened.add(() => engines.close());
    const nodes: StandNode[] = [];
    const balancer = await startBalancer({ port, nodes: () => nodes.flatMap(addressOfApi) });
    opened.add(() => balancer.close());
    const shared = { ...(await sharedSettings(folder, engines, balancer)), ...options.environment };

    async function startNode(name: string, role: StandNode['role']): Promise<StandNode> {
      const dataFolder = path.join(folder, name);
      const started = await startGatewayProcess({ dataFolder, role, environment: shared });
      opened.add(() => started.stop());
      const metricsUrl = /Metrics are at (\S+)/.exec(started.output())?.[1] ?? '';
      return { name, role, process: started, metricsUrl };
    }

    const names = [
      ...Array.from({ length: apiNodes }, (_, index) => [`api-${index + 1}`, 'api'] as const),
      ...Array.from({ length: workerNodes }, (_, index) => [`worker-${index + 1}`, 'worker'] as const),
    ];
    for (const [name, role] of names) {
      progress(`node ${name}`);
      nodes.push(await startNode(name, role));
    }
    return { url: balancer.url, engines, nodes, stop: () => opened.close() };
  });
}

function addressOfApi({ role, process: { url } }: StandNode): string[] {
  return role === 'api' ? [url] : [];
}

/** What has to be the same on every node. */
async function sharedSettings(folder: string, engines: Engines, balancer: Balancer): Promise<Environment> {
  return {
    ...engines.environment,
    ...(await keptSecrets(path.join(folder, 'secrets.json'))),
    BASE_URL: balancer.url,
    // The development identity provider is one for each process, and so is who has signed in there.
    SITE: 'off',
    METRICS_PORT: '0',
  };
}

/** Made at the first start in a folder, since keys of that start are good with the same pepper alone. */
async function keptSecrets(file: string): Promise<Environment> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Environment;
  } catch (error) {
    if (!isSystemError(error, 'ENOENT')) throw error;
  }
  const made = { KEY_PEPPER: randomBytes(32).toString('hex'), LINK_SECRET: randomBytes(32).toString('hex') };
  await writeFile(file, JSON.stringify(made), { mode: 0o600 });
  return made;
}
