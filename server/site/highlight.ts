/*
 * Colours of code: cuts a text into tokens, each with its kind, for the pages that the server renders and for their
 * scripts. The rules of the languages are a package's, which the build bundles into this file, so that an installation
 * needs none. The tokens of a text joined together are always the text: a language that cannot read something
 * leaves it without a colour.
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
