import type { DefinitiveCode, TransientCode } from 'mediagate';
import type { PageAnswer } from '../fetch.js';
import { isOwnHost } from '../links.js';
import type shipped from '../site-config.json';
import { leadsIn, type PageParts, type PageTags, readNotice } from './parts.js';

/** What the platform changes from time to time, apart from the code that uses it. */
export type SiteConfig = typeof shipped;

/** What a page is, as far as its form tells. `open`: nothing speaks against it holding the item. */
export type PageState =
  | { kind: 'open' }
  | { kind: 'definitive'; code: DefinitiveCode; reason: string }
  | { kind: 'transient'; code: TransientCode; reason: string };

/** How much of a page that names no title is looked through for the words of a notice. */
const NOTICE_LENGTH = 400_000;

/**
 * Tells refusals from pages, by where the answer lay, by what the page's own router shows, by its tags, and by words
 * last. The words of login forms and error screens stand in good pages as well, so only their place counts.
 */
export function readPageState({ status, url }: PageAnswer, page: PageParts, siteConfig: SiteConfig): PageState {
  const byAddress = stateOfAddress(url, siteConfig);
  if (byAddress) return byAddress;
  const { html } = page;
  const isGone = status === 404 || status === 410;
  if (html === '' && !isGone) {
    const reason = status >= 300 ? 'redirected to another site' : 'empty answer';
    return { kind: 'transient', code: 'upstream_refused', reason };
  }
  const { root, title } = page.route();
  const { markers } = siteConfig;
  const isRoot = (names: readonly string[]) => names.some((name) => root?.includes(name));
  if (isRoot(markers.ageRoots)) return { kind: 'definitive', code: 'age_restricted', reason: `page: ${root}` };
  if (isRoot(markers.loginRoots)) return { kind: 'definitive', code: 'login_required', reason: `page: ${root}` };
  if (isRoot(markers.errorRoots)) {
    if (title) return stateOfNotice(title, siteConfig) ?? { kind: 'definitive', code: 'unavailable', reason: title };
    return { kind: 'transient', code: 'bot_check', reason: 'an error screen in place of the page' };
  }
  if (isGone) return { kind: 'definitive', code: 'unavailable', reason: `HTTP ${status}` };
  return stateOfTags(page.tags(), siteConfig) ?? stateOfMarks(html, siteConfig) ?? { kind: 'open' };
}

/** What an address alone says that the site led us to. */
export function stateOfAddress(url: URL, siteConfig: SiteConfig): PageState | undefined {
  const path = url.pathname.toLowerCase();
  const starts = (list: readonly string[]) => list.some((start) => path.startsWith(start));
  if (starts(siteConfig.paths.checkpoint))
    return { kind: 'transient', code: 'bot_check', reason: 'redirected to a check' };
  if (starts(siteConfig.paths.login))
    return { kind: 'definitive', code: 'login_required', reason: 'redirected to log in' };
  if (starts(siteConfig.paths.consent))
    return { kind: 'transient', code: 'upstream_refused', reason: 'redirected to a consent form' };
  if (path === '/')
    return { kind: 'definitive', code: 'login_required', reason: 'redirected to the home page, where one logs in' };
  if (/^\/watch\/?$/.test(path) && !url.searchParams.has('v')) return GENERIC_FEED;
  return undefined;
}

const GENERIC_FEED: PageState = {
  kind: 'definitive',
  code: 'unavailable',
  reason: 'a feed of other videos in place of the video',
};

function stateOfTags(tags: PageTags, siteConfig: SiteConfig): PageState | undefined {
  for (const address of [tags.canonical, tags.address]) {
    const url = address === undefined ? null : URL.parse(address);
    const state = url && url.pathname !== '/' ? stateOfAddress(url, siteConfig) : undefined;
    if (state) return state;
  }
  // An item's own title may speak of logging in; then the page says which item it is.
  if (tags.canonical ?? tags.address) return undefined;
  return tags.title === undefined ? undefined : stateOfNotice(tags.title, siteConfig);
}

function stateOfNotice(text: string, { phrases }: SiteConfig): PageState | undefined {
  const words = text.toLowerCase().replaceAll('’', "'");
  const says = (list: readonly string[]) => list.some((phrase) => words.includes(phrase));
  if (says(phrases.blocked)) return { kind: 'transient', code: 'upstream_rate_limited', reason: text };
  if (says(phrases.security)) return { kind: 'transient', code: 'bot_check', reason: text };
  if (says(phrases.age)) return { kind: 'definitive', code: 'age_restricted', reason: text };
  if (says(phrases.geo)) return { kind: 'definitive', code: 'geo_blocked', reason: text };
  if (says(phrases.login)) return { kind: 'definitive', code: 'login_required', reason: text };
  if (says(phrases.unavailable)) return { kind: 'definitive', code: 'unavailable', reason: text };
  return undefined;
}

function stateOfMarks(html: string, { markers }: SiteConfig): PageState | undefined {
  if (html.length > NOTICE_LENGTH) return undefined;
  if (html.length < NOTICE_LENGTH / 10 && holds(html, markers.challenge))
    return { kind: 'transient', code: 'bot_check', reason: 'a check of the client in place of the page' };
  if (holds(html, markers.interstitial))
    return { kind: 'definitive', code: 'unavailable', reason: 'a notice in place of the page' };
  return undefined;
}

/**
 * A login form that stands under the item's own address: the site's title and description in place of the item's.
 */
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

/** What a page without the item is, by the words in it: good pages hold the same forms and names of screens. */
export function stateOfRest(page: PageParts, siteConfig: SiteConfig): PageState | undefined {
  const { html } = page;
  const { root } = page.route();
  if (root !== undefined || html.length > NOTICE_LENGTH) return undefined;
  const { markers } = siteConfig;
  const notice = readNotice(html);
  const state = notice === undefined ? undefined : stateOfNotice(notice, siteConfig);
  if (state) return state;
  for (const address of leadsIn(html)) {
    const url = URL.parse(address);
    const led = url && isOwnHost(url) ? stateOfAddress(url, siteConfig) : undefined;
    if (led) return led;
  }
  if (holds(html, markers.blocked))
    return { kind: 'transient', code: 'upstream_rate_limited', reason: 'temporarily blocked' };
  if (markers.errorRoots.some((name) => html.includes(`${name}.react`)))
    return { kind: 'transient', code: 'bot_check', reason: 'an error screen in place of the page' };
  if (holds(html, markers.consent))
    return { kind: 'transient', code: 'upstream_refused', reason: 'a consent form in place of the page' };
  // Every page begins with a form to log in: one that was cut may have had the item further down.
  if (holds(html, markers.login) && html.includes('</html'))
    return { kind: 'definitive', code: 'login_required', reason: 'a login form in place of the page' };
  return undefined;
}

function holds(html: string, marks: readonly string[]): boolean {
  return marks.some((mark) => html.includes(mark));
}
