/*
 * The routes of the documentation: the API reference, the guides, and the search of both. Its pages are the same for
 * every visitor of one language and contain nothing of an account, so they are compressed once, and browsers may store
 * them; they ask each time whether the page has changed. A page is rendered at the first visit and again if the address
 * of the gateway changes. A result of a search is rendered for each visit.
 */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { GatewayError } from '../../../core/runtime/index.js';
import type { SessionService } from '../../accounts/index.js';
import {
  defineRoute,
  hasCurrentCopy,
  paramOf,
  type RequestContext,
  type Route,
  setPageHeaders,
} from '../../http/index.js';
import type { ApiDocument, OpenApiDocument } from '../../openapi/index.js';
import { type AssetEncoding, acceptedEncoding } from '../assets.js';
import { LOCALES, type Locale, localeOf } from '../language/index.js';
import { PAGE_ROUTE, renderPage, sendCompressed, type Viewer } from '../page.js';
import { viewerOf } from '../visit.js';
import { guideEntries, guidePage, loadMarked } from './guide-content.js';
import { type Guide, guideNavigation, loadGuides } from './guides.js';
import { type DocsPage, docsPage, type NavigationGroup } from './layout.js';
import { readReference } from './operations.js';
import {
  errorsPage,
  groupPage,
  localPlace,
  overviewPage,
  referenceEntries,
  referenceNavigation,
  searchPage,
} from './pages.js';
import { MAX_QUERY_LENGTH, type SearchEntry, SearchIndex } from './search.js';

interface DocumentationServices {
  document: Pick<ApiDocument, 'object'>;
  sessions: Pick<SessionService, 'find'>;
  /** Where guides are edited. Default: nowhere. */
  editUrl?: string | undefined;
}

export function documentationRoutes({ document, sessions, editUrl }: DocumentationServices): Route[] {
  let library: { of: OpenApiDocument; pages: Promise<Library> } | undefined;
  // An object of its own for each address of the gateway.
  const current = (): Promise<Library> => {
    const object = document.object();
    if (library?.of !== object) library = { of: object, pages: Library.open(object, editUrl) };
    return library.pages;
  };
  const frameOf = async (context: RequestContext): Promise<Frame> => {
    // The documentation is also for times without a database.
    const signedIn = await sessions.find(context).catch(() => undefined);
    const locale = localeOf(context, signedIn?.user.language);
    return { locale, viewer: signedIn && { console: viewerOf(signedIn, locale).console } };
  };
  const sendPage = async (context: RequestContext, url: string) =>
    (await current()).send(context, url, await frameOf(context));

  return [
    defineRoute({
      ...PAGE_ROUTE,
      path: '/docs',
      summary: 'Documentation',
      description: 'The first page of the documentation, with all operations of the API.',
      handler: (context) => sendPage(context, '/docs'),
    }),
    defineRoute({
      ...PAGE_ROUTE,
      path: '/docs/search',
      summary: 'Search of the documentation',
      description: 'Page of what the documentation says about some words.',
      query: {
        q: { schema: { type: 'string', maxLength: MAX_QUERY_LENGTH }, description: 'The words.' },
        in: { schema: { type: 'string' }, description: 'Title of the part that is searched: `Guides`. Default: all.' },
      },
      handler: async (context) => (await current()).sendResults(context, await frameOf(context)),
    }),
    defineRoute({
      ...PAGE_ROUTE,
      path: '/docs/api/:name',
      params: { name: { description: 'Name of the group of operations.' } },
      summary: 'API reference',
      description: 'Page of a group of operations of the API.',
      errors: ['route_not_found'],
      handler: (context) => sendPage(context, `/docs/api/${paramOf(context, 'name')}`),
    }),
    ...guideRoutes(sendPage),
  ];
}

function guideRoutes(sendPage: (context: RequestContext, url: string) => Promise<void>): Route[] {
  const name = { description: 'Name of the guide; with `.md` the Markdown itself.' };
  return [
    defineRoute({
      ...PAGE_ROUTE,
      path: '/docs/:name',
      params: { name },
      summary: 'Guide',
      description: 'Page of the documentation that is in no folder.',
      errors: ['route_not_found'],
      handler: (context) => sendPage(context, `/docs/${paramOf(context, 'name')}`),
    }),
    defineRoute({
      ...PAGE_ROUTE,
      path: '/docs/:folder/:name',
      params: { folder: { description: 'Folder of the guide.' }, name },
      summary: 'Guide of a folder',
      description: 'Page of the documentation, or its Markdown.',
      errors: ['route_not_found'],
      handler: (context) => sendPage(context, `/docs/${paramOf(context, 'folder')}/${paramOf(context, 'name')}`),
    }),
  ];
}

/** A quarter of a second for the longest page, once. One level less takes half as long, and a fiftieth more. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };

interface RenderedPage {
  etag: string;
  bytes: Readonly<Record<AssetEncoding, Buffer>>;
}

/** What is around a page. The header names no user, so that all of a role share a rendered page. */
interface Frame {
  locale: Locale;
  viewer: Viewer | undefined;
}

type PageMaker = (locale: Locale) => DocsPage | Promise<DocsPage>;

/** All pages of the documentation, for one address of the gateway. */
class Library {
  readonly #navigation: readonly NavigationGroup[];
  /** By address: what renders the page. */
  readonly #pages: ReadonlyMap<string, PageMaker>;
  /** By address with `.md`. */
  readonly #markdown: ReadonlyMap<string, string>;
  /** By language, role of the visitor and address. */
  readonly #rendered = new Map<string, Promise<RenderedPage>>();
  readonly #index: SearchIndex;

  private constructor(document: OpenApiDocument, guides: readonly Guide[], editUrl: string | undefined) {
    const reference = readReference(document);
    const byFile = new Map(guides.map((guide) => [guide.file, guide]));
    const renderGuide = async (guide: Guide, locale: Locale) =>
      guidePage(guide, { guides: byFile, Parser: await loadMarked(), editUrl, locale });
    const [start, ...others] = guideNavigation(guides);
    this.#navigation = [...(start ? [start] : []), referenceNavigation(reference), ...others];
    this.#index = new SearchIndex(
      [...referenceEntries(reference), ...guides.flatMap(guideEntries)].map(withOtherNames),
    );
    this.#markdown = new Map(guides.map(({ url, markdown }) => [`${url}.md`, markdown]));
    this.#pages = new Map<string, PageMaker>([
      ['/docs', (locale) => overviewPage(reference, guideNavigation(guides), locale)],
      ['/docs/api/errors', (locale) => errorsPage(reference, locale)],
      ...reference.groups.map(
        (group) => [`/docs/api/${group.name}`, (locale: Locale) => groupPage(group, reference, locale)] as const,
      ),
      ...guides.map((guide) => [guide.url, (locale: Locale) => renderGuide(guide, locale)] as const),
    ]);
  }

  static async open(document: OpenApiDocument, editUrl: string | undefined): Promise<Library> {
    return new Library(document, await loadGuides(), editUrl);
  }

  /** @throws GatewayError `route_not_found`. */
  async send(context: RequestContext, url: string, frame: Frame): Promise<void> {
    const isMarkdown = this.#markdown.has(url);
    if (!isMarkdown && !this.#pages.has(url)) throw new GatewayError('route_not_found', 'There is no such page.');
    const { locale, viewer } = frame;
    const role = viewer === undefined ? 'visitor' : (viewer.console ?? 'member');
    const variant = isMarkdown ? url : `${locale.language} ${role} ${url}`;
    const rendered = this.#rendered.get(variant) ?? this.#render(url, frame);
    this.#rendered.set(variant, rendered);
    const { etag, bytes } = await rendered;
    setPageHeaders(context.res);
    const cache = viewer === undefined ? 'public, no-cache' : 'private, no-cache';
    context.set({ 'Cache-Control': cache, ETag: etag, Vary: 'Accept-Encoding, Accept-Language, Cookie' });
    if (isMarkdown) context.set('Content-Type', 'text/markdown; charset=utf-8');
    if (hasCurrentCopy(context, etag)) {
      context.status = 304;
      return;
    }
    const encoding = acceptedEncoding(context);
    if (encoding !== 'identity') context.set('Content-Encoding', encoding);
    context.body = bytes[encoding];
  }

  async #render(url: string, { locale, viewer }: Frame): Promise<RenderedPage> {
    const page = await this.#pages.get(url)?.(locale);
    return compress(
      page
        ? renderPage({ ...docsPage(page, this.#navigation, locale), viewer }, locale)
        : (this.#markdown.get(url) ?? ''),
    );
  }

  sendResults(context: RequestContext, { locale, viewer }: Frame): void {
    const { q, in: part } = context.query;
    const query = (typeof q === 'string' ? q : '').trim().slice(0, MAX_QUERY_LENGTH);
    const counts = this.#index.counts(query);
    const group = typeof part === 'string' && counts.has(part) ? part : undefined;
    const page = searchPage({ query, group, counts, results: this.#index.find(query, group) }, locale);
    sendCompressed(context, renderPage({ ...docsPage(page, this.#navigation, locale), viewer }, locale));
  }
}

/** Its page, and what an error means, are found by their Vietnamese words as well. */
function withOtherNames(entry: SearchEntry): SearchEntry {
  const meaning = entry.url.startsWith('/docs/api/errors#') ? LOCALES.vi.texts.errors.meaningOf(entry.title) : '';
  return { ...entry, names: [entry.names, localPlace(entry.place, LOCALES.vi), meaning].filter(Boolean).join(' ') };
}

async function compress(text: string): Promise<RenderedPage> {
  const identity = Buffer.from(text);
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(identity, BROTLI), promisify(gzip)(identity)]);
  const etag = `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`;
  return { etag, bytes: { br, gzip: zipped, identity } };
}
