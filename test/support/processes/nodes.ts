/** Several nodes of one gateway in processes. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { createKeyRecord, createPepper } from '../../../server/keys/index.js';
import type { ApiKeyRecord } from '../../../server/keys/key-rows.js';
import { openState, type State } from '../../../server/state.js';
import { type ImageUpstream, startImageUpstream } from '../images/image-upstream.js';
import { startTextUpstream, type TextUpstream } from '../models/text-upstream.js';
import type { Environment } from './command-line.js';
import { type GatewayProcess, type GatewayProcessOptions, startGatewayProcess } from './gateway-process.js';

export interface NodesOptions {
  databaseUrl: string;
  /** Settings of every node, besides those made here. */
  environment?: Environment;
}

/** Gateway processes that share a database, files and secrets, and the upstreams they ask. */
export interface Nodes {
  readonly images: ImageUpstream;
  readonly texts: TextUpstream;
  /** What they share, to be looked at and changed from outside. */
  readonly state: State;
  /** Starts one more; it is ended with the others. */
  start(role: GatewayProcessOptions['role'], environment?: Environment): Promise<GatewayProcess>;
  /** Stores a key; default: granted everything, unlimited. */
  makeKey(change?: Partial<ApiKeyRecord>): Promise<string>;
  /** Ends all nodes by SIGKILL, and the upstreams. */
  close(): Promise<void>;
}

export async function openNodes({ databaseUrl, environment }: NodesOptions): Promise<Nodes> {
  // One folder for the nodes of one machine: it is where files are.
  const dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-nodes-'));
  const [images, texts] = await Promise.all([startImageUpstream(), startTextUpstream()]);
  const state = await openState({
    dataDir: dataFolder,
    databaseUrl,
    clock: systemClock,
    logger: createRecordingLogger(),
  });
  const started: GatewayProcess[] = [];
  const [pepper, linkSecret] = [randomBytes(32).toString('hex'), randomBytes(32).toString('hex')];
  return {
    images,
    texts,
    state,
    async start(role, more) {
      const settings = {
        DATABASE_URL: databaseUrl,
        KEY_PEPPER: pepper,
        LINK_SECRET: linkSecret,
        IMAGE_UPSTREAM_URL: images.baseUrl,
        TEXT_UPSTREAM_URL: texts.baseUrl,
        ...environment,
        ...more,
      };
      const node = await startGatewayProcess({ dataFolder, role, environment: settings });
      started.push(node);
      return node;
    },
    async makeKey(change) {
      const wanted = { name: 'test', grants: ['images', 'extract', 'text'], rpm: null, expiresAt: null } as const;
      const { key, record } = createKeyRecord(wanted, createPepper(Buffer.from(pepper)), Date.now());
      await state.keys.insert({ ...record, ...change });
      return key;
    },
    async close() {
      await Promise.all(started.map((node) => node.kill()));
      await state.close();
      await Promise.all([images.close(), texts.close()]);
      await rm(dataFolder, { recursive: true, force: true });
    },
  };
}
