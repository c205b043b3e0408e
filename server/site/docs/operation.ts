/*
 * Renders one operation of the API reference: what it does, what it takes and answers, its error codes as links to the
 * table of errors, an example in three languages, and a form that sends the request. The language is a group of radio
 * buttons, so that it can be changed without scripts. The form needs the script of the page.
 */

import { LOCALES } from '../language/index.js';
import { codeBlock, codeText, copyButton, type Html, html, scriptedButton } from '../page.js';
import { codeOf, type ExampleRequest, exampleOf, LANGUAGES } from './examples.js';
import { fieldList, inline, parameterList, typeOf } from './fields.js';
import { type Content, type Operation, type Parameter, refName } from './operations.js';

/**
 * One line with the name and the path, which opens the rest. An address with the id of the operation opens it as well: it
 * is that of the content, since browsers reveal what an address names inside of a fold.
 */
export function operationSection(operation: Operation, baseUrl: string, isOpen: boolean): Html {
  const { id, summary, description } = operation;
  const example = exampleOf(operation, baseUrl);
  return html`<details class="docs-fold" name="operations"${isOpen && html` open`}><summary><h2 id="${id}-title">${summary}</h2> ${endpoint(operation)}</summary>
<section class="operation" id="${id}" aria-labelledby="${id}-title">
<div class="operation-words stack">
<p>${inline(description)}</p>
<p class="small muted">${accessOf(operation)}</p>
${parameters(operation)}
${bodies(operation)}
${answers(operation)}
${errors(operation)}
</div>
<div class="operation-code stack">
${example && exampleTabs(operation, example)}
${answerExample(operation)}
${example && tryForm(operation, example)}
</div>
</section></details>`;
}

export function endpoint({ method, path, isSent }: Pick<Operation, 'method' | 'path' | 'isSent'>): Html {
  return html`<span class="endpoint"><span class="method method-${method.toLowerCase()}">${method}</span> <code>${isSent ? 'your webhook_url' : path}</code></span>`;
}

const ACCESS: Readonly<Record<string, Html>> = {
  apiKey: html`an API key in <code>Authorization: Bearer</code>`,
  apiKeyHeader: html`an API key in <code>X-API-Key</code>`,
  session: html`the session of a browser`,
  deviceToken: html`the token of the device flow in <code>Authorization: Bearer</code>`,
  webhookSignature: html`a signature of the bank or payment service`,
};

function accessOf({ security, isSent }: Operation): Html {
  if (isSent) return html`The gateway signs it with the webhook secret of your account.`;
  if (security.length === 0) return html`No key is needed.`;
  return html`Needs ${security.map((scheme, index) => html`${index > 0 && ', or '}${ACCESS[scheme] ?? scheme}`)}.`;
}

const PLACES = [
  { place: 'path', title: 'Path' },
  { place: 'query', title: 'Query' },
  { place: 'header', title: 'Headers' },
] as const;

function parameters({ parameters: all }: Operation): Html[] {
  return PLACES.flatMap(({ place, title }) => {
    const own = all.filter((one) => one.in === place);
    return own.length === 0 ? [] : [html`<h3>${title}</h3>${parameterList(own)}`];
  });
}

/** Bodies of several types with the same fields are described once. */
function bodies({ body, isSent }: Operation): Html[] {
  const byFields = Map.groupBy(Object.entries(body), ([, { schema }]) => JSON.stringify(schema));
  return [...byFields.values()].flatMap((same) => {
    const [first] = same;
    if (!first) return [];
    const [, { schema }] = first;
    const types = same.map(([type]) => type).join(' or ');
    return [html`<h3>${isSent ? 'Event' : 'Body'} <span class="media-type">${types}</span></h3>${fieldsOf(schema)}`];
  });
}

function fieldsOf(schema: Content[string]['schema']): Html {
  const name = refName(schema);
  if (name !== undefined) return html`<p>An object ${typeOf(schema)}.</p>`;
  return (
    fieldList(schema) ??
    html`<p class="muted">${schema.description === undefined ? 'No fields are read.' : inline(schema.description)}</p>`
  );
}

function answers({ answers: all, isSent }: Operation): Html {
  return html`<h3>${isSent ? 'What to answer' : 'Answers'}</h3>
<dl class="fields">${all.map(
    ({ status, description, content }) =>
      html`<div><dt><code class="status">${status}</code> ${mediaTypes(content)}</dt><dd><p>${inline(description)}</p>${answerFields(content)}</dd></div>`,
  )}</dl>`;
}

function mediaTypes(content: Content): Html[] {
  return Object.entries(content).map(([type, { schema }], index) => {
    const name = refName(schema);
    return html`${index > 0 && ', '}<span class="field-type">${type}${name !== undefined && html` ${typeOf(schema)}`}</span>`;
  });
}

/** Fields of answers without a name; the others are below, among the objects. */
function answerFields(content: Content): Html[] {
  return Object.entries(content).flatMap(([type, { schema }]) => {
    if (refName(schema) !== undefined) return [];
    const list = fieldList(schema);
    if (list) return [html`<details><summary>Fields of the answer</summary>${list}</details>`];
    return schema.description === undefined
      ? []
      : [html`<p class="small muted">${type}: ${inline(schema.description)}</p>`];
  });
}

function errors({ id, errors: all }: Operation): Html | false {
  if (all.length === 0) return false;
  const count = all.reduce((sum, { codes }) => sum + codes.length, 0);
  return html`<details class="errors" id="${id}-errors"><summary>Error codes (${count})</summary><dl class="error-codes">${all.map(
    ({ status, codes }) =>
      html`<div><dt><code class="status">${status}</code></dt><dd>${codes.map((code) => html`<a href="/docs/api/errors#${code}"><code>${code}</code></a> `)}</dd></div>`,
  )}</dl></details>`;
}

function exampleTabs({ id, summary }: Operation, example: ExampleRequest): Html {
  return html`<figure class="code example">
<figcaption class="code-head"><fieldset class="languages"><legend class="visually-hidden">Language of the example: ${summary}</legend>${LANGUAGES.map(
    ({ id: language, title }, index) =>
      html`<label><input type="radio" name="language-${id}" value="${language}"${index === 0 && html` checked`}> ${title}</label>`,
  )}</fieldset></figcaption>
${LANGUAGES.map(
  ({ id: language, title }) =>
    html`<div class="example-code example-${language}">${copyButton(`${id}-${language}`, `the example for ${title}`, LOCALES.en)}<pre tabindex="0" role="region" aria-label="${summary}: ${title}"><code id="${id}-${language}">${codeText(codeOf(example, language), language)}</code></pre></div>`,
)}
</figure>`;
}

function answerExample({ id, summary, answers: all }: Operation): Html | false {
  for (const { status, content } of all) {
    const example = content['application/json']?.example;
    if (example !== undefined) {
      const title = `${summary}: answer ${status}`;
      return codeBlock(
        { id: `${id}-answer`, title, text: JSON.stringify(example, null, 2), language: 'json' },
        LOCALES.en,
      );
    }
  }
  return false;
}

/** Hidden without scripts. Nothing is sent before a person presses the button. */
function tryForm(operation: Operation, { json, form }: ExampleRequest): Html {
  const { id, method, path, security, summary } = operation;
  const access = security.includes('session') ? 'session' : security.length > 0 ? 'key' : 'none';
  const inputs = operation.parameters.filter((one) => one.in !== 'header');
  return html`<details class="try needs-script"><summary>Try it</summary>
<form class="try-form stack" id="${id}-try" data-method="${method}" data-path="${path}" data-access="${access}" aria-label="Try: ${summary}">
${inputs.map((one) => tryInput(id, one))}
${json !== undefined && html`<div class="field"><label for="${id}-try-body">Body, as JSON</label><textarea class="input" id="${id}-try-body" name="body" data-in="json" rows="${Math.min(14, lines(json))}" spellcheck="false">${JSON.stringify(json, null, 2)}</textarea></div>`}
${(form ?? []).map(({ name, value, isFile }) => html`<div class="field"><label for="${id}-try-${name}">${name}</label>${isFile ? html`<input class="input" type="file" id="${id}-try-${name}" name="${name}" data-in="form" required>` : html`<input class="input" id="${id}-try-${name}" name="${name}" data-in="form" value="${value}">`}</div>`)}
<div class="try-access stack-small"></div>
<div class="row">${scriptedButton('Send', 'button-small')}</div>
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
