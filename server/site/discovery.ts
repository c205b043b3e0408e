/*
 * What programs other than the reader's browser learn of the site: tags from which messengers make a preview of a page,
 * `robots.txt`, which keeps search engines out of pages of accounts, and the web manifest, with which a phone puts the
 * site on its home screen. A site with a name of its own has no picture of mediagate: its preview has the logo, unless
 * that is an SVG, which no messenger shows.
 */

import { defineRoute, type Route } from '../http/index.js';
import { assets } from './assets.js';
import { type Brand, MEDIAGATE } from './brand.js';
import { type Html, html } from './html.js';
import type { LanguageCode, Locale } from './language/index.js';

/** By the language of a page, as previews name it. */
const REGIONS: Readonly<Record<LanguageCode, string>> = { en: 'en_US', vi: 'vi_VN' };
/** In pixels. */
const PICTURE_SIZE = { width: 1_200, height: 630 };

export interface SharedPage {
  title: string;
  description: string;
  language: LanguageCode;
}

/** The tags of a page that search engines may list; a page of an account needs none. */
export function shareTags({ title, description, language }: SharedPage, { brand, siteUrl }: Locale): Html {
  const picture = pictureOf(brand);
  const url = picture && siteUrl !== undefined && `${siteUrl}${picture.path}`;
  const tags: [name: string, content: string | number][] = [
    ['og:type', 'website'],
    ['og:site_name', brand.name],
    ['og:title', title],
    ['og:description', description],
    ['og:locale', REGIONS[language]],
    ...(url ? [['og:image', url] as [string, string]] : []),
    ...(url && picture.isWide
      ? [
          ['og:image:width', PICTURE_SIZE.width] as [string, number],
          ['og:image:height', PICTURE_SIZE.height] as [string, number],
          ['og:image:alt', brand.name] as [string, string],
        ]
      : []),
  ];
  return html`${tags.map(([name, content]) => html`<meta property="${name}" content="${content}">\n`)}<meta name="twitter:card" content="${url && picture.isWide ? 'summary_large_image' : 'summary'}">
<link rel="manifest" href="${MANIFEST_PATH}">`;
}

function pictureOf({ name, files }: Brand): { path: string; isWide: boolean } | undefined {
  const logo = files.get('logo');
  if (logo) return logo.contentType === 'image/svg+xml' ? undefined : { path: logo.url, isWide: false };
  return name === MEDIAGATE.name ? { path: assets.url('share.png'), isWide: true } : undefined;
}

const MANIFEST_PATH = '/site.webmanifest';
/** Routes of programs, which search engines have no use for. */
const PROGRAM_PATHS = ['/v1/', '/api/'];

interface DiscoveryOptions {
  brand: Brand;
  /** Paths of the pages of accounts, with parameters as they are declared. */
  ownPaths: readonly string[];
}

/** `robots.txt` and the web manifest. */
export function discoveryRoutes({ brand, ownPaths }: DiscoveryOptions): Route[] {
  const robots = renderRobots(ownPaths);
  const manifest = JSON.stringify(describeSite(brand));
  const common = { method: 'GET', grant: 'none', tag: 'Pages' } as const;
  return [
    defineRoute({
      ...common,
      path: '/robots.txt',
      summary: 'Rules for search engines',
      description: 'Keeps search engines out of the API and the pages of accounts.',
      answers: { 200: { description: 'The rules.', type: 'text/plain' } },
      handler(context) {
        context.set({ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'public, max-age=3600' });
        context.body = robots;
      },
    }),
    defineRoute({
      ...common,
      path: MANIFEST_PATH,
      summary: 'Web manifest',
      description: 'Name, colours and icons with which a phone puts the site on its home screen.',
      answers: { 200: { description: 'The manifest.', type: 'application/manifest+json' } },
      handler(context) {
        context.set({ 'Content-Type': 'application/manifest+json', 'Cache-Control': 'public, max-age=3600' });
        context.body = manifest;
      },
    }),
  ];
}

function renderRobots(ownPaths: readonly string[]): string {
  const paths = new Set([...PROGRAM_PATHS, ...ownPaths.map((path) => path.replace(/:.*$/, ''))]);
  return `User-agent: *\n${[...paths].map((path) => `Disallow: ${path}\n`).join('')}`;
}

/** https://www.w3.org/TR/appmanifest/ */
function describeSite({ name, files }: Brand) {
  const logo = files.get('logo');
  const own = [
    { src: assets.url('icon.svg'), type: 'image/svg+xml', sizes: 'any' },
    { src: assets.url('icon-512.png'), type: 'image/png', sizes: '512x512' },
  ];
  return {
    name,
    short_name: name,
    start_url: '/',
    display: 'browser',
    background_color: '#faf9f6',
    theme_color: '#faf9f6',
    icons: logo ? [{ src: logo.url, type: logo.contentType, sizes: 'any' }] : own,
  };
}
