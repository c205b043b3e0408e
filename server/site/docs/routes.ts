/*
 * The routes of the documentation. Its pages are the same for every visitor and contain nothing of an account, so they
 * are compressed, unlike other pages, and browsers may store them; they ask each time whether the page has changed. A
 * page is rendered at the first visit and again if the address of the gateway changes. A result of a search is rendered
 * for each visit.
 */

import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { GatewayError } from '../../../core/runtime/index.js';
import {
  defineRoute,
  hasCurrentCopy,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  setPageHeaders,
} from '../../http/index.js';
import type { ApiDocument, OpenApiDocument } from '../../openapi/index.js';
import { renderPage } from '../page.js';
import { type DocsPage, docsPage, type NavigationGroup } from './layout.js';
import { readReference } from './operations.js';
import { errorsPage, groupPage, overviewPage, referenceEntries, referenceNavigation, searchPage } from './pages.js';
import { MAX_QUERY_LENGTH, SearchIndex } from './search.js';

interface DocumentationServices {
  document: Pick<ApiDocument, 'object'>;
}

const PAGE_ROUTE = {
  method: 'GET',
  grant: 'none',
  format: 'page',
  tag: 'Pages',
  answers: { 200: { description: 'The page.', type: 'text/html' } },
} as const;

export function documentationRoutes({ document }: DocumentationServices): Route[] {
  let library: Library | undefined;
  // An object of its own for each address of the gateway.
  const current = () => {
    const object = document.object();
    if (library?.of !== object) library = new Library(object);
    return library;
  };

  return [
    defineRoute({
      ...PAGE_ROUTE,
      path: '/docs',
      summary: 'Documentation',
      description: 'The first page of the documentation, with all operations of the API.',
      handler: (context) => current().send(context, '/docs'),
    }),
    defineRoute({
      ...PAGE_ROUTE,
      path: '/docs/search',
      summary: 'Search of the documentation',
      description: 'Page of what the documentation says about some words.',
      query: { q: { schema: { type: 'string', maxLength: MAX_QUERY_LENGTH }, description: 'The words.' } },
      handler: (context) => current().sendResults(context),
    }),
    defineRoute({
      ...PAGE_ROUTE,
      path: '/docs/api/:name',
      params: { name: { description: 'Name of the group of operations.' } },
      summary: 'API reference',
      description: 'Page of a group of operations of the API.',
      errors: ['route_not_found'],
      handler: (context: ParamsContext) => current().send(context, `/docs/api/${paramOf(context, 'name')}`),
    }),
  ];
}

const ENCODINGS = ['br', 'gzip'] as const;
/** Some milliseconds for a page; the highest level would take ten times as long, for a twentieth less. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 8 } };

interface RenderedPage {
  etag: string;
  bytes: Readonly<Record<(typeof ENCODINGS)[number] | 'identity', Buffer>>;
}

/** All pages of the documentation, for one address of the gateway. */
class Library {
  /** The document that the pages are made of. */
  readonly of: OpenApiDocument;
  readonly #navigation: readonly NavigationGroup[];
  /** By address: what renders the page. */
  readonly #pages: ReadonlyMap<string, () => DocsPage>;
  readonly #rendered = new Map<string, Promise<RenderedPage>>();
  readonly #index: SearchIndex;

  constructor(document: OpenApiDocument) {
    const reference = readReference(document);
    this.of = document;
    this.#navigation = [referenceNavigation(reference)];
    this.#index = new SearchIndex(referenceEntries(reference));
    this.#pages = new Map([
      ['/docs', () => overviewPage(reference)],
      ['/docs/api/errors', () => errorsPage(reference)],
      ...reference.groups.map((group) => [`/docs/api/${group.name}`, () => groupPage(group, reference)] as const),
    ]);
  }

  /** @throws GatewayError `route_not_found`. */
  async send(context: RequestContext, url: string): Promise<void> {
    const page = this.#pages.get(url);
    if (!page) throw new GatewayError('route_not_found', 'There is no such page.');
    const rendered = this.#rendered.get(url) ?? compress(renderPage(docsPage(page(), this.#navigation)));
    this.#rendered.set(url, rendered);
    const { etag, bytes } = await rendered;
    setPageHeaders(context.res);
    context.set({ 'Cache-Control': 'public, no-cache', ETag: etag, Vary: 'Accept-Encoding' });
    if (hasCurrentCopy(context, etag)) {
      context.status = 304;
      return;
    }
    const encoding = ENCODINGS.find((one) => context.acceptsEncodings(one)) ?? 'identity';
    if (encoding !== 'identity') context.set('Content-Encoding', encoding);
    context.body = bytes[encoding];
  }

  sendResults(context: RequestContext): void {
    const { q } = context.query;
    const query = (typeof q === 'string' ? q : '').trim().slice(0, MAX_QUERY_LENGTH);
    setPageHeaders(context.res);
    context.body = renderPage(docsPage(searchPage(query, this.#index.find(query)), this.#navigation));
  }
}

async function compress(text: string): Promise<RenderedPage> {
  const identity = Buffer.from(text);
  const [br, zipped] = await Promise.all([promisify(brotliCompress)(identity, BROTLI), promisify(gzip)(identity)]);
  const etag = `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`;
  return { etag, bytes: { br, gzip: zipped, identity } };
}
