/*
 * The pages of the API reference: an overview of the groups, one page for each group of operations, one for the error codes, and the
 * results of a search. A page of a group ends with the objects that its operations refer to, so that a reader needs no
 * other page. Error codes are described on their own page alone, and operations link to them.
 */

import { LOCALES, type Locale } from '../language/index.js';
import { badge, codeBlock, type Html, html, inline } from '../page.js';
import { fieldList, inEnglish, typeOf } from './fields.js';
import { type DocsPage, localName, type NavigationGroup } from './layout.js';
import { operationSection } from './operation.js';
import type { ErrorCodeView, Group, Operation, Reference } from './operations.js';
import { type MarkedText, resultsByPage, type SearchEntry, type SearchResult } from './search.js';

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

/** Groups of the API by who needs them; the others are for operators. */
const AREAS: readonly { area: 'calls' | 'accounts'; names: readonly string[] }[] = [
  { area: 'calls', names: ['links', 'batches', 'files', 'images', 'webhooks', 'chat', 'messages', 'audio', 'models'] },
  { area: 'accounts', names: ['account', 'sign-in', 'payments', 'agents'] },
];

function areaOf({ name }: Group): 'calls' | 'accounts' | 'operators' {
  return AREAS.find(({ names }) => names.includes(name))?.area ?? 'operators';
}

/** The first page: a first request, the guides that most readers come for, and the groups of the API. All guides are in the navigation. */
export function overviewPage(reference: Reference, guides: readonly NavigationGroup[], locale: Locale): DocsPage {
  const { documentation: t } = locale.texts;
  const { description, groups, version } = reference;
  const start = guides[0]?.pages[0];
  const byArea = Map.groupBy(groups, areaOf);
  const area = (name: 'calls' | 'accounts' | 'operators') =>
    html`<section aria-labelledby="for-${name}"><h3 class="docs-area" id="for-${name}">${t.overview.areas[name]}</h3><ul class="docs-cards${name !== 'calls' && ' docs-rows'}">${(byArea.get(name) ?? []).map((group) => groupCard(group, locale))}</ul></section>`;
  return {
    title: t.title,
    description: t.overview.description,
    url: '/docs',
    content: html`<div class="page-head"><h1>${t.title}</h1><p>${t.overview.words}</p>
<p class="row">${start && html`<a class="button" href="${start.url}">${localName(start.title, locale)}</a>`}<a class="button button-quiet" href="${ERRORS_URL}">${t.overview.errors}</a></p></div>
<section class="docs-part docs-first" aria-labelledby="first"><div class="stack-small"><h2 id="first">${t.overview.first}</h2><p>${t.overview.firstWords}</p><p class="small muted">${t.overview.version(html`<code>${version}</code>`)} ${t.overview.programs}</p></div>
${codeBlock({ id: 'first-request', title: 'curl', text: firstRequest(reference), language: 'sh' }, locale)}</section>
${guides.length > 0 && html`<section class="docs-part" aria-labelledby="guides"><h2 id="guides">${t.groups.Guides}</h2>${guideList(guides, locale)}</section>`}
<section class="docs-part" aria-labelledby="api"><h2 id="api">${t.groups['API reference']}</h2>
${area('calls')}
<div class="docs-areas">${area('accounts')}${area('operators')}</div>
<details class="docs-rules"><summary>${t.overview.rulesTitle}</summary><p class="small muted">${t.overview.rules(inline(description))}</p></details></section>`,
  };
}

/** One that every key may send. */
function firstRequest({ baseUrl }: Reference): string {
  return `curl ${baseUrl}/v1/models \\\n  -H "Authorization: Bearer $MEDIAGATE_API_KEY"`;
}

function groupCard({ name, title, description, operations }: Group, locale: Locale): Html {
  const { documentation: t } = locale.texts;
  const [{ method, path, isSent } = { method: '', path: '', isSent: true }] = operations;
  const first =
    !isSent &&
    html`<span class="endpoint small"><span class="method method-${method.toLowerCase()}">${method}</span> <code>${path}</code></span>`;
  const more = operations.length - 1;
  const ids = operations.map(({ id }) => id).join(' ');
  return html`<li data-operations="${ids}"><h4><a href="${groupUrl(name)}">${localName(title, locale)}</a></h4><p>${inline(t.subjects[name] ?? description)}</p><span class="docs-card-end">${first}${more > 0 && html`<span class="small muted">${first ? `+${more}` : t.overview.routes(operations.length)}</span>`}</span></li>`;
}

/** What most readers come for, in order. */
function guideList(guides: readonly NavigationGroup[], locale: Locale): Html {
  const { documentation: t } = locale.texts;
  const all = guides.flatMap(({ pages }) => pages);
  return html`<ul class="guides-first">${Object.entries(t.overview.readFirst).map(([name, words]) => {
    const page = all.find(({ url }) => url === `/docs/${name}`);
    return (
      page &&
      html`<li><a href="${page.url}">${localName(page.title, locale)}</a><p class="small muted">${words}</p></li>`
    );
  })}</ul>`;
}

/** In English, with what it is about in the language of the visitor. */
export function groupPage(group: Group, reference: Reference, locale: Locale): DocsPage {
  const { documentation, reference: t } = LOCALES.en.texts;
  const { name, title, description, operations, objects } = group;
  const { baseUrl } = reference;
  return {
    title: `${title}, ${documentation.groups['API reference']}`,
    description,
    url: groupUrl(name),
    sections: operations.map(({ id, summary }) => ({ id, title: summary })),
    english: { summary: locale.texts.documentation.subjects[name]?.replaceAll('`', '') },
    content: html`<div class="page-head"><h1>${title}</h1><p>${inline(description)}</p></div>
<div class="docs-folds">${operations.map((operation, index) => operationSection({ operation, baseUrl, isOpen: index === 0 }, LOCALES.en))}</div>
${objects.length > 0 && html`<h2 class="docs-subject">${t.objects}</h2><div class="docs-folds">${objects.map((object) => objectSection(object, reference, LOCALES.en))}</div>`}`,
  };
}

function objectSection(name: string, { objects }: Reference, locale: Locale): Html {
  const schema = objects[name] ?? {};
  return html`<details class="docs-fold"><summary><h3 id="${name}-title">${name}</h3> <span class="field-type">${locale.texts.reference.object}</span></summary>
<section class="object stack" id="${name}" aria-labelledby="${name}-title">
${schema.description !== undefined && html`<p${inEnglish(locale)}>${inline(schema.description)}</p>`}
${fieldList(schema, locale) ?? html`<p>${typeOf(schema, locale)}</p>`}
</section></details>`;
}

/** What most first requests meet. All statuses are folds with the names of their codes. */
const MET_FIRST: readonly string[] = ['invalid_api_key', 'rate_limit_exceeded', 'invalid_value'];

/** The form that most routes share. */
const ERROR_EXAMPLE = {
  error: {
    message: 'n must be 1.',
    type: 'invalid_request_error',
    param: 'n',
    code: 'invalid_value',
    request_id: 'req_…',
  },
};

/** Each code once, below its first status: the operations link to it. The script of the page has the filter. */
export function errorsPage(reference: Reference, locale: Locale): DocsPage {
  const { documentation } = locale.texts;
  const { errors: t } = locale.texts.reference;
  const { errors, errorObjects } = reference;
  const groups = Map.groupBy(errors, ({ statuses: [status = ''] }) => status);
  const byStatus = [...groups].sort(([one], [other]) => Number(one) - Number(other));
  const first = MET_FIRST.flatMap((code) => errors.find((one) => one.code === code) ?? []);
  const example = JSON.stringify(ERROR_EXAMPLE, null, 2);
  return {
    title: `${t.title}, ${documentation.groups['API reference']}`,
    description: t.description,
    url: ERRORS_URL,
    script: 'docs-errors.js',
    content: html`<div class="docs-first"><div class="page-head"><h1>${t.title}</h1><p>${t.words}</p></div>
${codeBlock({ id: 'error-example', title: t.example, text: example, language: 'json' }, locale)}</div>
<section class="docs-part" aria-labelledby="codes-first"><h2 id="codes-first">${t.metFirst}</h2><ul class="codes-first">${first.map(({ code, statuses: [status] }) => html`<li><a href="#${code}"><code class="status">${status}</code> <code>${code}</code></a><p class="small muted">${inline(locale.texts.errors.meaningOf(code))}</p></li>`)}</ul></section>
<section class="stack" id="codes" aria-labelledby="codes-title"><h2 id="codes-title">${t.codes}</h2>
<div class="field needs-script"><label for="codes-filter">${t.filter}</label><input class="input" id="codes-filter" type="search" autocomplete="off" spellcheck="false" placeholder="${t.filterExample}"></div>
<div class="docs-folds">${byStatus.map(([status, codes]) => html`<details class="docs-fold status-group"><summary><h3><code>${status}</code> <span lang="en">${STATUS_CODES[status]}</span></h3> <span class="small muted">${codes.length}</span><code class="status-codes" aria-hidden="true">${codes.map(({ code }) => code).join(', ')}</code></summary><dl class="fields" id="status-${status}">${codes.map((code) => errorRow(code, locale))}</dl></details>`)}</div>
<p class="muted" id="codes-none" role="status"></p></section>
<div class="docs-folds"><details class="docs-fold"><summary><h2>${t.forms}</h2> <span class="small muted">${errorObjects.length}</span></summary><div>${errorObjects.map((name) => objectSection(name, reference, locale))}</div></details></div>`,
  };
}

/** The texts of the declarations, or of the visitor's language. */
function errorRow({ code, statuses, isRetryable }: ErrorCodeView, { texts }: Locale): Html {
  const { errors: words, reference: t } = texts;
  return html`<div id="${code}"><dt><code>${code}</code>${statuses.length > 1 && html` <span class="field-type">${statuses.join(` ${t.or} `)}</span>`}${isRetryable && html` ${badge(t.errors.retry)}`}</dt><dd><p class="error-meaning">${inline(words.meaningOf(code))}</p><p>${inline(words.causeOf(code) ?? '')} <strong>${inline(words.actionOf(code) ?? '')}</strong></p></dd></div>`;
}

/** Of one page; the others of it are in a fold. */
const BEST_RESULTS = 3;
/** Pages whose results are shown at once. */
const BEST_PAGES = 5;

/** What was found, and for which part of the documentation. */
export interface FoundView {
  query: string;
  /** Title of a group of the navigation. Undefined for all. */
  group: string | undefined;
  results: readonly SearchResult[];
  /** All that was found, by group. */
  counts: ReadonlyMap<string, number>;
}

export function searchPage(view: FoundView, locale: Locale): DocsPage {
  const { query, results, counts, group } = view;
  const { documentation: t } = locale.texts;
  const all = group === undefined ? sumOf(counts) : (counts.get(group) ?? 0);
  const words =
    all === 0 ? t.nothing : all > results.length ? t.bestResults(results.length, all) : t.results(results.length);
  const pages = resultsByPage(results);
  const others = pages.splice(BEST_PAGES + (pages.length === BEST_PAGES + 1 ? 1 : 0));
  return {
    title: query === '' ? t.search : t.resultsOf(query),
    description: 'Search of the documentation.',
    url: '/docs/search',
    query,
    content: html`<div class="page-head"><h1>${query === '' ? t.search : html`“<bdi>${query}</bdi>”`}</h1><p role="status">${query === '' ? t.enterWords : words}${locale.language !== 'en' && results.length > 0 && html` ${t.resultsInEnglish}`}</p>
${groupLinks(view, locale)}</div>
${pages.map((page) => pageResults(page, locale))}
${others.length > 0 && html`<details class="more-results"><summary>${t.morePages(others.length)}</summary>${others.map((page) => pageResults(page, locale))}</details>`}`,
  };
}

/** Parts of the documentation with how much each has. */
function groupLinks({ query, group, counts }: FoundView, locale: Locale): Html | false {
  const { documentation: t } = locale.texts;
  if (counts.size < 2) return false;
  const link = (name: string | undefined, words: string, count: number) =>
    html`<li><a href="/docs/search?${new URLSearchParams([['q', query], ...(name === undefined ? [] : [['in', name]])]).toString()}"${name === group && html` aria-current="true"`}>${words} <span class="muted">${count}</span></a></li>`;
  return html`<nav aria-label="${t.parts}"><ul class="result-groups sideways">${link(undefined, t.all, sumOf(counts))}${[...counts].map(([name, count]) => link(name, localName(name, locale), count))}</ul></nav>`;
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

type PageResults = ReturnType<typeof resultsByPage>[number];

function pageResults({ place, results: [...found] }: PageResults, locale: Locale): Html {
  const { language, texts } = locale;
  const best = found.splice(0, found.length > BEST_RESULTS + 1 ? BEST_RESULTS : found.length);
  const list = (some: readonly SearchResult[]) =>
    html`<ol${language !== 'en' && html` lang="en"`}>${some.map((one) => resultEntry(one, locale))}</ol>`;
  return html`<section class="results"><h2>${localPlace(place, locale)}</h2>${list(best)}${found.length > 0 && html`<details><summary>${texts.documentation.moreResults(found.length)}</summary>${list(found)}</details>`}</section>`;
}

/** `Guides, Images`: the title of a page may have commas itself. */
export function localPlace(place: string, locale: Locale): string {
  const [group = '', ...page] = place.split(', ');
  return [group, page.join(', ')]
    .filter((name) => name !== '')
    .map((name) => localName(name, locale))
    .join(' › ');
}

/** As the documentation has it; the meaning of an error is in the language of the visitor. */
function resultEntry({ title, heading, url, kind, excerpt }: SearchResult, { language, texts }: Locale): Html {
  const meaning = language !== 'en' && url === `${ERRORS_URL}#${title}` && texts.errors.meaningOf(title);
  const [method = '', path] = kind?.split(' ') ?? [];
  const mark =
    path === undefined
      ? kind
      : html`<span class="method method-${method.toLowerCase()}">${method}</span> <code>${path}</code>`;
  return html`<li><h3><a href="${url}">${withMarks(heading)}</a></h3>${mark !== undefined && html`<span class="small muted">${mark}</span>`}${meaning ? html`<p lang="${language}">${inline(meaning)}</p>` : html`<p>${withMarks(excerpt)}</p>`}</li>`;
}

function withMarks(parts: MarkedText): Html[] {
  return parts.map(({ text, isMarked }) => (isMarked ? html`<mark>${text}</mark>` : html`${text}`));
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
    names: [`${method} ${path}`, LOCALES.vi.texts.documentation.operations[summary] ?? ''].join(' '),
    ...(operation.isSent ? {} : { kind: `${method} ${path}` }),
    text: `${description} ${names.length > 0 ? `Fields: ${names.join(', ')}.` : ''}`,
  };
}
