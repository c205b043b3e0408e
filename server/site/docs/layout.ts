/*
 * The frame of every page of the documentation: search and navigation at the left, content at the right, with the place
 * of the page above it and the pages before and after it below. On a phone the navigation is a popover, which needs no
 * script. The pages are the same for all visitors of a language and role, so they name no account. Guides and
 * operations are in English alone, which a line above them says; everything around them is in that language.
 */

import { LOCALES, type Locale } from '../language/index.js';
import { type Html, html, type Page } from '../page.js';

export interface NavigationPage {
  url: string;
  title: string;
}

/** A part of a page. */
export interface TocEntry {
  id: string;
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
  /** Operations in the page, which the navigation lists below its entry. Default: none. */
  sections?: readonly { id: string; title: string }[];
  /** Anchors in the page, which stand in a column at its right, or in a fold above it. Default: none. */
  toc?: readonly TocEntry[];
  /** Of content that is in English for every visitor: what it is about, in their language. Default: the content is too. */
  english?: { summary: string | undefined };
  /** A script besides that of every page. Default: none. */
  script?: string;
  /** Query of the search field. Default: empty. */
  query?: string;
}

export function docsPage(page: DocsPage, navigation: readonly NavigationGroup[], locale: Locale): Page {
  const { language, texts } = locale;
  const { documentation: t, reference } = texts;
  const { title, description, content, toc = [], query = '', english } = page;
  const hasToc = toc.length > 1;
  const isReference = page.url.startsWith('/docs/api/');
  return {
    title,
    description,
    current: '/docs',
    language: english ? 'en' : language,
    styles: stylesOf(page),
    scripts: ['docs.js', ...(page.script === undefined ? [] : [page.script])],
    content: html`<div class="frame docs${hasToc && ' docs-with-toc'}"${isReference && html` data-texts="${JSON.stringify((english ? LOCALES.en.texts.reference : reference).script)}"`}>
<div class="docs-side" lang="${language}">
<form class="docs-search" role="search" action="/docs/search" aria-label="${t.title}"><label class="visually-hidden" for="docs-query">${t.searchLabel}</label><input class="input" id="docs-query" name="q" type="search" value="${query}" placeholder="${t.search}" maxlength="100" required><button class="button button-quiet button-small">${t.search}</button></form>
<button type="button" class="button button-quiet button-small docs-menu" popovertarget="docs-navigation">${t.contents}</button>
<nav class="docs-navigation" id="docs-navigation" popover aria-label="${t.title}">${navigation.map((group) => navigationGroup(group, page, locale))}</nav>
</div>
${hasToc && html`<details class="docs-toc" lang="${language}"><summary>${t.onThisPage}</summary><nav aria-label="${t.onThisPage}"><ul${language !== 'en' && html` lang="en"`}>${toc.map(({ id, title: words }) => html`<li><a href="#${id}">${words}</a></li>`)}</ul></nav></details>`}
<div class="docs-content">
${placeOf(page, navigation, locale)}
${content}
${neighbours(page, navigation, locale)}
</div>
</div>`,
  };
}

/** Pages of operations are the largest, and need no styles of guides. */
function stylesOf({ url, sections }: DocsPage): string[] {
  if (url === '/docs/search') return ['docs.css', 'docs-search.css'];
  const own = url.startsWith('/docs/api/') ? 'reference.css' : 'code.css';
  return ['docs.css', ...(sections ? [] : ['guides.css']), own];
}

/** The group of the page and its name, and that its content is in English. */
function placeOf({ url, english }: DocsPage, navigation: readonly NavigationGroup[], locale: Locale): Html | false {
  const { language, texts } = locale;
  const { documentation: t } = texts;
  const group = navigation.find(({ pages }) => pages.some((page) => page.url === url));
  const page = group?.pages.find((one) => one.url === url);
  if (url === '/docs' || !group || !page) return false;
  return html`<div class="docs-place" lang="${language}"><nav aria-label="${t.place}"><ol><li><a href="/docs">${t.title}</a></li><li>${localName(group.title, locale)}</li><li aria-current="page"${sameInEnglish(page.title, locale)}>${localName(page.title, locale)}</li></ol></nav></div>
${language !== 'en' && english && html`<form class="docs-language" method="post" action="/language" lang="${language}"><p><strong>${t.isEnglish}</strong>${english.summary !== undefined && html` ${english.summary}`}</p><button class="link-button" name="language" value="en">${t.allInEnglish}</button></form>`}`;
}

/** Of the whole documentation, in the order of the navigation. */
function neighbours({ url }: DocsPage, navigation: readonly NavigationGroup[], locale: Locale): Html | false {
  const { language, texts } = locale;
  const { documentation: t } = texts;
  const pages = navigation.flatMap((group) => group.pages.map((page) => ({ ...page, group: group.title })));
  const at = pages.findIndex((page) => page.url === url);
  if (at < 0 || url === '/docs') return false;
  const link = (words: string, relation: 'prev' | 'next', page = pages[relation === 'prev' ? at - 1 : at + 1]) =>
    page &&
    html`<a href="${page.url}" rel="${relation}"><span class="small muted">${words}</span><span${sameInEnglish(page.title, locale)}>${localName(page.title, locale)}</span></a>`;
  return html`<nav class="docs-neighbours" lang="${language}" aria-label="${t.neighbours}">${link(t.previous, 'prev')}${link(t.next, 'next')}</nav>`;
}

/** Marks a name that has no other in the language of the visitor. */
function sameInEnglish(name: string, locale: Locale): Html | false {
  return locale.language !== 'en' && localName(name, locale) === name && html` lang="en"`;
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
      return html`<li><a href="${page.url}"${isHere && html` aria-current="page"`}${sameInEnglish(page.title, locale)}>${localName(page.title, locale)}</a>${
        isHere &&
        sections.length > 0 &&
        html`<ul class="docs-sections"${language !== 'en' && html` lang="en"`}>${sections.map(({ id, title: summary }) => html`<li><a href="#${id}">${summary}</a></li>`)}</ul>`
      }</li>`;
    },
  )}</ul></details>`;
}
