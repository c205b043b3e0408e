/** The troubleshooting page against the code's messages. */

import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { readPage } from './support/docs/documents.js';
import { packageRoot } from './support/package-root.js';

const PAGE = 'docs/operate/troubleshooting.md';

/** One `…` for each value: numbers, times, names of settings and methods, identifiers, paths, quoted and bracketed words. */
function withoutValues(text: string): string {
  return text
    .replace(/"[^"\n]*"/g, '…')
    .replace(/\([^()\n]*\)/g, '…')
    .replace(/(?<![\w.])\/[\w./-]*\w/g, '…')
    .replace(/\b(?:[A-Z][A-Z_]{2,}|[a-z]+_[a-z_]+)\b/g, '…')
    .replace(/\d+ s\b|\d[\d.,:]*\d|\d/g, '…');
}

/** The texts in a source, with one `…` for each value, and without breaks in the middle of a message. */
function textsOf(file: string): string[] {
  const source = readFileSync(path.join(packageRoot, file), 'utf8');
  // Templates within templates: the inner ones first.
  const flat = source.replace(/\$\{[^{}`]*\}/g, '…').replace(/\$\{[^{}]*\}/g, '…');
  const joined = flat.replace(/['`] \+\s*['`]/g, '');
  const literals = joined.matchAll(/'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)"|`([^`]*)`/g);
  return Array.from(literals, ([, single, double, template]) => withoutValues(single ?? double ?? template ?? ''));
}

/** The messages that the page quotes: code with several words that is no command. */
function quotedMessages(): string[] {
  const text = readPage(PAGE).replace(/^```[\s\S]*?^```$/gm, '');
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replace(/\s+/g, ' '));
  return quoted.filter(
    (code) => code.split(' ').length > 3 && /[.:]$|^[A-Z…]|^\w+ \w+ \w+ \w+/.test(code) && !isCommand(code),
  );
}

function isCommand(code: string): boolean {
  return /^(npm|mediagate|curl|set|apt-get|sudo|systemctl) /.test(code);
}

describe(PAGE, () => {
  it('quotes messages as the code has them', () => {
    const texts = globSync('{core,server,plugins}/**/*.ts', { cwd: packageRoot }).flatMap(textsOf);
    const wrong = quotedMessages().flatMap((message) =>
      withoutValues(message)
        .split(/…|(?<=[.:]) /)
        .map((part) => part.trim())
        .filter((part) => part.split(' ').length > 2 && !texts.some((text) => text.includes(part)))
        .map((part) => `${message}: ${part}`),
    );
    expect(quotedMessages().length).to.be.greaterThan(50);
    expect(wrong).to.deep.equal([]);
  });
});
