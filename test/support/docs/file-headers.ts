/*
 * Reads what each source file says about itself: the comment that stands above its imports. `npm run tour` prints these
 * comments folder by folder, and `test/file-headers.test.ts` requires one of every file.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from '../package-root.js';

/** Files of this many lines and more need a paragraph; smaller ones need a sentence. */
export const PARAGRAPH_LINES = 120;

export interface SourceFile {
  /** Path from the package root, with `/`. */
  file: string;
  lines: number;
  /** Text of the first comment without its marks; empty if the file does not begin with a comment. */
  header: string;
}

const isOfTests = (file: string) => /(?:^|\/)test\//.test(file);

/** Every source file of the product, sorted by path: no tests, fixtures or declarations. */
export function sourceFiles(): SourceFile[] {
  return filesOf(['core', 'plugins', 'server']).filter(({ file }) => !isOfTests(file));
}

/** Every file of the tests, fault runs and benchmarks, those of plugins included. */
export function testFiles(): SourceFile[] {
  return filesOf(['plugins', 'test']).filter(({ file }) => isOfTests(file));
}

function filesOf(folders: readonly string[]): SourceFile[] {
  return folders
    .flatMap((folder) =>
      readdirSync(path.join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        [folder, ...name.split(path.sep)].join('/'),
      ),
    )
    .filter((file) => /(?<!\.d)\.ts$/.test(file) && !/\/(fixtures|node_modules)\//.test(file))
    .sort()
    .map((file) => {
      const text = readFileSync(path.join(packageRoot, file), 'utf8');
      return { file, lines: text.split('\n').length - 1, header: headerOf(text) };
    });
}

/** The comment before everything else, in one line for each of its paragraphs. */
export function headerOf(text: string): string {
  const [comment = ''] = /^(?:\/\*[\s\S]*?\*\/|(?:\/\/[^\n]*(?:\n|$))*\/\/[^\n]*)(?=\n\s*\n|\s*$)/.exec(text) ?? [];
  return comment
    .replace(/^\/\*+|\*+\/\s*$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*(?:\*|\/\/) ?/, '').trim())
    .join('\n')
    .trim()
    .replace(/([^\n])\n(?=[^\n-])/g, '$1 ');
}
