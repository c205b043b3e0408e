/*
 * The frame of every page, and the template tag that builds HTML. The tag escapes each of its values, and refuses one
 * in an unquoted attribute, where escaping is not enough. Pages of an account are compressed only if their address has no
 * query, or one that links of the site have and that leaves no choice of words: the size of a compressed page could
 * otherwise tell a stranger, who can lead a browser to any address, whether private content contains the words of the query. The header shows where the visitor is and which account is signed in. Routes of
 * pages share their declarations.
 */

import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { type RequestContext, setPageHeaders } from '../http/index.js';
import { DEFAULT_CATALOGUE, type Support } from '../plans/index.js';
import { acceptedEncoding, assets } from './assets.js';
import { shareTags } from './discovery.js';
import { type CodeLine, codeLanguageOf, linesOfCode } from './highlight.js';
import { type Html, html } from './html.js';
import { LANGUAGES, type LanguageCode, type Locale } from './language/index.js';

export { Html, type HtmlValue, html, inline } from './html.js';

const PAGE = { 200: { description: 'The page.', type: 'text/html' } };

/** Declarations that all pages share. */
export const PAGE_ROUTE = { method: 'GET', grant: 'none', format: 'page', tag: 'Pages', answers: PAGE } as const;

/** Declarations that pages of the signed-in user share. */
export const OWN_PAGE_ROUTE = {
  ...PAGE_ROUTE,
  grant: 'session',
  answers: { ...PAGE, 303: { description: 'To the sign-in page, where nobody is signed in.' } },
} as const;

export interface Page {
  /** Window title; the page's own `h1` is in its content. */
  title: string;
  content: Html;
  /** One sentence for search engines. Default: none, and the page is not indexed. */
  description?: string;
  /** Path of the page's navigation entry. Default: none. */
  current?: string;
  /** The signed-in user; null without one. Default: not determined. */
  viewer?: Viewer | null;
  /** Names of script modules among the assets. Default: none. */
  scripts?: readonly string[];
  /** Language of the content. Default: that of the visitor, as the frame around it. */
  language?: LanguageCode;
  /** Names of style sheets among the assets, besides that of every page. Default: none. */
  styles?: readonly string[];
}

/** Queries without words of a stranger. */
const FIXED_QUERY = /^(?:by=(?:day|key|model|platform|route)|outcome=(?:failed|refused))?$/;

/** Pages of an account with any other query are not compressed: see above. */
export function sendPage(context: RequestContext, page: Page, locale: Locale): void {
  const text = renderPage(page, locale);
  if (page.viewer === null || FIXED_QUERY.test(context.querystring)) {
    sendCompressed(context, text);
    return;
  }
  setPageHeaders(context.res);
  context.body = text;
}

/** A millisecond for a page of 30 kB, which becomes one of 5. A smaller window costs less, and holds a page. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 16 } };

/** For pages that contain nothing of an account, or nothing of the query. */
export function sendCompressed(context: RequestContext, text: string): void {
  setPageHeaders(context.res);
  context.vary('Accept-Encoding');
  const encoding = acceptedEncoding(context);
  if (encoding !== 'identity') context.set('Content-Encoding', encoding);
  context.body = encoding === 'br' ? brotliCompressSync(text, BROTLI) : encoding === 'gzip' ? gzipSync(text) : text;
}

export function renderPage(page: Page, locale: Locale): string {
  const { title, content, description, current, viewer, scripts = [], styles = [], language = locale.language } = page;
  const { brand } = locale;
  const t = locale.texts.layout;
  const logo = brand.files.get('logo');
  const accent = brand.files.get('accent.css');
  const texts = scripts.includes('playground.js') ? `texts-playground-${language}.js` : `texts-${language}.js`;
  const allScripts = [...new Set([texts, 'page.js', ...scripts])];
  return html`<!doctype html>
<html lang="${locale.language}"${language === 'vi' && html` data-sentences="${assets.url('sentences-vi.json')}"`}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#faf9f6" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#131412" media="(prefers-color-scheme: dark)">
${description === undefined ? html`<meta name="robots" content="noindex">` : html`<meta name="description" content="${description}">\n${shareTags({ title, description, language }, locale)}`}
<title>${title} · ${brand.name}</title>
<link rel="preload" href="${assets.url('geist-latin.woff2')}" as="font" type="font/woff2" crossorigin>
${locale.language === 'vi' && html`<link rel="preload" href="${assets.url('geist-vietnamese.woff2')}" as="font" type="font/woff2" crossorigin>\n`}${['site.css', ...styles].map((name) => html`<link rel="stylesheet" href="${assets.url(name)}">`)}
${
  accent &&
  html`<link rel="stylesheet" href="${accent.url}">
`
}<link rel="icon" href="${logo?.url ?? assets.url('icon.svg')}" type="${logo?.contentType ?? 'image/svg+xml'}">
${allScripts.map((name) => html`<script type="module" src="${assets.url(name)}"></script>`)}
</head>
<body>
<a class="skip" href="#content">${t.skip}</a>
${renderHeader({ current, viewer }, locale)}
<main id="content" tabindex="-1"${language !== locale.language && html` lang="${language}"`}>
${content}
<p class="scripts-missing"${language !== locale.language && html` lang="${locale.language}"`}>${t.scriptsMissing}</p>
</main>
${renderFooter(locale)}
</body>
</html>
`.markup;
}

/** The signed-in user, as pages display them. */
export interface Viewer {
  /** Name, or else email address. Default: the header shows a session without a name. */
  label?: string;
  /** Where the header leads to the console; undefined if the user has none. */
  console: '/admin' | '/admin/orders' | undefined;
}

interface HeaderView {
  current?: string;
  viewer?: Viewer | null;
}

/** Navigation entries of every page, in order. */
const NAVIGATION = ['models', 'plans', 'playground', 'setup', 'docs'] as const;

function renderHeader({ current, viewer }: HeaderView, locale: Locale): Html {
  const t = locale.texts.layout;
  const { brand } = locale;
  const logo = brand.files.get('logo');
  return html`<header class="site-header${viewer && html` with-menu`}">
<div class="frame">
<a class="brand" href="/" aria-label="${brand.name}, ${t.firstPage}">${logo ? html`<img class="brand-logo" src="${logo.url}" alt="" height="24">` : MARK}<span>${brand.name}</span></a>
<nav aria-label="${t.site}"><ul>
${renderSiteLinks(current, locale)}
</ul></nav>
<div class="site-header-account">${renderLanguages(locale)}${renderAccount({ current, viewer }, locale)}</div>
</div>
</header>`;
}

/** Switches to each other language. The route returns to this page. */
function renderLanguages({ language }: Locale): Html {
  return html`<form method="post" action="/language">${LANGUAGES.filter(({ code }) => code !== language).map(
    ({ code, name }) =>
      html`<button class="link-button" name="language" value="${code}" lang="${code}"><span class="language-name">${name}</span><span class="language-code" aria-hidden="true">${code.toUpperCase()}</span></button>`,
  )}</form>`;
}

function renderSiteLinks(current: string | undefined, { texts: { layout: t } }: Locale): Html {
  return html`${NAVIGATION.map((name) => html`<li><a href="/${name}"${isCurrent(`/${name}` === current)}>${t[name]}</a></li>`)}`;
}

function renderAccount({ current, viewer }: HeaderView, locale: Locale): Html {
  const { layout: t } = locale.texts;
  if (!viewer) {
    const quiet = current === '/login' && html` button-quiet`;
    return html`<a class="button button-small${quiet}" href="/login"${isCurrent(current === '/login')}>${t.signIn}</a>`;
  }
  const inConsole = current === '/admin';
  // A box says which of the two areas this is; on other pages the dashboard has it, where people return to.
  const area = (path: string, label: string, isBoxed: boolean, isHere: boolean) =>
    html`<a class="${isBoxed ? 'button button-small button-quiet' : 'link-button'}" href="${path}"${isCurrent(isHere)}>${label}</a>`;
  const link = area('/dashboard', t.dashboard, !inConsole, current === '/dashboard');
  const signOut = html`<form method="post" action="/signout"><button class="link-button"${viewer.label !== undefined && html` title="${t.signedInAs(viewer.label)}"`}>${t.signOut}</button></form>`;
  const console = viewer.console !== undefined && area(viewer.console, t.console, inConsole, inConsole);
  // On a phone the pages of the site are here as well, so that each page has one line above its title.
  return html`<details class="site-menu"><summary>${t.menu}</summary><div class="row">${console}${link}
${signOut}<ul class="fold-pages">${renderSiteLinks(current, locale)}</ul></div></details>`;
}

function isCurrent(is: boolean): Html | false {
  return is && html` aria-current="page"`;
}

function renderFooter({ texts: { layout: t }, brand }: Locale): Html {
  const { termsUrl, privacyUrl, support } = brand;
  const links = [
    ['/docs', t.documentation],
    ['/status', t.status],
    ...(termsUrl === undefined ? [] : [[termsUrl, t.terms]]),
    ...(privacyUrl === undefined ? [] : [[privacyUrl, t.privacy]]),
    ...(support === undefined ? [] : [[contactUrl(support), t.support]]),
  ];
  return html`<footer class="site-footer">
<div class="frame">
<p>${brand.footer ?? (brand.isOwn ? t.keysStay : t.selfHosted)}</p>
<ul>
${links.map(
  ([href, label]) => html`<li><a href="${href}">${label}</a></li>
`,
)}</ul>
</div>
</footer>`;
}

/** Address of a contact: an email address, or a web address. */
export function contactUrl(contact: string): string {
  return contact.includes('://') ? contact : `mailto:${contact}`;
}

/** The logo: two posts and a beam. */
const MARK = html`<svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><path d="M4 21V11a8 8 0 0 1 16 0v10M12 21V11"/></svg>`;

export type Tone = 'good' | 'warn' | 'bad' | 'plain';

export interface CodeView {
  /** Unique in the page. */
  id: string;
  /** Label: `Shell`, `~/.codex/config.toml`. */
  title: string;
  text: string;
  /** As {@link tokensOfCode} takes it. Default: that of the title. */
  language?: string;
}

/** Code with a button that copies it. */
export function codeBlock({ id, title, text, language = codeLanguageOf(title) }: CodeView, locale: Locale): Html {
  return html`<figure class="code">
<figcaption class="code-head"><span>${title}</span>${copyButton(id, title, locale)}</figcaption>
<pre tabindex="0" role="region" aria-label="${title}"><code id="${id}" lang="en">${codeText(text, language)}</code></pre>
</figure>`;
}

/** The text in the colours of its language, line by line; copied, it is the same text. */
export function codeText(text: string, language: string): Html {
  const lines = linesOfCode(text, language);
  if (!lines) return html`${text}`;
  return html`${lines.map(({ className, parts }) => html`<span class="${className}">${parts.map(codePart)}</span>`)}`;
}

function codePart({ isWhole, tokens }: CodeLine['parts'][number]): Html {
  const words = tokens.map(
    ({ text, kind, mayBreak }) =>
      html`${kind === undefined ? text : html`<span class="code-${kind}">${text}</span>`}${mayBreak && html`<wbr>`}`,
  );
  return isWhole ? html`<span class="code-part">${words}</span>` : html`${words}`;
}

/** Copies the text of the element with this id. @param what Label for screen readers. */
export function copyButton(id: string, what: string, { texts: { layout: t } }: Locale): Html {
  return html`<button type="button" class="button button-quiet button-small copy needs-script" data-copy="${id}"><span aria-live="polite">${t.copy}</span><span class="visually-hidden"> ${what}</span></button>`;
}

/**
 * An id with a button that copies it. It is shortened where there is no room; a click selects it whole.
 *
 * @param what Label for screen readers.
 * @param href Where it leads. Default: nowhere.
 */
export function copyableId(id: string, what: string, locale: Locale, href?: string): Html {
  const code = html`<code class="clip" title="${id}">${id}</code>`;
  return html`<span class="copyable">${href === undefined ? code : html`<a href="${href}">${code}</a>`}${copyIcon(what, locale)}</span>`;
}

/** Copies the text of the element before it. @param what Label for screen readers. */
export function copyIcon(what: string, { texts: { layout: t } }: Locale): Html {
  return html`<button type="button" class="copy-icon needs-script" data-copy><span class="visually-hidden" aria-live="polite">${t.copy} ${what}</span></button>`;
}

/**
 * A submit button for a scripted form, disabled until the script has loaded: otherwise the browser would submit the
 * form itself and put its content into the URL.
 *
 * @param kind Additional classes.
 */
export function scriptedButton(label: Html | string, kind = ''): Html {
  return html`<button class="button needs-script ${kind}" disabled>${label}</button>`;
}

export function badge(text: string, tone: Tone = 'plain'): Html {
  return html`<span class="badge badge-${tone}">${text}</span>`;
}

/** An empty state: what would be here, and how to get it. */
export function emptyState(title: string, words: Html | string): Html {
  return html`<div class="empty"><strong>${title}</strong><span>${words}</span></div>`;
}

/** Drawings of what a page without anything will have: bars of days, or rows of a list. */
const GHOSTS = {
  bars: [22, 34, 28, 46, 38, 58, 44, 66, 52, 72, 60, 80].map((height, index) => [index * 34, 80 - height, 22, height]),
  rows: [0, 1, 2].flatMap((row) => [
    [0, row * 32, 16, 16],
    [28, row * 32 + 4, 150 - row * 30, 8],
    [330 - row * 12, row * 32 + 4, 66 + row * 12, 8],
  ]),
} as const;

/** A page that has nothing yet, by its height: a drawing of what will be here, what that is, and the next steps. */
export function emptyPage(
  ghost: keyof typeof GHOSTS,
  { title, words, steps, isLow = false }: { title: string; words: Html | string; steps: Html; isLow?: boolean },
): Html {
  return html`<section class="card empty-page${isLow && ' empty-low'}"><svg class="ghost" viewBox="0 0 396 80" aria-hidden="true">${GHOSTS[ghost].map(([x, y, width, height]) => html`<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="3"/>`)}</svg>
${emptyState(title, words)}
<div class="row">${steps}</div></section>`;
}

/** What is left of an amount is little from this share on: four fifths are used. */
export const LOW_SHARE = 0.2;

/**
 * A bar that what is used fills; text beside it states the same.
 * @param left Share that is left, from 0 to 1.
 * @param isProgress Whether a full bar is what one wants. Default: little that is left is a warning.
 */
export function bar(left: number, isProgress = false): Html {
  const width = Math.round((1 - Math.min(1, Math.max(0, left))) * 1_000) / 10;
  const level = isProgress ? 'bar-good' : left <= 0 ? 'bar-out' : left <= LOW_SHARE ? 'bar-low' : 'bar-good';
  return html`<svg class="bar ${level}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="6"/></svg>`;
}

/** Contact of the support. */
export function supportWords({ text, email, url }: Support, { texts, brand }: Locale): Html {
  const words = text === DEFAULT_CATALOGUE.support.text ? texts.plans.supportWords : text;
  const isOfSite = email === null && url === null && brand.support !== undefined;
  return html`${words}${isOfSite && html` <a href="${contactUrl(brand.support ?? '')}" rel="noreferrer">${brand.support}</a>`}${email !== null && html` <a href="mailto:${email}">${email}</a>`}${url !== null && html` <a href="${url}" rel="noreferrer">${url}</a>`}`;
}
