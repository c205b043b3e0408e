import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from './package-root.js';

const README = 'README.md';

/** A Markdown table; a bar in a cell is escaped. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  return [renderRow(header), `|${header.map(() => '---').join('|')}|`, ...rows.map(renderRow)].join('\n');
}

/**
 * A document's text between `<!-- table:NAME -->` and `<!-- /table -->`; undefined where there is no such pair.
 * @param file Default: README.
 */
export function readReadmeTable(name: string, file = README): string | undefined {
  return blockOf(name)
    .exec(readFileSync(path.join(packageRoot, file), 'utf8'))?.[2]
    ?.trim();
}

/** @throws Error where the document has no place for it. */
export function writeReadmeTable(name: string, table: string, file = README): void {
  const text = readFileSync(path.join(packageRoot, file), 'utf8');
  if (!blockOf(name).test(text)) throw new Error(`${file} has no <!-- table:${name} --> … <!-- /table -->.`);
  writeFileSync(
    path.join(packageRoot, file),
    text.replace(blockOf(name), (_all, open: string, _old, close: string) => `${open}\n${table}\n${close}`),
  );
}

/** Whether a table of README has a row that begins with this cell. */
export function hasReadmeRow(name: string, first: string): boolean {
  return (
    readReadmeTable(name)
      ?.split('\n')
      .some((line) => line.startsWith(beginOf(first))) ?? false
  );
}

/**
 * Writes the row that begins with the same cell anew.
 * @throws Error where README has none.
 */
export function writeReadmeRow(name: string, row: readonly [string, ...string[]]): void {
  const [first] = row;
  if (!hasReadmeRow(name, first)) throw new Error(`README.md has no row "${first}" in its table ${name}.`);
  const lines = readReadmeTable(name)?.split('\n') ?? [];
  const written = lines.map((line) => (line.startsWith(beginOf(first)) ? renderRow(row) : line));
  writeReadmeTable(name, written.join('\n'));
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
