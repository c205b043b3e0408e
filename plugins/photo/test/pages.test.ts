/** Where a page of the photo network keeps the data of its post. */

import { expect } from 'chai';
import { siteConfigOf } from '../fetch.js';
import { identityOf } from '../links.js';
import { readPermalinkPage } from '../read/page.js';

const identity = identityOf('DX6B-kzkPRH');
const { mediaId, shortcode } = identity;
const siteConfig = siteConfigOf();
const image = 'https://scontent-xyz1-1.cdninstagram.com/v/one.jpg';
const post = {
  pk: mediaId,
  code: shortcode,
  taken_at: 1_777_000_000,
  like_count: 7,
  comment_count: 1,
  image_versions2: { candidates: [{ url: image, width: 1080, height: 1350 }] },
  user: { pk: '58000000031', username: 'invented.name' },
};

function page(...values: object[]): string {
  const scripts = values.map((value) => `<script type="application/json" data-sjs>${JSON.stringify(value)}</script>`);
  return `<html><head><meta property="og:url" content="https://www.instagram.com/p/${shortcode}/" />
    <meta property="og:title" content="Some Name on Instagram: &quot;A text&quot;" /></head><body>${scripts.join('')}</body></html>`;
}

describe('photo: the data of a page', () => {
  it('is found at any distance from the first mention of the post', () => {
    const filling = Array.from({ length: 5_000 }, (_, index) => ({ [`module_${index}`]: 'https://a.example/file.js' }));
    const outcome = readPermalinkPage(page({ media_id: mediaId, filling, item: post }), identity, siteConfig);
    expect(outcome.kind === 'found' && outcome.found.map(({ source }) => source)).to.deep.equal(['data']);
    expect(outcome.kind === 'found' && outcome.found[0]?.post.metrics?.likes).to.equal(7);
  });

  it('comes from the script that contains the post, not from those that name it', () => {
    const route = { route: { params: { shortcode, media_id: mediaId } } };
    const outcome = readPermalinkPage(page(route, { item: { ...post, pk: undefined } }), identity, siteConfig);
    expect(outcome.kind === 'found' && outcome.found[0]?.source).to.equal('data');
  });

  it('names the owner if the rest is in the tags', () => {
    const route = { media_owner_id: '58000000031', media_id: mediaId, media_type: 1 };
    const outcome = readPermalinkPage(page({ route }), identity, siteConfig);
    expect(outcome.kind === 'found' && outcome.found.map(({ source }) => source)).to.deep.equal(['page_tags']);
    expect(outcome.kind === 'found' && outcome.found[0]?.post.ids?.author_id).to.equal('58000000031');
  });
});
