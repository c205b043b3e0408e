import {
  type DefinitiveCode,
  type FactsOverride,
  GatewayError,
  type HttpClient,
  type HttpResponse,
  matchedLink,
  overrideFacts,
  retryAfterSeconds,
} from 'mediagate';
import shipped from './facts.json' with { type: 'json' };
import { matchProduct } from './links.js';
import { outcomeOfPage, type Refusal, type ShopOutcome } from './read/page.js';

export type PageForm = 'shopPage' | 'wwwPage' | 'sharePage';

export interface RequestSettings {
  http: HttpClient;
  facts: Facts;
  acceptLanguage: string;
  /** Milliseconds for one page. */
  pageTimeoutMs: number;
}

/** One product in one market. */
export interface Wanted {
  id: string;
  /** Upper case; absent for the default market. */
  region?: string;
}

/** A page leads to the same product under another name, or in another market, but not in circles. */
const MAX_REDIRECTS = 3;

/** The address of a product's page, of its id and its market alone. */
export function pageAddress(facts: Facts, form: PageForm, { id, region }: Wanted): string {
  const { urls, defaultRegion } = facts;
  const regional = { shopPage: urls.shopPage, wwwPage: urls.wwwRegionPage, sharePage: urls.shareRegionPage };
  return (region ? regional : urls)[form]
    .replaceAll('{id}', encodeURIComponent(id))
    .replaceAll('{region}', encodeURIComponent((region ?? defaultRegion).toLowerCase()))
    .replaceAll('{REGION}', encodeURIComponent((region ?? defaultRegion).toUpperCase()));
}

/** Fetches one form of a product's page as a browser opens it, and says what came. */
export function createPageFetch(settings: RequestSettings) {
  const { http, facts, acceptLanguage, pageTimeoutMs } = settings;
  const headers = {
    'user-agent': facts.userAgent,
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': acceptLanguage,
    'upgrade-insecure-requests': '1',
    'sec-fetch-dest': 'document',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-site': 'none',
    'sec-fetch-user': '?1',
  };

  return async function fetchPage(form: PageForm, wanted: Wanted, signal: AbortSignal): Promise<ShopOutcome> {
    let url = new URL(pageAddress(facts, form, wanted));
    for (let redirects = 0; ; redirects += 1) {
      const response = await http.request({ url, headers, signal, timeoutMs: pageTimeoutMs });
      const next = redirectOf(response, url);
      if (!next) return outcomeOfResponse(response, wanted.id, facts);
      const elsewhere = outcomeOfRedirect(next, wanted.id, facts);
      if (elsewhere) return elsewhere;
      if (redirects === MAX_REDIRECTS) return refused('the page leads in circles');
      url = next;
    }
  };
}

function redirectOf({ status, headers }: HttpResponse, from: URL): URL | undefined {
  const { location } = headers;
  return status >= 300 && status < 400 && location ? (URL.parse(location, from) ?? undefined) : undefined;
}

/** What it means to be led away from a product; undefined where the way leads to the same product. */
export function outcomeOfRedirect(target: URL, id: string, { markers }: Facts): ShopOutcome | undefined {
  const { pathname, hostname, protocol, search } = target;
  if (search.includes(markers.notInRegion)) return refused('redirected: the region is not supported');
  if (/^\/(?:[a-z]{2}\/)?login(?:\/|$)/.test(pathname)) return refused('redirected to the login page');
  if (/captcha|\/verify/i.test(pathname))
    return { kind: 'transient', code: 'bot_check', reason: 'redirected to a security check' };
  if (idBehind(target) === id && protocol === 'https:') return undefined;
  const isHome = /(^|\.)tiktok\.com$/.test(hostname) && /^\/(?:shop\/?|[a-z]{2}\/?|foryou\/?)?$/.test(pathname);
  return refused(isHome ? 'redirected to the home page' : `redirected to ${hostname}`);
}

function refused(reason: string): ShopOutcome {
  return { kind: 'transient', code: 'upstream_refused', reason };
}

/** Reasons for which one address alone shows nothing, and what they mean where no other shows more, the most telling first. */
const MEANINGS: readonly (readonly [code: DefinitiveCode, reasons: readonly string[]])[] = [
  ['geo_blocked', ['redirected: the region is not supported']],
  ['login_required', ['redirected to the login page']],
  ['removed', ['redirected to the home page', 'HTTP 404', 'HTTP 410']],
];

/** What outcomes mean together, where each was a refusal that says something of the product; undefined otherwise. */
export function agreedMeaning(outcomes: readonly (ShopOutcome | undefined)[]): Refusal | undefined {
  const reasons = outcomes.flatMap((outcome) => (outcome?.kind === 'transient' && outcome.reason) || []);
  const known = MEANINGS.flatMap(([, one]) => one);
  if (reasons.length < outcomes.length || !reasons.every((reason) => known.includes(reason))) return undefined;
  for (const [code, told] of MEANINGS) {
    const reason = reasons.find((one) => told.includes(one));
    if (reason) return { code, reason };
  }
  return undefined;
}

function idBehind(url: URL): string | undefined {
  return matchedLink(matchProduct(url))?.id;
}

function outcomeOfResponse(response: HttpResponse, id: string, facts: Facts): ShopOutcome {
  const { status } = response;
  if (status === 429) {
    throw new GatewayError('upstream_rate_limited', 'The platform limits requests for now.', {
      reason: 'HTTP 429',
      retryAfterSeconds: retryAfterSeconds(response),
    });
  }
  if (status >= 200 && status < 300) return outcomeOfPage(response.text(), id, facts);
  // Refusals with a status of their own still say on their page what they are.
  if (status < 500) {
    const outcome = outcomeOfPage(response.text(), id, facts);
    if (outcome.kind === 'definitive' || (outcome.kind === 'transient' && outcome.code === 'bot_check')) return outcome;
  }
  const code = status >= 500 ? 'upstream_error' : 'upstream_refused';
  return { kind: 'transient', code, reason: `HTTP ${status}` };
}

/** What the platform changes from time to time, kept apart from the code that uses it. */
export type Facts = typeof shipped;

/** The shipped facts with an entry's own in place of theirs. @throws TypeError where they do not fit. */
export function resolveFacts(override?: FactsOverride): Facts {
  return overrideFacts(shipped, override);
}
