/*
 * Settings of an operator's own site: what customers see instead of the name, mark and colour of mediagate. An accent
 * colour is refused if texts in it could not be read. One of these settings is enough for a site that no longer says that
 * its visitor hosts the gateway.
 */

import path from 'node:path';
import { contrastOf, isColour, isVisible } from '../format/index.js';
import { oneOf, type Setting, urlOf } from './setting-values.js';

const MAX_NAME = 40;
const MAX_FOOTER = 300;
/** As WCAG 2.2 AA has it for texts. */
const MIN_CONTRAST = 4.5;
/** The darkest ground on which pages write in the accent colour, and the text on buttons of that colour. */
const GROUNDS = ['#f2f1ec', '#ffffff'] as const;

export const SITE_SETTINGS = [
  {
    name: 'SITE_NAME',
    unset: 'mediagate',
    description: `Name of the service on the pages, at most ${MAX_NAME} characters.`,
    read: (text) => ({ siteName: visibleText(text, MAX_NAME) }),
  },
  {
    name: 'SITE_LOGO',
    unset: 'the mark of mediagate',
    description: 'File of the logo in the header and as icon: SVG, PNG or WebP, at most 200 kB. It is 24 pixels high.',
    read: (text) => ({ siteLogo: path.resolve(text) }),
  },
  {
    name: 'SITE_ACCENT',
    unset: 'green',
    description:
      'Colour of links and buttons, such as `#0b6b4a`. Its contrast to the pages must be at least 4.5. Its counterpart for dark pages follows from it.',
    read: (text) => ({ siteAccent: accentColour(text) }),
  },
  {
    name: 'SITE_TERMS_URL',
    unset: 'none',
    description: 'Address of the terms of service; a link in the footer and on the sign-in page.',
    read: (text) => ({ siteTermsUrl: urlOf(text, ['https:', 'http:']) }),
  },
  {
    name: 'SITE_PRIVACY_URL',
    unset: 'none',
    description: 'Address of the privacy policy; a link in the footer and on the sign-in page.',
    read: (text) => ({ sitePrivacyUrl: urlOf(text, ['https:', 'http:']) }),
  },
  {
    name: 'SITE_SUPPORT',
    unset: 'none',
    description: 'Email address or web address of the support; a link in the footer and on pages of errors.',
    read: (text) => ({ siteSupport: contact(text) }),
  },
  {
    name: 'SITE_FOOTER',
    unset: 'a sentence on keys',
    description: `Text of the footer, such as the name and address of the company; at most ${MAX_FOOTER} characters.`,
    read: (text) => ({ siteFooter: visibleText(text, MAX_FOOTER) }),
  },
  {
    name: 'SITE_EDIT_URL',
    unset: 'no link',
    description:
      'Address below which a person edits the files of the folder `docs`, such as `https://git.example/us/mediagate/edit/main/docs`. Guides then have a link to their file.',
    read: (text) => ({ siteEditUrl: urlOf(text, ['https:', 'http:']).replace(/\/+$/, '') }),
  },
  {
    name: 'SITE_HOME',
    default: 'on',
    description: '`off` hides the home page: `/` leads to the dashboard, or to the sign-in.',
    read: (text) => ({ siteHome: oneOf(text, ['on', 'off']) === 'on' }),
  },
] as const satisfies readonly Setting[];

function visibleText(text: string, max: number): string {
  const trimmed = text.trim();
  if (trimmed.length > max || !isVisible(trimmed)) throw new Error(`a text of 1 to ${max} visible characters`);
  return trimmed;
}

function contact(text: string): string {
  if (/^[^\s@<>":/?]{1,64}@[^\s@<>":/?]{1,253}$/.test(text)) return text;
  if (!/^https?:\/\//.test(text)) throw new Error('an email address, or an address that begins with https://');
  return urlOf(text, ['https:', 'http:']);
}

function accentColour(text: string): string {
  const colour = text.toLowerCase();
  if (!isColour(colour)) throw new Error('a colour such as #0b6b4a');
  const lowest = Math.min(...GROUNDS.map((ground) => contrastOf(colour, ground)));
  if (lowest >= MIN_CONTRAST) return colour;
  throw new Error(
    `a darker colour: its contrast to light pages must be at least ${MIN_CONTRAST}, and is ${lowest.toFixed(2)}`,
  );
}
