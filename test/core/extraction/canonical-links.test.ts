/** Canonical links: equal for every spelling of an item's link. */

import { expect } from 'chai';
import { createGateway, type Gateway } from 'mediagate';
import clipShop from 'mediagate/plugins/clip_shop';
import clipVideo from 'mediagate/plugins/clip_video';
import photo from 'mediagate/plugins/photo';
import social from 'mediagate/plugins/social';
import vidsite from 'mediagate/plugins/vidsite';

/** Of one item each: what people and apps put behind links differs, and nothing that grants access does. */
const SAME: Readonly<Record<string, readonly string[]>> = {
  'a video, in a list, at a time, shared from an app': [
    'https://www.youtube.com/watch?v=dQw4w9WgXcQ',
    'https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLx0sYbCqOb8TBPRdmBHs5Iftvv9TPboYG&index=2&t=42s',
    'https://www.youtube.com/watch?si=AbCdEfGhIjKlMnOp&v=dQw4w9WgXcQ&pp=ygUEdGVzdA%3D%3D',
    'https://youtu.be/dQw4w9WgXcQ?si=AbCdEfGhIjKlMnOp',
    'https://m.youtube.com/shorts/dQw4w9WgXcQ?feature=share',
  ],
  'a post, shared from an app': [
    'https://www.instagram.com/p/CabcdEFGHij/',
    'https://www.instagram.com/p/CabcdEFGHij/?igsh=MzRlODBiNWFlZA==&utm_source=qr',
    'https://www.instagram.com/somebody/reel/CabcdEFGHij/?img_index=2',
  ],
  'a clip, with what an app adds': [
    'https://www.tiktok.com/@somebody/video/7300000000000000001',
    'https://www.tiktok.com/@somebody/video/7300000000000000001?_r=1&_t=8hAbCd&sec_uid=x&share_app_id=1233',
    'https://m.tiktok.com/v/7300000000000000001.html?u_code=d1',
  ],
  'a product, with what an app adds': [
    'https://www.tiktok.com/shop/pdp/1729384756012345678',
    'https://www.tiktok.com/shop/pdp/stoneware-teapot/1729384756012345678?source=ecommerce_store&chain_key=x',
    'https://shop.tiktok.com/view/product/1729384756012345678?region=US&locale=en',
  ],
  'a reel of a page, with what an app adds': [
    'https://www.facebook.com/reel/1234567890123456',
    'https://m.facebook.com/reel/1234567890123456/?mibextid=abc&rdid=x&share_url=y',
    'https://www.facebook.com/reel/1234567890123456?s=chYV2B&fs=e',
  ],
};

/** The same id or code, but not what the link opens. */
const DIFFERENT: Readonly<Record<string, readonly string[]>> = {
  'a post of a private account, with its key, another key, and none': [
    'https://www.instagram.com/p/CabcdEFGHij/',
    'https://www.instagram.com/p/CabcdEFGHijAAAAAAAAAAAAAAAAAAAAAAAAAAAA/',
    'https://www.instagram.com/p/CabcdEFGHijBAAAAAAAAAAAAAAAAAAAAAAAAAAA/',
  ],
  'share links of one code, of a post, a video, a reel and a short host': [
    'https://www.facebook.com/share/p/1AbCdEfGhI/',
    'https://www.facebook.com/share/v/1AbCdEfGhI/',
    'https://www.facebook.com/share/r/1AbCdEfGhI/',
    'https://fb.watch/1AbCdEfGhI/',
  ],
  'share links of one code, of a post and a reel': [
    'https://www.instagram.com/share/AbCdEfGhI',
    'https://www.instagram.com/share/reel/AbCdEfGhI',
  ],
  'the pictures of a post, one picture, and a video': [
    'https://www.facebook.com/media/set/?set=pcb.1234567890123456',
    'https://www.facebook.com/photo/?fbid=1234567890123456',
    'https://www.facebook.com/watch/?v=1234567890123456',
  ],
  'a product in two markets': [
    'https://www.tiktok.com/shop/pdp/1729384756012345678',
    'https://shop.tiktok.com/gb/pdp/teapot/1729384756012345678',
  ],
  'short links of one code on two hosts': ['https://vm.tiktok.com/ZMabcdefg/', 'https://vt.tiktok.com/ZMabcdefg/'],
};

describe('canonical links of the platforms', () => {
  let gateway: Gateway;
  before(async () => {
    gateway = await createGateway({ plugins: [clipShop, clipVideo, vidsite, social, photo].map((use) => ({ use })) });
  });
  after(() => gateway.close());
  const canonical = (links: readonly string[]) => links.map((url) => gateway.match(url).link.url);

  for (const [what, links] of Object.entries(SAME)) {
    it(`are equal for ${what}`, () => expect(new Set(canonical(links)).size, canonical(links).join(' ')).to.equal(1));
  }
  for (const [what, links] of Object.entries(DIFFERENT)) {
    it(`differ for ${what}`, () => {
      const found = canonical(links);
      expect(new Set(found).size, found.join(' ')).to.equal(links.length);
    });
  }
});
