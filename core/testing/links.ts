/*
 * Rules of `match`, checked without any request: links match to their ids, canonical links match to the same item
 * again, links still match as people paste them, and links of others are left alone. Hostile links are derived from
 * the valid ones: look-alike hosts, user information, other schemes, encoded slashes, names of `Object.prototype`,
 * paths of 100,000 characters. None of them may match as an item of the platform, and `match` must never throw.
 */

import assert from 'node:assert';
import { type Extractor, type LinkRef, matchedLink, type ProbeLink } from '../contracts/index.js';
import type { ExtractorDefinition } from './extraction-run.js';
import { called } from './limits.js';
import { matchText } from './match-text.js';
import { show } from './matchers.js';
import { contributionOf } from './models/models.js';
import { type Rule, reportAll } from './runner.js';
import { extractorOf } from './setup.js';

export const LINK_RULES: readonly Rule<ExtractorDefinition>[] = [
  {
    name: 'matches its links to their ids',
    run: (definition) =>
      each(definition, Object.keys(definition.links), ({ link, error }, url, text) => {
        if (url.href !== new URL(text).href) return 'match changed the URL it was given';
        const id = definition.links[text];
        return link?.id === id ? undefined : `expected ${show(id)}, got ${error ?? show(link?.id)}`;
      }),
  },
  {
    name: 'matches a canonical link to the same item again',
    run: (definition) =>
      each(definition, Object.keys(definition.links), ({ link, extractor }) => {
        if (!link) return undefined;
        const canonical = URL.parse(link.url);
        if (canonical?.protocol !== 'https:') return `${show(link.url)} is not an https URL`;
        const again = tryMatch(extractor, canonical);
        return isSame(link, again.link) ? undefined : `${link.url} gives ${again.error ?? show(again.link)}`;
      }),
  },
  {
    name: 'gives one item one canonical link',
    applies: ({ severalLinks }) => !severalLinks,
    run: (definition) => {
      const seen = new Map<string, string>();
      return each(definition, Object.keys(definition.links), ({ link }) => {
        // A code may exist on several paths and lead to different items.
        if (!link || link.kind === 'short_link') return undefined;
        const item = [link.kind, link.id, link.region].join(' ');
        const first = seen.get(item) ?? link.url;
        seen.set(item, first);
        if (first === link.url) return undefined;
        return `the item "${link.id}" has the canonical links ${first} and ${link.url}: each would be fetched and cached apart. If both are needed, say "severalLinks: true"`;
      });
    },
  },
  {
    name: 'matches its links as people paste them',
    async run(definition) {
      const extractor = await contributionOf(definition, extractorOf);
      const problems = await called('match()', () =>
        Object.keys(definition.links).flatMap((link) => {
          const id = matchText(extractor, link)?.id;
          // A link that does not match at all is the finding of another rule.
          return (id === undefined ? [] : pastedForms(link)).flatMap((text) => {
            const found = matchText(extractor, text)?.id;
            return found === id ? [] : [`${show(abridged(text))}: expected ${show(id)}, got ${show(found)}`];
          });
        }),
      );
      reportAll(problems);
    },
  },
  {
    name: 'refuses its own links that are not items',
    run: (definition) =>
      each(definition, definition.unsupported ?? [], ({ link, error, unsupported }) =>
        unsupported === undefined ? `expected { unsupported }, got ${error ?? show(link)}` : kindProblem(unsupported),
      ),
  },
  {
    name: 'leaves the links of others alone',
    run: (definition) => each(definition, definition.foreign, isForeign),
  },
  {
    name: 'has probe links of items and methods that exist',
    async run(definition) {
      const { probeLinks = [], methods } = await contributionOf(definition, extractorOf);
      const malformed = probeLinks.flatMap((link, index) => (isProbeLink(link) ? [] : [index]));
      reportAll(malformed.map((index) => `probe link ${index} must be { url, fills: { method: [fields] } }`));
      const urls = probeLinks.map(({ url }) => url);
      await each(definition, urls, ({ link, error }) =>
        link && link.kind !== 'short_link' ? undefined : (error ?? `matched ${show(link)}`),
      );
      const names = new Set((methods?.() ?? []).map(({ name }) => name));
      const unknown = probeLinks.flatMap(({ fills }) => Object.keys(fills).filter((name) => !names.has(name)));
      reportAll(unknown.map((name) => `a probe link names the method "${name}", which there is not`));
    },
  },
  {
    name: 'is not fooled by hostile links',
    async run(definition) {
      const hostile = hostileLinks(Object.keys(definition.links));
      assert(hostile.foreign.length > 0, 'there are no links to make hostile ones of');
      await each(definition, hostile.foreign, isForeign);
      await each(definition, hostile.own, ({ link, error }) => error ?? (link && `matched ${show(link)}`));
      await each(
        definition,
        hostile.inherited,
        ({ error, unsupported }) => error ?? (unsupported === undefined ? undefined : kindProblem(unsupported)),
      );
    },
  },
];

/** One link as it comes out of mails, pages, messengers and redirects. */
function pastedForms(link: string): string[] {
  const { host, href } = new URL(link);
  const bare = link.replace(/^https?:\/\//, '');
  const around = encodeURIComponent(href.replace(/^http:/, 'https:'));
  return [
    `  ${link}\n`,
    `<${link}>`,
    `"${link}",`,
    `[a link](${link}).`,
    `\u200b${link.replace('/', '/\u200b')}\u2060`,
    link.replaceAll('&', '&amp;'),
    link.replace(host, host.toUpperCase()),
    bare,
    `//${bare}`,
    `${link.slice(0, -3)}\r\n ${link.slice(-3)}`,
    `https://www.google.com/url?sa=t&url=${around}&usg=x`,
    `https://l.facebook.com/l.php?u=${encodeURIComponent(`https://consent.youtube.com/m?continue=${around}`)}&h=x`,
  ];
}

/** What is read from JSON may have another form than its type. */
function isProbeLink({ url, fills }: Partial<ProbeLink>): boolean {
  return typeof url === 'string' && URL.canParse(url) && typeof fills === 'object' && fills !== null;
}

/** The problem of what `match` returned, if there is one. */
type Judge = (tried: Tried, url: URL, text: string) => string | undefined;

async function each(definition: ExtractorDefinition, texts: readonly string[], judge: Judge): Promise<void> {
  const extractor = await contributionOf(definition, extractorOf);
  const problems = await called('match()', () =>
    texts.flatMap((text) => {
      const url = new URL(text);
      const problem = judge(tryMatch(extractor, url), url, text);
      return problem === undefined ? [] : [`${abridged(text)}: ${problem}`];
    }),
  );
  reportAll(problems);
}

function isForeign({ link, error, unsupported }: Tried): string | undefined {
  if (unsupported !== undefined) return `expected undefined, got ${show({ unsupported })}`;
  return error ?? (link && `matched ${show(link)}`);
}

/** The value of a lookup table for a name that only Object.prototype has. */
const INHERITED = /\[native code\]|\[object Object\]/;

interface Tried {
  extractor: Extractor;
  link?: LinkRef;
  /** The kind of a link that names no item. */
  unsupported?: unknown;
  /** The thrown value as text. */
  error?: string;
}

function tryMatch(extractor: Extractor, url: URL): Tried {
  try {
    const match = extractor.match(url);
    if (match && 'unsupported' in match) return { extractor, unsupported: match.unsupported };
    return { extractor, link: matchedLink(match) };
  } catch (error) {
    return { extractor, error: `threw ${error}; match must never throw` };
  }
}

/** The kind becomes part of the message for the client. */
function kindProblem(kind: unknown): string | undefined {
  if (typeof kind !== 'string' || kind.trim() === '') return `unsupported must be a text, got ${show(kind)}`;
  return INHERITED.test(kind) ? `the kind is ${show(kind)}` : undefined;
}

const LINK_FIELDS = ['kind', 'id', 'url', 'region', 'access', 'moves'] as const;

/** The access token counts: the gateway gives the canonical link to clients, who send it again. */
function isSame(one: LinkRef, other: LinkRef | undefined): boolean {
  return LINK_FIELDS.every((field) => one[field] === other?.[field]);
}

function abridged(url: string): string {
  return url.length > 200 ? `${url.slice(0, 200)}… (${url.length} characters)` : url;
}

const LONG = 100_000;

/** Links derived from valid ones that are not of the platform, or are deceptive. */
interface HostileLinks {
  /** On other hosts, or not http: only undefined is accepted. */
  foreign: string[];
  /** On the platform's hosts: undefined or `{ unsupported }`. */
  own: string[];
  /** With names of Object.prototype: items or not, but never an inherited property. */
  inherited: string[];
}

/** @param links - valid links of the platform. */
function hostileLinks(links: readonly string[]): HostileLinks {
  const foreign = new Set<string>();
  const own = new Set<string>();
  const inherited = new Set<string>();
  for (const link of links) {
    const { host, hostname, pathname, search, href } = new URL(link);
    const rest = `${pathname}${search}`;
    // Platforms may own all of their subdomains, so the prefix is added to the registered name.
    const site = host.split('.').slice(-2).join('.');
    const homograph = homoglyph(hostname);
    const encoded = encodeURIComponent(href);
    for (const text of [
      `https://${host}.evil.example${rest}`,
      `https://evil${site}${rest}`,
      `https://evil-${site}${rest}`,
      `https://${host.replaceAll('.', '-')}.example${rest}`,
      `https://${host}@evil.example${rest}`,
      `https://evil.example\\@${host}${rest}`,
      `https://evil.example${rest}`,
      `https://evil.example/${host}${rest}`,
      `https://evil.example/?url=${encoded}`,
      `https://evil.example/#${href}`,
      ...(homograph === hostname ? [] : [`https://${homograph}${rest}`]),
      `https://127.0.0.1${rest}`,
      `https://[::1]${rest}`,
      `https://2130706433${rest}`,
      `ftp://${host}${rest}`,
      `file://${host}${rest}`,
      `javascript:${href}`,
      `data:text/plain,${encoded}`,
    ]) {
      foreign.add(text);
    }
    for (const text of [
      `https://user:password@${host}${rest}`,
      `https://user@${host}${rest}`,
      `https://${host}:8443${rest}`,
      `https://${host}/${'a'.repeat(LONG)}`,
      `https://${host}/${'%'.repeat(100)}`,
      `https://${host}/%E0%A4%A`,
      `https://${host}/%00`,
      `https://${host}/%2f%2fevil.example`,
      `https://${host}//evil.example${pathname === '/' ? '' : '/x'}`,
      ...(pathname.indexOf('/', 1) > 0 ? [`https://${host}/${pathname.slice(1).replaceAll('/', '%2f')}${search}`] : []),
    ]) {
      own.add(text);
    }
    for (const name of ['constructor', '__proto__', 'toString']) {
      for (const path of [name, `${name}/1`, `us/${name}`]) inherited.add(`https://${host}/${path}`);
    }
  }
  return { foreign: parsable(foreign), own: parsable(own), inherited: parsable(inherited) };
}

/** Links that the URL parser refuses never reach an extractor. */
function parsable(texts: ReadonlySet<string>): string[] {
  return [...texts].filter((text) => URL.canParse(text));
}

/**
 * The host with a Latin letter replaced by a Cyrillic one: a reader sees no difference, the parser makes `xn--…` of it.
 */
function homoglyph(host: string): string {
  return host.replace(/[aeopc]/, (letter) => ({ a: 'а', e: 'е', o: 'о', p: 'р', c: 'с' })[letter] ?? letter);
}
