/*
 * The pages of the API reference: an overview of the groups, one page for each group of operations, one for the error codes, and the
 * results of a search. A page of a group ends with the objects that its operations refer to, so that a reader needs no
 * other page. Error codes are described on their own page alone, and operations link to them.
 */

import type { Locale } from '../language/index.js';
import { badge, type Html, html } from '../page.js';
import { fieldList, inline, typeOf } from './fields.js';
import { type DocsPage, localName, type NavigationGroup } from './layout.js';
import { operationSection } from './operation.js';
import type { ErrorCodeView, Group, Operation, Reference } from './operations.js';
import { resultsByPage, type SearchEntry, type SearchResult } from './search.js';

// An import of it would load Node's own fetch.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

export const groupUrl = (name: string) => `/docs/api/${name}`;
const ERRORS_URL = groupUrl('errors');

export function referenceNavigation({ groups }: Reference): NavigationGroup {
  return {
    title: 'API reference',
    pages: [
      { url: '/docs', title: 'Overview' },
      ...groups.map(({ name, title }) => ({ url: groupUrl(name), title })),
      { url: ERRORS_URL, title: 'Errors' },
    ],
  };
}

/** The first page: where to begin, the groups of the API with how to call it, and all guides. */
export function overviewPage(reference: Reference, guides: readonly NavigationGroup[], locale: Locale): DocsPage {
  const { documentation: t } = locale.texts;
  const named = (title: string) => localName(title, locale);
  const { baseUrl, description, groups, version } = reference;
  const start = guides[0]?.pages[0];
  return {
    title: t.title,
    description: t.overview.description,
    url: '/docs',
    isTranslated: true,
    content: html`<div class="page-head"><h1>${t.title}</h1><p>${t.overview.words}</p>
<p class="row">${start && html`<a class="button" href="${start.url}">${named(start.title)}</a>`}<a class="button button-quiet" href="#guides">${t.groups.Guides}</a></p></div>
<section class="docs-part" aria-labelledby="api"><h2 id="api">${t.groups['API reference']}</h2>
<dl class="facts docs-facts"><div><dt>${t.overview.address}</dt><dd><code>${baseUrl}/v1</code></dd></div><div><dt>${t.overview.header}</dt><dd><code>Authorization: Bearer $MEDIAGATE_API_KEY</code></dd></div><div><dt>${t.overview.version}</dt><dd><code>${version}</code></dd></div></dl>
<ul class="docs-cards">${groups.map((group) => groupCard(group, locale))}<li><h3><a href="${ERRORS_URL}">${named('Errors')}</a></h3><p>${t.overview.errors}</p></li></ul>
<div class="docs-words stack-small muted"><p lang="en">${inline(description)}</p><p>${t.overview.programs}</p></div></section>
${guides.length > 0 && html`<section class="docs-part" aria-labelledby="guides"><h2 id="guides">${t.groups.Guides}</h2>${guideList(guides, locale)}</section>`}`,
  };
}

function groupCard({ name, title, description, operations }: Group, locale: Locale): Html {
  const { documentation: t } = locale.texts;
  const [{ method, path, isSent } = { method: '', path: '', isSent: true }] = operations;
  const first =
    !isSent &&
    html`<span class="endpoint small"><span class="method method-${method.toLowerCase()}">${method}</span> <code>${path}</code></span>`;
  const more = operations.length - 1;
  const ids = operations.map(({ id }) => id).join(' ');
  return html`<li data-operations="${ids}"><h3><a href="${groupUrl(name)}">${localName(title, locale)}</a></h3><p>${inline(t.subjects[name] ?? description)}</p><span class="docs-card-end">${first}${more > 0 && html`<span class="small muted">${first ? `+${more}` : t.overview.routes(operations.length)}</span>`}</span></li>`;
}

/** Folds on a phone; where there is room, the styles open them. */
function guideList(guides: readonly NavigationGroup[], locale: Locale): Html {
  return html`<div class="guide-list">${guides.map(
    ({ title, pages }) =>
      html`<details><summary><h3>${localName(title, locale)}</h3> <span class="small muted">${pages.length}</span></summary><ul>${pages.map((page) => html`<li><a href="${page.url}">${localName(page.title, locale)}</a></li>`)}</ul></details>`,
  )}</div>`;
}

export function groupPage({ name, title, description, operations, objects }: Group, reference: Reference): DocsPage {
  return {
    title: `${title}, API reference`,
    description,
    url: groupUrl(name),
    sections: operations.map(({ id, summary }) => ({ id, title: summary })),
    content: html`<div class="page-head"><h1>${title}</h1><p>${description}</p></div>
<div class="docs-folds">${operations.map((operation, index) => operationSection(operation, reference.baseUrl, index === 0))}</div>
${objects.length > 0 && html`<h2 class="docs-subject">Objects</h2><div class="docs-folds">${objects.map((object) => objectSection(object, reference))}</div>`}`,
  };
}

function objectSection(name: string, { objects }: Reference): Html {
  const schema = objects[name] ?? {};
  return html`<details class="docs-fold"><summary><h3 id="${name}-title">${name}</h3> <span class="field-type">object</span></summary>
<section class="object stack" id="${name}" aria-labelledby="${name}-title">
${schema.description !== undefined && html`<p>${inline(schema.description)}</p>`}
${fieldList(schema) ?? html`<p>${typeOf(schema)}</p>`}
</section></details>`;
}

/** What a first request meets; the other statuses are folds with the names of their codes. */
const OPEN_STATUS = '401';

/** Each code once, below its first status: the operations link to it. The script of the page has the filter. */
export function errorsPage(reference: Reference): DocsPage {
  const { errors, errorObjects } = reference;
  const groups = Map.groupBy(errors, ({ statuses: [status = ''] }) => status);
  const byStatus = [...groups].sort(([one], [other]) => Number(one) - Number(other));
  return {
    title: 'Errors, API reference',
    description: 'Every error code of the gateway, and the form of errors.',
    url: ERRORS_URL,
    script: 'docs-errors.js',
    content: html`<div class="page-head"><h1>Errors</h1><p>Programs decide by <code>error.code</code>. The message is for people and may change. New codes may be added: treat an unknown code by its HTTP status.</p></div>
<section class="stack" id="codes" aria-labelledby="codes-title"><h2 id="codes-title">Codes by status</h2>
<div class="field needs-script"><label for="codes-filter">Filter by code or words</label><input class="input" id="codes-filter" type="search" autocomplete="off" spellcheck="false" placeholder="rate limit"></div>
<div class="docs-folds">${byStatus.map(([status, codes]) => html`<details class="docs-fold status-group"${status === OPEN_STATUS && html` open`}><summary><h3><code>${status}</code> ${STATUS_CODES[status]}</h3> <span class="small muted">${codes.length}</span><code class="status-codes" aria-hidden="true">${codes.map(({ code }) => code).join(', ')}</code></summary><dl class="fields" id="status-${status}">${codes.map(errorRow)}</dl></details>`)}</div>
<p class="muted" id="codes-none" role="status"></p></section>
<h2 class="docs-subject">Objects</h2><div class="docs-folds">${errorObjects.map((name) => objectSection(name, reference))}</div>`,
  };
}

function errorRow({ code, meaning, cause, action, statuses, isRetryable }: ErrorCodeView): Html {
  return html`<div id="${code}"><dt><code>${code}</code>${statuses.length > 1 && html` <span class="field-type">${statuses.join(' or ')}</span>`}${isRetryable && html` ${badge('retry later')}`}</dt><dd><p>${inline(meaning)}</p><p>${inline(cause)} <strong>${inline(action)}</strong></p></dd></div>`;
}

/** Of one page; the others of it are in a fold. */
const BEST_RESULTS = 3;

export function searchPage(query: string, results: readonly SearchResult[], locale: Locale): DocsPage {
  const { language, texts } = locale;
  const { documentation: t } = texts;
  const words = results.length === 0 ? t.nothing : t.results(results.length);
  return {
    title: query === '' ? t.search : t.resultsOf(query),
    description: 'Search of the documentation.',
    url: '/docs/search',
    isTranslated: true,
    query,
    content: html`<div class="page-head"><h1>${t.search}</h1><p role="status">${query === '' ? t.enterWords : words}</p></div>
${resultsByPage(results).map(({ place, results: [...found] }) => {
  const best = found.splice(0, found.length > BEST_RESULTS + 1 ? BEST_RESULTS : found.length);
  const list = (some: readonly SearchResult[]) =>
    html`<ol${language !== 'en' && html` lang="en"`}>${some.map(resultEntry)}</ol>`;
  return html`<section class="results"><h2>${localPlace(place, locale)}</h2>${list(best)}${found.length > 0 && html`<details><summary>${t.moreResults(found.length)}</summary>${list(found)}</details>`}</section>`;
})}`,
  };
}

/** `Guides, Images`: the title of a page may have commas itself. */
function localPlace(place: string, locale: Locale): string {
  const [group = '', ...page] = place.split(', ');
  return [group, page.join(', ')]
    .filter((name) => name !== '')
    .map((name) => localName(name, locale))
    .join(' › ');
}

function resultEntry({ title, url, kind, excerpt }: SearchResult): Html {
  const words = excerpt.map(({ text, isMarked }) => (isMarked ? html`<mark>${text}</mark>` : html`${text}`));
  const [method = '', path] = kind?.split(' ') ?? [];
  const mark =
    path === undefined
      ? kind
      : html`<span class="method method-${method.toLowerCase()}">${method}</span> <code>${path}</code>`;
  return html`<li><h3><a href="${url}">${title}</a></h3>${mark !== undefined && html`<span class="small muted">${mark}</span>`}<p>${words}</p></li>`;
}

/** What of the API reference can be found. An object is on the page of each group that has it, and found on the first. */
export function referenceEntries({ groups, errors, objects }: Reference): SearchEntry[] {
  const found = new Map(
    [...groups].reverse().flatMap((group) => group.objects.map((object) => [object, group] as const)),
  );
  return [
    ...groups.flatMap((group) => group.operations.map((operation) => operationEntry(operation, group))),
    ...[...found].map(([object, { name, title }]) => ({
      title: object,
      url: `${groupUrl(name)}#${object}`,
      place: `API reference, ${title}`,
      kind: 'object',
      text: `${objects[object]?.description ?? ''} Fields: ${Object.keys(objects[object]?.properties ?? {}).join(', ')}.`.trim(),
    })),
    ...errors.map(({ code, meaning, cause, action }) => ({
      title: code,
      url: `${ERRORS_URL}#${code}`,
      place: 'API reference, Errors',
      text: `${meaning} ${cause} ${action}`,
    })),
  ];
}

function operationEntry(operation: Operation, { name, title }: Group): SearchEntry {
  const { id, summary, method, path, description, parameters, body } = operation;
  const fields = Object.values(body).flatMap(({ schema }) => Object.keys(schema.properties ?? {}));
  const names = [...parameters.map((one) => one.name), ...new Set(fields)];
  return {
    title: summary,
    url: `${groupUrl(name)}#${id}`,
    place: `API reference, ${title}`,
    names: `${method} ${path}`,
    ...(operation.isSent ? {} : { kind: `${method} ${path}` }),
    text: `${description} ${names.length > 0 ? `Fields: ${names.join(', ')}.` : ''}`,
  };
}
