/** Background jobs of links over HTTP. */

import { expect } from 'chai';
import { type Extraction, type Extractor, GatewayError, systemClock } from 'mediagate';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedExtractor } from '../../support/links/invented-plugin.js';
import { inventedProduct, inventedShopExtractor, productLink } from '../../support/links/invented-shop.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

const UNKNOWN = `exjob_${'0'.repeat(32)}`;

/** A shop whose answers the test lets out one by one. */
function createShelf() {
  const fetches: string[] = [];
  const doors: ((outcome: Extraction | Error) => void)[] = [];
  return {
    fetches,
    /** Ends the oldest open fetch, which is waited for. */
    async deliver(outcome: Extraction | Error): Promise<void> {
      await until(() => doors.length);
      doors.shift()?.(outcome);
    },
    extract: ({ link, signal }: { link: { id: string }; signal: AbortSignal }) =>
      new Promise<Extraction>((resolve, reject) => {
        fetches.push(link.id);
        doors.push((outcome) => (outcome instanceof Error ? reject(outcome) : resolve(outcome)));
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
  };
}

describeOnStacks('extraction jobs over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let shelf: ReturnType<typeof createShelf>;

  beforeEach(async () => {
    shelf = createShelf();
    app = await startApp({
      stack,
      shop: {
        extract: (call) => shelf.extract(call),
        resolve: async ({ link }) => new URL(link.id === 'item' ? LINK : productLink(link.id)),
      },
      jobs: { maxActive: 2 },
    });
    key = await app.makeKey();
  });
  afterEach(() => app.close());

  it('answer a cache miss at once with a job, and the job with the document after its end', async () => {
    const url = `${productLink(1)}?u_code=mine`;
    const queued = await app.extract(key, { url, async_mode: true });
    expect(queued.status).to.equal(200);
    expect(queued.headers.get('retry-after')).to.equal('3');
    const { job, ...data } = queued.json.data;
    expect({ ...queued.json, data }).to.deep.equal({
      ok: true,
      platform: 'bazaar',
      input_url: url,
      extraction_method: 'background_job',
      data: { queue: { active: 1, max_active: 2 }, product: null, reviews: { five_star: [], one_star: [] } },
      limitations: [],
      limitation_messages: [],
    });
    expect(job.job_id).to.match(/^exjob_[0-9a-f]{32}$/);
    expect(job).to.deep.include({
      status: 'queued',
      product_id: '1',
      started_at: null,
      finished_at: null,
      attempts: 0,
      error: null,
      status_url: `/v1/extract/jobs/${job.job_id}`,
      poll_after_seconds: 3,
    });
    expect(job.created_at).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

    await until(() => shelf.fetches.length);
    const running = await app.poll(key, job.job_id);
    expect(running.json.data.job).to.deep.include({ status: 'processing', attempts: 1, poll_after_seconds: 3 });
    expect(running.headers.get('retry-after')).to.equal('3');
    // The job may be shared with others, and their own link is nobody else's business.
    expect(running.json.input_url).to.equal(productLink(1));

    await shelf.deliver(inventedProduct('1'));
    const done = await app.ended(key, job.job_id);
    expect(done.json).to.deep.include({ ok: true, extraction_method: 'shelf', input_url: productLink(1) });
    expect(done.json.data.job).to.deep.include({ status: 'completed', error: null, poll_after_seconds: 0 });
    expect(done.json.data.job.finished_at >= done.json.data.job.started_at).to.equal(true);
    expect(done.json.data).to.deep.nested.include({
      queue: { active: 0, max_active: 2 },
      'product.name': 'Product 1',
      'reviews.five_star[0].id': 'r1',
    });

    const cached = await app.extract(key, { url, async_mode: true });
    expect(cached.json.data).not.to.have.property('job');
    expect(cached.json).to.deep.nested.include({ 'data.product': done.json.data.product, limitations: [] });
    expect(cached.headers.get('x-cache')).to.equal('hit');
    expect(Number(cached.headers.get('age'))).to.be.below(30);
    expect(shelf.fetches).to.deep.equal(['1']);
  });

  once('match a link once with each extractor, without the state of its methods', async () => {
    const asked: string[] = [];
    const counting = (match: Extractor['match']): Partial<Extractor> => ({
      match(url) {
        asked.push(url.href);
        return match(url);
      },
      methods() {
        asked.push('methods');
        return [];
      },
    });
    const counted = await startApp({
      stack,
      extractor: counting(inventedExtractor().match),
      shop: {
        ...counting(inventedShopExtractor().match),
        resolve: async () => new URL(LINK),
        // The last two are not ready before the test is over.
        extract: ({ link, signal }) =>
          link.id < '8' ? Promise.resolve(inventedProduct(link.id)) : untilAborted(signal),
      },
      jobs: { maxActive: 2 },
    });
    /** Of the two extractors the shop is the second; only what is no item of the first gets to it. */
    const askedBy = async (work: () => Promise<unknown>) => {
      asked.length = 0;
      await work();
      return asked.splice(0);
    };
    try {
      const mine = await counted.makeKey();
      const foreign = 'https://nobody.example/x';
      const extract = (url: string, more = {}) => counted.extract(mine, { url, ...more });
      expect(await askedBy(() => extract(LINK))).to.deep.equal([LINK]);
      expect(await askedBy(() => extract(LINK))).to.deep.equal([]);
      expect(await askedBy(() => extract(foreign))).to.deep.equal([foreign, foreign]);
      const job = async () => {
        const queued = await extract(productLink(1), { async_mode: true });
        return counted.ended(mine, queued.json.data.job.job_id);
      };
      expect(await askedBy(job)).to.deep.equal([productLink(1), productLink(1)]);
      expect(await askedBy(() => extract(productLink(1), { async_mode: true, clip_sort: 'latest' }))).to.deep.equal([]);
      const short = 'https://baz.example/item';
      expect(await askedBy(() => extract(short, { async_mode: true }))).to.deep.equal([short, short]);
      const urls = [2, 3, 4].map(productLink);
      const batch = () => counted.batch(mine, { urls: [...urls, ...urls, 'https://nobody.example/y'] });
      const each = [...urls, 'https://nobody.example/y'];
      expect((await askedBy(batch)).sort()).to.deep.equal([...each, ...each].sort());
      await until(async () => (await counted.state.jobs.active('extraction')) === 0);
      await counted.batch(mine, { urls: [8, 9].map(productLink) });
      // The queue is full: each link is looked at before the batch is accepted.
      const refused = 'https://nobody.example/z';
      expect(await askedBy(() => counted.batch(mine, { urls: [refused] }))).to.deep.equal([refused, refused]);
    } finally {
      await counted.close();
    }
  });

  it('make one job of twenty simultaneous refreshes, and replace the cached result', async () => {
    const first = app.extract(key, { url: productLink(1) });
    await shelf.deliver(inventedProduct('1', 'old'));
    expect((await first).headers.get('x-cache')).to.equal('miss');

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        app.extract(key, { url: `${productLink(1)}?n=${index}`, force_async: true }),
      ),
    );
    const ids = new Set(answers.map(({ json }) => json.data.job.job_id));
    expect(ids.size).to.equal(1);
    expect(answers.map(({ json }) => json.input_url)[7]).to.equal(`${productLink(1)}?n=7`);
    expect((await app.extract(key, { url: productLink(1), async_mode: true })).json.data.product.name).to.equal('old');

    await shelf.deliver(inventedProduct('1', 'new'));
    const [id = ''] = ids;
    expect((await app.ended(key, id)).json.data.product.name).to.equal('new');
    expect((await app.extract(key, { url: productLink(1) })).json.data.product.name).to.equal('new');
    expect(shelf.fetches).to.deep.equal(['1', '1']);
  });

  once('separate answers of different options', async () => {
    const five = await app.extract(key, { url: productLink(1), async_mode: true, clip_review_limit: 5 });
    const hundred = await app.extract(key, { url: productLink(1), async_mode: true, clip_review_limit: 100 });
    expect(five.json.data.job.job_id).not.to.equal(hundred.json.data.job.job_id);
    await shelf.deliver(inventedProduct('1', 'one'));
    await shelf.deliver(inventedProduct('1', 'other'));
    const names = await Promise.all(
      [five, hundred].map(async ({ json }) => (await app.ended(key, json.data.job.job_id)).json.data.product.name),
    );
    expect(names).to.have.members(['one', 'other']);
  });

  once('return the reason of a failed job like other link-data errors', async () => {
    const { json } = await app.extract(key, { url: productLink(1), async_mode: true });
    await shelf.deliver(
      new GatewayError('bot_check', 'The source asks for a check.', {
        reason: 'Slide to verify',
        attempts: [{ method: 'page', outcome: 'bot_check', ms: 3 }],
        cause: new Error('cookie of the source'),
      }),
    );
    const failed = await app.ended(key, json.data.job.job_id);
    expect([failed.status, failed.json.ok]).to.deep.equal([200, false]);
    const error = {
      message: 'The source asks for a check.',
      type: 'source_failed',
      param: null,
      code: 'bot_check',
      reason: 'Slide to verify',
      retryable: true,
      attempts: [{ method: 'page', outcome: 'bot_check', ms: 3 }],
    };
    expect(failed.json.error).to.deep.equal(error);
    expect(failed.json.data.job).to.deep.include({ status: 'failed', error, poll_after_seconds: 0 });
    expect(failed.json.data).to.deep.include({ product: null, reviews: { five_star: [], one_star: [] } });
    expect(failed.text).not.to.include('cookie of the source');

    const again = await app.extract(key, { url: productLink(1), async_mode: true });
    expect(again.json.data.job.job_id).not.to.equal(json.data.job.job_id);
    await shelf.deliver(new GatewayError('removed', 'The item was removed.'));
    expect((await app.ended(key, again.json.data.job.job_id)).json.error).to.include({
      type: 'extraction_failed',
      code: 'removed',
      retryable: false,
    });
  });

  once('return a recent refusal at once, as without async_mode, and drop withdrawn items', async () => {
    const limited = await app.makeKey({ rpm: 3 });
    const first = app.extract(limited, { url: productLink(1) });
    await shelf.deliver(inventedProduct('1'));
    await first;
    const refreshed = await app.extract(limited, { url: productLink(1), force_async: true });
    await shelf.deliver(new GatewayError('removed', 'The item was removed.'));
    await app.ended(key, refreshed.json.data.job.job_id);
    const refused = await app.extract(limited, { url: productLink(1), async_mode: true });
    expect([refused.status, refused.json.error.code]).to.deep.equal([422, 'removed']);
    expect(refused.headers.get('x-ratelimit-remaining-requests')).to.equal('0');
    expect(shelf.fetches).to.deep.equal(['1', '1']);
  });

  it('answer 503 if the queue is full, free of charge, and let others join queued jobs', async () => {
    const limited = await app.makeKey({ rpm: 3 });
    for (const id of [1, 2]) await app.extract(limited, { url: productLink(id), async_mode: true });
    for (const body of [
      { url: productLink(3), async_mode: true },
      { url: productLink(3), force_async: true },
      { url: 'https://baz.example/3', async_mode: true },
    ]) {
      const full = await app.extract(limited, body);
      expect([full.status, full.json.error.code, full.json.error.type]).to.deep.equal([
        503,
        'queue_full',
        'overloaded_error',
      ]);
      expect(Number(full.headers.get('retry-after'))).to.be.greaterThan(0);
      expect(full.json).to.include({ ok: false, platform: 'bazaar', input_url: body.url });
    }
    const joined = await app.extract(limited, { url: productLink(2), async_mode: true });
    expect(joined.headers.get('x-ratelimit-remaining-requests')).to.equal('0');
    expect(joined.json.data.queue).to.deep.equal({ active: 2, max_active: 2 });
    const over = await app.extract(limited, { url: productLink(2), async_mode: true });
    expect([over.status, over.json.error.code]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(Number(over.headers.get('retry-after'))).to.be.within(1, 60);
    expect(over.json).to.include({ ok: false, platform: 'bazaar', input_url: productLink(2) });
  });

  it('take exactly the available slots for 40 parallel jobs', async () => {
    const limited = await app.makeKey({ rpm: 7 });
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => app.extract(limited, { url: productLink(1), async_mode: true })),
    );
    expect(answers.filter(({ status }) => status === 200)).to.have.length(7);
    expect(answers.filter(({ status }) => status === 429)).to.have.length(33);
    expect(new Set(answers.flatMap(({ json }) => json.data?.job.job_id ?? [])).size).to.equal(1);
  });

  once('resolve a short link first, with one slot: a product becomes a job, anything else an answer', async () => {
    const limited = await app.makeKey({ rpm: 2 });
    const job = await app.extract(limited, { url: 'https://baz.example/5', async_mode: true });
    expect(job.json.data.job).to.include({ status: 'queued', product_id: '5' });
    expect(job.headers.get('x-ratelimit-remaining-requests')).to.equal('1');
    const item = await app.extract(limited, { url: 'https://baz.example/item', async_mode: true, force_async: true });
    expect(item.json).to.deep.nested.include({
      'data.common.title': 'Item 7',
      limitations: [
        'async_mode_ignored: the link was extracted at once',
        'force_async_ignored: the link was extracted at once',
      ],
    });
    expect(item.headers.get('x-ratelimit-remaining-requests')).to.equal('0');
  });

  once('keep every character of a document', async () => {
    const name = 'a\u0000b \ud800 "\\ </script> \u2028 \u{1F600}';
    const { json } = await app.extract(key, { url: productLink(1), async_mode: true });
    await shelf.deliver(inventedProduct('1', name));
    expect((await app.ended(key, json.data.job.job_id)).json.data.product.name).to.equal(name);
  });

  once('are visible only to the accounts that requested them', async () => {
    const other = await app.makeKey({}, { accountId: 'other' });
    const { json } = await app.extract(key, { url: productLink(1), async_mode: true });
    const id = json.data.job.job_id;
    const foreign = await app.poll(other, id);
    const unknown = await app.poll(other, UNKNOWN);
    const { request_id: _, ...foreignError } = foreign.json.error;
    const { request_id: __, ...unknownError } = unknown.json.error;
    expect([foreign.status, foreignError]).to.deep.equal([404, unknownError]);
    expect([unknown.status, unknownError.code, unknown.json.ok]).to.deep.equal([404, 'job_not_found', false]);
    await app.extract(other, { url: productLink(1), async_mode: true });
    expect((await app.poll(other, id)).status).to.equal(200);
    expect((await app.request(`/v1/extract/jobs/${id}`)).status).to.equal(401);
    expect((await app.poll(await app.makeKey({ grants: ['images'] }), id)).status).to.equal(403);
    expect((await app.request(`/v1/extract/jobs/${id}`, { headers: { 'x-api-key': key } })).status).to.equal(200);
  });

  once('are cancelled with their revoked key, unless another account has joined', async () => {
    const [sameAccount, other] = [await app.makeKey(), await app.makeKey({}, { accountId: 'other' })];
    const submit = async (by: string, item: number): Promise<string> => {
      const { json } = await app.extract(by, { url: productLink(item), async_mode: true });
      return json.data.job.job_id;
    };
    const alone = await submit(key, 1);
    const joined = await submit(key, 2);
    expect(await submit(other, 2)).to.equal(joined);
    const id = key.slice('sk-mg-'.length, 'sk-mg-'.length + 8);
    expect(await app.state.keys.revoke(id, Date.now())).to.equal(true);
    expect((await app.poll(sameAccount, alone)).json.data.job.status).to.equal('cancelled');
    expect((await app.poll(sameAccount, joined)).status).to.equal(404);
    expect((await app.poll(other, joined)).json.data.job.status).to.be.oneOf(['queued', 'processing']);
    await until(() => shelf.fetches.includes('2'));
  });

  once('are cancelled for the account that asks, and completely with the last one', async () => {
    const other = await app.makeKey({}, { accountId: 'other' });
    const remove = (id: string, headers: Record<string, string>) =>
      app.request(`/v1/extract/jobs/${id}`, { method: 'DELETE', headers });
    const { json } = await app.extract(key, { url: productLink(1), async_mode: true });
    const id = json.data.job.job_id;
    await until(() => shelf.fetches.includes('1'));
    expect((await remove(id, {})).status).to.equal(401);
    const foreign = await remove(id, { 'x-api-key': other });
    expect([foreign.status, foreign.json.error.code]).to.deep.equal([404, 'job_not_found']);
    await app.extract(other, { url: productLink(1), async_mode: true });
    const left = await remove(id, { 'x-api-key': other });
    expect(left.status).to.equal(200);
    expect(left.json).to.include({ ok: false, platform: 'bazaar', extraction_method: 'background_job' });
    expect(left.json.error).to.deep.include({ code: 'cancelled', type: 'conflict_error', retryable: false });
    expect(left.json.data.job).to.include({ job_id: id, status: 'cancelled', poll_after_seconds: 0 });
    expect(left.headers.has('retry-after')).to.equal(false);
    expect((await app.poll(other, id)).status).to.equal(404);
    expect((await app.poll(key, id)).json.data.job.status).to.be.oneOf(['queued', 'processing']);

    for (let times = 0; times < 2; times += 1) {
      const cancelled = await remove(id, { authorization: `Bearer ${key}` });
      expect([cancelled.status, cancelled.json.data.job.status]).to.deep.equal([200, 'cancelled']);
      expect(cancelled.json.data.queue.active).to.equal(0);
    }
    const done = await app.extract(key, { url: productLink(2), async_mode: true });
    await until(() => shelf.fetches.includes('2'));
    await shelf.deliver(inventedProduct('1'));
    await shelf.deliver(inventedProduct('2'));
    await app.ended(key, done.json.data.job.job_id);
    const late = await remove(done.json.data.job.job_id, { 'x-api-key': key });
    expect([late.status, late.json.error.code]).to.deep.equal([409, 'job_already_terminal']);
    expect(late.headers.get('x-should-retry')).to.equal('false');
  });

  once('answer 404 to ids of every other form', async () => {
    const ids = ['x', UNKNOWN.toUpperCase(), `${UNKNOWN}%00`, '%00', '..%2f..%2fhealth', '%zz', 'exjob_', '__proto__'];
    for (const id of [...ids, `exjob_${'a'.repeat(5_000)}`, 'exjob_%F0%9F%92%A9', "exjob_'%20or%201=1--"]) {
      const answer = await app.poll(await app.makeKey(), id);
      expect([answer.status, answer.json.error.code], id.slice(0, 40)).to.deep.equal([404, 'job_not_found']);
    }
  });

  once('may be polled twenty times a second by a key, free of charge', async () => {
    const limited = await app.makeKey({ rpm: 1 });
    const { json } = await app.extract(limited, { url: productLink(1), async_mode: true });
    const id = json.data.job.job_id;
    const begun = performance.now();
    const answers: Awaited<ReturnType<typeof app.poll>>[] = [];
    const refusedOf = () => answers.filter(({ status }) => status === 429);
    // A busy machine may take more than a second for a burst.
    for (let bursts = 0; bursts < 10 && refusedOf().length === 0; bursts += 1) {
      answers.push(...(await Promise.all(Array.from({ length: 60 }, () => app.poll(limited, id)))));
    }
    const seconds = Math.ceil((performance.now() - begun) / 1_000);
    const refused = refusedOf();
    expect(answers.filter(({ status }) => status === 200)).to.have.length.within(20, 20 * (seconds + 1));
    expect(refused.length).to.be.greaterThan(0);
    expect(refused[0]?.headers.get('retry-after')).to.equal('1');
    expect((await app.poll(key, id)).status).to.equal(200);
  });

  once('return a stale answer if a job fails to refresh it, unless a refresh was requested', async () => {
    let now = Date.now();
    const clock = { ...systemClock, now: () => now, monotonic: () => now };
    const failing = { yes: false };
    const shop = await startApp({
      stack,
      clock,
      shop: {
        extract: async ({ link }) => {
          if (failing.yes) throw new GatewayError('upstream_error', 'The source failed.');
          return inventedProduct(link.id);
        },
      },
    });
    try {
      const own = await shop.makeKey();
      await shop.extract(own, { url: productLink(1) });
      failing.yes = true;
      now += 700_000;
      const sync = await shop.extract(own, { url: productLink(1) });
      expect([sync.headers.get('x-cache'), sync.headers.get('age')]).to.deep.equal(['stale', '700']);
      expect(sync.json.limitations).to.deep.equal(['stale_cache: 700 seconds old']);
      const job = await shop.extract(own, { url: productLink(1), async_mode: true });
      const done = await shop.ended(own, job.json.data.job.job_id);
      expect(done.json.data.job.status).to.equal('completed');
      expect(done.json.limitations).to.deep.equal(['stale_cache: 700 seconds old']);
      const forced = await shop.extract(own, { url: productLink(1), force_async: true });
      expect((await shop.ended(own, forced.json.data.job.job_id)).json.error.code).to.equal('upstream_error');
    } finally {
      await shop.close();
    }
  });
});
