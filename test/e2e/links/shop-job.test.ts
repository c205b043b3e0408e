/** A background shop link through a real browser. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { browsersOf, chromiumFor, processesOf } from '../../support/browser/chromium.js';
import {
  type ProxyAnswer,
  type ProxyRequest,
  type ReplayingProxy,
  startReplayingProxy,
} from '../../support/links/replaying-proxy.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const ID = '1732400000000033333';
const LINK = `https://www.tiktok.com/shop/pdp/quilt-of-washed-linen/${ID}?utm_source=copy`;
const REVIEWS = '/api/shop/pdp_desktop/get_product_reviews';
const FIVE_STAR = 45;
const ONE_STAR = 3;
const HTML = { 'content-type': 'text/html; charset=utf-8' };

/**
 * As the shop's own page does, its code wraps `fetch` and signs every question with what only the page knows; the site
 * refuses a question without that.
 */
const SIGNING = `<script>
  const token = String(Math.random()).slice(2);
  document.cookie = 'page_token=' + token + '; path=/';
  const send = window.fetch;
  window.fetch = (path, init) => send(path + '?signature=' + [...token].reverse().join('') + '-' + init.body.length, init);
</script>`;

const fixture = (file: string) =>
  readFileSync(path.join(packageRoot, 'plugins', 'clip_shop', 'fixtures', file), 'utf8');
const PAGE = fixture('model-2026/page.html').replace('</head>', () => `${SIGNING}</head>`);
const WALL = fixture('security-check/check.html');

/** Only a real browser sends client hints. */
const isBrowser = ({ headers }: ProxyRequest) => headers['sec-ch-ua'] !== undefined;

function isSigned({ headers, url, body }: ProxyRequest): boolean {
  const token = /page_token=(\d+)/.exec(headers.cookie ?? '')?.[1];
  return token !== undefined && url.searchParams.get('signature') === `${[...token].reverse().join('')}-${body.length}`;
}

function reviews({ body }: ProxyRequest): ProxyAnswer {
  const { page_start: page, page_size: size, review_filter: filter } = JSON.parse(body);
  const stars: number = filter.filter_value;
  const all = Array.from({ length: stars === 5 ? FIVE_STAR : ONE_STAR }, (_, index) => ({
    review_id: `80${stars * 1000 + index}`,
    product_id: ID,
    review_rating: stars,
    review_text: `${stars} stars, ${index}`,
    review_time: String(1_780_000_000_000 - index * 60_000),
  }));
  const data = {
    has_more: page * size < all.length,
    product_reviews: all.slice((page - 1) * size, page * size),
    review_ratings: { rating_result: { 5: String(FIVE_STAR), 1: String(ONE_STAR) } },
  };
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code: 0, data }) };
}

describe('a background shop link through a real browser', () => {
  let proxy: ReplayingProxy;
  let gateway: GatewayProcess;
  let release: () => void;

  before(async function () {
    const { path: browserPath } = await chromiumFor(this);
    const opened = new Promise<void>((resolve) => {
      release = resolve;
    });
    proxy = await startReplayingProxy({
      answer: async (request) => {
        const { pathname } = request.url;
        if (pathname === REVIEWS) return isSigned(request) ? reviews(request) : { status: 403 };
        if (!pathname.includes(ID)) return { status: 404 };
        // Plain requests meet a wall, and the browser is kept waiting until the job was seen at work.
        if (!isBrowser(request)) return { headers: HTML, body: WALL };
        await opened;
        return { headers: HTML, body: PAGE };
      },
    });
    gateway = await startGatewayProcess({
      proxy,
      environment: { BROWSER: 'on', BROWSER_PATH: browserPath },
    });
  });

  after(async () => {
    await gateway?.kill();
    await proxy?.close();
  });

  it('is queued, processed and completed, with the reviews that the page requested', async () => {
    const { key } = await gateway.makeKey();
    const body = { url: LINK, async_mode: true, clip_review_limit: 42 };
    const queued = await gateway.extract(key, body);
    expect(queued.status, queued.text).to.equal(200);
    expect(queued.json.data).to.nested.include({ 'job.status': 'queued', 'job.product_id': ID, product: null });

    const target = `/v1/extract/jobs/${queued.json.data.job.job_id}`;
    const poll = () => gateway.request(target, { headers: { authorization: `Bearer ${key}` } });
    await until(async () => (await poll()).json.data.job.status === 'processing', 60);
    await until(() => proxy.requests.some(isBrowser));
    const groups = browsersOf(gateway.pid);
    expect(groups).to.have.length(1);
    release();

    const done = await until(async () => {
      const answer = await poll();
      return answer.headers.get('retry-after') === null && answer;
    }, 60);
    expect(done.json.data.job, done.text).to.include({ status: 'completed', attempts: 1, error: null });
    expect(done.json).to.include({ ok: true, platform: 'clip_shop', extraction_method: 'browser' });
    const { product, reviews: found } = done.json.data;
    expect(product).to.include({ product_id: ID, name: 'Quilt of washed linen, 140 x 200 cm' });
    expect(found.five_star).to.have.length(42);
    const texts = found.one_star.map(({ text }: { text: string }) => text);
    for (let index = 0; index < ONE_STAR; index += 1) expect(texts).to.include(`1 stars, ${index}`);

    const asked = proxy.requests.filter(({ url }) => url.pathname === REVIEWS);
    expect(asked.length).to.be.greaterThan(3);
    expect(asked.every(isSigned)).to.equal(true);

    // The same link is now answered at once, and the browser ends with the gateway.
    const cached = await gateway.extract(key, body);
    expect(cached.json.data.reviews).to.deep.equal(found);
    expect(await gateway.stop()).to.equal(0);
    expect(processesOf(groups)).to.deep.equal([]);
  });
});
