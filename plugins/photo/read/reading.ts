import {
  asString,
  at,
  type ChainResult,
  type DefinitiveCode,
  GatewayError,
  type HttpResponse,
  type Outcome,
  type PartialPost,
  retryAfterSeconds,
  tryParseJson,
} from 'mediagate';
import type { SiteConfig } from '../fetch.js';

/**
 * Where a reading comes from, best first: the site's own data, the data of an embed, the linked data of older
 * pages, an embed's markup, the tags that a page has for link previews.
 */
export const SOURCES = ['data', 'embed_data', 'linked_data', 'embed_markup', 'page_tags'] as const;
export type Source = (typeof SOURCES)[number];

/** One reply's account of the requested post. */
export interface PostReading {
  source: Source;
  post: PartialPost;
  /** Whether the post is, or holds, a video; undefined where the reply does not tell. */
  hasVideo?: boolean;
  /** Items of a carousel that the reply counts, whether it shows them or not. */
  itemCount?: number;
}

/** What a method finds: accounts of the post, best first. */
export type Readings = readonly PostReading[];
export type PostOutcome = Outcome<Readings>;
export type PostRun = ChainResult<Readings>;

export const OTHER_POST: PostOutcome = {
  kind: 'transient',
  code: 'upstream_refused',
  reason: 'the answer was about another post',
};

export const GATED: PostOutcome = {
  kind: 'definitive',
  code: 'private',
  reason: 'the post is kept from those who are not signed in',
};

/** Whether the readings are worth an answer: whose the post is, and something of it. */
export function hasAuthorAndContent(readings: Readings): boolean {
  const posts = readings.map(({ post }) => post);
  return (
    posts.some(({ common }) => common?.author?.username ?? common?.author?.name ?? common?.author?.id) &&
    posts.some(
      ({ common, media, metrics }) =>
        common?.caption ?? media?.image_urls?.[0] ?? media?.video_urls?.[0] ?? metrics?.likes ?? metrics?.comments,
    )
  );
}

/** Whether the readings are better than none: the text, with its numbers or its pictures, says much without a name. */
export function isWorthwhile(readings: Readings): boolean {
  const posts = readings.map(({ post }) => post);
  const shown = posts.some(
    ({ media, metrics }) =>
      media?.image_urls?.[0] ?? media?.video_urls?.[0] ?? metrics?.likes ?? metrics?.comments ?? metrics?.views,
  );
  return hasAuthorAndContent(readings) || (shown && posts.some(({ common }) => common?.caption));
}

/** Whether the post's files were had: all that its data lists, or the one picture that an embed shows. */
export function hasAllFiles(readings: Readings): boolean {
  return readings.some(({ source, post, hasVideo, itemCount = 1 }) => {
    const files = (hasVideo ? post.media?.video_urls : post.media?.image_urls) ?? [];
    if (files.length === 0 || source === 'page_tags') return false;
    return source !== 'embed_markup' || (!hasVideo && itemCount === 1);
  });
}

/** What the words of a ruling mean; by themselves they only say that the post is not for everybody. */
export function readRuling(words: string, phrases: SiteConfig['phrases']): PostOutcome {
  const lower = words.toLowerCase();
  const says = (list: readonly string[]) => list.some((phrase) => lower.includes(phrase));
  const code: DefinitiveCode = says(phrases.geo)
    ? 'geo_blocked'
    : says(phrases.private)
      ? 'private'
      : says(phrases.age)
        ? 'age_restricted'
        : 'login_required';
  return { kind: 'definitive', code, reason: words };
}

const MESSAGES = {
  upstream_rate_limited: 'The platform limits requests for now.',
  bot_check: 'The platform asks for a check that only a person can pass.',
} as const;

/** Where a redirect that is no answer leads. */
type RedirectTarget = 'login' | 'challenge' | 'consent' | 'home' | 'elsewhere';

export function redirectTarget(url: URL, { paths }: SiteConfig): RedirectTarget {
  const begins = (list: readonly string[]) => list.some((path) => url.pathname.startsWith(path));
  if (begins(paths.challenge)) return 'challenge';
  if (begins(paths.login)) return 'login';
  if (begins(paths.consent)) return 'consent';
  return url.pathname === '/' ? 'home' : 'elsewhere';
}

/** @throws GatewayError for every status but success. */
export function rejectFailure(response: HttpResponse, siteConfig: SiteConfig): void {
  const { status, headers } = response;
  if (status >= 200 && status < 300) return;
  if (status >= 300 && status < 400) throw redirectError(headers.location, response.url, siteConfig);
  const words = messageIn(response);
  const details = { reason: words ?? `HTTP ${status}`, retryAfterSeconds: retryAfterSeconds(response) };
  const code = status === 429 ? 'upstream_rate_limited' : words && codeOfMessage(words, siteConfig);
  if (code) throw new GatewayError(code, MESSAGES[code], details);
  throw new GatewayError(
    status >= 500 ? 'upstream_error' : 'upstream_refused',
    'The platform refused the request.',
    details,
  );
}

/** Whether a redirect leads to the form to log in. */
export function redirectsToLogin({ status, headers, url }: HttpResponse, siteConfig: SiteConfig): boolean {
  const target = status >= 300 && status < 400 && headers.location ? URL.parse(headers.location, url) : null;
  return target !== null && redirectTarget(target, siteConfig) === 'login';
}

/** Whether a refusal of the API is that there is no such post. */
export function isMissingMedia(response: HttpResponse, { phrases }: SiteConfig): boolean {
  const words = response.status === 400 ? messageIn(response)?.toLowerCase() : undefined;
  return words !== undefined && phrases.missingMedia.some((phrase) => words.includes(phrase));
}

/** Whether a refusal of the API tells in a title why a post may not be shown. */
export function isRuling(response: HttpResponse): boolean {
  const body = response.status === 400 || response.status === 403 ? tryParseJson(response.text()) : undefined;
  return asString(at(body, 'title')) !== undefined && asString(at(body, 'message')) === undefined;
}

/** What the platform's own words say of a refusal, where they say it. */
export function codeOfMessage(words: string, { phrases }: SiteConfig): keyof typeof MESSAGES | undefined {
  const lower = words.toLowerCase();
  if (phrases.throttled.some((phrase) => lower.includes(phrase))) return 'upstream_rate_limited';
  return phrases.challenge.some((phrase) => lower.includes(phrase)) ? 'bot_check' : undefined;
}

function redirectError(location: string | undefined, from: string, siteConfig: SiteConfig): GatewayError {
  const url = location === undefined ? null : URL.parse(location, from);
  const target = url ? redirectTarget(url, siteConfig) : 'elsewhere';
  if (target === 'challenge') {
    return new GatewayError('bot_check', MESSAGES.bot_check, {
      reason: 'redirected to a challenge',
    });
  }
  const pages = {
    login: 'the login page',
    consent: 'a consent form',
    home: 'the home page',
    elsewhere: 'another page',
  };
  return new GatewayError('upstream_refused', 'The platform led the request elsewhere.', {
    reason: `redirected to ${pages[target]}`,
  });
}

/** The platform's own words in a refusal that is JSON. */
function messageIn(response: HttpResponse): string | undefined {
  const body = tryParseJson(response.text());
  return asString(at(body, 'message')) ?? asString(at(body, 'error_type')) ?? asString(at(body, 'title'));
}
