/** Builds an invented post page for the benchmarks of parsing. */

import { jsonScript, modules, query, range, scheduledScript, styles } from './page-parts.js';
import { createRandom, type Random } from './random.js';

/**
 * A post's page of about a megabyte: maps of modules, the route that names the post, the post itself with its pictures
 * and videos, and the posts shown below it. All of it is invented.
 */
export function buildPostPage(shortcode: string, mediaId: string): string {
  const random = createRandom(shortcode);
  const owner = account(random, 'generated_bakery');
  const post = { ...medium(random, mediaId, owner), ...carousel(random, owner.pk), code: shortcode };
  const related = range(9, (index) => {
    const other = `${mediaId.slice(0, -2)}${index + 10}`;
    return { ...medium(random, other, account(random, random.word(12))), code: `C${random.word(10)}` };
  });
  const route = { initialRouteInfo: { route: { url: `/p/${shortcode}/`, params: { shortcode } } } };
  const comments = range(15, () => ({
    node: { pk: random.word(17), text: random.sentence(12), comment_like_count: 41, user: account(random, 'somebody') },
  }));
  return [
    '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Instagram</title>',
    `<style>${styles(random, 160_000)}</style></head><body>`,
    jsonScript({ require: [['Bootloader', 'handlePayload', null, [{ rsrcMap: modules(random, 200_000) }]]] }),
    scheduledScript([['PolarisPlatformRootClient', 'initialize', [], [route, modules(random, 110_000)]]]),
    scheduledScript([['AsyncData', 'resolve', [], [{ haste: modules(random, 330_000) }]]]),
    result('PolarisPostRoot', { xdt_api__v1__media__shortcode__web_info: { items: [post] } }),
    result('PolarisRelated', { xdt_api__v1__media__related: { media: related } }),
    result('PolarisComments', { xdt_api__v1__media__media_id__comments__connection: { edges: comments } }),
    `<script>requireLazy([["LSD",[],{"token":"AV${random.word(20)}"},323]]);</script></body></html>`,
  ].join('\n');
}

function result(name: string, data: unknown): string {
  const bbox = { __bbox: { complete: true, result: { data } } };
  return scheduledScript([['RelayPrefetchedStreamCache', 'next', [], [`adp_${name}QueryRelayPreloader_1`, bbox]]]);
}

function account(random: Random, username: string) {
  const pk = `58${Buffer.from(random.word(4)).readUInt32BE()}`;
  const profile_pic_url = address(random, 'v/t51.2885-19/face.jpg');
  return { pk, id: pk, username, full_name: random.sentence(2), profile_pic_url, is_verified: true, is_private: false };
}

function address(random: Random, file: string): string {
  return `https://scontent-gen1-1.cdninstagram.com/${file}?${query(random, 10)}&oe=6A6C4E54`;
}

function candidates(random: Random): object {
  const widths = [1440, 1080, 750, 640, 480, 320, 240, 150];
  return {
    candidates: widths.map((width) => ({
      url: address(random, `v/t51.71878-15/${width}.jpg`),
      width,
      height: Math.round(width * 1.25),
    })),
  };
}

function versions(random: Random): object[] {
  return [720, 480, 360].map((width, index) => ({
    url: address(random, `o1/v/t2/f2/m86/${width}.mp4`),
    width,
    height: Math.round(width * 1.25),
    type: 101 + index,
  }));
}

function medium(random: Random, pk: string, owner: ReturnType<typeof account>): object {
  return {
    pk,
    id: `${pk}_${owner.pk}`,
    media_type: 1,
    product_type: 'feed',
    taken_at: 1_749_546_131,
    original_width: 1440,
    original_height: 1800,
    image_versions2: candidates(random),
    user: owner,
    owner,
    caption: { text: `${random.sentence(30)} #generated #bread`, pk: random.word(17) },
    like_count: 51_234,
    comment_count: 1_288,
    reshare_count: null,
    organic_tracking_token: random.word(400),
    ...Object.fromEntries(range(40, (index) => [`setting_${index}`, index % 3 === 0 ? null : random.word(12)])),
  };
}

function carousel(random: Random, ownerId: string): object {
  const items = range(6, (index) => ({
    pk: `3660000000000000${index + 10}`,
    id: `3660000000000000${index + 10}_${ownerId}`,
    carousel_parent_id: 'x',
    media_type: index % 3 === 2 ? 2 : 1,
    original_width: 1440,
    original_height: 1800,
    image_versions2: candidates(random),
    ...(index % 3 === 2 && { video_versions: versions(random), has_audio: true, video_duration: 7.5 }),
  }));
  return {
    media_type: 8,
    product_type: 'carousel_container',
    carousel_media_count: items.length,
    carousel_media: items,
  };
}
