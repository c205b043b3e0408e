/*
 * Decides which refusal a page stands for, if any. The address after redirects comes first, then the route, the tags,
 * and words last: pages of items contain the words of login forms and error screens as well, so only their position
 * counts. An error screen with a title is a final state, one without is a check for robots. Word searches run only in
 * pages below 400,000 characters. A page that was cut is never taken for a login form, because the item may have
 * followed.
 */

import type { DefinitiveCode, Failure, TransientCode } from 'mediagate/plugin';
import { isOwnHost } from '../links.js';
import type shipped from '../site-config.json';
import { leadsIn, type PageParts, type PageReply, type PageTags, readNotice } from './parts.js';

/** What the platform changes from time to time, apart from the code that uses it. */
export type SiteConfig = typeof shipped;

/** Characters of a page that are searched for the words of a notice. */
const NOTICE_LENGTH = 400_000;
const GENERIC_FEED = 'a feed of other videos in place of the video';
const ERROR_SCREEN = 'an error screen in place of the page';
const CHECK = 'a check of the client in place of the page';

function definitive(code: DefinitiveCode, reason: string): Failure {
  return { kind: 'definitive', code, reason };
}

function transient(code: TransientCode, reason: string): Failure {
  return { kind: 'transient', code, reason };
}

/**
 * The refusal that a page stands for, or undefined if it may have the item. The address decides first, then the page's
 * route, its tags, and words last. Pages of items have the words of login forms and error screens as well, so only their
 * position counts.
 */
export function readPageState(reply: PageReply, page: PageParts, siteConfig: SiteConfig): Failure | undefined {
  const { status, url, html } = reply;
  const byAddress = stateOfAddress(url, siteConfig);
  if (byAddress) return byAddress;
  const isGone = status === 404 || status === 410;
  if (html === '' && !isGone)
    return transient('upstream_refused', status >= 300 ? 'redirected to another site' : 'empty answer');
  const { root, title } = page.route;
  const { markers } = siteConfig;
  const isRoot = (names: readonly string[]) => names.some((name) => root?.includes(name));
  if (isRoot(markers.ageRoots)) return definitive('age_restricted', `page: ${root}`);
  if (isRoot(markers.loginRoots)) return definitive('login_required', `page: ${root}`);
  if (isRoot(markers.errorRoots)) {
    if (!title) return transient('bot_check', ERROR_SCREEN);
    return stateOfNotice(title, siteConfig) ?? definitive('unavailable', title);
  }
  if (isGone) return definitive('unavailable', `HTTP ${status}`);
  return stateOfTags(page, siteConfig) ?? stateOfMarks(html, siteConfig);
}

/** The refusal that an address alone stands for: a login form, a check, a consent form, or a feed. */
export function stateOfAddress(url: URL, { paths }: SiteConfig): Failure | undefined {
  const path = url.pathname.toLowerCase();
  const starts = (list: readonly string[]) => list.some((start) => path.startsWith(start));
  if (starts(paths.checkpoint)) return transient('bot_check', 'redirected to a check');
  if (starts(paths.login)) return definitive('login_required', 'redirected to log in');
  if (starts(paths.consent)) return transient('upstream_refused', 'redirected to a consent form');
  if (path === '/') return definitive('login_required', 'redirected to the home page, where one logs in');
  if (/^\/watch\/?$/.test(path) && !url.searchParams.has('v')) return definitive('unavailable', GENERIC_FEED);
  return undefined;
}

function stateOfTags({ tags }: PageParts, siteConfig: SiteConfig): Failure | undefined {
  for (const address of tags.addresses) {
    const url = URL.parse(address);
    const state = url && url.pathname !== '/' ? stateOfAddress(url, siteConfig) : undefined;
    if (state) return state;
  }
  // The title of an item may be about logging in; then the page states the address of the item.
  if (tags.addresses.length > 0 || tags.title === undefined) return undefined;
  return stateOfNotice(tags.title, siteConfig);
}

function stateOfNotice(text: string, { phrases }: SiteConfig): Failure | undefined {
  const words = text.toLowerCase().replaceAll('’', "'");
  const has = (list: readonly string[]) => list.some((phrase) => words.includes(phrase));
  if (has(phrases.blocked)) return transient('upstream_rate_limited', text);
  if (has(phrases.security)) return transient('bot_check', text);
  if (has(phrases.age)) return definitive('age_restricted', text);
  if (has(phrases.geo)) return definitive('geo_blocked', text);
  if (has(phrases.login)) return definitive('login_required', text);
  return has(phrases.unavailable) ? definitive('unavailable', text) : undefined;
}

function stateOfMarks(html: string, { markers }: SiteConfig): Failure | undefined {
  if (html.length > NOTICE_LENGTH) return undefined;
  if (html.length < NOTICE_LENGTH / 10 && includesAny(html, markers.challenge)) return transient('bot_check', CHECK);
  return includesAny(html, markers.interstitial)
    ? definitive('unavailable', 'a notice in place of the page')
    : undefined;
}

/** Whether a page under the address of the item is a login form: its title and description are those of the site. */
export function isLoginForm({ title, heading, description }: PageTags, { phrases }: SiteConfig): boolean {
  const begins = (text: string | undefined, list: readonly string[], room: number) => {
    const words = text?.toLowerCase().replace(/\s?\|\s?facebook$/, '') ?? '';
    return list.some((phrase) => words.startsWith(phrase) && words.length <= phrase.length + room);
  };
  return (
    begins(description, phrases.siteDescriptions, 120) ||
    [title, heading].some((text) => begins(text, phrases.login, 12))
  );
}

/**
 * The refusal that a page without the item stands for, by the words in it. Pages of items have the same forms and names
 * of screens.
 */
export function stateOfRest(page: PageParts, siteConfig: SiteConfig): Failure | undefined {
  const { html } = page;
  const { markers } = siteConfig;
  if (page.route.root !== undefined || html.length > NOTICE_LENGTH) return undefined;
  const notice = readNotice(html);
  const state = notice === undefined ? undefined : stateOfNotice(notice, siteConfig);
  if (state) return state;
  for (const address of leadsIn(html)) {
    const url = URL.parse(address);
    const next = url && isOwnHost(url) ? stateOfAddress(url, siteConfig) : undefined;
    if (next) return next;
  }
  if (includesAny(html, markers.blocked)) return transient('upstream_rate_limited', 'temporarily blocked');
  if (markers.errorRoots.some((name) => html.includes(`${name}.react`))) return transient('bot_check', ERROR_SCREEN);
  if (includesAny(html, markers.consent)) return transient('upstream_refused', 'a consent form in place of the page');
  // Every page begins with a login form; a page that is cut may have had the item further down.
  return includesAny(html, markers.login) && html.includes('</html')
    ? definitive('login_required', 'a login form in place of the page')
    : undefined;
}

function includesAny(html: string, marks: readonly string[]): boolean {
  return marks.some((mark) => html.includes(mark));
}
