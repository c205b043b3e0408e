/** The vocabulary of code, messages, pages and titles. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { packageRoot } from './support/package-root.js';

/**
 * Words that only this project used for an idea, each with the usual term. No identifier of core, server, benchmarks and
 * fault runs has one.
 */
const RETIRED_IN_IDENTIFIERS: Readonly<Record<string, string>> = {
  'desks?': 'service',
  'wish(es)?': 'input, request',
  'rungs?|ladders?': 'method, fallback chain',
  'climb(ed|s)?': 'run',
  'told|tells?|said|says?|speaks|hears?|heard': 'notify, report, send, receive',
  'looks?|looked|looking': 'get, read, poll',
  'verdicts?|rulings?': 'result, restriction',
  'obtained|kept': 'extracted, fetched, cached, stored',
  patience: 'timeout',
  'rounds|beats': 'poll loop, heartbeat',
  'lanes?': 'shards',
  'makings?|sounding': 'transcodes, audio response',
  faces: 'scoped clients',
  'choosy|suspects?': 'poison job',
  unheard: 'detached',
  upkeep: 'maintenance',
  torture: 'chaos',
  canary: 'live probe',
  away: 'unavailable',
  'whom|whoever|nobody|anybody|somebody': 'the role: client, caller, owner, operator',
};

/** Likewise for comments, where the ordinary words of the list above are allowed. */
const RETIRED_IN_COMMENTS: Readonly<Record<string, string>> = {
  desk: 'service',
  'wish(es)?': 'input, request',
  rung: 'method',
  climb: 'run',
  'is told|are told of|hears? of|was heard': 'is notified, receives',
  'verdicts?|ruling': 'result',
  patience: 'timeout',
  'kept answers?|hand-over|waiting room': 'idempotent response, tee, semaphore',
  'sounding|makings|in the making': 'audio response, transcodes, running',
  'shows? life|showed life|signs? of life': 'heartbeat',
  'in a ring': 'deadlock',
  'at hand|to be had|is believed': 'cached, available, is trusted',
  'a sound(?!-effect)': 'audio',
  'an authority': 'definitive',
  'goes on alone|keys go on': 'continues',
  'upkeep|torture|canary|cut_offs|choosy': 'maintenance, chaos, live probe, crash count',
  'whoever|whom|whatever|nobody|anybody|somebody|everybody': 'the role: client, caller, owner, operator',
};

/**
 * Likewise for what people read: docs, messages, log lines, help and pages. Names of public APIs may have them, such as
 * the header `x-mediagate-stand-in`.
 */
const RETIRED_IN_TEXTS: Readonly<Record<string, string>> = {
  desk: 'service',
  'wish(es)?': 'request',
  'rungs?|ladders?': 'method, fallback chain',
  'climb(ed|s)?': 'run',
  'kept answers?|hand-over|waiting room': 'idempotent response, tee, semaphore',
  'torture|canary|upkeep|makings': 'chaos, live probe, maintenance, transcodes, crash count',
  '(?<!x-mediagate-)stand-ins?': 'mock, offline engine',
  'to be had|is believed|at hand|is told of': 'available, is trusted, cached, receives',
  'a sound(?![- ]effect)': 'audio',
  'keys go on|goes on alone|in the making|shows life': 'keep working, continues, running, heartbeat',
  'whoever|whom': 'the role: client, caller, owner, operator',
};

const files = ['core', 'server', 'test/bench', 'test/chaos']
  .flatMap((folder) =>
    readdirSync(path.join(packageRoot, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name}`,
    ),
  )
  .filter((file) => file.endsWith('.ts') && !file.startsWith('server/migrations/'))
  .sort();

describe('words of core, server, benchmarks and fault runs', () => {
  it('use the standard terms in identifiers', () => {
    // A round of a measurement is no poll loop.
    const isUsual = (file: string, name: string) => file.startsWith('test/') && /^(?:\w+_)?rounds$/i.test(name);
    const wrong = files.flatMap((file) =>
      [...new Set(parse(file).identifiers)]
        .filter((name) => !isUsual(file, name))
        .flatMap((name) =>
          wordsOf(name).flatMap((word) => complain(RETIRED_IN_IDENTIFIERS, word, `${file}: ${name}`, '^', '$')),
        ),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('use the standard terms in comments', () => {
    const wrong = files.flatMap((file) =>
      parse(file).comments.flatMap((comment) => {
        const text = comment.replace(/\s*\n\s*(\*|\/\/)?\s*/g, ' ');
        return complain(RETIRED_IN_COMMENTS, text, `${file}: ${text}`, '\\b', '\\b');
      }),
    );
    expect(wrong).to.deep.equal([]);
  });
});

describe('words of messages and docs', () => {
  it('use the standard terms in texts of the code', () => {
    const wrong = ['core', 'server', 'plugins', 'test/bench', 'test/chaos'].flatMap((folder) =>
      list(folder, /\.ts$/).flatMap((file) =>
        parse(file)
          .texts.filter((text) => /[a-z] [a-z]/i.test(text))
          .flatMap((text) => complain(RETIRED_IN_TEXTS, text, `${file}: ${text}`, '\\b', '\\b')),
      ),
    );
    expect(wrong).to.deep.equal([]);
  });

  it('use the standard terms in pages', () => {
    const pages = [
      'README.md',
      'CONTRIBUTING.md',
      ...['docs', 'examples', 'server'].flatMap((folder) => list(folder, /\.(md|ya?ml)$/)),
    ];
    const wrong = pages.flatMap((file) =>
      readFileSync(path.join(packageRoot, file), 'utf8')
        .split('\n')
        .flatMap((line, index) => complain(RETIRED_IN_TEXTS, line, `${file}:${index + 1}`, '\\b', '\\b')),
    );
    expect(wrong).to.deep.equal([]);
  });
});

function list(folder: string, names: RegExp): string[] {
  return readdirSync(path.join(packageRoot, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((file) => names.test(file) && !/\/(test|fixtures|node_modules)\//.test(file))
    .sort();
}

function complain(words: Readonly<Record<string, string>>, text: string, where: string, before: string, after: string) {
  return Object.entries(words)
    .filter(([word]) => new RegExp(`${before}(${word})${after}`, 'i').test(text))
    .map(([word, term]) => `${where} (${word}: ${term})`);
}

/** `maxAccountId` → max, account, id. */
function wordsOf(name: string): string[] {
  return name.split(/[_#]|(?<=[a-z0-9])(?=[A-Z])/).map((word) => word.toLowerCase());
}

/** Comments, strings and template texts, regular expressions, and names. A template's expressions are code again. */
const TOKENS =
  /\/\*[\s\S]*?\*\/|\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|(?<=[(,=:[!&|?{};>]\s*|return\s+)\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*|#?[A-Za-z_$][\w$]*|[`{}]/g;
const TEMPLATE_TEXT = /(?:[^`\\$]|\\[\s\S]|\$(?!\{))*(`|\$\{)/y;

function parse(file: string): { identifiers: string[]; comments: string[]; texts: string[] } {
  const text = readFileSync(path.join(packageRoot, file), 'utf8');
  const identifiers: string[] = [];
  const comments: string[] = [];
  const texts: string[] = [];
  /** Open braces; true for those of a template's expression. */
  const open: boolean[] = [];
  const skipTemplateText = (from: number): number => {
    TEMPLATE_TEXT.lastIndex = from;
    const [whole = '', end] = TEMPLATE_TEXT.exec(text) ?? [];
    texts.push(whole);
    if (end === '${') open.push(true);
    return from + whole.length;
  };
  TOKENS.lastIndex = 0;
  for (let match = TOKENS.exec(text); match; match = TOKENS.exec(text)) {
    const [token] = match;
    if (token === '`' || (token === '}' && open.pop())) TOKENS.lastIndex = skipTemplateText(TOKENS.lastIndex);
    else if (token === '{') open.push(false);
    else if (/^\/[*/]/.test(token)) comments.push(token);
    else if (/^[#\w$]/.test(token)) identifiers.push(token);
    else if (/^['"]/.test(token)) texts.push(token);
  }
  return { identifiers, comments, texts };
}
