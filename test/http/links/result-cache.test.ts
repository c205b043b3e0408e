/** Cached results over HTTP: freshness, outages, withdrawn items. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type Clock, createGateway, type Extraction, GatewayError, systemClock } from 'mediagate';
import { createMemoryCache } from 'mediagate/testing';
import { DEFINITIVE_CODES, TRANSIENT_CODES } from '../../../core/runtime/index.js';
import { silentLogger } from '../../../core/runtime/logger.js';
import { openState } from '../../../server/state.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, inventedShop, productLink } from '../../support/links/invented-shop.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { type Answer, LINK, type ListeningApp, startApp } from '../http/listening-app.js';

/** As long as a whole result is answered from the cache. */
const TTL_MS = 600_000;
/** As long as a partial result and a refusal are. */
const BRIEF_MS = 30_000;
const DAY_MS = 86_400_000;

const OUTAGE = new GatewayError('upstream_error', 'The source is out of order.');

/** Status, code or title, and where it came from. */
const told = ({ status, json, headers }: Answer) =>
  status === 200
    ? [json.data.common?.title ?? json.data.product.name, headers.get('x-cache')]
    : [json.error.code, headers.get('x-cache')];

describeOnStacks('cached results over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let elapsed: number;
  let fetches: number;
  /** What the source does now: a title, a partial result of that title, or a failure. */
  let source: string | { partial: string } | GatewayError;
  const began = systemClock.now();
  /** It stands still between steps, so that a busy machine changes nothing. */
  const clock: Clock = { ...systemClock, now: () => began + elapsed };

  function answer<Result>(found: (title: string, more: Partial<Extraction>) => Result): Result {
    fetches += 1;
    if (source instanceof GatewayError) throw source;
    return typeof source === 'string' ? found(source, {}) : found(source.partial, { partial: true });
  }

  beforeEach(async () => {
    [elapsed, fetches, source] = [0, 0, 'first'];
    app = await startApp({
      stack,
      clock,
      gateway: { cacheTtlMs: TTL_MS },
      extractor: {
        extract: async ({ link }) =>
          answer((title, more) => {
            const made = inventedExtraction(link.id, more);
            return { ...made, data: { ...made.data, common: { title } } } as Extraction;
          }),
      },
      shop: { extract: async ({ link }) => answer((title, more) => inventedProduct(link.id, title, more)) },
    });
    key = await app.makeKey();
  });
  afterEach(() => app.close());

  const ask = async (url = LINK) => told(await app.extract(key, { url }));

  for (const code of DEFINITIVE_CODES) {
    const isWithdrawn = code === 'removed' || code === 'private';
    const each = code === 'removed' ? it : once;
    each(
      `${isWithdrawn ? 'never return again what became' : 'are returned in an outage although the item was'} ${code}`,
      async () => {
        expect(await ask()).to.deep.equal(['first', 'miss']);
        elapsed += TTL_MS;
        source = new GatewayError(code, 'It is not shown.');
        expect((await ask())[0]).to.equal(code);
        // The refusal is given again for a while without asking, and then the source is asked.
        elapsed += BRIEF_MS - 1;
        expect((await ask())[0]).to.equal(code);
        expect(fetches).to.equal(2);
        elapsed += 1;
        source = OUTAGE;
        expect(await ask()).to.deep.equal(isWithdrawn ? ['upstream_error', null] : ['first', 'stale']);
        expect(fetches).to.equal(3);
        source = 'second';
        expect(await ask()).to.deep.equal(['second', 'miss']);
        // What is there again may be given in the next outage.
        elapsed += TTL_MS;
        source = OUTAGE;
        expect(await ask()).to.deep.equal(['second', 'stale']);
      },
    );
  }

  for (const code of [
    ...TRANSIENT_CODES,
    'upstream_unavailable',
    'upstream_auth_error',
    'plugin_unavailable',
    'queue_full',
  ] as const) {
    const isOutage = code.startsWith('upstream_') ? code !== 'upstream_auth_error' : code === 'bot_check';
    const each = code === 'upstream_unavailable' ? it : once;
    each(
      `${isOutage ? 'are' : 'are not'} returned for a day while the source answers ${code}, which is asked each time`,
      async () => {
        await ask();
        elapsed += TTL_MS;
        source = new GatewayError(code, 'Not now.');
        for (const count of [2, 3]) {
          expect((await ask())[0]).to.equal(isOutage ? 'first' : code);
          expect(fetches).to.equal(count);
        }
        elapsed += DAY_MS - TTL_MS - 1;
        expect((await ask())[0]).to.equal(isOutage ? 'first' : code);
        elapsed += 1;
        expect((await ask())[0]).to.equal(code);
      },
    );
  }

  once('stay fresh for their time, and partial ones for half a minute', async () => {
    await ask();
    elapsed += TTL_MS - 1;
    source = { partial: 'second' };
    expect(await ask()).to.deep.equal(['first', 'hit']);
    elapsed += 1;
    expect(await ask()).to.deep.equal(['second', 'miss']);
    elapsed += BRIEF_MS - 1;
    source = 'third';
    expect(await ask()).to.deep.equal(['second', 'hit']);
    elapsed += 1;
    expect(await ask()).to.deep.equal(['third', 'miss']);
  });

  it('replace a refusal as soon as a refresh finds the item again', async () => {
    const url = productLink(1);
    source = new GatewayError('removed', 'It is gone.');
    expect((await ask(url))[0]).to.equal('removed');
    source = 'again';
    expect((await ask(url))[0]).to.equal('removed');
    const refresh = await app.extract(key, { url, force_async: true });
    await app.ended(key, refresh.json.data.job.job_id);
    expect(await ask(url)).to.deep.equal(['again', 'hit']);
    // A refusal that is found by a refresh takes the place of the result, likewise.
    source = new GatewayError('private', 'It is private.');
    const second = await app.extract(key, { url, force_async: true });
    await app.ended(key, second.json.data.job.job_id);
    expect((await ask(url))[0]).to.equal('private');
  });

  it('stay withdrawn when an older job is polled', async () => {
    const url = productLink(2);
    const first = await app.extract(key, { url, async_mode: true });
    const job = first.json.data.job.job_id;
    await app.ended(key, job);
    elapsed += 1_000;
    source = new GatewayError('removed', 'It is gone.');
    const second = await app.extract(key, { url, force_async: true });
    await app.ended(key, second.json.data.job.job_id);
    const poll = async () => (await app.poll(key, job)).json.data.product.name;
    expect(await poll()).to.equal('first');
    expect((await ask(url))[0]).to.equal('removed');
    elapsed += BRIEF_MS + 1_000;
    source = OUTAGE;
    expect(await poll()).to.equal('first');
    expect((await ask(url))[0]).to.equal('upstream_error');
  });
});

describe('cached results of several processes', () => {
  it('are not read from a shared cache that could not forget withdrawn items', async () => {
    const memory = createMemoryCache();
    const cache = { ...memory, delete: async () => {} };
    let elapsed = 0;
    let source: GatewayError | undefined;
    const gateway = await createGateway({
      plugins: [
        {
          use: invented({
            async extract({ link }) {
              if (source) throw source;
              return inventedExtraction(link.id);
            },
          }),
        },
      ],
      services: { cache, clock: { ...systemClock, now: () => systemClock.now() + elapsed } },
      cacheTtlMs: TTL_MS,
    });
    try {
      await gateway.extract({ url: LINK });
      elapsed += TTL_MS;
      for (const [failure, code] of [
        [new GatewayError('removed', 'It is gone.'), 'removed'],
        [OUTAGE, 'upstream_error'],
      ] as const) {
        source = failure;
        const error = await gateway.extract({ url: LINK }).catch((thrown: unknown) => thrown);
        expect(error).to.include({ code });
        elapsed += BRIEF_MS + 1;
      }
    } finally {
      await gateway.close();
    }
  });

  it('end a refusal after a job of another process has found the item', async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-refusals-'));
    const state = await openState({ dataDir, clock: systemClock, logger: silentLogger });
    let isThere = false;
    const open = (workers: number) =>
      createGateway({
        plugins: [
          {
            use: inventedShop({
              async extract({ link }) {
                if (!isThere) throw new GatewayError('removed', 'It is gone.');
                return inventedProduct(link.id);
              },
            }),
          },
        ],
        jobs: { store: state.jobs, workers },
      });
    const [here, there] = [await open(0), await open(1)];
    try {
      const url = productLink(3);
      expect(await here.extract({ url }).catch((thrown: unknown) => thrown)).to.include({ code: 'removed' });
      isThere = true;
      const submission = await here.submitExtraction({ url, owner: 'a', refresh: true });
      if (!('job' in submission)) throw new Error('a refresh was not answered with a job');
      const { job } = submission;
      await until(async () => (await here.extractionJob(job.id, 'a')).state === 'completed');
      expect((await here.extract({ url })).cache).to.equal('hit');
    } finally {
      await Promise.all([here.close(), there.close()]);
      await state.close();
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
