/*
 * Renders one operation of the API reference: what it does, an example in three languages with its answer and a form that
 * sends the request, and then what it takes and answers, with its error codes as links to the table of errors. Where
 * there is room the example stands beside the rest; on a phone it comes first. The form needs the script of the page.
 */

import type { Locale } from '../language/index.js';
import { codeBlock, type Html, html, inline, scriptedButton } from '../page.js';
import { exampleTabs } from './example-tabs.js';
import { type ExampleRequest, exampleOf } from './examples.js';
import { fieldList, parameterList, typeOf } from './fields.js';
import { type Content, type Operation, type Parameter, refName } from './operations.js';

export interface OperationView {
  operation: Operation;
  baseUrl: string;
  isOpen: boolean;
}

/**
 * One line with the name and the path, which opens the rest. An address with the id of the operation opens it as well: it
 * is that of the content, since browsers reveal what an address names inside of a fold.
 */
export function operationSection({ operation, baseUrl, isOpen }: OperationView, locale: Locale): Html {
  const { id, summary, description } = operation;
  const example = exampleOf(operation, baseUrl);
  return html`<details class="docs-fold" name="operations"${isOpen && html` open`}><summary><h2 id="${id}-title">${summary}</h2> ${endpoint(operation)}</summary>
<section class="operation" id="${id}" aria-labelledby="${id}-title">
<div class="operation-words stack-small">
<p>${inline(description)}</p>
<p class="small muted">${accessOf(operation, locale)}</p>
</div>
<div class="operation-code stack">
${example && exampleTabs({ id, title: summary, example }, locale)}
${answerExample(operation, locale)}
${example && tryForm(operation, example, locale)}
</div>
<div class="operation-fields stack">
${bodies(operation, locale)}
${parameters(operation, locale)}
${answers(operation, locale)}
${errors(operation, locale)}
</div>
</section></details>`;
}

export function endpoint({ method, path, isSent }: Pick<Operation, 'method' | 'path' | 'isSent'>): Html {
  return html`<span class="endpoint"><span class="method method-${method.toLowerCase()}">${method}</span> <code>${isSent ? 'your webhook_url' : path}</code></span>`;
}

function accessOf({ security, isSent }: Operation, { texts: { reference: t } }: Locale): Html | string {
  if (isSent) return t.isSigned;
  if (security.length === 0) return t.noKey;
  return t.needs(security.map((scheme) => t.access[scheme] ?? html`${scheme}`));
}

const PLACES = ['path', 'query', 'header'] as const;

function parameters({ parameters: all }: Operation, locale: Locale): Html[] {
  return PLACES.flatMap((place) => {
    const own = all.filter((one) => one.in === place);
    return own.length === 0
      ? []
      : [html`<h3>${locale.texts.reference.places[place]}</h3>${parameterList(own, locale)}`];
  });
}

/** Bodies of several types with the same fields are described once. */
function bodies({ body, isSent }: Operation, locale: Locale): Html[] {
  const t = locale.texts.reference;
  const byFields = Map.groupBy(Object.entries(body), ([, { schema }]) => JSON.stringify(schema));
  return [...byFields.values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const [, { schema }] = first;
    const types = same.map(([type]) => type).join(` ${t.or} `);
    return [
      html`<h3>${isSent ? t.event : t.body} <span class="media-type">${types}</span></h3>${fieldsOf(schema, locale)}`,
    ];
  });
}

function fieldsOf(schema: Content[string]['schema'], locale: Locale): Html {
  const t = locale.texts.reference;
  if (refName(schema) !== undefined) return html`<p>${t.anObject(typeOf(schema, locale))}</p>`;
  const { description } = schema;
  const words = description === undefined ? t.noFields : html`<span>${inline(description)}</span>`;
  return fieldList(schema, locale) ?? html`<p class="muted">${words}</p>`;
}

function answers({ answers: all, isSent }: Operation, locale: Locale): Html {
  const t = locale.texts.reference;
  return html`<h3>${isSent ? t.whatToAnswer : t.answers}</h3>
<dl class="fields answers">${all.map(
    ({ status, description, content }) =>
      html`<div><dt><code class="status">${status}</code> ${mediaTypes(content, locale)}</dt><dd><p>${inline(description)}</p>${answerFields(content, locale)}</dd></div>`,
  )}</dl>`;
}

function mediaTypes(content: Content, locale: Locale): Html[] {
  return Object.entries(content).map(([type, { schema }], index) => {
    const name = refName(schema);
    return html`${index > 0 && ', '}<span class="field-type">${type}${name !== undefined && html` ${typeOf(schema, locale)}`}</span>`;
  });
}

/** Fields of answers without a name; the others are below, among the objects. */
function answerFields(content: Content, locale: Locale): Html[] {
  const t = locale.texts.reference;
  return Object.entries(content).flatMap(([type, { schema }]) => {
    if (refName(schema) !== undefined) return [];
    const list = fieldList(schema, locale);
    if (list) return [html`<details><summary>${t.answerFields}</summary>${list}</details>`];
    return schema.description === undefined
      ? []
      : [html`<p class="small muted">${type}: ${inline(schema.description)}</p>`];
  });
}

function errors({ id, errors: all }: Operation, { texts: { reference: t } }: Locale): Html | false {
  if (all.length === 0) return false;
  const count = all.reduce((sum, { codes }) => sum + codes.length, 0);
  return html`<details class="errors" id="${id}-errors"><summary>${t.errorCodes(count)}</summary><dl class="error-codes">${all.map(
    ({ status, codes }) =>
      html`<div><dt><code class="status">${status}</code></dt><dd>${codes.map((code) => html`<a href="/docs/api/errors#${code}"><code>${code}</code></a> `)}</dd></div>`,
  )}</dl></details>`;
}

function answerExample({ id, answers: all }: Operation, locale: Locale): Html | false {
  for (const { status, content } of all) {
    const example = content['application/json']?.example;
    if (example !== undefined) {
      const title = `${locale.texts.reference.answer} ${status}`;
      const text = JSON.stringify(example, null, 2);
      return html`<div class="answer-example">${codeBlock({ id: `${id}-answer`, title, text, language: 'json' }, locale)}</div>`;
    }
  }
  return false;
}

/** Hidden without scripts. Nothing is sent before a person presses the button. */
function tryForm(operation: Operation, { json, form }: ExampleRequest, locale: Locale): Html {
  const { id, method, path, security, summary } = operation;
  const t = locale.texts.reference;
  const access = security.includes('session') ? 'session' : security.length > 0 ? 'key' : 'none';
  const inputs = operation.parameters.filter((one) => one.in !== 'header');
  return html`<details class="try needs-script"><summary>${t.tryIt}</summary>
<form class="try-form stack" id="${id}-try" data-method="${method}" data-path="${path}" data-access="${access}" aria-label="${t.tryOf(summary)}">
${inputs.map((one) => tryInput(id, one))}
${json !== undefined && html`<div class="field"><label for="${id}-try-body">${t.bodyAsJson}</label><textarea class="input" id="${id}-try-body" name="body" data-in="json" rows="${Math.min(14, lines(json))}" spellcheck="false">${JSON.stringify(json, null, 2)}</textarea></div>`}
${(form ?? []).map(({ name, value, isFile }) => html`<div class="field"><label for="${id}-try-${name}">${name}</label>${isFile ? html`<input class="input" type="file" id="${id}-try-${name}" name="${name}" data-in="form" required>` : html`<input class="input" id="${id}-try-${name}" name="${name}" data-in="form" value="${value}">`}</div>`)}
<div class="try-access stack-small"></div>
<div class="row">${scriptedButton(t.send, 'button-small')}</div>
<p class="problem" role="alert"></p>
</form>
<div class="try-answer stack-small" role="status"></div></details>`;
}

function lines(json: unknown): number {
  return JSON.stringify(json, null, 2).split('\n').length;
}

function tryInput(id: string, { name, in: place, required, example, schema }: Parameter): Html {
  const value = required ? (example ?? schema.examples?.[0] ?? '') : '';
  return html`<div class="field"><label for="${id}-try-${name}">${name}</label><input class="input" id="${id}-try-${name}" name="${name}" data-in="${place}" value="${String(value)}"${required && html` required`} autocomplete="off" spellcheck="false"></div>`;
}
