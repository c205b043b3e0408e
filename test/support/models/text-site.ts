/** A host of text upstreams with their paths. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import OpenAI, { type ClientOptions } from 'openai';
import { openState } from '../../../server/state.js';
import type { UsageEntry } from '../../../server/usage/usage-log.js';
import { packageRoot } from '../package-root.js';
import type { Environment } from '../processes/command-line.js';
import { type GatewayHere, startGatewayHere } from '../processes/gateway-here.js';
import { type MadeKey } from '../processes/gateway-process.js';
import { startTextUpstream, type TextUpstream } from './text-upstream.js';

const UPSTREAM_KEY = 'sk-canary-of-the-upstream-0007';
/** More than any test asks for. */
const ALL_ENTRIES = 100_000;

/** A gateway process whose text models are asked of a stand-in of the vendor. */
export interface TextSite {
  readonly gateway: GatewayHere;
  readonly upstream: TextUpstream;
  /** A key for text. */
  readonly key: string;
  /** The vendor's own client; it asks once, unless told otherwise. */
  openai(options?: ClientOptions): OpenAI;
  /** Sends a body with the key, its answer unread. */
  post(route: string, body: object, more?: RequestInit): Promise<Response>;
  /** Makes a key of a plan, through the command line. */
  makePlanKey(plan: string): Promise<MadeKey>;
  /** Ends the gateway, which writes down what is left to write, and reads the ledger. */
  stopAndReadLedger(): Promise<readonly UsageEntry[]>;
  close(): Promise<void>;
}

export interface TextSiteOptions {
  /** Settings besides those made here. */
  environment?: Environment;
  /** Origins of further upstreams on loopback. */
  trustedOrigins?: readonly string[];
  /** First cool-down of the upstream. Default: as the built-in plugins have it. */
  restMs?: number;
}

export async function startTextSite({
  environment,
  trustedOrigins = [],
  restMs,
}: TextSiteOptions = {}): Promise<TextSite> {
  const dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-text-'));
  const upstream = await startTextUpstream({ apiKey: UPSTREAM_KEY });
  const gateway = await startGatewayHere({
    dataFolder,
    environment: {
      TEXT_UPSTREAM_URL: upstream.baseUrl,
      TEXT_UPSTREAM_KEY: UPSTREAM_KEY,
      TRUSTED_ORIGINS: trustedOrigins.join(),
      ...(restMs !== undefined && { PLUGINS_CONFIG: await configureRest(dataFolder, restMs) }),
      ...environment,
    },
  });
  const { key } = await gateway.makeKey({ grants: ['text'] });
  let isStopped = false;

  async function stop(): Promise<void> {
    if (!isStopped) await gateway.stop();
    isStopped = true;
  }

  return {
    gateway,
    upstream,
    key,
    openai: (options = {}) => new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0, ...options }),
    post: (route, body, more) =>
      fetch(gateway.url + route, {
        method: 'POST',
        body: JSON.stringify(body),
        ...more,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more?.headers },
      }),
    async makePlanKey(plan) {
      const { code, stdout, stderr } = await gateway.command('keys', 'create', '--plan', plan, '--json');
      if (code !== 0) throw new Error(`keys create ended with ${code}: ${stderr}`);
      return JSON.parse(stdout) as MadeKey;
    },
    async stopAndReadLedger() {
      await stop();
      const state = await openState({ dataDir: dataFolder, clock: systemClock, logger: createRecordingLogger() });
      try {
        return await state.usage.entries({ from: '2000-01-01', to: '2999-12-31' }, ALL_ENTRIES);
      } finally {
        await state.close();
      }
    },
    async close() {
      await stop();
      await upstream.close();
      await rm(dataFolder, { recursive: true, force: true });
    },
  };
}

/** The built-in plugins with another cool-down of text upstreams. */
async function configureRest(folder: string, restMs: number): Promise<string> {
  const config = JSON.parse(await readFile(path.join(packageRoot, 'plugins.config.json'), 'utf8'));
  for (const { use, options } of config.plugins) if (use.endsWith('/openai_text')) options.restMs = restMs;
  const file = path.join(folder, 'plugins.test.json');
  await writeFile(file, JSON.stringify(config));
  return file;
}
