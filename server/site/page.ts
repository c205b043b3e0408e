import type { RequestContext } from '../http/index.js';
import { setPageHeaders } from '../http/index.js';
import { assets } from './assets.js';
import { type Html, html } from './html.js';
import { renderFooter, renderHeader, type Viewer } from './layout.js';

export interface Page {
  /** Heading of the window; the page's own `h1` is in its content. */
  title: string;
  content: Html;
  /** One sentence for search engines. Default: none, and they are asked not to list the page. */
  description?: string;
  /** Path of the entry in the navigation that this page is. Default: it is none of them. */
  current?: string;
  /** Who looks at it; null where nobody is signed in. Default: nobody asked. */
  viewer?: Viewer | null;
  /** Names of modules among the assets that move something. Default: none. */
  scripts?: readonly string[];
}

/** Pages are not compressed: they are small, and what is private must not be told by how well it is squeezed. */
export function sendPage(context: RequestContext, page: Page): void {
  setPageHeaders(context.res);
  context.body = renderPage(page);
}

export function renderPage({ title, content, description, current, viewer, scripts = [] }: Page): string {
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
<link rel="stylesheet" href="${assets.url('site.css')}">
<link rel="icon" href="${assets.url('icon.svg')}" type="image/svg+xml">
${[...new Set(['page.js', ...scripts])].map((name) => html`<script type="module" src="${assets.url(name)}"></script>`)}
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
${renderHeader({ current, viewer })}
<main id="content" tabindex="-1">
${content}
</main>
<p class="scripts-missing">The scripts of this page are not here yet, and its buttons do nothing without them. If this stays, allow scripts from this site, or reload the page.</p>
${renderFooter()}
</body>
</html>
`.markup;
}
