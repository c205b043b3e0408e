/** Pages of the documentation: links, blocks and generated tables. */

import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from '../package-root.js';

/** The pages that the documentation tests read: those beside README, in `docs/` and of the examples, as relative paths. */
export function documentPages(): string[] {
  const pages = globSync('docs/**/*.md', { cwd: packageRoot }).map((page) => page.replaceAll(path.sep, '/'));
  return ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'examples/README.md', ...pages.sort()];
}

/** The text of a page, which is named by its path in the project. */
export function readPage(page: string): string {
  return readFileSync(path.join(packageRoot, page), 'utf8');
}

/** The anchors of the headings of a page, as forges make them. */
export function anchorsOf(text: string): string[] {
  return Array.from(withoutCode(text).matchAll(/^#+ (.+)$/gm), ([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

export function withoutCode(text: string): string {
  return text.replace(/^```[\s\S]*?^```$/gm, '');
}

/**
 * Code blocks of one language in a page.
 * @param heading Only those of the section with this heading (`## Load it`), sections below it included.
 * @throws Error where the page has no such heading.
 */
export function snippetsOf(page: string, language: string, heading?: string): string[] {
  const text = heading === undefined ? readPage(page) : sectionOf(page, heading);
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code = '']) =>
    name === language ? [code] : [],
  );
}

/**
 * A section of a page with the sections below it.
 * @throws Error where the page has no such heading.
 */
export function sectionOf(page: string, heading: string): string {
  const text = `\n${readPage(page)}`;
  const start = text.indexOf(`\n${heading}\n`);
  if (start < 0) throw new Error(`${page} has no "${heading}"`);
  const [level = ''] = heading.split(' ');
  const section = text.slice(start + 1);
  const end = section.search(new RegExp(`\\n${level} `));
  return end < 0 ? section : section.slice(0, end);
}

/** A code block of a page that a reader can run as it is. */
export interface RunnableBlock {
  readonly language: string;
  readonly code: string;
  /** What its output contains; undefined where the page does not say. */
  readonly prints: string | undefined;
}

/** The blocks that follow `<!-- run -->` or `<!-- run: prints TEXT -->`, in the order of the page. */
export function runnableBlocksOf(page: string): RunnableBlock[] {
  const marked = /^<!-- run(?:: prints (.+))? -->\n```(\w+)\n([\s\S]*?)^```$/gm;
  return [...readPage(page).matchAll(marked)].map(([, prints, language = '', code = '']) => ({
    language,
    code,
    prints,
  }));
}

/** A Markdown table; a bar in a cell is escaped. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [renderRow(header), `|${header.map(() => '---').join('|')}|`, ...rows.map(renderRow)].join('\n');
}

/**
 * The page that has `<!-- table:NAME -->` … `<!-- /table -->`.
 * @throws Error where there is none, or several.
 */
export function pageOfTable(name: string): string {
  const pages = documentPages().filter((page) => blockOf(name).test(readPage(page)));
  const [page] = pages;
  if (page === undefined || pages.length > 1)
    throw new Error(`One page must have <!-- table:${name} --> … <!-- /table -->; ${pages.length} have.`);
  return page;
}

/** The text of a table of the pages. */
function readTable(name: string): string {
  return (
    blockOf(name)
      .exec(readPage(pageOfTable(name)))?.[2]
      ?.trim() ?? ''
  );
}

export function writeTable(name: string, table: string): void {
  const page = pageOfTable(name);
  writeFileSync(
    path.join(packageRoot, page),
    readPage(page).replace(blockOf(name), (_all, open: string, _old, close: string) => `${open}\n${table}\n${close}`),
  );
}

/** Fails if a table of the pages differs; with `UPDATE_DOCS=1` it is written first. */
export function expectTable(name: string, table: string): void {
  if (process.env.UPDATE_DOCS === '1') writeTable(name, table);
  const page = pageOfTable(name);
  expect(
    readTable(name),
    `the table "${name}" of ${page} should read (UPDATE_DOCS=1 npm test writes it):\n${table}\n`,
  ).to.equal(table);
}

/** Whether a table of the pages has a row that begins with this cell. */
export function hasRow(name: string, first: string): boolean {
  return readTable(name)
    .split('\n')
    .some((line) => line.startsWith(beginOf(first)));
}

/**
 * Replaces the row that begins with the same cell.
 * @throws Error where the table has none.
 */
export function writeRow(name: string, row: readonly [string, ...string[]]): void {
  const [first] = row;
  if (!hasRow(name, first)) throw new Error(`${pageOfTable(name)} has no row "${first}" in its table ${name}.`);
  const lines = readTable(name).split('\n');
  writeTable(name, lines.map((line) => (line.startsWith(beginOf(first)) ? renderRow(row) : line)).join('\n'));
}

function renderRow(cells: readonly string[]): string {
  return `| ${cells.map(escaped).join(' | ')} |`;
}

function beginOf(first: string): string {
  return `| ${escaped(first)} |`;
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|');
}

function blockOf(name: string): RegExp {
  return new RegExp(`(<!-- table:${name} -->)([\\s\\S]*?)(<!-- /table -->)`);
}
