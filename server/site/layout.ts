import { type Html, html } from './html.js';

/** Whoever is signed in, as pages name them. */
export interface Viewer {
  /** Name, or else email address. */
  label: string;
}

export interface HeaderView {
  current?: string;
  viewer?: Viewer | null;
}

/** What every page leads to, in order. */
const NAVIGATION = [
  { path: '/plans', label: 'Plans' },
  { path: '/playground', label: 'Playground' },
  { path: '/setup', label: 'Setup' },
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
<li><a href="/docs">API reference</a></li>
<li><a href="/health">Health</a></li>
</ul>
</div>
</footer>`;
}

/** Two posts and what they hold up. */
const MARK = html`<svg class="mark" viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><path d="M4 21V11a8 8 0 0 1 16 0v10M12 21V11"/></svg>`;
