import { GatewayError, type HttpClient, type LinkRef, matchedLink, metaTags, walkShortLink } from 'mediagate';
import type { Facts } from './facts.js';
import { isSite, matchPost } from './links.js';
import { detourOf, refuseFailure } from './read/states.js';

export interface ShareWalk {
  http: HttpClient;
  facts: Facts;
  link: LinkRef;
  signal: AbortSignal;
}

/**
 * Where a share link leads.
 * @throws GatewayError `short_link_dead`, `login_required`, `redirected_to_unsupported`, or an upstream failure.
 */
export async function resolveShareLink({ http, facts, link, signal }: ShareWalk): Promise<URL> {
  const end = await walkShortLink({
    http,
    url: link.url,
    mayAsk: isSite,
    isDestination: (url) => isSite(url) && !isShareLink(url),
    // Browsers get a page that redirects by script; plain clients get a redirect.
    headers: { 'user-agent': facts.shareUserAgent, accept: '*/*' },
    signal,
  });
  if (isShareLink(end)) return addressInPage({ http, facts, link, signal });
  switch (detourOf(end, facts)) {
    case 'home':
      throw new GatewayError('short_link_dead', 'The share link leads to the home page.');
    case 'login':
      return behindLogin(end);
    case 'challenge':
      throw new GatewayError('bot_check', 'The platform asks for a check that only a person can pass.', {
        reason: 'redirected to a challenge',
      });
    case 'consent':
      throw new GatewayError('upstream_refused', 'The platform led the request elsewhere.', {
        reason: 'redirected to a consent form',
      });
    case 'elsewhere':
      return end;
  }
}

/** A login page names the page that it stands before. */
function behindLogin(login: URL): URL {
  const next = login.searchParams.get('next');
  const url = next?.startsWith('//') ? null : URL.parse(next ?? '', login);
  if (url && next && isItem(url)) return url;
  throw new GatewayError('login_required', 'The share link leads to the login page.', {
    reason: 'redirected to the login page',
  });
}

async function addressInPage({ http, facts, link, signal }: ShareWalk): Promise<URL> {
  const headers = {
    'user-agent': facts.userAgent,
    'accept-language': facts.acceptLanguage,
    accept: 'text/html,*/*;q=0.8',
  };
  const response = await http.request({ url: link.url, headers, signal });
  refuseFailure(response, facts);
  const tags = metaTags(response.text());
  for (const name of ['og:url', 'canonical', 'al:android:url']) {
    const url = URL.parse(tags.get(name) ?? '');
    if (url && isItem(url)) return url;
  }
  const title = tags.get('title')?.toLowerCase() ?? '';
  if (facts.phrases.missing.some((words) => title.includes(words))) {
    throw new GatewayError('short_link_dead', 'The share link leads nowhere.', { reason: tags.get('title') });
  }
  throw new GatewayError('upstream_refused', 'The platform does not tell where the share link leads.', {
    reason: 'a page without an address',
  });
}

function isShareLink(url: URL): boolean {
  return kindOf(url) === 'short_link';
}

function isItem(url: URL): boolean {
  const kind = kindOf(url);
  return kind !== undefined && kind !== 'short_link';
}

function kindOf(url: URL): LinkRef['kind'] | undefined {
  return matchedLink(matchPost(url))?.kind;
}
