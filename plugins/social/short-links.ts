import { GatewayError, type HttpClient, type LinkRef, matchedLink, walkShortLink } from 'mediagate';
import type { Facts } from './facts.js';
import { isOwnHost } from './hosts.js';
import { itemAt, matchItem } from './links.js';
import { addressOfStory, leadsIn } from './page-leads.js';
import { takeApart } from './page-parts.js';
import { readPageState, stateOfAddress, stateOfRest } from './page-state.js';
import { isDeadEnd, type Requests } from './requests.js';

export interface ShortLinkSettings {
  http: HttpClient;
  requests: Requests;
  facts: Facts;
}

/**
 * Where a share link leads. Most redirect; since 2026 some are answered with a page instead, which names the address of the
 * item in its tags.
 * @throws GatewayError `short_link_dead`, `redirected_to_unsupported`, `login_required`, `unavailable`, or an upstream failure.
 */
export async function resolveShortLink(
  link: LinkRef,
  { http, requests, facts }: ShortLinkSettings,
  signal: AbortSignal,
): Promise<URL> {
  const end = await walkShortLink({
    http,
    url: link.url,
    headers: requests.headers,
    signal,
    mayAsk: (url) => isOwnHost(url) && !isDeadEnd(url, facts),
    isDestination: (url) => isOwnHost(url) && (isDeadEnd(url, facts) || !isShort(url)),
  });
  if (!isShort(end)) return destination(end, facts);
  const answer = await requests.page(end.href, signal);
  if (!isShort(answer.url)) return destination(answer.url, facts);
  const parts = takeApart(answer.html);
  const tags = parts.tags();
  const addresses = [tags.address, tags.canonical, ...leadsIn(answer.html), addressOfStory(parts.route())];
  const named = addresses.map((address) => itemAt(address)).find((item) => item !== undefined);
  if (named) return new URL(named.url);
  const state = readPageState(answer, parts, facts);
  if (state.kind !== 'open')
    throw new GatewayError(state.code, 'The share link does not show its item.', { reason: state.reason });
  const page = [tags.address, tags.canonical].map((address) => address && URL.parse(address)).find(Boolean);
  if (page && isOwnHost(page)) return page;
  const rest = stateOfRest(parts, facts);
  if (rest && rest.kind !== 'open')
    throw new GatewayError(rest.code, 'The share link does not show its item.', { reason: rest.reason });
  throw new GatewayError('upstream_changed', 'The page of the share link could not be understood.', {
    reason: 'it names no item',
  });
}

/** A login form often says what it stands before; then that is asked for itself. */
function destination(url: URL, facts: Facts): URL {
  const item = matched(url);
  if (item) return new URL(item.url);
  if (url.pathname === '/') {
    throw new GatewayError('short_link_dead', 'The share link leads nowhere.', {
      reason: 'redirected to the home page',
    });
  }
  const state = isDeadEnd(url, facts) ? stateOfAddress(url, facts) : undefined;
  if (state && state.kind !== 'open') {
    throw new GatewayError(state.code, 'The share link does not show its item.', { reason: state.reason });
  }
  return url;
}

function isShort(url: URL): boolean {
  return matched(url)?.kind === 'short_link';
}

function matched(url: URL): LinkRef | undefined {
  return matchedLink(matchItem(url));
}
