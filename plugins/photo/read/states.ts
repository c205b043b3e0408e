import { asString, at, GatewayError, type HttpResponse, retryAfterSeconds, tryParseJson } from 'mediagate';
import type { Facts } from '../facts.js';

const MESSAGES = {
  upstream_rate_limited: 'The platform limits requests for now.',
  bot_check: 'The platform asks for a check that only a person can pass.',
} as const;

/** Where a redirect that is no answer leads. */
export type Detour = 'login' | 'challenge' | 'consent' | 'home' | 'elsewhere';

export function detourOf(url: URL, { paths }: Facts): Detour {
  const begins = (list: readonly string[]) => list.some((path) => url.pathname.startsWith(path));
  if (begins(paths.challenge)) return 'challenge';
  if (begins(paths.login)) return 'login';
  if (begins(paths.consent)) return 'consent';
  return url.pathname === '/' ? 'home' : 'elsewhere';
}

/** @throws GatewayError for every status but success. */
export function refuseFailure(response: HttpResponse, facts: Facts): void {
  const { status, headers } = response;
  if (status >= 200 && status < 300) return;
  if (status >= 300 && status < 400) throw refusedRedirect(headers.location, response.url, facts);
  const words = wordsOf(response);
  const details = { reason: words ?? `HTTP ${status}`, retryAfterSeconds: retryAfterSeconds(response) };
  const code = status === 429 ? 'upstream_rate_limited' : words && codeOfWords(words, facts);
  if (code) throw new GatewayError(code, MESSAGES[code], details);
  throw new GatewayError(
    status >= 500 ? 'upstream_error' : 'upstream_refused',
    'The platform refused the request.',
    details,
  );
}

/** Whether a redirect leads to the form to log in. */
export function leadsToLogin({ status, headers, url }: HttpResponse, facts: Facts): boolean {
  const target = status >= 300 && status < 400 && headers.location ? URL.parse(headers.location, url) : null;
  return target !== null && detourOf(target, facts) === 'login';
}

/** Whether a refusal of the API is that there is no such post. */
export function saysMissing(response: HttpResponse, { phrases }: Facts): boolean {
  const words = response.status === 400 ? wordsOf(response)?.toLowerCase() : undefined;
  return words !== undefined && phrases.missingMedia.some((phrase) => words.includes(phrase));
}

/** Whether a refusal of the API tells in a title why a post may not be shown. */
export function givesReasons(response: HttpResponse): boolean {
  const body = response.status === 400 || response.status === 403 ? tryParseJson(response.text()) : undefined;
  return asString(at(body, 'title')) !== undefined && asString(at(body, 'message')) === undefined;
}

/** What the platform's own words say of a refusal, where they say it. */
export function codeOfWords(words: string, { phrases }: Facts): keyof typeof MESSAGES | undefined {
  const lower = words.toLowerCase();
  if (phrases.throttled.some((phrase) => lower.includes(phrase))) return 'upstream_rate_limited';
  return phrases.challenge.some((phrase) => lower.includes(phrase)) ? 'bot_check' : undefined;
}

function refusedRedirect(location: string | undefined, from: string, facts: Facts): GatewayError {
  const target = location === undefined ? null : URL.parse(location, from);
  const detour = target ? detourOf(target, facts) : 'elsewhere';
  if (detour === 'challenge') {
    return new GatewayError('bot_check', MESSAGES.bot_check, {
      reason: 'redirected to a challenge',
    });
  }
  const places = {
    login: 'the login page',
    consent: 'a consent form',
    home: 'the home page',
    elsewhere: 'another page',
  };
  return new GatewayError('upstream_refused', 'The platform led the request elsewhere.', {
    reason: `redirected to ${places[detour]}`,
  });
}

/** The platform's own words in a refusal that is JSON. */
function wordsOf(response: HttpResponse): string | undefined {
  const body = tryParseJson(response.text());
  return asString(at(body, 'message')) ?? asString(at(body, 'error_type')) ?? asString(at(body, 'title'));
}
