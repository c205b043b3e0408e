/** Sends 200 simultaneous requests to two nodes for each kind of limit, and counts the accepted ones. */

import { randomUUID } from 'node:crypto';
import { samplePrompt, TokenCounter } from '../../core/text/index.js';
import type { ApiKeyRecord } from '../../server/keys/key-rows.js';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { budget } from '../support/models/model-requests.js';
import type { Environment } from '../support/processes/command-line.js';
import type { GatewayProcess } from '../support/processes/gateway-process.js';
import { type Nodes, openNodes } from '../support/processes/nodes.js';
import { until } from '../support/until.js';

/** What every limit lets in, of so many requests at once. */
export const LIMIT = 15;
export const REQUESTS = 200;

const CHAT = { model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }], max_tokens: 50 };
const IMAGE = { model: 'gen-img-2', prompt: 'A tug at dawn' };

interface Limit {
  route: string;
  body: object;
  /** Of those that the limit lets in. Default: they are counted at the upstream. */
  status?: number;
  /** Whether what it asks for is behind a proxy, which has nothing. Default false. */
  throughProxy?: boolean;
  /** Error code of the others. */
  refusal: string;
  /** Makes a key that the limit holds for. */
  limited(nodes: Nodes): Promise<Partial<ApiKeyRecord>>;
}

const byWindow = { refusal: 'rate_limit_exceeded', limited: async () => ({ rpm: LIMIT }) };
/** What a chat reserves: the upper estimate of its input, and its own maximum. */
async function chatTokens(): Promise<number> {
  const counter = new TokenCounter();
  const input = await counter.countInput(samplePrompt(CHAT));
  await counter.close();
  return input + CHAT.max_tokens;
}

const byBudget = (terms: () => Promise<Parameters<typeof budget>[0]>) => ({
  refusal: 'insufficient_quota',
  async limited({ state }: Nodes) {
    const made = budget(await terms());
    await state.budgets.create(made);
    return { budgetId: made.id };
  },
});
const chat = { route: '/v1/chat/completions', body: CHAT };

/** Everything of a key that is counted over all nodes. */
export const LIMITS: Readonly<Record<string, Limit>> = {
  'image jobs at 15 a minute': { route: '/v1/images/jobs', body: IMAGE, status: 202, ...byWindow },
  'links at 15 a minute': {
    route: '/v1/extract',
    body: { url: 'https://youtu.be/mgNodes0001' },
    status: 502,
    throughProxy: true,
    ...byWindow,
  },
  'chats at 15 a minute': { ...chat, ...byWindow },
  'chats of a budget of 15 requests': { ...chat, ...byBudget(async () => ({ requestLimit: LIMIT })) },
  'chats of a budget of tokens for 15': {
    ...chat,
    ...byBudget(async () => ({ tokenLimit: LIMIT * (await chatTokens()) + 1 })),
  },
  'image jobs at 15 a day': {
    route: '/v1/images/jobs',
    body: IMAGE,
    status: 202,
    refusal: 'daily_image_limit_reached',
    limited: async () => ({ accountId: randomUUID(), imageDailyLimit: LIMIT }),
  },
};

export interface LimitReport {
  limit: string;
  rounds: number;
  /** Rounds in which exactly so many were let in and all others were refused for the limit. */
  exact: number;
  /** Fewest and most that were let in. */
  fewest: number;
  most: number;
}

export interface SharedLimitsOptions {
  databaseUrl: string;
  /** Times that each limit is tried, each with a new key. */
  rounds: number;
  /** Default: all of them. */
  only?: (limit: string) => boolean;
}

/** 200 requests of one key at once over two nodes, of which a limit lets 15 in. */
export async function runSharedLimitChaos(options: SharedLimitsOptions): Promise<LimitReport[]> {
  const { databaseUrl, rounds, only = () => true } = options;
  const proxy = await startReplayingProxy({ answer: () => ({ status: 404 }) });
  const environment = { IMAGE_MAX_ACTIVE: '100000', LOG_LEVEL: 'error' };
  const nodes = await openNodes({ databaseUrl, environment });
  try {
    const startPair = (more?: Environment) => Promise.all([nodes.start('api', more), nodes.start('api', more)]);
    const direct = await startPair();
    const proxied = await startPair({ EGRESS_PROXY_URL: proxy.url, NODE_EXTRA_CA_CERTS: proxy.caPath });
    const reports: LimitReport[] = [];
    for (const [name, limit] of Object.entries(LIMITS)) {
      if (!only(name)) continue;
      const report = { limit: name, rounds, exact: 0, fewest: REQUESTS, most: 0 };
      for (let round = 0; round < rounds; round += 1) {
        const key = await nodes.makeKey(await limit.limited(nodes));
        const { letIn, refused } = await sendAtOnce(nodes, limit.throughProxy ? proxied : direct, limit, key);
        if (letIn === LIMIT && refused === REQUESTS - LIMIT) report.exact += 1;
        report.fewest = Math.min(report.fewest, letIn);
        report.most = Math.max(report.most, letIn);
      }
      reports.push(report);
    }
    return reports;
  } finally {
    await nodes.close();
    await proxy.close();
  }
}

async function sendAtOnce(
  { texts }: Nodes,
  pair: readonly GatewayProcess[],
  { route, body, status, refusal }: Limit,
  key: string,
): Promise<{ letIn: number; refused: number }> {
  let answered = 0;
  let accepted = 0;
  let refused = 0;
  // Nothing ends before all were let in or refused: what a budget gets back would let others in.
  texts.reset();
  texts.behave(() => ({ does: 'answer', stall: 'before_headers' }));
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal };

  async function send(node: GatewayProcess): Promise<void> {
    const answer = await node.request(route, init);
    answered += 1;
    if (answer.status === status) accepted += 1;
    else if (answer.json?.error?.code === refusal) refused += 1;
  }
  const all = Array.from({ length: REQUESTS }, (_, index) =>
    send(pair[index % pair.length] as GatewayProcess).catch((error: unknown) => {
      if (!leaving.signal.aborted) throw error;
    }),
  );
  await until(() => answered + texts.requests.length >= REQUESTS);
  const letIn = accepted + texts.requests.length;
  leaving.abort();
  await Promise.all(all);
  return { letIn, refused };
}
