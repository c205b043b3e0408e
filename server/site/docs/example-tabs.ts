/*
 * A request as code in three languages: an example of the API reference, and a single request of an account that is made
 * again. The language is a group of radio buttons, so that it can be changed without scripts. Of a request that was made
 * only the route, the model and the beginning of what it asked are known: the other fields are those of the example.
 */

import type { OpenApiDocument } from '../../openapi/index.js';
import type { UsageEntry } from '../../usage/index.js';
import type { Locale } from '../language/index.js';
import { codeText, copyButton, type Html, html } from '../page.js';
import { codeOf, type ExampleRequest, exampleOf, LANGUAGES } from './examples.js';
import { inEnglish } from './fields.js';
import { type Operation, operationsOf } from './operations.js';

export interface ExampleView {
  /** Unique in the page. */
  id: string;
  /** For screen readers. */
  title: string;
  example: ExampleRequest;
}

export function exampleTabs({ id, title, example }: ExampleView, locale: Locale): Html {
  const t = locale.texts.reference;
  return html`<figure class="code example">
<figcaption class="code-head"><fieldset class="languages"><legend class="visually-hidden">${t.languageOf(title)}</legend>${LANGUAGES.map(
    ({ id: language, title: name }, index) =>
      html`<label><input type="radio" name="language-${id}" value="${language}"${index === 0 && html` checked`}> ${name}</label>`,
  )}</fieldset></figcaption>
${LANGUAGES.map(
  ({ id: language, title: name }) =>
    html`<div class="example-code example-${language}">${copyButton(`${id}-${language}`, t.exampleFor(name), locale)}<pre tabindex="0" role="region" aria-label="${title}: ${name}"><code id="${id}-${language}"${inEnglish(locale)}>${codeText(codeOf(example, language), language)}</code></pre></div>`,
)}
</figure>`;
}

/** Fields of examples that hold what a request asks. */
const ASKING = ['prompt', 'input', 'text', 'url'] as const;

type Repeated = Pick<UsageEntry, 'route' | 'model' | 'input'>;

/** Writes requests of the routes of a document; undefined for a route that clients do not call. */
export function createRepeats(document: { object(): OpenApiDocument }): (row: Repeated) => ExampleRequest | undefined {
  let known: { of: OpenApiDocument; operations: ReadonlyMap<string, Operation> } | undefined;
  return ({ route, model, input }) => {
    const of = document.object();
    if (known?.of !== of) known = { of, operations: operationsOf(of) };
    const operation = known.operations.get(route);
    const example = operation && exampleOf(operation, of.servers[0]?.url ?? '');
    return (
      example && {
        ...example,
        json: withOwn(example.json, model, input ?? undefined),
        form: example.form?.map((part) => (part.name === 'model' && model !== '' ? { ...part, value: model } : part)),
      }
    );
  };
}

/** The body with this model, and with this text where it asks something. */
function withOwn(json: unknown, model: string, asked: string | undefined): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const body: Record<string, unknown> = { ...json };
  if ('model' in body && model !== '') body.model = model;
  if (asked === undefined) return body;
  if (Array.isArray(body.messages)) body.messages = [{ role: 'user', content: asked }];
  const field = ASKING.find((name) => typeof body[name] === 'string');
  if (field !== undefined) body[field] = asked;
  return body;
}
