/*
 * Colours of code: cuts a text into tokens, each with its kind, for the pages that the server renders and for their
 * scripts. The rules of the languages are a package's, which the build bundles into this file, so that an installation
 * needs none. The tokens of a text joined together are always the text: a language that cannot read something
 * leaves it without a colour. Lines are never cut at the edge of a page: a long one goes on below, further in than it
 * begins. It breaks at a space, between members of JSON or within an address; an option stays with its argument, and the
 * name of a member with its value.
 */

import bash from '@speed-highlight/core/languages/bash.js';
import ini from '@speed-highlight/core/languages/ini.js';
import js from '@speed-highlight/core/languages/js.js';
import json from '@speed-highlight/core/languages/json.js';
import python from '@speed-highlight/core/languages/py.js';
import toml from '@speed-highlight/core/languages/toml.js';
import ts from '@speed-highlight/core/languages/ts.js';
import yaml from '@speed-highlight/core/languages/yaml.js';
import { type ShjGrammar, type ShjLanguageData, tokenizeWith } from '@speed-highlight/core/tokenize';

/** Kinds of tokens that have a colour; each is the name of a class. */
export type TokenKind = 'string' | 'name' | 'number' | 'word' | 'comment';

export interface CodeToken {
  text: string;
  /** Undefined for what has the colour of text. */
  kind: TokenKind | undefined;
}

/** Longer texts have no colours, so that no page waits for them. */
const MAX_LENGTH = 50_000;

/** JSON between the quotes of a shell. */
const body: ShjGrammar = [
  { type: 'var', match: /"(?:[^"\\\n]|\\.)*"(?=\s*:)/g },
  { expand: 'strDouble' },
  { expand: 'num' },
  { type: 'bool', match: /\b(?:true|false|null)\b/g },
];

/** The package reads a body in quotes as words, an address as numbers, all of `$(…)` as a name, and knows no long options. */
const shell: ShjGrammar = [
  { match: /'[[{][^']*'/g, sub: body },
  { match: /https?:\/\/[^\s'"]+/g },
  { type: 'kwd', match: /\$\((?!\()/g },
  { type: 'func', match: /(?<=\$\()[\w./-]+/g },
  { type: 'kwd', match: /(?<=\s)--?[a-z][\w-]*/gi },
  ...(bash as ShjGrammar),
];

const GRAMMARS: Readonly<Record<string, ShjLanguageData>> = {
  ...{ shell, sh: shell, bash: shell, console: shell, curl: shell, env: shell, dotenv: shell },
  ...{ json, jsonc: json, jsonl: json },
  ...{ js, javascript: js, mjs: js, jsx: js, node: js, ts, typescript: ts, tsx: ts },
  ...{ py: python, python, toml, yaml, yml: yaml, ini },
};

const KINDS: Readonly<Record<string, TokenKind>> = {
  str: 'string',
  var: 'name',
  section: 'name',
  type: 'name',
  num: 'number',
  bool: 'number',
  kwd: 'word',
  class: 'name',
  func: 'name',
  cmnt: 'comment',
};

/**
 * The language of a file, as {@link tokensOfCode} takes it.
 * @param title The path of a file, or the name of a language. Other words are none.
 */
export function codeLanguageOf(title: string): string {
  return /(\w+)$/.exec(title)?.[1]?.toLowerCase() ?? '';
}

/** @param language `json`, `sh`, `python` or the like. An unknown one gives a single token. */
export function tokensOfCode(text: string, language: string): CodeToken[] {
  const grammar = Object.hasOwn(GRAMMARS, language) ? GRAMMARS[language] : undefined;
  if (!grammar || text.length > MAX_LENGTH) return [{ text, kind: undefined }];
  const tokens: CodeToken[] = [];
  const add = (part: string, type?: string) => {
    const kind = type === undefined ? undefined : KINDS[type];
    const last = tokens.at(-1);
    if (last?.kind === kind && last) last.text += part;
    else if (part !== '') tokens.push({ text: part, kind });
  };
  tokenizeWith(text, grammar, add, { languages: { js, ts, py: python } });
  return tokens;
}

/** One line with the break after it. */
export interface CodeLine {
  /** Class by which what does not fit goes on further in than the line begins. */
  className: string;
  /** Parts that stay whole where they fit into a line, and what is between them. */
  parts: { isWhole: boolean; tokens: (CodeToken & { mayBreak: boolean })[] }[];
}

/** Shorter lines fit on every page. */
const LONG_LINE = 40;
/** Longer words may break within. */
const LONG_WORD = /\S{25,}/g;
const WORD_BREAKS = /,(?=\S)|[?&](?=\w)|(?<![/:])\/(?=[\w{$])|=(?=['"])|_(?=[0-9a-f]{16})/g;
/** An option with its argument; a member of JSON; the end of a command that goes on in the next line. */
const WHOLE_PARTS =
  /(?<=\s)--?[a-zA-Z][\w-]*[ =](?:"(?:[^"\\]|\\.)*"|'[^{['][^']*'|[\w./:$@-]+)(?: \\(?=\n|$))?|"[^"\s]*": ?(?:"[^"]*"|[\w.+-]+),?|(?<=["\w}])[}\]'"]{1,3} \\(?=\n|$)/g;
/** Levels of two spaces, as the styles have them. */
const MAX_LEVEL = 8;

/** Undefined for an unknown language and for a long text: their lines stay whole. */
export function linesOfCode(text: string, language: string): CodeLine[] | undefined {
  if (!Object.hasOwn(GRAMMARS, language) || text.length > MAX_LENGTH) return undefined;
  const lines: CodeToken[][] = [[]];
  for (const { text: part, kind } of tokensOfCode(text, language)) {
    for (const piece of part.split(/(?<=\n)/)) {
      lines.at(-1)?.push({ text: piece, kind });
      if (piece.endsWith('\n')) lines.push([]);
    }
  }
  return lines.filter((line) => line.length > 0).map(lineOf);
}

function lineOf(tokens: readonly CodeToken[]): CodeLine {
  const line = tokens.map(({ text }) => text).join('');
  if (line.length <= LONG_LINE) {
    const whole = tokens.map((token) => ({ ...token, mayBreak: false }));
    return { className: 'code-line', parts: [{ isWhole: false, tokens: whole }] };
  }
  const level = Math.min(MAX_LEVEL, Math.floor((/^ */.exec(line)?.[0].length ?? 0) / 2));
  const breaks = breaksIn(line);
  const parts = partsOf(line).map(({ from, to, isWhole }) => ({
    isWhole,
    tokens: cutTokens(tokens, [from, ...breaks.filter((at) => at > from && at < to), to]),
  }));
  return { className: level === 0 ? 'code-line' : `code-line in-${level}`, parts };
}

/** Where the long words of a line may break. */
function breaksIn(line: string): number[] {
  return [...line.matchAll(LONG_WORD)].flatMap(({ 0: word, index }) =>
    Array.from(word.matchAll(WORD_BREAKS), (found) => index + found.index + 1),
  );
}

/** The whole parts, and what is between them. */
function partsOf(line: string): { from: number; to: number; isWhole: boolean }[] {
  const parts: { from: number; to: number; isWhole: boolean }[] = [];
  let end = 0;
  for (const { 0: text, index } of line.matchAll(WHOLE_PARTS)) {
    // One part alone wraps as its line does.
    if (text === line.trim()) continue;
    if (index > end) parts.push({ from: end, to: index, isWhole: false });
    end = index + text.length;
    parts.push({ from: index, to: end, isWhole: true });
  }
  if (end < line.length) parts.push({ from: end, to: line.length, isWhole: false });
  return parts;
}

/** The tokens between the first place and the last; the line may break at the others. */
function cutTokens(tokens: readonly CodeToken[], places: readonly number[]): (CodeToken & { mayBreak: boolean })[] {
  const cut: (CodeToken & { mayBreak: boolean })[] = [];
  const last = places.at(-1) ?? 0;
  let start = 0;
  for (const { text, kind } of tokens) {
    const end = start + text.length;
    const inside = [start, ...places.filter((at) => at > start && at < end), end];
    for (const [index, from] of inside.slice(0, -1).entries()) {
      const to = inside[index + 1] ?? end;
      if (from < (places[0] ?? 0) || to > last) continue;
      cut.push({ text: text.slice(from - start, to - start), kind, mayBreak: to < last && places.includes(to) });
    }
    start = end;
  }
  return cut;
}
