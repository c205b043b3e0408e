/*
 * Shows the Markdown of a model as elements. The text is parsed into tokens, and each token becomes an element of a
 * closed list; no HTML is ever parsed, so that HTML, SVG and scripts in an answer stay text. Links are those of http,
 * https and mailto. A picture becomes a link to it: nothing is loaded from other hosts. Characters that reorder text
 * are left out, and shown by their names in code. While an answer grows, only the blocks that changed are made again,
 * which is usually the last one. Code gets its colours once
 * the block is complete. A text that is too long or too deep is shown as it is.
 */

import { Lexer, type Token, type Tokens } from 'marked';
import { coloured, element, webLink } from '../elements.js';
import { fill, textsOf } from '../texts.js';

const t = textsOf('playground-chat');

/** Longer texts are shown without formatting: parsing them at each step would stop the page. */
const MAX_LENGTH = 200_000;
const MAX_DEPTH = 16;
/** Below the heading of the page and of the tab. */
const TOP_HEADING = 3;
const MAX_HEADING = 6;

interface Block {
  raw: string;
  node: Node;
  /** Whether its code has its colours, which a block that grows has not. */
  isColoured: boolean;
}

/** Shows a text that may grow. */
export class MarkdownView {
  readonly #target: HTMLElement;
  #blocks: Block[] = [];
  #codes = 0;

  constructor(target: HTMLElement) {
    this.#target = target;
  }

  /** Shows this text in place of the one before. @param isWhole Whether no more of it comes. */
  update(text: string, isWhole: boolean): void {
    const tokens = withLevels(tokensOf(text));
    const same = this.#blocks.findIndex(({ raw }, index) => raw !== tokens[index]?.raw);
    const unchanged = same === -1 ? this.#blocks.length : same;
    const changed = this.#blocks.splice(unchanged);
    for (const [index, { token, raw }] of tokens.slice(unchanged).entries()) {
      const node = this.#continued(changed[index], token) ?? this.#blockOf(token, 0);
      this.#blocks.push({ raw, node, isColoured: false });
    }
    const last = this.#blocks.at(-1);
    for (const block of this.#blocks) if (isWhole || block !== last) colourBlock(block);
    this.#target.replaceChildren(...this.#blocks.map(({ node }) => node));
  }

  /** The same code with more lines keeps its element, so that a selection in it stays. */
  #continued(block: Block | undefined, token: Token): Node | undefined {
    if (token.type !== 'code' || !(block?.node instanceof HTMLElement)) return undefined;
    const code = block.node.dataset.language === languageOf(token as Tokens.Code) && block.node.querySelector('code');
    if (!code) return undefined;
    code.textContent = visibleCode(token.text);
    return block.node;
  }

  #blockOf(token: Token, depth: number): Node {
    if (depth > MAX_DEPTH) return element('p', { dir: 'auto' }, token.raw);
    switch (token.type) {
      case 'heading': {
        const level = Math.min(TOP_HEADING + token.depth - 1, MAX_HEADING);
        return element(`h${level}` as 'h3', { dir: 'auto' }, ...inlineOf(token.tokens));
      }
      case 'code':
        return this.#codeOf(token as Tokens.Code);
      case 'blockquote':
        return element('blockquote', {}, ...this.#blocksOf(token.tokens, depth));
      case 'list':
        return this.#listOf(token as Tokens.List, depth);
      case 'table':
        return this.#tableOf(token as Tokens.Table);
      case 'hr':
        return element('hr');
      case 'space':
      case 'def':
        return document.createTextNode('');
      case 'text':
        return element('span', { dir: 'auto' }, ...inlineOf(token.tokens ?? [token]));
      case 'paragraph':
        return element('p', { dir: 'auto' }, ...inlineOf(token.tokens));
      default:
        return element('p', { dir: 'auto' }, visible(token.raw.trim()));
    }
  }

  #blocksOf(tokens: readonly Token[] | undefined, depth: number): Node[] {
    return (tokens ?? []).map((token) => this.#blockOf(token, depth + 1));
  }

  #listOf({ ordered, start, items }: Tokens.List, depth: number): HTMLElement {
    const from = ordered && typeof start === 'number' && start !== 1 ? String(start) : undefined;
    const made = items.map(({ task, checked, tokens }) =>
      element('li', { dir: 'auto' }, task && (checked ? '☑ ' : '☐ '), ...this.#blocksOf(tokens, depth)),
    );
    return ordered ? element('ol', { start: from }, ...made) : element('ul', {}, ...made);
  }

  /** With a button that copies it; page.ts does that. */
  #codeOf(token: Tokens.Code): HTMLElement {
    this.#codes += 1;
    const language = languageOf(token);
    const id = `code-${nextId()}`;
    const title = language === '' ? fill(t.codeBlock, { number: this.#codes }) : language;
    const copy = element(
      'button',
      { type: 'button', class: 'button button-quiet button-small copy', 'data-copy': id },
      element('span', { 'aria-live': 'polite' }, t.copy),
      element('span', { class: 'visually-hidden' }, ` ${title}`),
    );
    const label = `${title}, ${id}`;
    return element(
      'figure',
      { class: 'code', 'data-language': language },
      element('figcaption', { class: 'code-head' }, element('span', {}, title), copy),
      element(
        'pre',
        { tabindex: '0', role: 'region', 'aria-label': label, dir: 'ltr' },
        element('code', { id }, visibleCode(token.text)),
      ),
    );
  }

  /** Scrolls within itself. */
  #tableOf({ header, rows, align }: Tokens.Table): HTMLElement {
    const cell = (tag: 'th' | 'td', { tokens }: Tokens.TableCell, index: number) =>
      element(
        tag,
        { scope: tag === 'th' && 'col', dir: 'auto', class: align[index] === 'right' && 'number' },
        ...inlineOf(tokens),
      );
    const head = element('tr', {}, ...header.map((one, index) => cell('th', one, index)));
    const body = rows.map((row) => element('tr', {}, ...row.map((one, index) => cell('td', one, index))));
    return element(
      'div',
      { class: 'table', tabindex: '0', role: 'region', 'aria-label': fill(t.table, { number: nextId() }) },
      element('table', {}, element('thead', {}, head), element('tbody', {}, ...body)),
    );
  }
}

function colourBlock(block: Block): void {
  if (block.isColoured || !(block.node instanceof HTMLElement)) return;
  block.isColoured = true;
  const figures = block.node.matches('.code') ? [block.node] : block.node.querySelectorAll<HTMLElement>('.code');
  for (const figure of figures) coloured(figure, figure.dataset.language ?? '');
}

let ids = 0;

/** Unique in the page. */
function nextId(): number {
  ids += 1;
  return ids;
}

/** Headings begin at the top and skip no level, as assistive technology expects. */
function withLevels(tokens: readonly Token[]): { token: Token; raw: string }[] {
  const top = Math.min(...tokens.map((token) => (token.type === 'heading' ? token.depth : MAX_HEADING)));
  let last = 0;
  return tokens.map((token) => {
    if (token.type !== 'heading') return { token, raw: token.raw };
    last = Math.min(token.depth - top + 1, last + 1);
    return { token: { ...token, depth: last }, raw: `${last} ${token.raw}` };
  });
}

function tokensOf(text: string): Token[] {
  const plain = (): Token[] => [{ type: 'paragraph', raw: text, text, tokens: [{ type: 'text', raw: text, text }] }];
  if (text.length > MAX_LENGTH) return plain();
  try {
    return new Lexer({ gfm: true, breaks: true }).lex(text);
  } catch {
    // Thousands of nested quotes exceed the stack of the parser.
    return plain();
  }
}

function inlineOf(tokens: readonly Token[] | undefined, depth = 0): Node[] {
  return (tokens ?? []).map((token) => inline(token, depth));
}

function inline(token: Token, depth: number): Node {
  if (depth > MAX_DEPTH) return document.createTextNode(visible(token.raw));
  const inner = 'tokens' in token ? token.tokens : undefined;
  const within = () => inlineOf(inner, depth + 1);
  switch (token.type) {
    case 'strong':
    case 'em':
    case 'del':
      return element(token.type, {}, ...within());
    case 'codespan':
      return element('code', { dir: 'ltr' }, visibleCode(token.text));
    case 'br':
      return element('br');
    case 'link':
      return linkOf(token as Tokens.Link, within());
    case 'image':
      return imageOf(token as Tokens.Image);
    case 'escape':
      return document.createTextNode(visible(token.text));
    case 'text':
      if (inner) return element('span', {}, ...within());
      return document.createTextNode(visible(decodeEntities(token.text)));
    default:
      return document.createTextNode(visible(token.raw));
  }
}

/** The address is its title, since the words may name another one. */
function linkOf({ href }: Tokens.Link, words: Node[]): Node {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return element('span', {}, ...words);
  const attributes = { href, title: visible(href), target: '_blank', rel: 'noopener noreferrer' };
  return element('a', attributes, ...words);
}

function imageOf({ href, text }: Tokens.Image): Node {
  return webLink(href, fill(t.image, { words: visible(text) || visible(href) }));
}

function languageOf({ lang }: Pick<Tokens.Code, 'lang'>): string {
  return visible((lang ?? '').split(/\s/)[0] ?? '').slice(0, 30);
}

const REORDERING = /[\u202A-\u202E\u2066-\u2069]/g;

/** Without characters that reorder the text around them. */
function visible(text: string): string {
  return text.replace(REORDERING, '');
}

/** Code shows them, so that it reads as it runs. */
function visibleCode(text: string): string {
  return text.replace(REORDERING, (found) => `⟨U+${found.charCodeAt(0).toString(16).toUpperCase()}⟩`);
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };

/** The entities that models write. */
function decodeEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
}
