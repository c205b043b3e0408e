/*
 * Matches a parsed link against the platforms, also if it is inside a redirect, login page or consent form, at most
 * two deep. Path words in capital letters are tried again in lower case. A link that a platform accepts unchanged
 * costs one lookup by its host.
 */

import { GatewayError, isGatewayError } from '../../runtime/index.js';
import { isPlainUrl, pathSegments } from '../scraping/addresses.js';
import { parseLinkText } from './link-text.js';
import { wrappedIn } from './link-wrappers.js';

/** A redirect to a login page to a link; a third address around it is a loop or an attack. */
const MAX_WRAPPERS = 2;

/** @throws GatewayError `unsupported_link` or `unsupported_platform`. */
export type MatchLink<Found> = (url: URL) => Found;

/**
 * What `match` finds in a link or in the link that it stands around.
 * @param linkForms Those of the platforms that `match` knows; read only for a link that is refused.
 * @throws GatewayError as `match`; `unsupported_link` for a link around an address that is not supported.
 */
export function matchPasted<Found>(url: URL, match: MatchLink<Found>, linkForms: () => Iterable<string>): Found {
  return unwrap(url, (one) => matchAnyCase(one, match, linkForms), 0);
}

function unwrap<Found>(url: URL, match: MatchLink<Found>, depth: number): Found {
  const wrapped = wrappedIn(url);
  if (!wrapped) return match(url);
  let inner: GatewayError;
  try {
    return unwrap(targetOf(wrapped.target, depth), match, depth + 1);
  } catch (error) {
    inner = asRefusal(error);
  }
  let own: GatewayError;
  try {
    return match(url);
  } catch (error) {
    own = asRefusal(error);
  }
  // An address of a platform that is no item says best what the link is.
  if (inner.code === 'unsupported_link' && inner.platform !== undefined) throw inner;
  if (inner.code === 'unsupported_platform' && own.code === 'unsupported_platform') throw inner;
  const reason = inner.message.replace(/^url /, '').replace(/\.$/, '');
  const problem = inner.code === 'invalid_url' ? `the address in it ${reason}` : 'the address in it is not supported';
  const { platform } = own;
  throw new GatewayError(
    'unsupported_link',
    `The link is ${wrapped.kind}, and ${problem}. Send the link of the item itself.`,
    {
      param: 'url',
      ...(platform !== undefined && { platform }),
    },
  );
}

/** @throws GatewayError `invalid_url`. */
function targetOf(text: string, depth: number): URL {
  if (depth >= MAX_WRAPPERS) throw invalid(`stands in more than ${MAX_WRAPPERS} addresses`);
  const url = parseLinkText(text);
  if (url.protocol !== 'https:') throw invalid('is not an https address');
  if (!isPlainUrl(url)) throw invalid('has a port or user information');
  return url;
}

function invalid(reason: string): GatewayError {
  return new GatewayError('invalid_url', `url ${reason}.`, { param: 'url' });
}

function asRefusal(error: unknown): GatewayError {
  if (isGatewayError(error)) return error;
  throw error;
}

/** A link with path words in capitals (`/Reel/…`) is tried again with those of the link forms. */
function matchAnyCase<Found>(url: URL, match: MatchLink<Found>, linkForms: () => Iterable<string>): Found {
  try {
    return match(url);
  } catch (error) {
    const isRefused = isGatewayError(error) && /^unsupported_(?:link|platform)$/.test(error.code);
    const other = isRefused && /[A-Z]/.test(url.pathname) ? lowerWords(url, linkForms()) : undefined;
    if (!other) throw error;
    try {
      return match(other);
    } catch {
      throw error;
    }
  }
}

/** The link with its path words in lower case; undefined if they are. */
function lowerWords(url: URL, linkForms: Iterable<string>): URL | undefined {
  const words = new Set<string>();
  for (const form of linkForms) {
    const [, path = ''] = /^https?:\/\/[^/]*([^?#]*)/.exec(form) ?? [];
    for (const segment of path.split('/')) if (/^[a-z][a-z0-9_.-]*$/.test(segment)) words.add(segment);
  }
  const segments = pathSegments(url).map((segment) => {
    const lower = segment.toLowerCase();
    return words.has(lower) ? lower : segment;
  });
  const other = new URL(url);
  other.pathname = `/${segments.join('/')}`;
  return other.pathname === url.pathname ? undefined : other;
}
