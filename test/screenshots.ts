/**
 * Takes screenshots of every page of the site and of its states, in every language, width and colour scheme. With
 * `--measure` it measures the weight and the speed of every page instead: of several visits the median counts, since other
 * work on the machine makes single ones slower.
 */

import { mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { BrowserContext } from 'playwright-core';
import { measurePage, type PageSpeed } from './support/browser/page-speed.js';
import type { SitePage } from './support/browser/site-pages.js';
import { openUsedSite, type UsedSite } from './support/browser/used-site.js';
import { readFlags } from './support/processes/program-flags.js';

const LANGUAGES = ['en', 'vi'] as const;
const WIDTHS = [1_280, 390] as const;
const SCHEMES = ['light', 'dark'] as const;
/** Chromium stops drawing long before the end of the longest guides. */
const MAX_HEIGHT = 12_000;

const { words, only, measure, visits } = readFlags({
  command: 'npm run screenshots --',
  flags: {
    only: { text: 'first letters of the names of pages, separated by commas' },
    measure: 'switch',
    visits: { default: 3, least: 1 },
  },
  words: { name: 'FOLDER', most: 1 },
});

/** Waits for the fonts, and for pictures below what the window shows. */
async function settle(): Promise<void> {
  await document.fonts.ready;
  const pictures = [...document.images].map((image) => {
    image.loading = 'eager';
    return image.decode().catch(() => undefined);
  });
  const soon = new Promise((resolve) => setTimeout(resolve, 3_000));
  await Promise.race([Promise.all(pictures), soon]);
}

/** Of the page, or of the window while a dialog lies over it. */
function shownHeight(): number {
  return document.querySelector(':popover-open, dialog[open]')
    ? window.innerHeight
    : document.documentElement.scrollHeight;
}

/** In two languages, at two widths, light and dark. */
async function take(
  site: UsedSite,
  { name, path: target, prepare }: SitePage,
  context: BrowserContext,
  folder: string,
) {
  const page = await context.newPage();
  for (const language of LANGUAGES) {
    await context.addCookies([{ name: 'language', value: language, url: site.url }]);
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: width === 390 ? 844 : 900 });
      // A new part of the same address alone would keep the page, with its language.
      await page.goto('about:blank');
      // Never idle: the page of an open order waits for the money.
      await page.goto(site.url + target, { waitUntil: 'load' });
      await prepare?.(page);
      await page.evaluate(settle);
      for (const colorScheme of SCHEMES) {
        await page.emulateMedia({ colorScheme });
        const height = Math.min(MAX_HEIGHT, await page.evaluate(shownHeight));
        const file = path.join(folder, `${name}-${language}-${width}-${colorScheme}.png`);
        await page.screenshot({ path: file, fullPage: true, clip: { x: 0, y: 0, width, height } });
      }
    }
  }
  await page.close();
}

/** A row for each language: the widths take turns, and the slower one counts. */
async function printSpeed(site: UsedSite, { name, path: target }: SitePage, context: BrowserContext): Promise<void> {
  for (const language of LANGUAGES) {
    await context.addCookies([{ name: 'language', value: language, url: site.url }]);
    const ofWidths: PageSpeed[] = [];
    for (const width of WIDTHS) {
      const measured: PageSpeed[] = [];
      for (let visit = 0; visit < visits; visit += 1) {
        measured.push(await measurePage(site.browser, site.url + target, { context, width }));
      }
      ofWidths.push(measured.sort((one, other) => one.textMs - other.textMs)[Math.floor(visits / 2)] as PageSpeed);
    }
    const { bytes, bytesOf } = ofWidths[0] as PageSpeed;
    const textMs = Math.max(...ofWidths.map((one) => one.textMs));
    const shift = Math.max(...ofWidths.map((one) => one.shift));
    const parts = Object.entries(bytesOf).map(([type, size]) => `${type} ${(size / 1_000).toFixed(1)}`);
    console.log(
      `| ${name} | ${language} | ${(bytes / 1_000).toFixed(1)} | ${(textMs / 1_000).toFixed(2)} | ${shift.toFixed(3)} | ${parts.join(', ')} |`,
    );
  }
}

async function main(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const site = await openUsedSite();
  if (measure) console.log('| page | language | kB | largest text, s | shift | kB of |\n|---|---|---|---|---|---|');
  try {
    await site.forEachPage(async (page, context) => {
      if (only !== undefined && !only.split(',').some((start) => page.name.startsWith(start))) return;
      if (!measure) return take(site, page, context, folder);
      // States that are reached by hand are no first visits.
      if (!page.prepare) await printSpeed(site, page, context);
    });
  } finally {
    await site.close();
  }
  if (!measure) console.log(`Screenshots are in ${folder}`);
}

await main(words[0] ?? (await mkdtemp(path.join(tmpdir(), 'mediagate-screenshots-'))));
