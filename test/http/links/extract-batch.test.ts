/** Batches of links: items, slots, refusals and the deadline. */

import { expect } from 'chai';
import { type Clock, GatewayError, systemClock } from 'mediagate';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

/** What a batch has. */
const BATCH_MS = 30_000;

const itemLink = (id: number) => `https://invented.example/item/${id}`;

describeOnStacks('POST /v1/extract/batch', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let fetches: string[];
  let running: number;
  let most: number;
  let aborted: number;

  beforeEach(async () => {
    [fetches, running, most, aborted] = [[], 0, 0, 0];
    app = await startApp({
      stack,
      extractor: {
        audio: true,
        async extract({ link, signal }) {
          fetches.push(`item ${link.id}`);
          running += 1;
          most = Math.max(most, running);
          await new Promise<void>((resolve) => {
            const timer = setTimeout(resolve, link.id.startsWith('90') ? 10_000 : 20);
            signal.addEventListener('abort', () => {
              aborted += 1;
              clearTimeout(timer);
              resolve();
            });
          });
          running -= 1;
          if (link.id === '404') throw new GatewayError('removed', 'It is gone.', { reason: 'Not available' });
          if (link.id === '500') throw new TypeError('secret of the plugin');
          return inventedExtraction(link.id, { audio: true });
        },
        resolveAudio: async () => ({ url: 'https://cdn.example/a.m4a' }),
      },
      shop: {
        extract: async ({ link }) => {
          fetches.push(`product ${link.id}`);
          return inventedProduct(link.id);
        },
        resolve: async ({ link }) => new URL(link.id === 'item' ? LINK : productLink(link.id)),
      },
      jobs: { workers: 0, maxActive: 3 },
    });
    key = await app.makeKey();
  });
  afterEach(() => app.close());

  once('answers one item for each link, in their order: document, job or error', async () => {
    const urls = [
      `${itemLink(1)}?a`,
      productLink(1),
      'not a link',
      itemLink(404),
      'https://nobody.example/x',
      itemLink(500),
      'https://baz.example/2',
      'https://baz.example/item',
      '\u{1F600}\u0000"\ud800',
      '',
      '__proto__',
    ];
    const { status, json, text, headers } = await app.batch(key, { urls, clip_review_limit: 5, async_mode: false });
    expect([status, headers.get('content-type')]).to.deep.equal([200, 'application/json; charset=utf-8']);
    expect(Object.keys(json)).to.deep.equal(['ok', 'count', 'succeeded', 'queued', 'failed', 'items']);
    expect(json).to.include({ ok: true, count: 11, succeeded: 2, queued: 2, failed: 7 });
    expect(json.items.map(({ index, url }: { index: number; url: string }) => [index, url])).to.deep.equal(
      urls.map((url, index) => [index, url]),
    );
    const [document, job, noLink, removed, foreign, broken, shortJob, shortItem, ...odd] = json.items;
    expect(document).to.include({ ok: true, status: 'completed' });
    expect(document.result).to.deep.include({ ok: true, platform: 'invented', input_url: urls[0] });
    expect(document.result.data.common.title).to.equal('Item 1');
    expect(document.result.data.media.download_links.mp3).to.match(/\.mp3$/);
    expect(document.result.limitations).to.deep.equal(['review_options_ignored: only shop links have reviews']);
    expect(job).to.include({ ok: true, status: 'queued' });
    expect(job.result).to.deep.include({ ok: true, input_url: urls[1], limitations: [] });
    expect(job.result.data.job).to.include({ status: 'queued', product_id: '1' });
    expect(noLink).to.deep.equal({
      index: 2,
      url: 'not a link',
      ok: false,
      status: 'failed',
      error: {
        message:
          'url does not begin with http:// or https://. Send an absolute http or https link of a supported platform.',
        type: 'invalid_request_error',
        param: 'url',
        code: 'invalid_url',
        retryable: false,
      },
    });
    expect(removed).to.deep.include({ ok: false, platform: 'invented' });
    expect(removed.error).to.include({ code: 'removed', type: 'extraction_failed', reason: 'Not available' });
    expect(foreign.error).to.include({ code: 'unsupported_platform' });
    expect(broken.error).to.include({ code: 'upstream_changed', type: 'source_failed' });
    expect(text).not.to.include('secret of the plugin');
    expect(shortJob.result.data.job).to.include({ product_id: '2' });
    expect(shortItem.result.data.common.title).to.equal('Item 7');
    for (const item of odd) expect(item.error).to.include({ code: 'invalid_url', type: 'invalid_request_error' });
  });

  once('shares one extraction and one job between links to the same item', async () => {
    const urls = [1, 2, 3, 4].flatMap((n) => [`${itemLink(1)}?n=${n}`, `${productLink(1)}?n=${n}`]);
    const { json } = await app.batch(key, { urls: [...urls, 'https://baz.example/1'], force_async: true });
    expect(json).to.include({ succeeded: 4, queued: 5, failed: 0 });
    const jobs = json.items.flatMap(({ result }: { result: { data: { job?: { job_id: string } } } }) =>
      result.data.job ? [result.data.job.job_id] : [],
    );
    expect(new Set(jobs).size).to.equal(1);
    expect(json.items[6].result.input_url).to.equal(`${itemLink(1)}?n=4`);
    expect(fetches).to.deep.equal(['item 1']);
  });

  once('returns cached shop links, and fetches them anew only with force_async', async () => {
    await app.extract(key, { url: productLink(1) });
    const cached = await app.batch(key, { urls: [productLink(1)] });
    expect(cached.json).to.include({ succeeded: 1, queued: 0 });
    const forced = await app.batch(key, { urls: [productLink(1)], force_async: true });
    expect(forced.json).to.include({ succeeded: 0, queued: 1 });
    expect(fetches).to.deep.equal(['product 1']);
  });

  once('works on eight links at a time', async () => {
    const { json } = await app.batch(key, { urls: Array.from({ length: 50 }, (_, n) => itemLink(n + 1)) });
    expect(json).to.include({ count: 50, succeeded: 50 });
    expect(most).to.equal(8);
  });

  it('takes slots for all links or none, and states the needed and free ones', async () => {
    const limited = await app.makeKey({ rpm: 5 });
    const four = await app.batch(limited, { urls: [itemLink(1), itemLink(1), 'nonsense', 'https://nobody.example/'] });
    expect([four.status, four.headers.get('x-ratelimit-remaining-requests')]).to.deep.equal([200, '1']);
    const two = await app.batch(limited, { urls: [itemLink(2), itemLink(3)] });
    expect([two.status, two.json.error.code]).to.deep.equal([429, 'rate_limit_exceeded']);
    expect(two.json.error.message).to.include('It has 1 left; 2 are needed');
    expect(Number(two.headers.get('retry-after'))).to.be.within(1, 60);
    expect(two.headers.get('x-ratelimit-remaining-requests')).to.equal('1');
    expect((await app.batch(limited, { urls: [itemLink(2)] })).status).to.equal(200);
    expect(fetches).to.deep.equal(['item 1', 'item 2']);

    const never = await app.batch(await app.makeKey({ rpm: 5 }), { urls: Array(6).fill(itemLink(1)) });
    expect([never.status, never.headers.get('x-should-retry')]).to.deep.equal([429, 'false']);
    expect(never.headers.get('retry-after')).to.equal(null);
    expect(never.json.error.message).to.match(/at most 5 links/);
  });

  it('accepts exactly as many parallel batches as there are slots', async () => {
    const limited = await app.makeKey({ rpm: 10 });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => app.batch(limited, { urls: [itemLink(1), itemLink(2), itemLink(3)] })),
    );
    expect(answers.filter(({ status }) => status === 200)).to.have.length(3);
  });

  once('refuses a batch only of jobs if the queue is full, free of charge, and others link by link', async () => {
    await app.extract(key, { url: productLink(9) });
    const limited = await app.makeKey({ rpm: 10 });
    const some = await app.batch(limited, { urls: [1, 2, 3, 4].map(productLink) });
    expect(some.json).to.include({ queued: 3, failed: 1 });
    expect(some.json.items.find(({ ok }: { ok: boolean }) => !ok).error).to.include({
      code: 'queue_full',
      type: 'overloaded_error',
      retryable: true,
    });
    const none = await app.batch(limited, { urls: [productLink(5), 'https://baz.example/6'] });
    expect([none.status, none.json.error.code]).to.deep.equal([503, 'queue_full']);
    expect(Number(none.headers.get('retry-after'))).to.be.greaterThan(0);
    const mixed = await app.batch(limited, { urls: [productLink(5), productLink(9)] });
    expect(mixed.json).to.include({ succeeded: 1, failed: 1 });
    expect(mixed.headers.get('x-ratelimit-remaining-requests')).to.equal('4');
  });

  once('refuses an invalid body with the name and the place of the field, free of charge', async () => {
    const limited = await app.makeKey({ rpm: 1 });
    const cases: [unknown, string, RegExp][] = [
      [{}, 'missing_required_parameter', /urls is missing/],
      [{ urls: null }, 'missing_required_parameter', /urls is missing/],
      [{ urls: [] }, 'invalid_value', /1 to 50/],
      [{ urls: LINK }, 'invalid_value', /list of 1 to 50/],
      [{ urls: { 0: LINK, length: 1 } }, 'invalid_value', /list/],
      [{ urls: Array(51).fill(LINK) }, 'invalid_value', /1 to 50/],
      [{ urls: Array(15_000).fill('') }, 'invalid_value', /1 to 50/],
      [{ urls: [LINK, LINK, 7] }, 'invalid_value', /urls\[2\] is no link/],
      [{ urls: [LINK, null] }, 'invalid_value', /urls\[1\] is no link/],
      [{ urls: [[LINK]] }, 'invalid_value', /urls\[0\] is no link/],
      ['{"urls":[{"__proto__":"https://invented.example/item/7"}]}', 'invalid_value', /urls\[0\]/],
      ['{"__proto__":{"urls":["https://invented.example/item/7"]}}', 'missing_required_parameter', /urls is missing/],
    ];
    for (const [body, code, message] of cases) {
      const answer = await app.batch(limited, body);
      const { error } = answer.json;
      expect([answer.status, error.code, error.param], answer.text).to.deep.equal([400, code, 'urls']);
      expect(error.message).to.match(message);
    }
    for (const [member, value] of Object.entries({ clip_review_limit: 101, force_async: 'true', clip_sort: 'x' })) {
      const answer = await app.batch(limited, { urls: [LINK], [member]: value });
      expect([answer.status, answer.json.error.param]).to.deep.equal([400, member]);
    }
    const large = await app.batch(limited, { urls: [LINK], padding: 'x'.repeat(2 * 1024 * 1024) });
    expect([large.status, large.json.error.code]).to.deep.equal([413, 'request_too_large']);
    expect((await app.batch(limited, { urls: [LINK] })).status).to.equal(200);
  });

  once('accepts fifty links of the full length, with every character escaped', async () => {
    const url = `${LINK}?q=${'é'.repeat(2048 - LINK.length - 3)}`;
    const escaped = url.replace(/./gs, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
    const answer = await app.batch(key, `{"urls":[${Array(50).fill(`"${escaped}"`).join(',')}]}`);
    expect(answer.status, answer.text.slice(0, 200)).to.equal(200);
    expect(answer.json).to.nested.include({ succeeded: 50, 'items[49].url': url });
    const longer = await app.batch(key, { urls: [`${url}x`] });
    expect(longer.json.items[0].error).to.include({ code: 'invalid_url' });
  });

  once('answers in time for links that take too long, and abandons them', async () => {
    const lastBegun = Promise.withResolvers<void>();
    const early: Clock = {
      ...systemClock,
      async sleep(ms, signal) {
        if (ms !== BATCH_MS) return systemClock.sleep(ms, signal);
        await lastBegun.promise;
        signal?.throwIfAborted();
      },
    };
    let [begun, left] = [0, 0];
    const other = await startApp({
      stack,
      clock: early,
      shop: {},
      extractor: {
        extract({ link, signal }) {
          begun += 1;
          // Eight are under way at a time: the first has been answered, and time is up.
          if (begun === 9) lastBegun.resolve();
          if (link.id === '1') return Promise.resolve(inventedExtraction('1'));
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              left += 1;
              reject(signal.reason);
            });
          });
        },
      },
    });
    try {
      const urls = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(itemLink);
      const { json } = await other.batch(await other.makeKey(), { urls: [...urls, productLink(1)] });
      expect(json).to.include({ succeeded: 1, queued: 1, failed: 9 });
      for (const index of [1, 9]) {
        expect(json.items[index].error).to.include({
          code: 'upstream_timeout',
          type: 'source_timeout',
          message: 'No answer within the 30 s of a batch.',
          retryable: true,
        });
      }
      expect(left).to.equal(8);
    } finally {
      await other.close();
    }
  });

  once('stops the work when the client disconnects', async () => {
    const gone = new AbortController();
    const call = fetch(`${app.url}/v1/extract/batch`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ urls: Array.from({ length: 10 }, (_, n) => itemLink(900 + n)) }),
      signal: gone.signal,
    }).catch(() => undefined);
    await until(() => fetches.length >= 8);
    gone.abort();
    await call;
    await until(() => aborted >= 8);
    expect(fetches).to.have.length(8);
  });
});
