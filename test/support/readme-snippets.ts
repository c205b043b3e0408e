import { readFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from './package-root.js';

/**
 * Code blocks of one language in README's section of that heading (`## Models`), sections below it included.
 * @param file Another README. Default: that of the package.
 */
export function readmeSnippets(heading: string, language: string, file = 'README.md'): string[] {
  const readme = readFileSync(path.join(packageRoot, file), 'utf8');
  const begun = readme.indexOf(`\n${heading}\n`);
  if (begun < 0) throw new Error(`${file} has no "${heading}"`);
  const [level = ''] = heading.split(' ');
  const section = readme.slice(begun + 1);
  const end = section.search(new RegExp(`\\n${level} `));
  const text = end < 0 ? section : section.slice(0, end);
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code = '']) =>
    name === language ? [code] : [],
  );
}
