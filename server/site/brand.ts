/*
 * What an operator shows as their own: name, logo, accent colour, terms, privacy, support and footer. The colours of the
 * pages follow from the accent, for light and dark pages; a colour on a ground of its own kind is made lighter until
 * texts have enough contrast. The style sheet and the logo are files of the site with a hash in their address, so that
 * browsers may cache them for ever.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { GatewayError } from '../../core/runtime/index.js';
import { contrastOf, mixColours } from '../format/index.js';
import { defineRoute, paramOf, type Route } from '../http/index.js';

/** What pages show of the operator. */
export interface Brand {
  name: string;
  /** Whether visitors are customers of an operator, who do not host the gateway themselves. */
  isOwn: boolean;
  /** Files by name: `accent.css` and `logo`. */
  files: ReadonlyMap<string, BrandFile>;
  termsUrl?: string;
  privacyUrl?: string;
  /** Email address or web address. */
  support?: string;
  footer?: string;
  /** Address of the folder of guides where they are edited, without a trailing slash. Default: they have no such link. */
  editUrl?: string;
  hasHome: boolean;
}

export interface BrandFile {
  /** Path with the hash of its content. */
  url: string;
  contentType: string;
  bytes: Buffer;
}

export const MEDIAGATE: Brand = { name: 'mediagate', isOwn: false, files: new Map(), hasHome: true };

export interface BrandSettings {
  siteName?: string;
  siteLogo?: string;
  siteAccent?: string;
  siteTermsUrl?: string;
  sitePrivacyUrl?: string;
  siteSupport?: string;
  siteFooter?: string;
  siteEditUrl?: string;
  siteHome?: boolean;
}

/** A setting of the site that cannot be used; its message is for the operator. */
export class BrandError extends Error {}

/** @throws BrandError if the logo cannot be read. */
export async function loadBrand(settings: BrandSettings): Promise<Brand> {
  const { siteName, siteLogo, siteAccent, siteEditUrl: editUrl, siteHome = true } = settings;
  const { siteTermsUrl: termsUrl, sitePrivacyUrl: privacyUrl, siteSupport: support, siteFooter: footer } = settings;
  const given = [siteName, siteLogo, siteAccent, termsUrl, privacyUrl, support, footer];
  if (siteHome && given.every((value) => value === undefined)) return { ...MEDIAGATE, editUrl };
  const files = new Map<string, BrandFile>();
  if (siteAccent !== undefined) {
    files.set('accent.css', fileOf('accent.css', 'text/css; charset=utf-8', Buffer.from(accentStyles(siteAccent))));
  }
  if (siteLogo !== undefined) files.set('logo', await loadLogo(siteLogo));
  const name = siteName ?? MEDIAGATE.name;
  return { name, isOwn: true, files, termsUrl, privacyUrl, support, footer, editUrl, hasHome: siteHome };
}

function fileOf(name: string, contentType: string, bytes: Buffer): BrandFile {
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12);
  return { url: `/brand/${hash}/${name}`, contentType, bytes };
}

const MAX_LOGO_BYTES = 200_000;
const LOGO_TYPES: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
};

async function loadLogo(file: string): Promise<BrandFile> {
  const contentType = LOGO_TYPES[path.extname(file).toLowerCase()];
  if (contentType === undefined) throw new BrandError('SITE_LOGO must be a file that ends with .svg, .png or .webp.');
  const bytes = await readFile(file).catch(({ code }: NodeJS.ErrnoException) => {
    throw new BrandError(`SITE_LOGO: ${file} cannot be read (${code}).`);
  });
  if (bytes.length === 0 || bytes.length > MAX_LOGO_BYTES) {
    throw new BrandError(`SITE_LOGO: ${file} must have 1 to ${MAX_LOGO_BYTES} bytes.`);
  }
  return fileOf('logo', contentType, bytes);
}

const MIN_CONTRAST = 4.5;
const STEP = 0.05;
/** Grounds of cards, as in `tokens.css`. */
const LIGHT = '#ffffff';
const DARK = '#1b1c19';
const BLACK = '#000000';

/** @param accent It is dark enough for texts on light pages. */
function accentStyles(accent: string): string {
  const onDark = readableOn(DARK, accent);
  return `:root {
${colours(accent, { ground: LIGHT, strong: mixColours(accent, BLACK, 0.2), on: LIGHT })}
}
@media screen and (prefers-color-scheme: dark) {
:root {
${colours(onDark, { ground: DARK, strong: mixColours(onDark, LIGHT, 0.25), on: BLACK })}
}
}
`;
}

function colours(accent: string, { ground, strong, on }: { ground: string; strong: string; on: string }): string {
  return [
    `--accent: ${accent};`,
    `--accent-strong: ${strong};`,
    `--accent-soft: ${softOf(accent, ground)};`,
    `--on-accent: ${on};`,
  ].join('\n');
}

/** The colour, as much lighter as it needs. */
function readableOn(ground: string, colour: string): string {
  for (let share = 0; share < 1; share += STEP) {
    const mixed = mixColours(colour, LIGHT, share);
    if (contrastOf(mixed, ground) >= MIN_CONTRAST + 1) return mixed;
  }
  return LIGHT;
}

/** A ground with a hint of the colour, on which texts in the colour are readable. */
function softOf(accent: string, ground: string): string {
  for (let share = 0.12; share > 0; share -= STEP / 2) {
    const mixed = mixColours(ground, accent, share);
    if (contrastOf(accent, mixed) >= MIN_CONTRAST) return mixed;
  }
  return ground;
}

const FOR_EVER = 'public, max-age=31536000, immutable';

/** Files of the operator's site. */
export function brandRoutes(brand: Brand): Route[] {
  return [
    defineRoute({
      method: 'GET',
      grant: 'none',
      tag: 'Pages',
      path: '/brand/:version/:name',
      params: { version: { description: 'Hash of the file.' }, name: { description: '`accent.css` or `logo`.' } },
      summary: 'Logo and colours of the site',
      description: 'The logo and the accent colour of the operator; browsers may cache them for ever.',
      answers: { 200: { description: 'The file.', type: '*/*' } },
      errors: ['file_not_found'],
      async handler(context) {
        const file = brand.files.get(paramOf(context, 'name'));
        if (!file) throw new GatewayError('file_not_found', 'There is no such file.');
        // During a rolling update, a page of one node may request a file of another.
        context.res.setHeader('Cache-Control', file.url === context.path ? FOR_EVER : 'no-cache');
        context.res.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
        // An SVG may style itself, and load or run nothing.
        context.res.setHeader('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
        context.res.setHeader('Content-Type', file.contentType);
        context.body = file.bytes;
      },
    }),
  ];
}
