/*
 * The frame of every page, and the template tag that builds HTML. The tag escapes each of its values, and refuses one
 * in an unquoted attribute, where escaping is not enough. Pages are not compressed: they are small, and compression
 * could leak private content by its size. The header shows where the visitor is and which account is signed in. Routes of
 * pages share their declarations.
 */

import type { GatewayError } from '../../core/runtime/index.js';
import { type RequestContext, setPageHeaders } from '../http/index.js';
import type { Support } from '../plans/index.js';
import { assets } from './assets.js';

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
  /** Names of style sheets among the assets, besides that of every page. Default: none. */
  styles?: readonly string[];
}

/** Pages are not compressed: they are small, and compression could leak private content by its size. */
export function sendPage(context: RequestContext, page: Page): void {
  setPageHeaders(context.res);
  context.body = renderPage(page);
}

export function renderPage({ title, content, description, current, viewer, scripts = [], styles = [] }: Page): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#faf9f6" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#131412" media="(prefers-color-scheme: dark)">
${description === undefined ? html`<meta name="robots" content="noindex">` : html`<meta name="description" content="${description}">`}
<title>${title} · mediagate</title>
<link rel="preload" href="${assets.url('geist-latin.woff2')}" as="font" type="font/woff2" crossorigin>
${['site.css', ...styles].map((name) => html`<link rel="stylesheet" href="${assets.url(name)}">`)}
<link rel="icon" href="${assets.url('icon.svg')}" type="image/svg+xml">
${[...new Set(['page.js', ...scripts])].map((name) => html`<script type="module" src="${assets.url(name)}"></script>`)}
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
${renderHeader({ current, viewer })}
<main id="content" tabindex="-1">
${content}
</main>
<p class="scripts-missing">The scripts of this page have not loaded yet. Its buttons need them. If this stays, allow scripts from this site, or reload the page.</p>
${renderFooter()}
</body>
</html>
`.markup;
}

/** HTML text; {@link html} creates it. */
export class Html {
  constructor(readonly markup: string) {}
}

/** Values of a template. Text is escaped; false, null and undefined are empty; of a list, every element. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[];

const checked = new WeakSet<TemplateStringsArray>();

/**
 * A template that escapes its values, for text between tags and for attributes in double quotes.
 * @throws Error if a value is in an unquoted attribute, where escaping is not enough.
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  checkQuotes(strings);
  let text = strings[0] ?? '';
  values.forEach((value, index) => {
    text += render(value) + (strings[index + 1] ?? '');
  });
  return new Html(text);
}

function render(value: HtmlValue): string {
  if (value instanceof Html) return value.markup;
  if (Array.isArray(value)) return value.map(render).join('');
  if (value === false || value === null || value === undefined) return '';
  return escapeHtml(String(value));
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '');
}

function checkQuotes(strings: TemplateStringsArray): void {
  if (checked.has(strings)) return;
  for (const before of strings.slice(0, -1)) {
    if (/[=']$/.test(before)) throw new Error(`a value needs double quotes around it: ${before.slice(-40)}`);
  }
  checked.add(strings);
}

/** The signed-in user, as pages display them. */
export interface Viewer {
  /** Name, or else email address. */
  label: string;
}

export interface HeaderView {
  current?: string;
  viewer?: Viewer | null;
}

/** Navigation entries of every page, in order. */
const NAVIGATION = [
  { path: '/plans', label: 'Plans' },
  { path: '/playground', label: 'Playground' },
  { path: '/setup', label: 'Setup' },
  { path: '/docs', label: 'Docs' },
] as const;

export function renderHeader({ current, viewer }: HeaderView): Html {
  return html`<header class="site-header">
<div class="frame">
<a class="brand" href="/" aria-label="mediagate, first page">${MARK}<span>mediagate</span></a>
<nav aria-label="Site"><ul>
${NAVIGATION.map(({ path, label }) => html`<li><a href="${path}"${isCurrent(path === current)}>${label}</a></li>`)}
</ul></nav>
<div class="site-header-account">${renderAccount(current, viewer)}</div>
</div>
</header>`;
}

function renderAccount(current: string | undefined, viewer: Viewer | null | undefined): Html {
  const [path, label] = viewer === null ? ['/login', 'Sign in'] : ['/dashboard', 'Dashboard'];
  const isHere = path === current;
  const quiet = (isHere || viewer !== null) && html` button-quiet`;
  const link = html`<a class="button button-small${quiet}" href="${path}"${isCurrent(isHere)}>${label}</a>`;
  if (!viewer) return link;
  return html`${link}
<form method="post" action="/signout"><button class="link-button" title="Signed in as ${viewer.label}">Sign out</button></form>`;
}

function isCurrent(is: boolean): Html | false {
  return is && html` aria-current="page"`;
}

export function renderFooter(): Html {
  return html`<footer class="site-footer">
<div class="frame">
<p>mediagate is a gateway that you host yourself. Keys stay on servers, never in pages or apps.</p>
<ul>
<li><a href="/docs">Documentation</a></li>
<li><a href="/health">Health</a></li>
</ul>
</div>
</footer>`;
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
}

/** Code with a button that copies it. */
export function codeBlock({ id, title, text }: CodeView): Html {
  return html`<figure class="code">
<figcaption class="code-head"><span>${title}</span>${copyButton(id, title)}</figcaption>
<pre tabindex="0" role="region" aria-label="${title}"><code id="${id}">${text}</code></pre>
</figure>`;
}

/** Copies the text of the element with this id. @param what Label for screen readers. */
export function copyButton(id: string, what: string): Html {
  return html`<button type="button" class="button button-quiet button-small copy needs-script" data-copy="${id}"><span aria-live="polite">Copy</span><span class="visually-hidden"> ${what}</span></button>`;
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

/** A bar of the remaining amount; text beside it states the same. @param share From 0 to 1. */
export function bar(share: number): Html {
  const width = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 10;
  const level = share <= 0 ? 'bar-out' : share < 0.15 ? 'bar-low' : 'bar-good';
  return html`<svg class="bar ${level}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="${width}" height="6"/></svg>`;
}

/** Contact of the support. */
export function supportWords({ text, email, url }: Support): Html {
  return html`${text}${email !== null && html` <a href="mailto:${email}">${email}</a>`}${url !== null && html` <a href="${url}" rel="noreferrer">${url}</a>`}`;
}

/** What a person can do about it. */
interface Advice {
  title: string;
  /** Replaces the error's own message, which is for programs. */
  words?: string;
  action?: Html;
}

const SIGN_IN: Html = html`<a class="button" href="/login">Sign in</a>`;
const SIGN_IN_AGAIN: Html = html`<a class="button" href="/login">Sign in again</a>`;

const ADVICE: Readonly<Record<string, Advice>> = {
  route_not_found: { title: 'Page not found', words: 'The address is wrong, or the page no longer exists.' },
  order_not_found: {
    title: 'Order not found',
    words: 'The code is wrong, or the order belongs to another account.',
  },
  not_signed_in: {
    title: 'Sign in first',
    words: 'Your session has ended, or you signed out in another tab. Nothing was changed.',
    action: SIGN_IN,
  },
  sign_in_failed: { title: 'You are not signed in', action: SIGN_IN_AGAIN },
  sign_in_unavailable: { title: 'Signing in is not possible right now', action: SIGN_IN_AGAIN },
  account_suspended: { title: 'This account is suspended' },
  cross_site_request: {
    title: 'This came from another site',
    words: 'Nothing was changed. Go back to the page and try again.',
  },
  rate_limit_exceeded: { title: 'Too many requests' },
  upstream_unavailable: { title: 'This is not possible right now', words: 'Nothing is lost. Try again in a moment.' },
  internal_error: { title: 'Something broke on our side', words: 'It has been logged. Try again in a moment.' },
};

export function renderFailure({ code, message }: GatewayError, requestId: string): string {
  const { title, words = message, action } = ADVICE[code] ?? { title: 'This did not work' };
  return renderPage({
    title,
    content: html`<div class="frame frame-narrow failure">
<div class="page-head"><h1>${title}</h1><p role="alert">${words}</p></div>
<div class="row">${action}<a class="button button-quiet" href="/">Home page</a></div>
<p class="small muted"><span class="mono">${code}</span><br>Request <span class="mono">${requestId}</span></p>
</div>`,
  });
}
