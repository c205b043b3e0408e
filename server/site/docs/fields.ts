/*
 * Lists the fields of a JSON schema as HTML: name, type in words, whether the field is required or what it is without,
 * and its description. Required fields stand first. Fields of an inner object are folded below it, and of many fields
 * those after the first ones. Objects with a name are links to the part of the page that describes them.
 */

import { type Html, html } from '../page.js';
import { type Parameter, refName, type Schema } from './operations.js';

/** Text with code in backticks. */
export function inline(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

export function parameterList(parameters: readonly Parameter[]): Html {
  return listOf(
    parameters.map(({ name, schema, description, required }) => ({
      ...{ name, isRequired: required },
      schema: description === undefined ? schema : { ...schema, description },
    })),
  );
}

/** The fields of an object; of a choice of objects, those of each. Undefined for a schema without fields. */
export function fieldList(schema: Schema): Html | undefined {
  const choices = (schema.anyOf ?? []).map(fieldList).filter((list) => list !== undefined);
  if (choices.length === 1) return choices[0];
  if (choices.length > 1)
    return html`${choices.map((list, index) => html`${index > 0 && html`<p class="small muted">Or:</p>`}${list}`)}`;
  if (schema.items) return fieldList(schema.items);
  const entries = Object.entries(schema.properties ?? {});
  if (entries.length === 0) {
    const { additionalProperties: others } = schema;
    return typeof others === 'object' ? fieldList(others) : undefined;
  }
  const required = new Set(schema.required);
  return listOf(entries.map(([name, field]) => ({ name, schema: field, isRequired: required.has(name) })));
}

/** So many fields are shown at once; longer lists fold what follows the first ones. */
const MAX_FIELDS = 12;
const FIRST_FIELDS = 8;

function listOf(fields: readonly FieldView[]): Html {
  const [first, others] = [fields.filter(({ isRequired }) => isRequired), fields.filter((one) => !one.isRequired)];
  const ordered = [...first, ...others];
  const shown = ordered.length > MAX_FIELDS ? Math.max(first.length, FIRST_FIELDS) : ordered.length;
  const folded = ordered.slice(shown);
  return html`<dl class="fields">${ordered.slice(0, shown).map(fieldRow)}</dl>${folded.length > 0 && html`<details class="more-fields"><summary>${folded.length} more fields</summary><dl class="fields">${folded.map(fieldRow)}</dl></details>`}`;
}

interface FieldView {
  name: string;
  schema: Schema;
  isRequired?: boolean | undefined;
}

function fieldRow({ name, schema, isRequired }: FieldView): Html {
  const inner = fieldList(schema);
  const { fallback, description } = withoutDefault(schema.description);
  const end = isRequired
    ? html` <span class="field-required">required</span>`
    : fallback !== undefined && html` <span class="field-default">default ${inline(fallback)}</span>`;
  return html`<div><dt><code>${name}</code> <span class="field-type">${typeOf(schema)}</span>${end}</dt><dd>${describe(schema, description)}${inner && html`<details><summary>Fields of <code>${name}</code></summary>${inner}</details>`}</dd></div>`;
}

/** Many descriptions end with a sentence such as "Default 10.": its value stands beside the type. */
const DEFAULT = / ?\bDefault (`[^`]+`|"[^"]+"|-?\d[\d.]*|true|false)\.(?=\s|$)/;

function withoutDefault(text: string | undefined): { description: string | undefined; fallback?: string } {
  const fallback = DEFAULT.exec(text ?? '')?.[1];
  if (text === undefined || fallback === undefined) return { description: text };
  const description = text.replace(DEFAULT, '').trim();
  return { description: description === '' ? undefined : description, fallback: codeOf(fallback) };
}

function codeOf(value: string): string {
  return value.startsWith('`') ? value : `\`${value}\``;
}

/** @param description That of the schema without its default. */
function describe(schema: Schema, description: string | undefined): Html | false {
  const example = schema.examples?.[0];
  const range = rangeOf(schema);
  if (description === undefined && example === undefined && range === '') return false;
  return html`<p>${description !== undefined && inline(description)}${range !== '' && ` ${range}`}${example !== undefined && html` <span class="muted">For example <code>${JSON.stringify(example)}</code>.</span>`}</p>`;
}

/** The type in a few words; a named object is a link. */
export function typeOf(schema: Schema): Html {
  const name = refName(schema);
  if (name === 'ErrorCode') return html`<a href="/docs/api/errors">error code</a>`;
  if (name !== undefined) return html`<a href="#${name}">${name}</a>`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  const { anyOf, type, items, format, contentMediaType } = schema;
  if (anyOf)
    return joined(
      anyOf.filter((one) => one.type !== 'null'),
      anyOf.some((one) => one.type === 'null'),
    );
  if (type === 'array') return items ? html`list of ${typeOf(items)}` : html`list`;
  if (format === 'binary' || contentMediaType !== undefined) return html`file`;
  return html`${type ?? 'any value'}`;
}

/** Each type once: several objects of a choice are all an object. */
function joined(types: readonly Schema[], isNullable: boolean): Html {
  const words = new Map(types.map(typeOf).map((type) => [type.markup, type]));
  const all = [...words.values(), ...(isNullable ? [html`null`] : [])];
  return html`${all.map((type, index) => html`${index > 0 && ' or '}${type}`)}`;
}

/** What the description does not say itself. */
function rangeOf(schema: Schema): string {
  const { minimum, maximum, maxLength, minItems, maxItems, description = '' } = schema;
  const parts = [
    between(minimum, maximum, ''),
    between(undefined, maxLength, ' characters'),
    between(minItems, maxItems, ' entries'),
  ];
  const numbers = (part: string) => part.match(/\d+/g) ?? [];
  return parts.filter((part) => numbers(part).some((number) => !description.includes(number))).join(' ');
}

function between(least: number | undefined, most: number | undefined, unit: string): string {
  if (least !== undefined && most !== undefined) return `From ${least} to ${most}${unit}.`;
  if (least !== undefined) return least === 0 ? '' : `At least ${least}${unit}.`;
  return most === undefined ? '' : `At most ${most}${unit}.`;
}
