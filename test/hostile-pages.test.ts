/** Pages that are made to take long. A run reads each of them in one length that tells a single pass from more; a long run in several. */

import { expect } from 'chai';
import {
  decodeEntities,
  findJsonAfter,
  firstLine,
  metaTags,
  parseCount,
  readDashManifest,
  splitScripts,
} from 'mediagate/plugin';
import { outcomeOfPage as readShopPage, readPageTags as readShopTags } from '../plugins/clip_shop/read/page.js';
import { readPrice } from '../plugins/clip_shop/read/price.js';
import { siteConfigOf as shopConfig } from '../plugins/clip_shop/site.js';
import { siteConfigOf as clipSiteConfig } from '../plugins/clip_video/fetch.js';
import { parseVideoObject } from '../plugins/clip_video/read/older/pages.js';
import { outcomeOfOembed, outcomeOfPage as readClipPage } from '../plugins/clip_video/read/outcomes.js';
import { parsePageTags as parseClipTags } from '../plugins/clip_video/read/page-tags.js';
import { siteConfigOf as photoSiteConfig, readSession } from '../plugins/photo/fetch.js';
import { identityOf } from '../plugins/photo/links.js';
import { readEmbedPage } from '../plugins/photo/read/embed.js';
import { readPermalinkPage } from '../plugins/photo/read/page.js';
import { parseDescription, parseOwner, parseTags as parsePhotoTags } from '../plugins/photo/read/tags.js';
import { siteConfigOf as socialSiteConfig } from '../plugins/social/fetch.js';
import { parseMessage, parsePlugin } from '../plugins/social/read/embed.js';
import { manifestFiles } from '../plugins/social/read/media.js';
import { readPage as readSocialPage } from '../plugins/social/read/page.js';
import { isLoginForm } from '../plugins/social/read/state.js';
import { authorName } from '../plugins/social/read/tags.js';
import { siteConfigOf as vidsiteConfig } from '../plugins/vidsite/fetch.js';
import { parseAttributed, parseChapters, parseMusic } from '../plugins/vidsite/read/description.js';
import { readWatchPage } from '../plugins/vidsite/read/watch-page.js';
import { isLongRun, variants } from './support/runner/variants.js';

/**
 * A text that is made to take long, as `beginning⟨piece⟩end`: the piece stands there again and again, with its number in
 * the place of `№`.
 */
type Made = string;
type Reader = (text: string) => unknown;

/** Characters; the last of a long run is more than most pages have. A reader that begins anew at each piece takes minutes for 2 ** 16. */
const SIZES = isLongRun ? [2 ** 12, 2 ** 14, 2 ** 16, 2 ** 18, 2 ** 20] : [2 ** 12, 2 ** 16];
/** Of pages, of which there are thousands. */
const PAGE_SIZES = isLongRun ? [2 ** 14, 2 ** 18] : [2 ** 15];
/**
 * Seconds of our own CPU for one text. What reads it once takes a fifth of it at most; what begins anew at each of its
 * pieces takes minutes, of which no more are waited for than the first size that is too much.
 */
const CPU_SECONDS = 2;
/** The longest text that a tag of a page can hold. */
const TAG_LENGTH = 16_000;
/** The last is more than that. */
const TAG_SIZES = [2 ** 12, 2 ** 14];

function makeText(made: Made, size: number): string {
  const [head, piece = '', tail] = made.split(/[⟨⟩]/);
  const count = Math.ceil(size / piece.length);
  if (!piece.includes('№')) return head + piece.repeat(count) + tail;
  return head + Array.from({ length: count }, (_, index) => piece.replace('№', String(index))).join('') + tail;
}

function expectOnePass(read: Reader, made: Made, sizes: readonly number[] = SIZES): void {
  for (const size of sizes) {
    const text = makeText(made, size);
    const started = process.cpuUsage();
    read(text);
    const { user, system } = process.cpuUsage(started);
    expect((user + system) / 1_000_000, `seconds for ${size} characters of ${made.slice(0, 300)}`).to.be.below(
      CPU_SECONDS,
    );
  }
}

const NUMBER = '1234567890123456';
const ALIAS = `pfbid0${'2AbCdEf'.repeat(4)}`;
const CLIP_ID = '7123456789012345678';
const VIDEO_ID = 'abcdefghijk';
const IDENTITY = identityOf('DX6B-kzkPRH');
const facts = {
  shop: shopConfig(),
  clip: clipSiteConfig(),
  vidsite: vidsiteConfig(),
  photo: photoSiteConfig(),
  social: socialSiteConfig(),
};

function socialPage(id: string): Reader {
  const url = `https://www.facebook.com/somebody/posts/${id}`;
  return (html) => readSocialPage({ status: 200, url: new URL(url), html }, { kind: 'post', id, url }, facts.social);
}

const shopPage: Reader = (html) => readShopPage(html, CLIP_ID, facts.shop);
const clipPage: Reader = (html) => readClipPage(html, CLIP_ID, facts.clip);
const watchPage: Reader = (html) => readWatchPage(html, VIDEO_ID, { siteConfig: facts.vidsite, region: 'US' });
const permalinkPage: Reader = (html) => readPermalinkPage(html, IDENTITY, facts.photo);
const embedPage: Reader = (html) => readEmbedPage(html, IDENTITY, facts.photo);
const postPage = socialPage(NUMBER);
const plugin: Reader = (html) => parsePlugin(html, NUMBER);

/** A tag that holds as much of a text as a tag can. */
function tagOf(name: string, text: string): string {
  return `<meta property="${name}" content="${text.replaceAll('"', '&quot;').slice(0, TAG_LENGTH)}b">`;
}

/** Readers that get no more of a text than a tag holds: of a longer one they would read the same again. */
const ofTags = new Set<Reader>();

/** What no tag can hold much of is read many times. */
function often(read: Reader): Reader {
  const reader: Reader = (text) => {
    for (let time = 0; time < 64; time += 1) read(text);
  };
  ofTags.add(reader);
  return reader;
}

const ABOUT_POST = tagOf('og:url', `https://www.facebook.com/somebody/posts/${NUMBER}?`);
const LINKED = `<a href="https://www.facebook.com/somebody/posts/${NUMBER}">`;
const EMBED = `<div class="Embed" data-media-id="${IDENTITY.mediaId}"><div class="UsernameText">`;
const { ruling, embedData } = facts.photo.markers;
const { relay } = facts.social.markers;
const RESULT = `<script type="application/json">["${relay}","next",[],["adp_a",{"__bbox":{"result":{"data":{"a":[`;
const ATTACHED = `${RESULT}{"id":"S","post_id":"${NUMBER}","attachments":[`;

/** Readers of pages, and what brings a page into each of their parts. */
const PAGES: Readonly<Record<string, readonly [read: Reader, ...heads: readonly string[]]>> = {
  clip_shop: [shopPage, '', '<script id="__MODERN_ROUTER_DATA__">', 'window._ROUTER_DATA = '],
  clip_video: [clipPage, '', `${CLIP_ID}<script id="VideoObject">`, '<script id="SIGI_STATE">', 'SIGI_STATE'],
  vidsite: [watchPage, '', 'var ytInitialPlayerResponse = ', 'ytInitialData = ', '<div id="initial-data"><!-- '],
  photo: [
    permalinkPage,
    '',
    'window._sharedData = ',
    `"${ruling}"`,
    `<script type="application/json">"${IDENTITY.mediaId}","taken_at"`,
  ],
  'photo, as it is embedded': [embedPage, '', `"${embedData}":"`, EMBED, `${EMBED}tom</div><div class="Caption">`],
  social: [
    postPage,
    '',
    `${ABOUT_POST}<meta property="og:description" content="a…"><div class=" userContent">`,
    '<script>"rootView":{"props":{',
    `<script type="application/json">"${relay}","adp_a",`,
    `${NUMBER} publish_time":1700000000`,
  ],
  'social, as it is embedded': [plugin, '', LINKED, `${LINKED}<div class=" userContent">`],
  'what all platforms share': [
    (text) => [
      metaTags(text),
      decodeEntities(text),
      splitScripts(text),
      firstLine(text),
      parseCount(text),
      findJsonAfter(text, 'x'),
    ],
    '',
    'x = ',
    'x = {"a":["',
  ],
};

/** What begins something that a reader may look for the end of. */
const BEGINNINGS = [
  [' ', '\t', '\n', '\r', ' \n', '\u00a0', '<', '>', '"', "'", '\\', '\\"', '&', '&amp', '#', '@', ':', '/', '\u202a@'],
  ['{', '[', '(', '{"a":', '[{', '{"a":[1,', '":"', '="', '=', "='", '<!--', '</', '<a', '<a ', '<a href="', '<img '],
  ['<img src="', '<abbr ', '<i>', '<span ', '<p', '</p><p', '<br', '<div', '<div>', '</div', '<script', '<script>'],
  ['<script id="', '<script></script>', '<script type="application/json">', '<title>', '<meta ', '<meta content="'],
  ['<meta a>', '1', '1,', '1.', '12:34 ', 'a', 'aA1_', 'a b', '💬', '…', '・'],
].flat();

/** Readers of one part each, and texts for the places where they once began anew at each piece, or might. */
const PARTS: Readonly<Record<string, readonly [read: Reader, ...made: readonly Made[]]>> = {
  'prices of clip_shop': [
    (text) => readPrice({ promotion_model: { promotion_product_price: { min_price: { discount_format: text } } } }),
    ...['⟨ ⟩x', '-⟨ ⟩x', '5⟨ ⟩x', '⟨1,⟩x', '⟨1.⟩x'],
  ],
  'titles of clip_shop': [
    often((text) =>
      readShopTags(tagOf('og:title', text) + tagOf('og:url', `https://www.tiktok.com/shop/pdp/${CLIP_ID}?`), CLIP_ID),
    ),
    ...['a⟨ ⟩', 'a⟨- ⟩'],
  ],
  'linked data of clip_video': [
    (html) => parseVideoObject(`VideoObject ${html}`, CLIP_ID),
    ...['⟨<script⟩', '⟨<script type="ld+json" ⟩', '<script⟨ type="ld+json"⟩', '⟨<script type="ld+json">{⟩'],
    ...['<script type="ld+json">[⟨{"@type":"VideoObject","url":"/video/№"},⟩{}]</script>'],
  ],
  'summaries of clip_video': [
    often((text) =>
      parseClipTags(
        tagOf('og:description', text) +
          tagOf('og:title', text) +
          tagOf('og:url', `https://www.tiktok.com/@tom/video/${CLIP_ID}?`),
        CLIP_ID,
      ),
    ),
    ...['video from a⟨ ⟩', '⟨video from ⟩', 'a⟨ ⟩', 'video from a (@tom): “⟨”.⟩'],
  ],
  'oEmbed replies of clip_video': [
    (html) => outcomeOfOembed({ html }, CLIP_ID),
    ...['⟨cite="/video/⟩', 'cite="⟨/video/⟩', '⟨data-video-id="1⟩'],
  ],
  'data of vidsite': [
    watchPage,
    ...['⟨ytInitialData = {⟩', '⟨ytInitialData\n⟩', '⟨ytInitialPlayerResponse = "⟩', "⟨ytInitialPlayerConfig = '{⟩"],
    ...['⟨id="initial-data"><!-- {⟩', 'ytInitialData⟨ ⟩=', "ytInitialData = '{⟨\\⟩", 'ytInitialData = {"a":"⟨\\"⟩'],
  ],
  'chapters of vidsite': [
    (text) => parseChapters(undefined, text),
    '0:00 ⟨-⟩a\rb',
    '0:00⟨ ⟩\rx',
    '⟨0:00 ⟩\rx',
    '⟨(⟩\r',
  ],
  'credits of vidsite': [
    (text) => parseMusic(undefined, undefined, `Provided to YouTube by ${text}`),
    ...['⟨\n⟩x', '\n⟨ ⟩x', '⟨\n \nx ⟩'],
  ],
  'descriptions of vidsite': [
    (text) => {
      const onTap = { innertubeCommand: { urlEndpoint: { url: 'https://x.example' } } };
      const run = { startIndex: 0, length: text.length, onTap };
      parseAttributed({ content: text, commandRuns: Array(text.length >> 4).fill(run) });
    },
    '⟨ ⟩h',
  ],
  'scripts of photo': [
    permalinkPage,
    ...['<script>⟨window._sharedData = {⟩', '<script>⟨window._sharedData = {"a":⟩'],
    ...["<script>⟨window.__additionalDataLoaded('a',{⟩", "<script>⟨window.__additionalDataLoaded('⟩"],
  ],
  'rulings of photo': [permalinkPage, `"⟨${ruling}⟩`, `⟨"${ruling}⟩`, `⟨"${ruling}":{⟩`],
  'embeds of photo': [
    embedPage,
    ...['<div class="SocialProof"', '<a ', '<a href="', '<img ', '<br'].map((piece) => `${EMBED}⟨${piece}⟩`),
  ],
  'sessions of photo': [
    (html) => readSession({ html, headers: { 'set-cookie': html } }, facts.photo),
    ...['⟨<script id="__eqmc" ⟩', '⟨<script id="__eqmc">⟩', '<script id="__eqmc">⟨"l":"⟩', '⟨["LSD",[],{"token":"⟩'],
    ...['["LSD",[],{"token":"a"\n⟨ ⟩', '["LSD",[],{"token":"a"\n⟨a⟩', '["LSD",[],{"token":"a"⟨\n⟩'],
  ],
  'manifests of photo': [readDashManifest, ...manifests(), '<MPD ⟨a⟩', '<MPD>⟨ mediaPresentationDuration="P⟩'],
  'manifests of social': [
    manifestFiles,
    ...[...manifests(), '<AdaptationSet ><Representation >⟨<BaseURL ⟩', '⟨mediaPresentationDuration="P⟩'],
  ],
  'lines of photo': [
    (text) => parseDescription(text, facts.photo.phrases),
    ...['1 like - ⟨ ⟩a: "b"', '1 like - a⟨ ⟩b: "c"', 'a: "⟨.⟩b', 'a: "b⟨ ⟩c', '@a • ⟨ ⟩“', '⟨@a • ⟩', '⟨: ⟩', '⟨(@a⟩'],
  ],
  'names of photo': [parseOwner, '⟨ ⟩a', 'a⟨ ⟩b', '⟨(@a⟩', '⟨(@⟩'],
  'titles of photo': [
    often((text) =>
      parsePhotoTags(
        tagOf('og:title', text) +
          tagOf('twitter:title', text) +
          tagOf('al:ios:url', `instagram://media?id=${IDENTITY.mediaId}&`),
        IDENTITY,
        facts.photo,
      ),
    ),
    ...['a⟨ ⟩', 'Instagram의a⟨ ⟩', 'a⟨ b⟩', 'a: "⟨.⟩'],
  ],
  'login forms of social': [
    (text) => isLoginForm({ title: text, description: text }, facts.social),
    ...['a⟨ ⟩b', 'a⟨|⟩b', 'a⟨ |⟩b'],
  ],
  'names of social': [
    often((text) => {
      const title = text.slice(0, TAG_LENGTH);
      authorName({ heading: title, description: 'c' }, { siteConfig: facts.social, inGroup: false, isVideo: false });
    }),
    ...['a⟨ - ⟩', 'a⟨ - b⟩', 'a - ⟨ ⟩b', 'a - ⟨ |⟩b'],
  ],
  'texts of social': [
    (html) => parseMessage([`<div class=" userContent">${html}`]),
    ...[
      '⟨<⟩',
      '⟨<a ⟩',
      '<a ⟨class="⟩',
      '<a ⟨class="see_more_link⟩',
      '<a ⟨see_more_link⟩',
      '⟨<span class="text_exposed_link">⟩',
    ],
    ...[
      '⟨<span class="text_exposed_link"></a> ⟩',
      '⟨<span class="text_exposed_hide">⟩',
      'a⟨ ⟩b',
      '⟨ \n⟩',
      '⟨\n ⟩',
      '⟨</p> ⟩',
    ],
  ],
  'texts of the largest pages of social': [
    (html) => parseMessage([`<div class=" userContent">${html.repeat(8)}`]),
    ...['<a ⟨see_more_link⟩', '<a⟨b⟩', '⟨<a see_more_link⟩', '⟨<span class="text_exposed_link">⟩'],
  ],
  'counters in embeds of social': [
    (html) => plugin(LINKED + html),
    ...[
      `${'title="Like"'.repeat(80)}>⟨ ⟩`,
      `<a ${'title="Like" '.repeat(80)}>⟨<i></i> ⟩`,
      '⟨<a title="Like">⟩',
      '<a⟨b⟩',
    ],
  ],
  'embeds of social': [
    (html) => plugin(LINKED + html),
    ...['⟨<abbr ⟩', '⟨<a href="ab" ⟩', '⟨<a ⟩', '⟨<img ⟩', '⟨<img aria-label="a" ⟩', '⟨<img role="img" ⟩', '⟨<i></i>⟩'],
    ...['⟨<span class="_2_79⟩', '⟨<a href="ref=embed_post">⟩', '⟨title="Like" ⟩', '⟨title="Like">⟩', '⟨"video_id":"1⟩'],
  ],
  'tags in embeds of social': [
    plugin,
    ...[
      'href="ab" ',
      'data-utime="',
      'aria-label="a" ',
      'role="img" ',
      'src="',
      'href="ref=embed_post" ',
      'title="Like" ',
    ].flatMap((piece) => ['a', 'img', 'abbr'].map((tag) => `${LINKED}<${tag} ⟨${piece}⟩>x`)),
  ],
  'embeds of social under an alias': [
    (html) => parsePlugin(html, ALIAS),
    ...['⟨<abbr ⟩', '⟨<a href="ab" ⟩', '⟨<a href="ab">⟩', '<a ⟨href="ab" ⟩>x'],
  ],
  'aliases of social': [socialPage(ALIAS), `${ABOUT_POST}⟨${ALIAS} ⟩`, `${ABOUT_POST}<a ?next=http⟨${ALIAS} ⟩`],
  'numbers of social': [postPage, `${ABOUT_POST}⟨${NUMBER} ⟩`],
  'stories of social': [postPage, `${RESULT}⟨{"id":"S","post_id":"${NUMBER}"},⟩null]}}}}]]</script>`],
  'links between scripts of social': [
    (html) => postPage(`${html}<script type="application/json">${relay}${'S'.repeat(html.length)}</script>`),
    `${RESULT}⟨{"id":"S№","post_id":"${NUMBER}"},⟩null]}}}}]]</script>`,
  ],
  'pictures of social': [postPage, `${ATTACHED}⟨{"media":{"id":"1"}},⟩null]}]}}}}]]</script>`],
  'videos of social': [
    (html) => postPage(html.replace('[{}]', `[${'{},'.repeat(html.length >> 2)}{}]`)),
    `${ATTACHED}⟨{"media":{"id":"№","__typename":"Video"}},⟩null]}]},"extensions":{"all_video_dash_prefetch_representations":[{}]}}}}]]</script>`,
  ],
};

function manifests(): Made[] {
  return [
    ...['<AdaptationSet ', '<AdaptationSet >', '<AdaptationSet />'].map((piece) => `<MPD>⟨${piece}⟩`),
    ...['<Representation ', '<Representation >', '<Representation />'].map(
      (piece) => `<MPD><AdaptationSet >⟨${piece}⟩</AdaptationSet>`,
    ),
    `<MPD><AdaptationSet ${' a'.repeat(2 ** 18)}>⟨<Representation ></Representation>⟩</AdaptationSet>`,
  ];
}

describe('hostile texts are read in one pass:', () => {
  for (const [turn, [name, [read, ...heads]]] of Object.entries(PAGES).entries()) {
    // Every run has a half of the pieces for each page, in turn.
    const pieces = variants(BEGINNINGS, (one) => BEGINNINGS.indexOf(one) % 2 === turn % 2);
    it(`pages of ${name}`, () => {
      for (const head of heads) {
        for (const piece of pieces) expectOnePass(read, `${head}⟨${piece}⟩`, PAGE_SIZES);
      }
    });
  }

  for (const [what, [read, ...texts]] of Object.entries(PARTS)) {
    it(what, () => {
      for (const made of texts) expectOnePass(read, made, ofTags.has(read) ? TAG_SIZES : SIZES);
    });
  }
});
