/*
 * Reads a link as people paste it: with white space, invisible characters, brackets, Markdown, HTML or BBCode around
 * it, HTML entities, a missing scheme, or a second question mark. It sends no request and takes linear time. A link
 * that a reader and a parser could take for different addresses is refused, such as one with user information, control
 * characters or look-alike letters in the host. Cleaning repeats until nothing changes, at most eight times. A plain
 * link skips all of it for a few regular expressions.
 */

import { GatewayError } from '../../runtime/index.js';

/** Maximum length of an accepted link, in characters. */
const MAX_LINK_LENGTH = 2048;
/** A link that still changes after this many passes was made to do so. */
const MAX_PASSES = 8;

const EXPECTED = 'Send an absolute http or https link of a supported platform.';

const SCHEME = /^https?:\/\//i;
/** A character or a sequence that a plain link has none of. */
const UNUSUAL = /[^!#-;=?-[\]_a-z~]|&(?:[a-z]{2,4}|#x?[\da-f]{1,6});|%(?:26|3[DdFf])|\?[^?]*\?/;
/** Letters and signs that a plain link ends in, and encoded ones that it does not end in. */
const USUAL_END = /[\w/=&%#+$~@-]$/;
const UNUSUAL_END = /%(?:0[9ad]|2[0279c]|3[ce]|5d|a0|8[b-f]|bf)$/i;
// URL parsers silently drop some control characters, and silently convert a backslash. U+202D and U+202E turn text round.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being refused
const MISLEADING = /[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u202d\u202e\\]/;
const ONE_INVISIBLE = /^[\s\p{Default_Ignorable_Code_Point}]$/u;
const INVISIBLE = /[\s\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Parses a submitted link, as people paste it.
 * @throws GatewayError `invalid_url` with `param: 'url'`.
 */
export function parseLinkText(text: unknown): URL {
  if (typeof text !== 'string') throw invalid(`url must be a string. ${EXPECTED}`);
  const sent = text.trim();
  if (sent === '') throw invalid(`url is empty. ${EXPECTED}`);
  if (sent.length > MAX_LINK_LENGTH) throw invalid(`url is longer than ${MAX_LINK_LENGTH} characters.`);
  return parsePlain(isPlain(sent) ? sent : cleanLink(sent));
}

function isPlain(link: string): boolean {
  const query = link.indexOf('?');
  const ampersand = link.indexOf('&');
  return (
    (ampersand < 0 || (query >= 0 && query < ampersand)) &&
    /^https?:\/\/(?!https?:)/i.test(link) &&
    !UNUSUAL.test(link) &&
    USUAL_END.test(link.slice(-1)) &&
    !UNUSUAL_END.test(link.slice(-3))
  );
}

function parsePlain(link: string): URL {
  if (!/^https?:\/\/[^/]/i.test(link)) throw invalid(`url does not begin with http:// or https://. ${EXPECTED}`);
  const url = URL.parse(link);
  if (!url) throw invalid(`url is not a valid URL. ${EXPECTED}`);
  const authority = link.slice(link.indexOf('//') + 2).split(/[/?#]/, 1)[0] ?? '';
  if (authority.includes('@')) {
    throw invalid('url has user information before the host, which public links do not have.');
  }
  if (url.port) throw invalid('url has a port, which public links do not have.');
  if (authority.includes('%') || (/[^!-~]/.test(authority) && !/(?:^|\.)xn--/.test(url.hostname))) {
    throw invalid(`url has a host in letters that only look like ${url.hostname}.`);
  }
  if (!/^[\w.:[\]-]+$/.test(url.hostname)) throw invalid(`url has a host that is not valid. ${EXPECTED}`);
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.replace(/\.+$/, '');
  return url;
}

/** The address in a pasted text: the same text again if there is nothing to clean. */
function cleanLink(text: string): string {
  if (MISLEADING.test(text)) throw invalid('url has a control character or a backslash.');
  let link = text;
  for (let pass = 0; pass < MAX_PASSES; pass += 1) {
    const before = link;
    link = repairQuery(
      decodeWhole(withScheme(trimPunctuation(decodeReferences(fromMarkup(link).replace(INVISIBLE, ''))))),
    );
    if (link !== before) continue;
    if (MISLEADING.test(link)) throw invalid('url has a control character or a backslash.');
    return link;
  }
  throw invalid(`url is encoded too many times. ${EXPECTED}`);
}

/** An HTML tag with an address; a quoted value ends at its quote. */
const TAG = /^<[a-z]+\s/i;
const ADDRESS_ATTRIBUTE = /\b(?:href|src|cite|permalink)=["']?([^\s"'<>]+)/i;
const BB_CODE = /^\[url(?:=["']?|\])([^\]["']+)/i;

/** Stands before markup. */
const BEFORE_MARKUP = /^[\s\p{Default_Ignorable_Code_Point}"'`*_~(|,.;:?=«»‹›“”„‘’•–—-]+(?=!?\[|<)/u;

/** The address in Markdown, HTML or BBCode, where all of the text is that; one may stand in another. */
function fromMarkup(pasted: string): string {
  let text = pasted;
  for (let level = 0; level < MAX_PASSES; level += 1) {
    const inner = withoutMarkup(text);
    if (inner === text) break;
    text = inner;
  }
  return text;
}

function withoutMarkup(pasted: string): string {
  const text = pasted.replace(BEFORE_MARKUP, '');
  if (TAG.test(text)) {
    const found = ADDRESS_ATTRIBUTE.exec(text)?.[1];
    if (found) return found;
  }
  // `<address>` of Markdown and e-mail, `<address|words>` of Slack.
  if (text.startsWith('<')) return text.slice(1).split(/[>|]/, 1)[0] ?? '';
  if (!/^!?\[/.test(text)) return text;
  const code = BB_CODE.exec(text)?.[1];
  if (code) return code;
  const at = text.lastIndexOf('](');
  return at < 0 ? text : markdownTarget(text.slice(at + 2));
}

/** Up to the bracket that closes the target, or to the title behind it. */
function markdownTarget(rest: string): string {
  let depth = 1;
  for (let at = 0; at < rest.length; at += 1) {
    if (rest[at] === '(') depth += 1;
    else if (rest[at] === ')') depth -= 1;
    const isTitle = /\s/.test(rest[at] ?? '') && /["'(]/.test(rest[at + 1] ?? '');
    if (depth === 0 || isTitle) return rest.slice(0, at);
  }
  return rest;
}

const NAMED: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };
/** None of these can become a part of another reference. */
const DECODED = new Set([' ', '"', "'", '(', ')', '+', ',', '-', '.', '/', ':', '<', '=', '>', '?', '_']);

/** HTML entities: `&amp;`, also where it was encoded several times, and those of punctuation. */
function decodeReferences(link: string): string {
  if (!link.includes('&')) return link;
  return link
    .replace(/&(?:amp;|#0{0,4}38;|#x0{0,4}26;)+/gi, '&')
    .replace(/&(?:(lt|gt|quot|apos|nbsp)|#0{0,4}(\d{2,5})|#x0{0,4}([\da-f]{2,4}));/gi, (whole, name, decimal, hex) => {
      if (name) return NAMED[name.toLowerCase()] ?? whole;
      const character = String.fromCharCode(decimal ? Number(decimal) : Number.parseInt(hex, 16));
      return DECODED.has(character) || ONE_INVISIBLE.test(character) ? character : whole;
    });
}

const BEFORE = /^[<>([{"'`*_~|,.;:!?=«»‹›“”„‘’‚「『【〈《（［｢•·–—-]+/;
const AFTER = new Set('<>[]{}"\'`*|,.;:!?«»‹›“”„‘’‚」』】〉》）］｣。，、！？；：…•·（(');
/** Encoded white space, quotes, brackets, commas and invisible characters. */
const ENCODED_AFTER = /%(?:0[9ad]|2[0279c]|3[ce]|5d|c2%a0|e2%80%(?:8[b-f]|9[89cd])|ef%bb%bf)$/i;

/**
 * Without the brackets, quotes and punctuation around it, and what follows a `<`, `>` or `"`, which no address has. A
 * closing bracket that the link opens itself stays.
 */
function trimPunctuation(text: string): string {
  const link = text.replace(BEFORE, '').split(/[<>"]/, 1)[0] ?? '';
  let closing = 0;
  for (const character of link) closing += character === ')' ? 1 : character === '(' ? -1 : 0;
  let end = link.length;
  for (;;) {
    const last = link[end - 1] ?? '';
    const encoded = ENCODED_AFTER.exec(link.slice(Math.max(0, end - 9), end))?.[0].length ?? 0;
    if (encoded > 0) end -= encoded;
    else if (last === ')' ? closing > 0 : AFTER.has(last)) {
      closing += last === ')' ? -1 : last === '(' ? 1 : 0;
      end -= 1;
    } else return link.slice(0, end);
  }
}

/** A host name with a dot, and what may follow it. */
const HOST = /^(?:[a-z0-9_-]+\.)+[a-z]{2,24}\.?(?::\d{1,5})?(?:[/?#]|$)/i;

function withScheme(link: string): string {
  if (/^\/\/[^/]/.test(link)) return `https:${link}`;
  if (SCHEME.test(link)) return link.replace(/^(?:https?:\/\/)+(?=https?:\/\/)/i, '');
  // Some programs join two slashes of a path.
  if (/^https?:\/?[a-z0-9-]{1,63}\./i.test(link)) return link.replace(/^(https?:)\/?/i, '$1//');
  return HOST.test(link) ? `https://${link}` : link;
}

/** An address that was encoded as a whole, as it stands in the query of another one. */
function decodeWhole(link: string): string {
  if (!/^https?(?::|%(?:25){0,9}3a)(?:%(?:25){0,9}2f){2}/i.test(link)) return link;
  try {
    return decodeURIComponent(link);
  } catch {
    return link;
  }
}

/** Begins a value that is an address itself. */
const ADDRESS = /[:/]|%(?:2f|3a)/i;
const PARAMETER = /^[a-z_]{1,30}(?:=|%3d)/i;

/**
 * The first `&` begins the query where no `?` does. A second `?` begins a parameter, and so does an encoded `&` or `?` with a name and a value. In a value that is an
 * address, they belong to that.
 */
function repairQuery(link: string): string {
  const [, whole = link, hash = ''] = /^([^#]*)(.*)$/s.exec(link) ?? [];
  const [address = '', query] = splitOnce(whole, '?');
  if (query !== undefined) return `${address}?${query.split('&').map(repairParameter).join('&')}${hash}`;
  // What follows the host alone: a host is what it is.
  const [, origin = '', path = ''] = /^(https?:\/\/[^/]+)(\/.*)$/is.exec(address) ?? [];
  const at = path.search(/(?:&|%3f)[a-z_]{1,30}(?:=|%3d)/i);
  if (at < 0) return link;
  const isPlainSign = path[at] === '&';
  const rest = path.slice(at + (isPlainSign ? 1 : 3));
  const decoded = isPlainSign ? rest : rest.replace(/%3d/gi, '=').replace(/%26/gi, '&');
  return `${origin}${path.slice(0, at)}?${decoded}${hash}`;
}

function repairParameter(parameter: string): string {
  const named = parameter.includes('=') ? parameter : parameter.replace(/^([a-z_]{1,30})%3d/i, '$1=');
  // Separators stand between the parts, at odd places.
  const parts = named.split(/(\?|%26|%3f)/i);
  const done: string[] = [];
  let value = parts[0] ?? '';
  for (let at = 1; at < parts.length; at += 2) {
    const [separator = '', part = ''] = [parts[at], parts[at + 1]];
    const begins = separator === '?' || PARAMETER.test(part);
    if (begins && !ADDRESS.test(value)) {
      done.push(value);
      value = separator === '?' ? part : part.replace(/%3d/i, '=');
    } else value += separator + part;
  }
  return done.length === 0 ? value : `${done.join('&')}&${value}`;
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function invalid(message: string): GatewayError {
  return new GatewayError('invalid_url', message, { param: 'url' });
}
