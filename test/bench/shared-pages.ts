/** Benchmark of parsing the recorded pages in `CAPTURES_DIR`. */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from '../support/package-root.js';
import type { Figure } from './measure.js';
import { blobsNaming, blobsNeeded } from './page-blobs.js';
import { comparePage, type ParsedPage } from './page-parse.js';
import { PLATFORMS, type PlatformName, platformNames } from './platforms.js';

/** `cases.json` of a folder with recorded pages, as far as it matters here. */
interface RecordedCase {
  platform: string;
  url: string;
  serve?: readonly { file?: string }[];
}

/** The largest recorded page of each platform that has its item in its data; nothing where `CAPTURES_DIR` names no folder. */
export async function measureSharedPages(): Promise<Figure[]> {
  const folder = process.env.CAPTURES_DIR && path.resolve(packageRoot, process.env.CAPTURES_DIR);
  if (!folder) return [];
  const index = path.join(folder, 'cases.json');
  if (!existsSync(index)) throw new Error(`CAPTURES_DIR: there is no ${index}.`);
  const { cases }: { cases: readonly RecordedCase[] } = JSON.parse(readFileSync(index, 'utf8'));
  return platformNames.flatMap((name) => {
    const pages = cases
      .filter(({ platform }) => platform === name)
      .flatMap(({ url, serve = [] }) =>
        serve.flatMap(({ file }) => (file?.endsWith('.html') ? [{ url, file: path.join(folder, 'files', file) }] : [])),
      )
      .map(({ url, file }) => ({ url, html: readFileSync(file, 'utf8'), title: 'the largest recorded page' }))
      .sort((one, other) => other.html.length - one.html.length);
    const largest = pages.find((page) => holdsItem(name, page));
    return largest ? [comparePage(name, largest)] : [];
  });
}

function holdsItem(name: PlatformName, { url, html }: ParsedPage): boolean {
  const link = PLATFORMS[name].match(new URL(url));
  // A short link names no item before it is resolved.
  if (!link || link.kind === 'short_link') return false;
  const read = (page: string) => PLATFORMS[name].read(page, link);
  const reading = read(html);
  if (!reading?.title || !reading.owner) return false;
  return blobsNeeded(html, blobsNaming(html, link.id), read).length > 0;
}
