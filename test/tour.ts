/*
 * `npm run tour` prints what each source file says about itself, folder by folder, so that a reader knows a subject before
 * opening its code. `npm run tour -- core/jobs` prints one folder.
 */

import path from 'node:path';
import { type SourceFile, sourceFiles } from './support/docs/file-headers.js';
import { readFlags } from './support/processes/program-flags.js';

const WIDTH = 110;

const { words } = readFlags({ command: 'npm run tour --', flags: {}, words: { name: 'FOLDER', most: 1 } });
const [folder = ''] = words;
const wanted = folder.replace(/\/+$/, '');
const files = sourceFiles().filter(({ file }) => wanted === '' || file.startsWith(`${wanted}/`) || file === wanted);

if (files.length === 0) {
  process.stderr.write(`No source file is in '${folder}'. Name a folder such as core/jobs or server/limits.\n`);
  process.exitCode = 2;
}
for (const [name, group] of Map.groupBy(files, ({ file }) => path.posix.dirname(file))) {
  process.stdout.write(`\n${name}/\n${'='.repeat(name.length + 1)}\n${group.map(describeFile).join('')}`);
}

function describeFile({ file, lines, header }: SourceFile): string {
  const text = header === '' ? '(nothing)' : header;
  const body = text
    .split('\n')
    .map((line) => wrap(line, WIDTH).join('\n'))
    .join('\n');
  return `\n${path.posix.basename(file)} (${lines} lines)\n${body}\n`;
}

function wrap(text: string, width: number): string[] {
  const result = [''];
  for (const word of text.split(' ')) {
    const line = result.at(-1) ?? '';
    if (line !== '' && line.length + word.length >= width) result.push(word);
    else result[result.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return result;
}
