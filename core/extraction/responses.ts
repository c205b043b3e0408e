/*
 * What extractors do with replies before they read a body. Status codes become outcomes, with meanings that each
 * platform can set. Redirects are followed one by one, and the extractor decides about each target before it is
 * requested. Short links are resolved in at most five hops that stay on the platform's own hosts; bodies are not read
 * unless a platform needs the page. A loop, a dead link or a target elsewhere is an error that names the reason.
 */

import {
  type Extractor,
  type HttpClient,
  type HttpRequest,
  type HttpResponse,
  type LinkRef,
  matchedLink,
} from '../contracts/index.js';
import { discard } from '../net/index.js';
import {
  boundedWait,
  type DefinitiveCode,
  failureMessage,
  GatewayError,
  isDefinitiveCode,
  type TransientCode,
} from '../runtime/index.js';
import { retryAfterSeconds } from '../upstreams/index.js';
import type { Outcome } from './method-run.js';

/** What single status codes of a platform mean, e.g. `{ 404: 'removed', 403: 'private' }`. */
export type StatusMeanings = Readonly<Partial<Record<number, DefinitiveCode | TransientCode>>>;

/** An outcome without data. */
export type Failure = Exclude<Outcome<never>, { kind: 'found' }>;

type StatusReply = Pick<HttpResponse, 'status' | 'headers'>;

/**
 * The outcome that a status stands for, or undefined for a success (200 to 299), whose body must be read. Default: 410
 * is `removed`, 429 is `upstream_rate_limited`, 500 and above are `upstream_error`, all others `upstream_refused`, which
 * includes redirects. A transient outcome has the `Retry-After` of the reply, at most a minute.
 */
export function readStatus(response: StatusReply, meanings: StatusMeanings = {}): Failure | undefined {
  const { status } = response;
  const code = meanings[status] ?? usualMeaning(status);
  if (code === undefined) return undefined;
  const reason = `HTTP ${status}`;
  if (isDefinitiveCode(code)) return { kind: 'definitive', code, reason };
  const seconds = retryAfterSeconds(response);
  return { kind: 'transient', code, reason, ...(seconds !== undefined && { retryAfterSeconds: boundedWait(seconds) }) };
}

function usualMeaning(status: number): DefinitiveCode | TransientCode | undefined {
  if (status >= 200 && status < 300) return undefined;
  if (status === 410) return 'removed';
  if (status === 429) return 'upstream_rate_limited';
  return status >= 500 ? 'upstream_error' : 'upstream_refused';
}

/**
 * Returns a response with a status of success, and throws for any other.
 * @throws GatewayError with the code that the status stands for.
 */
export function requireSuccess<Response extends StatusReply>(response: Response, meanings?: StatusMeanings): Response {
  const outcome = readStatus(response, meanings);
  if (outcome) throw outcomeError(outcome);
  return response;
}

/** The error for an outcome without data. */
export function outcomeError(outcome: Exclude<Outcome<unknown>, { kind: 'found' }>): GatewayError {
  const { code, reason } = outcome;
  const more = outcome.kind === 'transient' && { retryAfterSeconds: outcome.retryAfterSeconds, cause: outcome.cause };
  return new GatewayError(code, failureMessage(code), { reason, ...more });
}

/** The cookies of a reply that have one of these names, by name. Cookies without a value are left out. */
export function readCookies({ headers }: Pick<HttpResponse, 'headers'>, names: readonly string[]): Map<string, string> {
  const cookies = new Map<string, string>();
  for (const field of headers['set-cookie']?.split('\n') ?? []) {
    const [, name = '', value = ''] = /^\s{0,9}([^=;\s]{1,200})=([^;\s]+)/.exec(field) ?? [];
    if (value !== '' && names.includes(name)) cookies.set(name, value);
  }
  return cookies;
}

/** The header `cookie` for these cookies; undefined if there are none. */
export function cookieHeader(cookies: ReadonlyMap<string, string>): string | undefined {
  return cookies.size > 0 ? [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') : undefined;
}

/** A request whose redirects the extractor decides on. */
export interface RedirectWalk<Stop = never> extends Omit<HttpRequest, 'maxRedirects'> {
  /** Redirects to follow. Default 3. */
  maxRedirects?: number;
  /** Returns the URL to request next, which need not be the target, or `{ stop }` to end without a request. */
  onRedirect(target: URL, response: HttpResponse): URL | { stop: Stop };
}

/** A reply that is no redirect and the URL that gave it, or the value that `onRedirect` stopped with. */
export type RedirectEnd<Stop> = { response: HttpResponse; url: URL } | { stop: Stop };

/**
 * Requests a URL and follows redirects one by one, as `onRedirect` decides. A redirect without a readable `location` is
 * returned as the reply.
 * @throws GatewayError `upstream_refused` after too many redirects, or what `onRedirect` or the HTTP client throws.
 */
export function followRedirects<Stop = never>(http: HttpClient, walk: RedirectWalk<Stop>): Promise<RedirectEnd<Stop>> {
  const { maxRedirects = 3, onRedirect, ...request } = walk;
  return walkRedirects({
    url: new URL(request.url),
    maxRedirects,
    send: (url) => http.request({ ...request, url }),
    onRedirect,
    tooMany: () =>
      new GatewayError('upstream_refused', 'The platform redirects the request in a loop.', {
        reason: 'too many redirects',
      }),
  });
}

interface Walk<Response, Stop> {
  url: URL;
  maxRedirects: number;
  send(url: URL): Promise<Response>;
  onRedirect(target: URL, response: Response): URL | { stop: Stop };
  tooMany(): GatewayError;
}

async function walkRedirects<Response extends StatusReply, Stop>(
  walk: Walk<Response, Stop>,
): Promise<{ response: Response; url: URL } | { stop: Stop }> {
  let { url } = walk;
  for (let redirects = 0; ; redirects += 1) {
    const response = await walk.send(url);
    const target = redirectTarget(response, url);
    if (!target) return { response, url };
    const next = walk.onRedirect(target, response);
    if ('stop' in next) return next;
    if (redirects === walk.maxRedirects) throw walk.tooMany();
    url = next;
  }
}

function redirectTarget({ status, headers }: StatusReply, from: URL): URL | undefined {
  if (status < 300 || status >= 400 || !headers.location) return undefined;
  return URL.parse(headers.location, from) ?? undefined;
}

/** The item or short link that `match` finds in an address; undefined for anything else. */
export function matchAddress(match: Extractor['match'], url: URL | string | null | undefined): LinkRef | undefined {
  const parsed = typeof url === 'string' ? URL.parse(url) : url;
  return parsed ? matchedLink(match(parsed)) : undefined;
}

const MAX_HOPS = 5;

interface ShortLinkWalk {
  http: HttpClient;
  url: string;
  /** Whether a hop may be requested: only the platform's own hosts. */
  mayAsk(url: URL): boolean;
  /** Whether the URL is a destination, which is returned without a request. */
  isDestination(url: URL): boolean;
  /** Sent with every hop. */
  headers?: Readonly<Record<string, string>>;
  signal: AbortSignal;
}

/**
 * Follows a short link hop by hop: at most five, each checked before its request; bodies are never read. Ends at the
 * first URL that is a destination or does not redirect.
 */
async function walkShortLink({ http, headers, signal, ...walk }: ShortLinkWalk): Promise<URL> {
  const seen = new Set<string>();
  const end = await walkRedirects<StatusReply, URL>({
    url: new URL(walk.url),
    maxRedirects: MAX_HOPS - 1,
    async send(url) {
      seen.add(url.href);
      const reply = await http.stream({ url, headers, signal });
      // The target is in the header.
      discard(reply);
      if (reply.status >= 400) requireSuccess(reply, { 404: 'short_link_dead', 410: 'short_link_dead' });
      return reply;
    },
    onRedirect(target) {
      if (walk.isDestination(target)) return { stop: target };
      if (!walk.mayAsk(target)) {
        throw new GatewayError('redirected_to_unsupported', 'The short link leads away from the platform.', {
          reason: target.hostname,
        });
      }
      if (seen.has(target.href)) throw deadLink('it leads back to itself');
      return target;
    },
    tooMany: () => deadLink('it redirects too often'),
  });
  return 'stop' in end ? end.stop : end.url;
}

function deadLink(reason: string): GatewayError {
  return new GatewayError('short_link_dead', failureMessage('short_link_dead'), { reason });
}

export interface ShortLinkResolution extends Pick<ShortLinkWalk, 'http' | 'headers' | 'signal'> {
  link: LinkRef;
  match: Extractor['match'];
  /** Whether a URL is on the platform's hosts: no other is requested. */
  isOwn(url: URL): boolean;
  /** Whether a URL is an item. Default: what `match` finds, other than a short link. */
  isItem?(url: URL): boolean;
  /** The login page, and its parameter with the address that it stands before. */
  login?: { isPage(url: URL): boolean; parameter: string };
  /** The error for an address of the platform that is no item, such as a challenge. Default: none. */
  refusal?(url: URL): GatewayError | undefined;
  /** Reads the destination from the page of a short link that does not redirect. */
  readPage?(url: URL): Promise<URL>;
}

/**
 * Resolves a platform's short link: by its redirects, through a login page that names the item, or by its page. An
 * address of the platform that is neither an item nor refused is returned, and ends as `unsupported_link`.
 * At most five hops are requested; bodies are never read.
 * @throws GatewayError `short_link_dead` (404, 410, a loop, too many hops, the home page), `redirected_to_unsupported`
 *   (not on the platform's hosts), `login_required` (a login page that names no item), `upstream_refused` (no redirect
 *   and no `readPage`), what a status stands for, or what the HTTP client throws.
 */
export async function resolveShortLink(resolution: ShortLinkResolution): Promise<URL> {
  const { http, link, match, isOwn, headers, signal, login } = resolution;
  const isShort = (url: URL) => matchAddress(match, url)?.kind === 'short_link';
  const isItem = (url: URL) => resolution.isItem?.(url) ?? (matchAddress(match, url) !== undefined && !isShort(url));
  const end = await walkShortLink({
    http,
    url: link.url,
    mayAsk: isOwn,
    isDestination: (url) => isItem(url) || (isOwn(url) && !isShort(url)),
    headers,
    signal,
  });
  if (isItem(end)) return end;
  if (isShort(end)) {
    if (resolution.readPage) return resolution.readPage(end);
    throw new GatewayError('upstream_refused', 'The platform gave no target for the short link.');
  }
  if (end.pathname === '/') throw deadLink('it leads to the home page');
  if (login?.isPage(end)) {
    const target = URL.parse(end.searchParams.get(login.parameter) ?? '', end);
    if (target && isItem(target)) return target;
    throw new GatewayError('login_required', failureMessage('login_required'), {
      reason: 'it leads to the login page',
    });
  }
  const refusal = resolution.refusal?.(end);
  if (refusal) throw refusal;
  return end;
}
