/*
 * Reads the metadata of a page: `meta` and `link` tags, microdata, title and canonical address. One pass collects the
 * relevant tags, and only those go to the HTML parser, so the cost does not depend on the size of the page. At most
 * 256 KiB of tags are parsed, with 16 KiB per tag. Text of scripts and styles is skipped. Fields of an inner item are
 * prefixed with its name, so a comment's author is not taken for the post's. The HTML parser is loaded on first use.
 */

import { createRequire } from 'node:module';
import type { CheerioAPI, load } from 'cheerio/slim';
import { indexOfTag } from './page-json.js';

/** Maximum characters of tags passed to the HTML parser; real pages have a tenth of it. */
const MAX_TAGS = 256 * 1024;
const MAX_TAG = 16 * 1024;
/** Elements that contain text other than markup. */
const RAW_TEXT = new Set(['script', 'style', 'noscript', 'template', 'textarea']);
const TELLING_LINK = /canonical|\s(?:property|name)\s*=/i;
const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const GREATER = 62;
const TAG_NAME = /[a-z][a-z0-9-]{0,20}/iy;

let parser: { load: typeof load } | undefined;

function parseHtml(html: string): CheerioAPI {
  parser ??= createRequire(import.meta.url)('cheerio/slim') as { load: typeof load };
  return parser.load(html);
}

/**
 * The metadata of a page: `property`, `name` or `itemprop` → content (`href` or `src` if there is none), first value
 * each; besides `title` (the title element, unless a tag of that name came first) and `canonical`. Properties of an
 * inner item are prefixed with its name: `author.name`. A counter is also listed by its action:
 * `interactionStatistic.WatchAction`. Only the tags are parsed, never the page; script text is skipped.
 */
export function metaTags(html: string): ReadonlyMap<string, string> {
  // One element around them: selecting among many at the top takes time by the square of their number.
  const $ = parseHtml(`<html>${collectTags(html)}`);
  const found = new Map<string, string>();
  const add = (key: string | undefined, value: string | undefined) => {
    const text = value?.trim();
    // A copy: a slice would keep the whole page in memory as long as the value lives.
    if (key && text && !found.has(key)) found.set(key, Buffer.from(text).toString());
  };
  const ownerOf = createOwners();
  const counters = new Map<Nested, { action?: string; count?: string }>();
  $('meta, link, [itemprop]').each((_index, element) => {
    const { content, href, src, property, name, rel, itemprop, itemscope } = element.attribs;
    const value = content ?? href ?? src;
    add(property ?? name, value);
    if (rel?.toLowerCase() === 'canonical') add('canonical', value);
    if (!itemprop || itemscope !== undefined) return;
    const owner = ownerOf(element);
    add(owner ? `${owner.attribs?.itemprop}.${itemprop}` : itemprop, value);
    if (!owner) return;
    if (itemprop === 'interactionType') counters.set(owner, { ...counters.get(owner), action: actionOf(value) });
    if (itemprop === 'userInteractionCount') counters.set(owner, { ...counters.get(owner), count: value });
  });
  for (const [owner, { action, count }] of counters) if (action) add(`${owner.attribs?.itemprop}.${action}`, count);
  add('title', $('title').first().text());
  return found;
}

/** `WatchAction` of `https://schema.org/WatchAction`. */
function actionOf(type: string | undefined): string | undefined {
  return /(?:^|\/)(\w{1,40})\/?$/.exec(type?.trim() ?? '')?.[1];
}

interface Nested {
  attribs?: Readonly<Record<string, string>>;
  parent: Nested | null;
}

/**
 * Finds the inner item that an element belongs to; undefined for the page's own. Each ancestor is visited once in total:
 * pages can nest without limit.
 */
function createOwners(): (element: Nested) => Nested | undefined {
  const owners = new Map<Nested, Nested | undefined>();
  return (element) => {
    const passed: Nested[] = [];
    let owner: Nested | undefined;
    for (let at = element.parent; at; at = at.parent) {
      if (owners.has(at)) {
        owner = owners.get(at);
        break;
      }
      passed.push(at);
      if (at.attribs?.itemprop === undefined || at.attribs.itemscope === undefined) continue;
      owner = at;
      break;
    }
    for (const ancestor of passed) owners.set(ancestor, owner);
    return owner;
  };
}

/** The only references that most texts contain. */
const FREQUENT: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
  '&#039;': "'",
  '&#x27;': "'",
};

/** Decodes character references (`&amp;`, `&#39;`) in a text. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text;
  let others = false;
  const decoded = text.replace(/&(?:#?\w{1,8};)?/g, (reference) => {
    const character = FREQUENT[reference];
    others ||= character === undefined;
    return character ?? reference;
  });
  // There are two thousand more, some without a semicolon; the HTML parser knows them.
  return others ? parseHtml(text.replaceAll('<', '&lt;')).root().text() : decoded;
}

/** The relevant tags in order; for the title also its text. */
function collectTags(html: string): string {
  let tags = '';
  let from = 0;
  let titled = false;
  const items = new OpenItems();
  while (tags.length < MAX_TAGS) {
    const open = html.indexOf('<', from);
    if (open < 0) break;
    from = open + 1;
    if (html.startsWith('!--', from)) {
      from = after(html, '-->', from);
      continue;
    }
    const closing = html[from] === '/';
    TAG_NAME.lastIndex = closing ? from + 1 : from;
    const start = TAG_NAME.lastIndex;
    if (!TAG_NAME.test(html)) continue;
    const written = html.slice(start, TAG_NAME.lastIndex);
    const name = written.toLowerCase();
    const end = tagEnd(html, from);
    if (end === undefined) {
      from = after(html, '>', from);
      continue;
    }
    from = end;
    const tag = html.slice(open, end);
    if (!closing && RAW_TEXT.has(name)) {
      const close = indexOfTag(html, `</${written}`, end);
      if (close < 0) break;
      from = close + written.length + 2;
    } else if (name === 'title' && !closing) {
      if (titled) continue;
      titled = true;
      const close = html.indexOf('</', end);
      const text = close < 0 ? '' : html.slice(end, Math.min(close, end + MAX_TAG));
      tags += `${tag}${text}</title>`;
    } else {
      const isItem = items.pass(name, tag, closing) || (!closing && /\sitemprop\s*=/i.test(tag));
      // Most links are to files of the page.
      if (isItem || name === 'meta' || (name === 'link' && TELLING_LINK.test(tag))) tags += tag;
    }
  }
  return tags;
}

/** Elements without content, which have no end. */
const VOID = new Set([
  'area',
  'base',
  'br',
  'col',
  'embed',
  'hr',
  'img',
  'input',
  'link',
  'meta',
  'source',
  'track',
  'wbr',
]);
const MAX_OPEN = 100;

/**
 * The elements with `itemprop` or `itemscope` that are open while a page is read. Their ends tell the parser where a
 * described item ends, of any kind. All other elements are only counted, to find the right end.
 */
class OpenItems {
  /** Innermost last, each with the number of elements of its name that are open within it. */
  readonly #open: { name: string; inner: number }[] = [];

  /** Whether a tag begins or ends such an element, so that the parser must see it. */
  pass(name: string, tag: string, closing: boolean): boolean {
    if (VOID.has(name)) return false;
    const index = this.#open.findLastIndex((one) => one.name === name);
    const last = this.#open[index];
    if (closing) {
      if (!last) return false;
      last.inner -= 1;
      if (last.inner >= 0) return false;
      // What is still open within it ends as well.
      this.#open.length = index;
      return true;
    }
    if (/\sitem(?:prop|scope)(?:[\s=>/]|$)/i.test(tag)) {
      if (this.#open.length < MAX_OPEN) this.#open.push({ name, inner: 0 });
      return true;
    }
    if (last) last.inner += 1;
    return false;
  }
}

function after(html: string, text: string, from: number): number {
  const index = html.indexOf(text, from);
  return index < 0 ? html.length : index + text.length;
}

/** Index after the `>` that ends a tag; one inside a quoted attribute value does not end it. */
function tagEnd(html: string, from: number): number | undefined {
  const limit = Math.min(html.length, from + MAX_TAG);
  let quote = 0;
  for (let index = from; index < limit; index += 1) {
    const character = html.charCodeAt(index);
    if (quote !== 0) {
      if (character === quote) quote = 0;
    } else if (character === DOUBLE_QUOTE || character === SINGLE_QUOTE) {
      quote = character;
    } else if (character === GREATER) {
      return index + 1;
    }
  }
  return undefined;
}
