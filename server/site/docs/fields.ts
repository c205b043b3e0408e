/*
 * Lists the fields of a JSON schema as HTML: name, type in words, whether the field is required or what it is without,
 * and its description. Required fields stand first. Fields of an inner object are folded below it, and of many fields
 * those after the first ones. Objects with a name are links to the part of the page that describes them. What the schema
 * says itself is in English.
 */

import type { Locale } from '../language/index.js';
import { type Html, html, inline } from '../page.js';
import { type Parameter, refName, type Schema } from './operations.js';

/** Marks an element with words of the document, which are in English. */
export function inEnglish({ language }: Locale): Html | false {
  return language !== 'en' && html` lang="en"`;
}

export function parameterList(parameters: readonly Parameter[], locale: Locale): Html {
  return listOf(
    parameters.map(({ name, schema, description, required }) => ({
      ...{ name, isRequired: required },
      schema: description === undefined ? schema : { ...schema, description },
    })),
    locale,
  );
}

/** The fields of an object; of a choice of objects, those of each. Undefined for a schema without fields. */
export function fieldList(schema: Schema, locale: Locale): Html | undefined {
  const choices = (schema.anyOf ?? []).map((one) => fieldList(one, locale)).filter((list) => list !== undefined);
  if (choices.length === 1) return choices[0];
  const { or } = locale.texts.reference;
  if (choices.length > 1)
    return html`${choices.map((list, index) => html`${index > 0 && html`<p class="small muted field-or">${or}</p>`}${list}`)}`;
  if (schema.items) return fieldList(schema.items, locale);
  const entries = Object.entries(schema.properties ?? {});
  if (entries.length === 0) {
    const { additionalProperties: others } = schema;
    return typeof others === 'object' ? fieldList(others, locale) : undefined;
  }
  const required = new Set(schema.required);
  return listOf(
    entries.map(([name, field]) => ({ name, schema: field, isRequired: required.has(name) })),
    locale,
  );
}

/** So many fields are shown at once; longer lists fold what follows the first ones. */
const MAX_FIELDS = 9;
const FIRST_FIELDS = 6;

function listOf(fields: readonly FieldView[], locale: Locale): Html {
  const [first, others] = [fields.filter(({ isRequired }) => isRequired), fields.filter((one) => !one.isRequired)];
  const ordered = [...first, ...others];
  const shown = ordered.length > MAX_FIELDS ? Math.max(first.length, FIRST_FIELDS) : ordered.length;
  const folded = ordered.slice(shown);
  const rows = (some: readonly FieldView[]) =>
    html`<dl class="fields">${some.map((field) => fieldRow(field, locale))}</dl>`;
  return html`${rows(ordered.slice(0, shown))}${folded.length > 0 && html`<details class="more-fields"><summary>${locale.texts.reference.moreFields(folded.length)}</summary>${rows(folded)}</details>`}`;
}

interface FieldView {
  name: string;
  schema: Schema;
  isRequired?: boolean | undefined;
}

function fieldRow({ name, schema, isRequired }: FieldView, locale: Locale): Html {
  const t = locale.texts.reference;
  const inner = fieldList(schema, locale);
  const { fallback, others, description } = withoutMarks(schema.description);
  const instead = others !== undefined && html` <span class="muted">${t.or} ${inline(others)}</span>`;
  const end =
    isRequired || instead
      ? html` <span class="field-required">${t.required}${instead}</span>`
      : fallback !== undefined && html` <span class="field-default">${t.byDefault} ${inline(fallback)}</span>`;
  return html`<div><dt><code>${name}</code> <span class="field-type">${schema.const !== undefined && `${t.only} `}${typeOf(schema, locale)}</span>${end}</dt><dd>${describe(schema, description, locale)}${inner && html`<details><summary>${t.fieldsOf(html`<code>${name}</code>`)}</summary>${inner}</details>`}</dd></div>`;
}

/** Many descriptions end with a sentence such as "Default 10.": its value stands beside the type. */
const DEFAULT = / ?\bDefault (`[^`]+`|"[^"]+"|-?\d[\d.]*|true|false)\.(?=\s|$)/;
/** "Required, or `b`." of `a`: that too stands at the end of the first line. */
const REQUIRED = / ?\bRequired, or (`[^`]+`(?: or `[^`]+`)*)\.(?=\s|$)/;

function withoutMarks(text: string | undefined): {
  description: string | undefined;
  fallback?: string | undefined;
  others?: string | undefined;
} {
  if (text === undefined) return { description: text };
  const [fallback, others] = [DEFAULT, REQUIRED].map((pattern) => pattern.exec(text)?.[1]);
  const description = text.replace(DEFAULT, '').replace(REQUIRED, '').trim();
  return {
    description: description === '' ? undefined : description,
    fallback: fallback === undefined ? undefined : codeOf(fallback),
    others,
  };
}

function codeOf(value: string): string {
  return value.startsWith('`') ? value : `\`${value}\``;
}

/** @param description That of the schema without its default. */
function describe(schema: Schema, description: string | undefined, locale: Locale): Html | false {
  const { forExample } = locale.texts.reference;
  const example = schema.examples?.[0];
  const range = rangeOf(schema, locale);
  if (description === undefined && example === undefined && range === '') return false;
  const words = description !== undefined && html`<span${inEnglish(locale)}>${inline(description)}</span>`;
  return html`<p>${words}${range !== '' && ` ${range}`}${example !== undefined && html` <span class="muted">${forExample(html`<code>${JSON.stringify(example)}</code>`)}</span>`}</p>`;
}

/** The type in a few words; a named object is a link. */
export function typeOf(schema: Schema, locale: Locale): Html {
  const t = locale.texts.reference;
  const name = refName(schema);
  if (name === 'ErrorCode') return html`<a href="/docs/api/errors">${t.errorCode}</a>`;
  if (name !== undefined) return html`<a href="#${name}">${name}</a>`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  const { anyOf, type, items, format, contentMediaType } = schema;
  if (anyOf)
    return joined(
      anyOf.filter((one) => one.type !== 'null'),
      anyOf.some((one) => one.type === 'null'),
      locale,
    );
  if (type === 'array') return items ? t.listOf(typeOf(items, locale)) : html`${t.list}`;
  if (format === 'binary' || contentMediaType !== undefined) return html`${t.file}`;
  return html`${type ?? t.anyValue}`;
}

/** Each type once: several objects of a choice are all an object. */
function joined(types: readonly Schema[], isNullable: boolean, locale: Locale): Html {
  const words = new Map(types.map((type) => typeOf(type, locale)).map((type) => [type.markup, type]));
  const all = [...words.values(), ...(isNullable ? [html`null`] : [])];
  return html`${all.map((type, index) => html`${index > 0 && ` ${locale.texts.reference.or} `}${type}`)}`;
}

/** What the description does not say itself. */
function rangeOf(schema: Schema, { texts: { reference: t } }: Locale): string {
  const { minimum, maximum, maxLength, minItems, maxItems, description = '' } = schema;
  const parts = [
    between(minimum, maximum, [t.between, t.atLeast, t.atMost]),
    maxLength === undefined ? '' : t.characters(maxLength),
    between(minItems, maxItems, [t.entries, t.atLeastEntries, t.atMostEntries]),
  ];
  const numbers = (part: string) => part.match(/\d+/g) ?? [];
  return parts.filter((part) => numbers(part).some((number) => !description.includes(number))).join(' ');
}

type One = (value: number) => string;

function between(
  least: number | undefined,
  most: number | undefined,
  [both, from, to]: [both: (least: number, most: number) => string, from: One, to: One],
): string {
  if (least !== undefined && most !== undefined) return both(least, most);
  if (least !== undefined) return least === 0 ? '' : from(least);
  return most === undefined ? '' : to(most);
}
