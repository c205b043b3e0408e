/** The browser of a running gateway: reviews, challenges, memory and end. */

import { readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { browsersOf, chromiumFor, processesOf } from '../../support/browser/chromium.js';
import {
  type AnswerRequest,
  type ProxyAnswer,
  type ProxyRequest,
  type ReplayingProxy,
  startReplayingProxy,
} from '../../support/links/replaying-proxy.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';

const ID = '1732400000000033333';
const LINK = `https://shop.tiktok.com/gb/pdp/${ID}`;
const REVIEWS = '/api/shop/pdp_desktop/get_product_reviews';
const HTML = { 'content-type': 'text/html; charset=utf-8' };
const PAGE = fixture('model-2026/page.html');
const CHECK = fixture('security-check/check.html');

function fixture(file: string): string {
  return readFileSync(path.join(packageRoot, 'plugins', 'clip_shop', 'fixtures', file), 'utf8');
}

/** Only a real browser sends client hints. */
const isBrowser = ({ headers }: ProxyRequest) => headers['sec-ch-ua'] !== undefined;

/** A product with sixty reviews of five stars and two of one, page by page. */
function reviews({ body }: ProxyRequest): ProxyAnswer {
  const { page_start: page, page_size: size, review_filter: filter } = JSON.parse(body);
  const stars: number = filter.filter_value;
  const all = Array.from({ length: stars === 5 ? 60 : 2 }, (_, index) => ({
    review_id: `90${stars * 1000 + index}`,
    product_id: ID,
    review_rating: stars,
    review_text: `stand-in ${stars} ${index}`,
    review_time: String(1_780_000_000_000 - index * 60_000),
  }));
  const product_reviews = all.slice((page - 1) * size, page * size);
  const data = {
    has_more: page * size < all.length,
    product_reviews,
    review_ratings: { rating_result: { 5: '60', 1: '2' } },
  };
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code: 0, data }) };
}

/** The shop, which shows its page to whom it likes. */
function shop(show: (request: ProxyRequest) => ProxyAnswer): AnswerRequest {
  return (request) => {
    const { pathname, hostname } = request.url;
    if (pathname === REVIEWS && hostname === 'shop.tiktok.com') return reviews(request);
    return pathname.includes(ID) ? show(request) : { status: 404 };
  };
}

/** Takes 1 GB, which is below the default bound. */
const HUNGRY = `<script>const kept = [];
(function step() { kept.push(new Uint8Array(128e6).fill(1)); if (kept.length < 8) setTimeout(step); })();
</script>`;

describe('the browser of the real process', () => {
  let proxy: ReplayingProxy;
  let browserPath: string;
  let gateway: GatewayProcess | undefined;

  before(async function () {
    browserPath = (await chromiumFor(this)).path;
    proxy = await startReplayingProxy({ answer: () => ({ status: 404 }) });
  });

  afterEach(() => gateway?.kill());

  after(() => proxy?.close());

  async function start(environment: Readonly<Record<string, string>> = {}): Promise<{ key: string }> {
    gateway = await startGatewayProcess({
      proxy,
      environment: { BROWSER: 'on', BROWSER_PATH: browserPath, LOG_LEVEL: 'debug', ...environment },
    });
    return gateway.makeKey();
  }

  it("reads a product's reviews by the page's own code, behind an egress proxy that signs for every host", async () => {
    const { key } = await start();
    proxy.setAnswer(shop(() => ({ headers: HTML, body: PAGE })));
    const { status, json } = await gateway!.extract(key, { url: LINK, clip_review_limit: 45 });
    expect(status, gateway!.output()).to.equal(200);
    expect(json.extraction_method).to.equal('www_page+browser');
    expect(json.data.reviews.five_star).to.have.length(45);
    expect(json.data.reviews.one_star.map(({ text }: { text: string }) => text)).to.include('stand-in 1 0');

    const asked = proxy.requests.filter(({ url }) => url.pathname === REVIEWS);
    const turned = asked.map(({ body }) => JSON.parse(body));
    expect(turned.map(({ review_filter, page_start }) => `${review_filter.filter_value}:${page_start}`)).to.deep.equal([
      '5:1',
      '5:2',
      '5:3',
      '1:1',
    ]);
    for (const { headers, url } of asked) {
      expect(headers).to.include({ origin: url.origin, 'content-type': 'application/json' });
      expect(headers['user-agent']).to.match(/ Chrome\/\d+\.0\.0\.0 /);
    }
  });

  it('finds the product if plain requests meet a challenge page, and reports one that it meets itself', async () => {
    const { key } = await start();
    proxy.setAnswer(shop((request) => ({ headers: HTML, body: isBrowser(request) ? PAGE : CHECK })));
    const found = await gateway!.extract(key, { url: LINK, clip_review_limit: 2 });
    expect(found.status, found.text).to.equal(200);
    expect(found.json.extraction_method).to.equal('browser');

    proxy.setAnswer(shop(() => ({ headers: HTML, body: CHECK })));
    const walled = await gateway!.extract(key, { url: `https://www.tiktok.com/shop/pdp/${ID}` });
    expect([walled.status, walled.json.error.code], walled.text).to.deep.equal([502, 'bot_check']);
  });

  it('gives up on a page that takes more memory than BROWSER_MEMORY_MB', async () => {
    const { key } = await start({ BROWSER_MEMORY_MB: '512' });
    proxy.setAnswer(shop((request) => ({ headers: HTML, body: isBrowser(request) ? HUNGRY : PAGE })));
    const { status, json } = await gateway!.extract(key, { url: LINK, clip_review_limit: 45 });
    expect(status, gateway!.output()).to.equal(200);
    expect(json.extraction_method).to.equal('www_page');
    expect(json.limitations).to.include('reviews_from_page');
    await until(() => gateway!.output().includes('BROWSER_MEMORY_MB'));
    await until(() => browsersOf(gateway!.pid).length === 0);
  });

  it('is skipped at once if it is not installed', async () => {
    const { key } = await start({ BROWSER: 'off' });
    proxy.setAnswer(shop(() => ({ headers: HTML, body: PAGE })));
    const { json } = await gateway!.extract(key, { url: LINK, clip_review_limit: 45 });
    expect(json.extraction_method).to.equal('www_page');
    expect(json.limitations).to.include('reviews_from_page');
    expect(proxy.requests.some(isBrowser)).to.equal(false);
    expect(browsersOf(gateway!.pid)).to.deep.equal([]);
  });

  it('ends when the gateway stops or is killed', async () => {
    const leave = shop((request) => (isBrowser(request) ? { fault: 'hang' } : { headers: HTML, body: PAGE }));
    for (const how of ['stop', 'kill'] as const) {
      const { key } = await start({ SHUTDOWN_SECONDS: '0' });
      proxy.setAnswer(leave);
      const unanswered = gateway!.extract(key, { url: LINK, clip_review_limit: 45 }).catch(() => undefined);
      await until(() => proxy.requests.some(isBrowser));
      const { pid } = gateway!;
      const groups = browsersOf(pid);
      expect(groups).to.have.length(1);
      if (how === 'stop') expect(await gateway!.stop()).to.equal(0);
      else await gateway!.kill();
      await until(() => processesOf(groups).length === 0);
      await unanswered;
      expect(foldersOf(pid)).to.have.length(how === 'stop' ? 0 : 1);
      if (how === 'stop') continue;
      // The next gateway to use a browser tidies up.
      proxy.setAnswer(shop(() => ({ headers: HTML, body: PAGE })));
      const next = await start();
      await gateway!.extract(next.key, { url: LINK, clip_review_limit: 45 });
      expect(foldersOf(pid)).to.deep.equal([]);
    }
  });

  it('is reported by doctor', async () => {
    await start();
    const { stdout } = await gateway!.command('doctor', '--json');
    const finding = JSON.parse(stdout).find(({ name }: { name: string }) => name === 'browser');
    expect(finding.detail).to.contain(browserPath);
    const asRoot = process.getuid?.() === 0;
    expect(finding.level).to.equal(asRoot ? 'warn' : 'ok');
    expect(finding.detail.includes('without its sandbox')).to.equal(asRoot);
  });
});

function foldersOf(pid: number): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`mediagate-browser-${pid}-`));
}
