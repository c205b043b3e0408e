/*
 * The guides: the pages of the folder `docs`, which are in the package. They are read once, at the first visit. The
 * address of a page is its path without the ending; with the ending it is the Markdown itself. Links between pages
 * become links of the site, and links to other files of the project become plain text, since the site does not have
 * these.
 */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { NavigationGroup } from './layout.js';

export interface Guide {
  /** Path in `docs`: `guides/images.md`. */
  file: string;
  /** `/docs/guides/images` */
  url: string;
  title: string;
  markdown: string;
}

const FOLDER = new URL('../../../../docs/', import.meta.url);

/** Folders of the navigation, in order. The first has the pages that are in none. */
const FOLDERS: readonly { folder: string; title: string }[] = [
  { folder: '', title: 'Start' },
  { folder: 'guides', title: 'Guides' },
  { folder: 'accounts', title: 'Accounts' },
  { folder: 'operate', title: 'Operate' },
  { folder: 'reference', title: 'Tables' },
  { folder: 'develop', title: 'Develop' },
];

/** All guides; none if this installation lacks the folder. */
export async function loadGuides(): Promise<Guide[]> {
  const names = await readdir(FOLDER, { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  const files = names.map((name) => name.split(path.sep).join('/')).filter((name) => name.endsWith('.md'));
  return Promise.all(files.sort().map(loadGuide));
}

async function loadGuide(file: string): Promise<Guide> {
  const markdown = await readFile(new URL(file, FOLDER), 'utf8');
  const title = /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll('`', '') ?? file;
  return { file, url: guideUrl(file), title, markdown };
}

function guideUrl(file: string): string {
  return `/docs/${file.replace(/\.md$/, '')}`;
}

/** Guides by folder; folders without pages are left out. */
export function guideNavigation(guides: readonly Guide[]): NavigationGroup[] {
  const groups = FOLDERS.map(({ folder, title }) => ({
    title,
    pages: guides.filter(({ file }) => folderOf(file) === folder).map(({ url, title: name }) => ({ url, title: name })),
  }));
  return groups.filter(({ pages }) => pages.length > 0);
}

function folderOf(file: string): string {
  return file.includes('/') ? (file.split('/')[0] ?? '') : '';
}

/** Title of the guide's folder, for search results. */
export function placeOf({ file }: Guide): string {
  return FOLDERS.find(({ folder }) => folder === folderOf(file))?.title ?? '';
}

/**
 * Where a link of a guide leads on the site.
 * @returns An address, or undefined for a file that the site does not have.
 */
export function resolveLink(href: string, from: Guide, guides: ReadonlyMap<string, Guide>): string | undefined {
  if (/^https?:\/\//.test(href) || href.startsWith('#')) return href;
  const { pathname, hash } = new URL(href, `http://docs/docs/${from.file}`);
  const guide = guides.get(decodeURIComponent(pathname.replace(/^\/docs\//, '')));
  return pathname.startsWith('/docs/') && guide ? `${guide.url}${hash}` : undefined;
}
