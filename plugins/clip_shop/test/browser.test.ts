/** The browser visit of the shop plugin: pages of reviews, walls and failures. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import {
  type Browser,
  type BrowserPage,
  type Clock,
  type Extraction,
  GatewayError,
  matchedLink,
} from 'mediagate/plugin';
import { createFakeHttp, createManualClock, type FakeReply, pluginFolder, setUpPlugin } from 'mediagate/testing';
import clipShop, { createClipShopExtractor } from '../index.js';
import type { ReviewOptions } from '../read/reviews.js';

const ID = '1732400000000033333';
const PAGE = fixture('model-2026/page.html');
const CHECK = fixture('security-check/check.html');
const OPTIONS: ReviewOptions = { clipReviewLimit: 3, clipSort: 'latest', includeEmptyReviews: false };

interface Body {
  page_start: number;
  page_size: number;
  sort_rule: number;
  review_filter: { filter_type: number; filter_value: number };
}

interface Scene {
  /** What plain requests get. Default: the page. */
  reply?: FakeReply;
  /** What the browser shows. Default: the page. */
  html?: string;
  /** In place of showing anything. */
  content?(): Promise<string>;
  /** Where the browser ends up. Default: where it was sent. */
  url?: string;
  /** The reviews endpoint: the body of its answer, or a status. */
  answer?(body: Body): object | string | number;
  /** What the page does with the question, in place of asking. */
  evaluate?(body: Body): Promise<unknown>;
  available?: boolean;
  fails?: GatewayError;
  options?: Partial<ReviewOptions>;
  /** Default: the system's. */
  waiting?: Clock;
}

interface Played {
  extraction: Extraction;
  asked: Body[];
  visits: string[];
  requests: number;
}

/** A page whose scripts run in a world of their own, as in a real browser: they see their argument and `fetch`. */
async function play(scene: Scene): Promise<Played> {
  const asked: Body[] = [];
  const visits: string[] = [];
  const fetchInPage = async (_path: string, init: { body: string }) => {
    const body = JSON.parse(init.body) as Body;
    asked.push(body);
    const answer = scene.answer?.(body) ?? 403;
    const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
    return { ok: typeof answer !== 'number', text: async () => text };
  };
  const page: BrowserPage = {
    async goto(url) {
      visits.push(url);
    },
    content: async () => scene.content?.() ?? scene.html ?? PAGE,
    url: () => scene.url ?? visits.at(-1) ?? '',
    evaluate: async (script, argument) =>
      scene.evaluate?.((argument as { body: Body }).body) ??
      runInNewContext(`(${script})(argument)`, { argument, fetch: fetchInPage, AbortSignal, JSON }),
    waitForSelector: async () => undefined,
  };
  const browser: Browser = {
    available: scene.available ?? true,
    async run({ visit, signal = new AbortController().signal }) {
      if (scene.fails) throw scene.fails;
      return visit(page, signal);
    },
  };
  const http = createFakeHttp([scene.reply ?? { headers: { 'content-type': 'text/html' }, body: PAGE }]);
  const { context } = await setUpPlugin({ plugin: clipShop, http, ...(scene.waiting && { waiting: scene.waiting }) });
  const options = { acceptLanguage: 'en-GB,en;q=0.9', pageTimeoutMs: 5_000, budgetMs: 20_000 };
  const extractor = createClipShopExtractor({ ...context, browser, options });
  const link = matchedLink(extractor.match(new URL(`https://shop.tiktok.com/gb/pdp/${ID}`)));
  if (!link) throw new Error('the link does not match');
  const signal = new AbortController().signal;
  const extraction = await extractor.extract({ link, options: { ...OPTIONS, ...scene.options }, signal });
  return { extraction, asked, visits, requests: http.requests.length };
}

function fixture(file: string): string {
  return readFileSync(path.join(pluginFolder(import.meta.url), 'fixtures', file), 'utf8');
}

function review(id: number, stars: number, text = `review ${id}`) {
  return {
    review_id: `90${id}`,
    product_id: ID,
    review_rating: stars,
    review_text: text,
    review_time: String(1_780_000_000_000 + id * 60_000),
  };
}

/** A product with this many reviews of each star, served page by page, the newest first. */
function shelf(counts: Readonly<Record<number, number>>, text?: (id: number) => string) {
  return ({ page_start, page_size, review_filter }: Body) => {
    const stars = review_filter.filter_value;
    const all = Array.from({ length: counts[stars] ?? 0 }, (_, index) => {
      const id = stars * 1000 - index;
      return review(id, stars, text?.(id));
    });
    const from = (page_start - 1) * page_size;
    const product_reviews = all.slice(from, from + page_size);
    const review_ratings = { overall_score: 4.4, review_count: '318', rating_result: { 1: '1', 5: '300' } };
    return { code: 0, data: { has_more: from + page_size < all.length, product_reviews, review_ratings } };
  };
}

function reviewsOf({ extraction: { data } }: Played) {
  if (!('reviews' in data)) throw new Error('not a product');
  return data.reviews;
}

describe('clip_shop: the browser', () => {
  it('fetches each star group in its own walk, and the page once', async () => {
    const played = await play({ answer: shelf({ 5: 4, 1: 1 }) });
    expect(played).to.deep.include({ requests: 1, visits: [`https://shop.tiktok.com/gb/pdp/${ID}`] });
    expect(played.extraction).to.deep.include({ method: 'www_page+browser', limitations: [], partial: false });
    expect(played.asked.map(({ review_filter, page_start }) => [review_filter.filter_value, page_start])).to.deep.equal(
      [
        [5, 1],
        [1, 1],
      ],
    );
    expect(played.asked[0]).to.deep.include({
      product_id: ID,
      page_size: 20,
      sort_rule: 2,
      component_name: 'pdp_left_reviews',
    });
    expect(reviewsOf(played).one_star).to.have.length(1);
    expect(played.extraction.data.provenance?.sources).to.include({
      'product.name': 'www_page',
      'reviews.one_star': 'browser',
    });
  });

  it('turns pages until there are enough, in the requested order', async () => {
    const options: Partial<ReviewOptions> = { clipReviewLimit: 45, clipSort: 'recommended' };
    const played = await play({ answer: shelf({ 5: 90, 1: 12 }), options });
    const pages = played.asked.map(({ review_filter, page_start }) => `${review_filter.filter_value}:${page_start}`);
    expect(pages).to.deep.equal(['5:1', '5:2', '5:3', '1:1']);
    expect(played.asked.every(({ sort_rule }) => sort_rule === 1)).to.equal(true);
    expect(
      reviewsOf(played)
        .five_star.map(({ id }) => id)
        .slice(0, 2),
    ).to.deep.equal(['905000', '904999']);
    expect(reviewsOf(played).five_star).to.have.length(45);
    expect(reviewsOf(played).one_star).to.have.length(12);
  });

  it('reads the number of reviews by stars from the endpoint if the page lacks it', async () => {
    const html = PAGE.replace(/"rating_result":\{[^}]*\}/, '"rating_result":{}');
    const played = await play({
      reply: { headers: { 'content-type': 'text/html' }, body: html },
      html,
      answer: shelf({ 5: 4, 1: 1 }),
    });
    const { data } = played.extraction;
    expect('product' in data && data.product.rating).to.deep.equal({
      average: 4.5,
      count: 6,
      distribution: { '1': 1, '5': 300 },
    });
  });

  it('continues if reviews without text do not count', async () => {
    const answer = shelf({ 5: 60, 1: 0 }, (id) => (id % 20 === 0 ? `review ${id}` : ' '));
    const played = await play({ answer, options: { clipReviewLimit: 3 } });
    expect(played.asked.filter(({ review_filter }) => review_filter.filter_value === 5)).to.have.length(3);
    expect(reviewsOf(played).five_star.every(({ text }) => text)).to.equal(true);
  });

  it('ends if the endpoint repeats a page', async () => {
    const same = { code: 0, data: { has_more: true, product_reviews: [review(1, 5)] } };
    const played = await play({ answer: () => same });
    expect(played.asked.length).to.equal(3);
  });

  it('keeps the reviews of the page if the endpoint refuses', async () => {
    for (const answer of [() => 403, () => '', () => '<html>', () => ({ code: 98001, message: 'no' })]) {
      const played = await play({ answer });
      expect(reviewsOf(played).five_star.map(({ text }) => text)).to.deep.equal([
        'My cat agrees.',
        'Soft from the first day.',
      ]);
      expect(played.extraction.limitations).to.deep.equal(['reviews_partial: 2 of 4', 'reviews_from_page']);
    }
  });

  it('finds the product if plain requests meet a login or challenge page', async () => {
    const played = await play({
      reply: { headers: { 'content-type': 'text/html' }, body: CHECK },
      answer: shelf({ 5: 4, 1: 1 }),
    });
    expect(played.extraction.method).to.equal('browser');
    expect(reviewsOf(played).five_star).to.have.length(3);
  });

  it('finds the product if every plain URL answers that it is gone', async () => {
    const { extraction, requests } = await play({ reply: { status: 410 } });
    expect(extraction.method).to.equal('browser');
    expect(requests).to.equal(3);
  });

  it('keeps everything found when it fails or is refused', async () => {
    const scenes: Scene[] = [
      { fails: new GatewayError('upstream_timeout', 'too slow') },
      { html: CHECK },
      { html: fixture('no-component/page.html') },
      { url: 'https://www.tiktok.com/login?redirect_url=x' },
    ];
    for (const scene of scenes) {
      const { extraction } = await play(scene);
      expect(extraction).to.include({ method: 'www_page', partial: true });
      expect(extraction.limitations).to.include('reviews_partial: 2 of 4');
    }
  });

  it('keeps what it has read when the page hangs or crashes over its reviews', async () => {
    const clock = createManualClock();
    const hang = () => {
      setImmediate(() => clock.advance(10_000));
      return new Promise<never>(() => {});
    };
    const crash = () => Promise.reject(new Error('the page crashed'));
    const fiveStar = shelf({ 5: 4 });
    for (const end of [hang, crash]) {
      const played = await play({
        reply: { headers: { 'content-type': 'text/html' }, body: CHECK },
        evaluate: async (body) => (body.review_filter.filter_value === 5 ? JSON.stringify(fiveStar(body)) : end()),
        waiting: clock,
      });
      expect(played.extraction.method).to.equal('browser');
      expect(reviewsOf(played).five_star).to.have.length(3);
      expect(played.extraction.limitations).to.deep.equal(['reviews_partial: 3 of 4']);
    }
  });

  it('times out if the page does not show its own content', async () => {
    const waiting = createManualClock();
    const { extraction } = await play({
      content: () => {
        setImmediate(() => waiting.advance(8_000));
        return new Promise<never>(() => {});
      },
      waiting,
    });
    expect(extraction.method).to.equal('www_page');
    expect(extraction.partial).to.equal(true);
  });

  it('names itself in the error if it is refused too', async () => {
    const walled = play({ reply: { headers: { 'content-type': 'text/html' }, body: CHECK }, html: CHECK });
    const error = await walled.then(
      () => undefined,
      (one: unknown) => one as GatewayError,
    );
    expect(error?.code).to.equal('bot_check');
    expect(error?.attempts?.at(-1)).to.deep.include({ method: 'browser', outcome: 'bot_check' });
  });

  it('does not open if none is installed, or the page is complete', async () => {
    expect((await play({ available: false })).visits).to.deep.equal([]);
    const whole = PAGE.replace('"1":"1","2":"0","3":"1","4":"0","5":"4"', '"1":"0","2":"0","3":"1","4":"0","5":"2"');
    const { visits, extraction } = await play({ reply: { headers: { 'content-type': 'text/html' }, body: whole } });
    expect(visits).to.deep.equal([]);
    expect(extraction.limitations).to.deep.equal([]);
  });
});
