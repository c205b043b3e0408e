/*
 * The frame of every page of the documentation: search and navigation at the left, content at the right. On a phone the
 * navigation is a popover, which needs no script. The pages are the same for every visitor of one language, so they show
 * no account. The search and the navigation are in that language, and the content is in English, which a line above it
 * says.
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
  /** Anchors in the page, which stand in a column at its right, or in a fold above it. Default: none. */
  toc?: readonly { id: string; title: string }[];
  /** Whether the content is in the language of the visitor. Default: it is in English, and a line above it says so. */
  isTranslated?: boolean;
  /** A script besides that of every page. Default: none. */
  script?: string;
  /** Query of the search field. Default: empty. */
  query?: string;
}

export function docsPage(page: DocsPage, navigation: readonly NavigationGroup[], locale: Locale): Page {
  const { language, texts } = locale;
  const { documentation: t } = texts;
  const { title, description, content, toc = [], query = '', isTranslated = false } = page;
  const hasToc = toc.length > 1;
  return {
    title,
    description,
    current: '/docs',
    language: isTranslated ? language : 'en',
    // Pages of operations are the largest, and need no styles of guides.
    styles: page.sections ? ['docs.css', 'code.css'] : ['docs.css', 'guides.css', 'code.css'],
    scripts: ['docs.js', ...(page.script === undefined ? [] : [page.script])],
    content: html`<div class="frame docs${hasToc && ' docs-with-toc'}">
<div class="docs-side" lang="${language}">
<form class="docs-search" role="search" action="/docs/search" aria-label="${t.title}"><label class="visually-hidden" for="docs-query">${t.searchLabel}</label><input class="input" id="docs-query" name="q" type="search" value="${query}" placeholder="${t.search}" maxlength="100" required><button class="button button-quiet button-small">${t.search}</button></form>
<button type="button" class="button button-quiet button-small docs-menu" popovertarget="docs-navigation">${t.contents}</button>
<nav class="docs-navigation" id="docs-navigation" popover aria-label="${t.title}">${navigation.map((group) => navigationGroup(group, page, locale))}</nav>
</div>
${hasToc && html`<details class="docs-toc" lang="${language}"><summary>${t.onThisPage}</summary><nav aria-label="${t.onThisPage}"><ul${language !== 'en' && html` lang="en"`}>${toc.map(({ id, title: words }) => html`<li><a href="#${id}">${words}</a></li>`)}</ul></nav></details>`}
<div class="docs-content">
${language !== 'en' && !isTranslated && html`<p class="docs-language notice" lang="${language}"><strong>${t.isEnglish}</strong> ${t.isEnglishWords}</p>`}
${content}
</div>
</div>`,
  };
}

/** The name of a group, or the title of a page, in the language of the visitor; as it is where it has no other. */
export function localName(name: string, { texts }: Locale): string {
  const { groups, pages }: Readonly<Record<'groups' | 'pages', Readonly<Record<string, string>>>> = texts.documentation;
  return groups[name] ?? pages[name] ?? name;
}

/** Folded, unless the page is one of them. */
function navigationGroup({ title, pages }: NavigationGroup, { url, sections = [] }: DocsPage, locale: Locale): Html {
  const { language } = locale;
  const isOpen = pages.some((page) => page.url === url);
  return html`<details lang="${language}"${isOpen && html` open`}><summary>${localName(title, locale)}</summary><ul>${pages.map(
    (page) => {
      const isHere = page.url === url;
      const name = localName(page.title, locale);
      return html`<li><a href="${page.url}"${isHere && html` aria-current="page"`}${language !== 'en' && name === page.title && html` lang="en"`}>${name}</a>${
        isHere &&
        sections.length > 0 &&
        html`<ul class="docs-sections"${language !== 'en' && html` lang="en"`}>${sections.map((section) => html`<li><a href="#${section.id}">${section.title}</a></li>`)}</ul>`
      }</li>`;
    },
  )}</ul></details>`;
}
