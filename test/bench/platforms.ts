/** The platforms of the benchmarks: link, page, and how to read it. */

import type { LinkRef, PostData } from 'mediagate';
import { matchedLink, mergePosts, type PartialPost } from 'mediagate/plugin';
import { mergeProducts } from '../../plugins/clip_shop/assemble.js';
import { matchProduct } from '../../plugins/clip_shop/links.js';
import { outcomeOfPage as outcomeOfProductPage } from '../../plugins/clip_shop/read/page.js';
import { siteConfigOf as shopConfig } from '../../plugins/clip_shop/site.js';
import { mergeParts } from '../../plugins/clip_video/assemble.js';
import { siteConfigOf as clipSiteConfig } from '../../plugins/clip_video/fetch.js';
import { matchClip } from '../../plugins/clip_video/links.js';
import { outcomeOfPage as outcomeOfClipPage } from '../../plugins/clip_video/read/outcomes.js';
import { assemble } from '../../plugins/photo/assemble.js';
import { siteConfigOf as photoSiteConfig } from '../../plugins/photo/fetch.js';
import { identityOf, matchPost } from '../../plugins/photo/links.js';
import { readPermalinkPage } from '../../plugins/photo/read/page.js';
import { siteConfigOf as socialSiteConfig } from '../../plugins/social/fetch.js';
import { matchItem } from '../../plugins/social/links.js';
import { readPage } from '../../plugins/social/read/page.js';
import { siteConfigOf as vidsiteConfig } from '../../plugins/vidsite/fetch.js';
import { matchVideo } from '../../plugins/vidsite/links.js';
import { readWatchPage } from '../../plugins/vidsite/read/watch-page.js';
import { buildClipPage } from './clip-page.js';
import { buildPostPage } from './post-page.js';
import { buildProductPage } from './product-page.js';
import { buildReelPage } from './reel-page.js';
import { buildWatchPage } from './watch-page.js';

/** What a page says, put together as the platform's extractor does. */
export interface Reading {
  title?: string;
  /** Whose the item is. */
  owner?: string;
  document: object;
}

/** One platform as the parts of the bench see it. */
export interface BenchPlatform {
  /** What the table calls one of its pages. */
  page: string;
  match(url: URL): LinkRef | undefined;
  /** Undefined where the page does not show the item. */
  read(html: string, link: LinkRef): Reading | undefined;
  /** A link to an item of that number, 0 to 999. */
  link(number: number): string;
  /** The generated page of the item that such a link leads to. */
  build(link: LinkRef): string;
}

const facts = {
  vidsite: { siteConfig: vidsiteConfig(), region: 'US' },
  social: socialSiteConfig(),
  photo: photoSiteConfig(),
  clipVideo: clipSiteConfig(),
  clipShop: shopConfig(),
};

export const platformNames = ['vidsite', 'social', 'photo', 'clip_video', 'clip_shop'] as const;
export type PlatformName = (typeof platformNames)[number];

export const PLATFORMS: Readonly<Record<PlatformName, BenchPlatform>> = {
  vidsite: {
    page: 'a watch page',
    match: (url) => matchedLink(matchVideo(url)),
    link: (number) => `https://www.youtube.com/watch?v=mgBench0${digits(number, 3)}`,
    build: ({ id }) => buildWatchPage(id),
    read(html, { id }) {
      const outcome = readWatchPage(html, id, facts.vidsite);
      if (outcome.kind !== 'found') return undefined;
      return ofPost(joined('watch_page', outcome.found));
    },
  },
  social: {
    page: 'a reel’s page',
    match: (url) => matchedLink(matchItem(url)),
    link: (number) => `https://www.facebook.com/reel/730000000${digits(number, 3)}417`,
    build: ({ id }) => buildReelPage(id),
    read(html, link) {
      const outcome = readPage({ status: 200, url: new URL(link.url), html }, link, facts.social);
      if (outcome.kind !== 'found') return undefined;
      return ofPost(joined('page', outcome.found));
    },
  },
  photo: {
    page: 'a post’s page',
    match: (url) => matchedLink(matchPost(url)),
    link: (number) => `https://www.instagram.com/p/DKtuaNT${digits(number, 3)}O/`,
    build: ({ id }) => buildPostPage(id, identityOf(id).mediaId),
    read(html, { id }) {
      const identity = identityOf(id);
      const outcome = readPermalinkPage(html, identity, facts.photo);
      if (outcome.kind !== 'found') return undefined;
      const parts = outcome.found.map((found) => ({ method: 'permalink', found }));
      return ofPost(assemble({ parts, limitations: [] }, identity).data);
    },
  },
  clip_video: {
    page: 'a clip’s page',
    match: (url) => matchedLink(matchClip(url)),
    link: (number) => `https://www.tiktok.com/@generated.harbour/video/7670000000000000${digits(number, 3)}`,
    build: ({ id }) => buildClipPage(id),
    read(html, { id }) {
      const outcome = outcomeOfClipPage(html, id, facts.clipVideo);
      if (outcome.kind !== 'found') return undefined;
      return ofPost(mergeParts([{ method: 'page', found: outcome.found }], id));
    },
  },
  clip_shop: {
    page: 'a product’s page',
    match: (url) => matchedLink(matchProduct(url)),
    link: (number) => `https://www.tiktok.com/shop/pdp/1729400000000011${digits(number, 3)}`,
    build: ({ id }) => buildProductPage(id),
    read(html, { id }) {
      const outcome = outcomeOfProductPage(html, id, facts.clipShop);
      if (outcome.kind !== 'found') return undefined;
      const document = mergeProducts(outcome.found.map((found) => ({ method: 'www_page', found })));
      const { name, shop } = document.product;
      return { title: name, owner: shop?.name, document };
    },
  },
};

function joined(method: string, found: readonly PartialPost[]): PostData {
  return mergePosts(found.map((part) => ({ method, found: part })));
}

function ofPost(document: PostData): Reading {
  const { title, caption, author } = document.common;
  return { title: title ?? caption, owner: author?.name ?? author?.username, document };
}

function digits(number: number, length: number): string {
  return String(number).padStart(length, '0');
}
