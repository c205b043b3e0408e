import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from './package-root.js';

const README = path.join(packageRoot, 'README.md');

/** A Markdown table; a bar in a cell is escaped. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(header), `|${header.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}

/** README's text between `<!-- table:NAME -->` and `<!-- /table -->`; undefined where there is no such pair. */
export function readReadmeTable(name: string): string | undefined {
  return blockOf(name).exec(readFileSync(README, 'utf8'))?.[2]?.trim();
}

/** @throws Error where README has no place for it. */
export function writeReadmeTable(name: string, table: string): void {
  const text = readFileSync(README, 'utf8');
  if (!blockOf(name).test(text)) throw new Error(`README.md has no <!-- table:${name} --> … <!-- /table -->.`);
  writeFileSync(
    README,
    text.replace(blockOf(name), (_all, open: string, _old, close: string) => `${open}\n${table}\n${close}`),
  );
}

function blockOf(name: string): RegExp {
  return new RegExp(`(<!-- table:${name} -->)([\\s\\S]*?)(<!-- /table -->)`);
}
