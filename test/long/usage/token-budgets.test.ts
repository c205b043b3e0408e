/** Token budgets under parallel requests, cuts and kills. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import { startTextUpstream, type TextUpstream, type TextUpstreamRequest } from '../../support/models/text-upstream.js';
import type { Environment } from '../../support/processes/command-line.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const LIMIT = 1_000_000;
const PARALLEL = 300;
/** More waves than it takes to use up the budget. */
const MAX_WAVES = 20;
/** Output of a model that nobody limits. */
const UNLIMITED = 100_000;
const PLANS = [{ id: 'million', tokenLimit: LIMIT, includedRpm: 100_000, maxRpm: 100_000 }];
/** In dollars for a million tokens. */
const PRICES = { input: 0.25, output: 2 };
const MORE = ['--rpm', 'unlimited', '--json'];
const BODIES = {
  '/v1/chat/completions': { model: 'm-5.5', messages: [{ role: 'user', content: 'Name three harbours.' }] },
  '/v1/responses': { model: 'm-5.5', input: 'Name three harbours.' },
};
type Route = keyof typeof BODIES;

describeOnStacks('a token budget under parallel requests without a maximum', (stack) => {
  let place: StackPlace;
  let folder: string;
  let upstream: TextUpstream;
  let gateway: GatewayProcess;
  let key: string;

  const start = (more: Environment = {}) =>
    startGatewayProcess({
      dataFolder: path.join(folder, 'data'),
      environment: {
        PLANS_FILE: path.join(folder, 'plans.json'),
        PRICES_FILE: path.join(folder, 'prices.json'),
        TEXT_UPSTREAM_URL: upstream.baseUrl,
        ...place.environment,
        ...more,
      },
    });

  before(async () => {
    place = await stack.place();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-budgets-'));
    await writeFile(path.join(folder, 'plans.json'), JSON.stringify({ plans: PLANS }));
    const prices = { currency: 'USD', models: { 'm-5.5': PRICES } };
    await writeFile(path.join(folder, 'prices.json'), JSON.stringify(prices));
    upstream = await startTextUpstream();
    gateway = await start();
  });
  beforeEach(async () => {
    upstream.reset();
    const { stdout } = await gateway.command('keys', 'create', '--plan', 'million', '--json');
    ({ key } = JSON.parse(stdout));
  });
  after(async () => {
    await gateway?.kill();
    await upstream?.close();
    await place?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  function post(node: GatewayProcess, route: Route, more: object = {}, signal?: AbortSignal): Promise<Response> {
    return fetch(node.url + route, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...BODIES[route], ...more }),
      signal,
    });
  }

  /** The budget once nothing is reserved, and what the upstream used by its own account. */
  async function spent(node = gateway): Promise<{ used: number; upstreamUsed: number }> {
    const used = await until(async () => {
      const { json } = await node.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
      const { tokens } = json.budget;
      return tokens.reserved === 0 && tokens.used;
    }, 30);
    const sum = upstream.requests.reduce((all, { usage }) => all + (usage?.input ?? 0) + (usage?.output ?? 0), 0);
    return { used, upstreamUsed: sum };
  }

  /** The same in millionths of a dollar. */
  async function spentMoney(): Promise<{ used: number; upstreamUsed: number }> {
    const used = await until(async () => {
      const { json } = await gateway.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
      const [money] = json.budgets;
      return money.reserved === 0 && Math.round(money.used * 1e6);
    }, 30);
    const costOf = (usage: { input: number; output: number } | undefined) =>
      usage ? Math.round(usage.input * PRICES.input + usage.output * PRICES.output) : 0;
    return { used, upstreamUsed: upstream.requests.reduce((all, { usage }) => all + costOf(usage), 0) };
  }

  /** Sends waves of parallel requests until all of a wave are refused. */
  async function useUp(
    nodes: readonly GatewayProcess[],
    route: Route,
    more: object = {},
    settled: () => Promise<unknown> = spent,
  ): Promise<void> {
    for (let wave = 0; wave < MAX_WAVES; wave += 1) {
      const statuses = await Promise.all(
        Array.from({ length: PARALLEL }, async (_, index) => {
          const answer = await post(nodes[index % nodes.length] as GatewayProcess, route, more);
          const text = await answer.text();
          if (answer.status !== 200) expect(JSON.parse(text).error).to.include({ code: 'insufficient_quota' });
          return answer.status;
        }),
      );
      if (!statuses.includes(200)) return;
      await settled();
    }
  }

  /** The model uses so much of the limit that it is sent. */
  function useOfLimit(share: number): void {
    upstream.behave((request) => ({
      does: 'answer',
      text: 'Ostend.',
      thinks: Math.floor(limitOf(request) * share) - 1,
    }));
  }

  function expectHeld({ used, upstreamUsed }: { used: number; upstreamUsed: number }): void {
    expect(upstreamUsed).to.be.at.most(LIMIT);
    expect(used)
      .to.be.at.most(LIMIT)
      .and.at.least(0.8 * LIMIT)
      .and.at.least(upstreamUsed);
  }

  /** Every request is charged, and none for what it only reserved. */
  function expectUsed({ used }: { used: number }): void {
    expect(used)
      .to.be.greaterThan(0)
      .and.below(0.1 * LIMIT);
  }

  for (const route of Object.keys(BODIES) as Route[]) {
    it(`is never overspent, and is used to at least 80 %, at ${route}`, async () => {
      useOfLimit(1);
      await useUp([gateway], route);
      expectHeld(await spent());
    });
  }

  it('holds with streams, with two choices, and with models that use less than they are granted', async () => {
    useOfLimit(0.6);
    await useUp([gateway], '/v1/chat/completions', { stream: true, n: 2 });
    const result = await spent();
    expectHeld(result);
    expect(result.used).to.equal(result.upstreamUsed);
  });

  /** Each of many streams is left after its first bytes. */
  async function cutStreams(node: GatewayProcess): Promise<void> {
    upstream.behave((request) => ({
      does: 'answer',
      text: 'Ostend, Bruges, Ghent.',
      thinks: limitOf(request) - 3,
      stall: { events: 3 },
    }));
    await Promise.all(
      Array.from({ length: PARALLEL }, async () => {
        const leaving = new AbortController();
        const answer = await post(node, '/v1/chat/completions', { stream: true }, leaving.signal);
        if (answer.status === 200) await answer.body?.getReader().read();
        leaving.abort();
      }),
    );
  }

  /** The gateway dies while as many requests are at the upstream as the budget takes. */
  async function killWhileAsking(node: GatewayProcess): Promise<void> {
    upstream.behave((request) => ({
      does: 'answer',
      text: 'Ostend.',
      thinks: limitOf(request) - 1,
      stall: 'before_headers',
    }));
    let refused = 0;
    const all = Array.from({ length: PARALLEL }, () =>
      post(node, '/v1/chat/completions').then(
        () => {
          refused += 1;
        },
        () => undefined,
      ),
    );
    await until(() => refused + upstream.requests.length >= PARALLEL, 30);
    await node.kill();
    await Promise.all(all);
  }

  it('holds with streams that clients cut, which are charged their usage', async () => {
    await cutStreams(gateway);
    expectUsed(await spent());
  });

  it('holds if the gateway is killed: another process charges the input', async () => {
    await killWhileAsking(gateway);
    gateway = await start();
    expectUsed(await spent());
    upstream.behave(() => ({ does: 'answer', text: 'Ostend.' }));
    expect((await post(gateway, '/v1/chat/completions')).status).to.equal(200);
  });

  it('holds with cut streams and a killed gateway if whole reservations are charged', async () => {
    const reserved = { ABORT_CHARGE: 'reserved' };
    await gateway.kill();
    gateway = await start(reserved);
    try {
      await cutStreams(gateway);
      expectHeld(await spent());
      upstream.reset();
      const { stdout } = await gateway.command('keys', 'create', '--plan', 'million', '--json');
      ({ key } = JSON.parse(stdout));
      await killWhileAsking(gateway);
      gateway = await start(reserved);
      expectHeld(await spent());
      const answer = await post(gateway, '/v1/chat/completions');
      expect([answer.status, (await answer.json()).error.code]).to.deep.equal([429, 'insufficient_quota']);
    } finally {
      await gateway.kill();
      gateway = await start();
    }
  });

  it('refuses further requests after an upstream used more than it was granted, and records that', async () => {
    upstream.behave(() => ({ does: 'answer', text: 'Ostend.', thinks: 2 * LIMIT }));
    expect((await post(gateway, '/v1/chat/completions')).status).to.equal(200);
    expect((await spent()).used).to.be.greaterThan(2 * LIMIT);
    expect((await post(gateway, '/v1/chat/completions', { max_tokens: 1 })).status).to.equal(429);
    await until(() => gateway.output().includes('an upstream used more tokens than it was limited to'));
  });

  it('holds for a budget of money', async () => {
    const { stdout } = await gateway.command('keys', 'create', '--grant', 'text', '--budget', '1 USD/month', ...MORE);
    ({ key } = JSON.parse(stdout));
    const other = stack.name === 'PostgreSQL, S3 and Redis' ? await start() : undefined;
    try {
      useOfLimit(1);
      await useUp(other ? [gateway, other] : [gateway], '/v1/chat/completions', {}, spentMoney);
      expectHeld(await spentMoney());
    } finally {
      await other?.kill();
    }
  });

  // Elsewhere the database is of one process.
  if (stack.name !== 'PostgreSQL, S3 and Redis') return;

  it('holds over two nodes', async () => {
    const other = await start();
    try {
      useOfLimit(0.9);
      await useUp([gateway, other], '/v1/chat/completions');
      expectHeld(await spent());
    } finally {
      await other.kill();
    }
  });
});

/** Over all choices. */
function limitOf({ members }: TextUpstreamRequest): number {
  const limit = members.max_completion_tokens ?? members.max_tokens ?? members.max_output_tokens ?? UNLIMITED;
  return Number(limit) * Number(members.n ?? 1);
}
