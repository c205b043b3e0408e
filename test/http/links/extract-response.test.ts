/** The answer of an extraction, field by field, and the capabilities. */

import { expect } from 'chai';
import { type ExtractionData, type ExtractResult, GatewayError, type PostData, type ProductData } from 'mediagate';
import { encodeExtraction } from '../../../server/links/answers.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedExtraction } from '../../support/links/invented-plugin.js';
import { onceIt } from '../../support/runner/variants.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

function result(data: ExtractionData, more: Partial<ExtractResult> = {}): ExtractResult {
  return {
    platform: 'invented',
    inputUrl: LINK,
    link: { kind: 'video', id: '7', url: LINK },
    method: 'page',
    data,
    limitations: [],
    cache: 'miss',
    ageMs: 0,
    identity: {},
    ...more,
  };
}

const parse = (one: ExtractResult, notes?: readonly string[]) =>
  JSON.parse(encodeExtraction(one, { notes }).toString());

const barePost: PostData = {
  common: {},
  ids: {},
  metrics: {},
  media: { image_urls: [], video_urls: [] },
  raw_stats: {},
};
const bareProduct: ProductData = {
  product: { product_id: '1', image_urls: [], video_urls: [], url: 'https://shop.example/1' },
  reviews: { five_star: [{ id: 'r', rating: 5, images: [] }], one_star: [] },
  raw_stats: {},
};

describe('the extraction response', () => {
  it('has every named field of a post, null or empty if unknown', () => {
    expect(parse(result(barePost))).to.deep.equal({
      ok: true,
      platform: 'invented',
      input_url: LINK,
      extraction_method: 'page',
      data: {
        common: {
          title: null,
          author: { id: null, name: null, username: null, url: null, avatar: null },
          caption: null,
          description: null,
          thumbnail: null,
          published_at: null,
          duration_seconds: null,
          language: null,
          tags: [],
          is_live: null,
        },
        ids: { video_id: null, post_id: null, shortcode: null, channel_id: null, author_id: null, canonical_url: null },
        metrics: {
          views: null,
          likes: null,
          comments: null,
          shares: null,
          saves: null,
          plays: null,
          duration_seconds: null,
          channel_id: null,
          subscriber_count: null,
        },
        media: {
          image_urls: [],
          video_urls: [],
          download_links: { video: null, mp3: null },
          audio_download_links: { mp3: null, status: null, content_type: null, expires_at: null },
        },
        raw_stats: {},
      },
      limitations: [],
      limitation_messages: [],
    });
  });

  it('has every named field of a product and of its reviews', () => {
    const { data } = parse(result(bareProduct));
    expect(data.product).to.deep.equal({
      product_id: '1',
      name: null,
      description: null,
      shop: { id: null, name: null, url: null, rating: null },
      price: { amount: null, currency: null, original_amount: null, min: null, max: null, text: null },
      stock: null,
      sold_count: null,
      rating: { average: null, count: null, distribution: { '1': null, '2': null, '3': null, '4': null, '5': null } },
      image_urls: [],
      video_urls: [],
      url: 'https://shop.example/1',
    });
    const review = { id: 'r', rating: 5, text: null, author: null, created_at: null, likes: null };
    expect(data.reviews).to.deep.include({
      one_star: [],
      five_star: [{ ...review, images: [], variant: null, country: null }],
    });
  });

  it('has further fields only if they are known, and text unchanged', () => {
    const title = 'quote " backslash \\ line\nsnow \u2603 \u{1F600} \u2028 </script> \ud800';
    const { data } = parse(
      result({
        ...barePost,
        common: { title, category: 'Music' },
        media: { image_urls: [], video_urls: ['https://cdn.example/v.mp4'], entries: [] },
        provenance: { sources: { 'common.title': 'page' }, precision: {} },
      }),
    );
    expect(data.common).to.include({ title, category: 'Music' }).and.not.to.have.property('location');
    expect(data).to.deep.nested.include({
      'media.download_links.video': 'https://cdn.example/v.mp4',
      'media.entries': [],
      'provenance.sources': { 'common.title': 'page' },
    });
  });

  it('has an MP3 link of this request, never one of an earlier answer', () => {
    const identity = {};
    const audioLink = { url: 'https://gateway.example/v1/extract/audio/a.mp3', expiresAt: '2030-01-01T00:00:00.000Z' };
    const { media } = parse(result(barePost, { identity, audioLink })).data;
    expect(media.audio_download_links).to.deep.equal({
      mp3: audioLink.url,
      status: 'generated_on_first_download',
      content_type: 'audio/mpeg',
      expires_at: audioLink.expiresAt,
    });
    expect(media.download_links.mp3).to.equal(audioLink.url);
    expect(parse(result(barePost, { identity })).data.media.download_links.mp3).to.equal(null);
    const later = parse(
      result(barePost, { identity, inputUrl: 'https://invented.example/item/7?b', limitations: ['live_now'] }),
      ['note'],
    );
    expect([later.input_url, later.limitations]).to.deep.equal([
      'https://invented.example/item/7?b',
      ['live_now', 'note'],
    ]);
  });
});

describeOnStacks('POST /v1/extract and GET /v1/capabilities', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let calls = 0;

  before(async () => {
    app = await startApp({
      stack,
      extractor: {
        audio: true,
        extract: async ({ link }) => {
          calls += 1;
          if (link.id === '423') throw new GatewayError('password_protected', 'The item is protected by a password.');
          return inventedExtraction(link.id, { audio: true, limitations: ['metadata_only'] });
        },
        resolveAudio: async () => ({ url: 'https://cdn.example/a.m4a' }),
      },
    });
    key = await app.makeKey();
  });
  after(() => app.close());

  it("answer a document, from the cache the second time, with the caller's link each time", async () => {
    const first = await app.extract(key, { url: LINK });
    expect([first.status, first.headers.get('content-type')]).to.deep.equal([200, 'application/json; charset=utf-8']);
    expect(first.json).to.deep.nested.include({ 'data.common.title': 'Item 7', limitations: ['metadata_only'] });
    expect(first.json.data.media.download_links.mp3).to.match(
      /^http:\/\/gateway\.example\/v1\/extract\/audio\/[\w-]+\.mp3$/,
    );
    const second = await app.extract(key, { url: `${LINK}?utm_source=x`, include_audio_mp3: false });
    expect(calls).to.equal(1);
    expect(second.json).to.deep.nested.include({
      input_url: `${LINK}?utm_source=x`,
      'data.media.download_links.mp3': null,
      'data.metrics': first.json.data.metrics,
    });
  });

  once('report that an item needs a password, and cache the refusal', async () => {
    calls = 0;
    for (const _ of [1, 2]) {
      const { status, json } = await app.extract(key, { url: 'https://invented.example/item/423' });
      expect([status, json.error.code, json.error.type]).to.deep.equal([
        422,
        'password_protected',
        'extraction_failed',
      ]);
    }
    expect(calls).to.equal(1);
  });

  once('accept options of shop links and report that they have no effect', async () => {
    const answer = await app.extract(key, {
      url: LINK,
      clip_review_limit: 5,
      clip_sort: 'latest',
      async_mode: true,
      force_async: true,
    });
    expect(answer.status).to.equal(200);
    const notes = answer.json.limitations.map((note: string) => note.split(':')[0]);
    expect(notes).to.deep.equal([
      'metadata_only',
      'async_mode_ignored',
      'force_async_ignored',
      'review_options_ignored',
    ]);
  });

  once('list the platforms and the limits of the key', async () => {
    const answer = await app.request('/v1/capabilities', { headers: { 'x-api-key': await app.makeKey({ rpm: 12 }) } });
    expect(answer.json).to.deep.equal({
      ok: true,
      platforms: ['invented'],
      details: [
        {
          key: 'invented',
          name: 'Invented',
          link_forms: ['https://invented.example/item/<digits>'],
          features: { async: false, batch: true, reviews: false, audio_mp3: true },
        },
      ],
      limits: {
        clip_review_limit: { min: 1, max: 100, default: 10 },
        url_max_length: 2048,
        body_max_bytes: 65_536,
        batch_max_urls: 50,
        batch_body_max_bytes: 655_360,
        max_active: 1_000,
        rpm: 12,
      },
      version: '2026-06-15',
    });
  });
});
