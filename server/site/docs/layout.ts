/*
 * The frame of every page of the documentation: search and navigation at the left, content at the right. On a phone the
 * navigation is a popover, which needs no script. The pages are the same for every visitor of one language, so they show
 * no account. The search and the navigation's own labels are in that language; everything else is in English.
 */

import type { Locale } from '../language/index.js';
import { type Html, html, type Page } from '../page.js';

export interface NavigationPage {
  url: string;
  title: string;
}

/** Pages of one subject, under a heading. */
export interface NavigationGroup {
  title: string;
  pages: readonly NavigationPage[];
}

export interface DocsPage {
  title: string;
  description: string;
  /** Address of the page, for the navigation. */
  url: string;
  content: Html;
  /** Anchors in the page, which the navigation lists below its entry. Default: none. */
  sections?: readonly { id: string; title: string }[];
  /** A script besides that of every page. Default: none. */
  script?: string;
  /** Query of the search field. Default: empty. */
  query?: string;
}

export function docsPage(page: DocsPage, navigation: readonly NavigationGroup[], locale: Locale): Page {
  const { language, texts } = locale;
  const { documentation: t } = texts;
  const { title, description, content, query = '' } = page;
  return {
    title,
    description,
    current: '/docs',
    language: 'en',
    styles: ['docs.css'],
    scripts: ['docs.js', ...(page.script === undefined ? [] : [page.script])],
    content: html`<div class="frame docs">
<div class="docs-side" lang="${language}">
<form class="docs-search" role="search" action="/docs/search" aria-label="${t.title}"><label class="visually-hidden" for="docs-query">${t.searchLabel}</label><input class="input" id="docs-query" name="q" type="search" value="${query}" placeholder="${t.search}" maxlength="100" required><button class="button button-quiet button-small">${t.search}</button></form>
<button type="button" class="button button-quiet button-small docs-menu" popovertarget="docs-navigation">${t.contents}</button>
<nav class="docs-navigation" id="docs-navigation" popover aria-label="${t.title}">${navigation.map((group) => navigationGroup(group, page, locale))}</nav>
</div>
<div class="docs-content">
${language !== 'en' && html`<p class="docs-language small muted" lang="${language}">${t.isEnglish}</p>`}
${content}
</div>
</div>`,
  };
}

/** Folded, unless the page is one of them. */
function navigationGroup(
  { title, pages }: NavigationGroup,
  { url, sections = [] }: DocsPage,
  { language, texts }: Locale,
): Html {
  const names: Readonly<Record<string, string>> = texts.documentation.groups;
  const isOpen = pages.some((page) => page.url === url);
  return html`<details lang="en"${isOpen && html` open`}><summary${language !== 'en' && html` lang="${language}"`}>${names[title] ?? title}</summary><ul>${pages.map(
    (page) => {
      const isHere = page.url === url;
      return html`<li><a href="${page.url}"${isHere && html` aria-current="page"`}>${page.title}</a>${
        isHere &&
        sections.length > 0 &&
        html`<ul class="docs-sections">${sections.map((section) => html`<li><a href="#${section.id}">${section.title}</a></li>`)}</ul>`
      }</li>`;
    },
  )}</ul></details>`;
}
