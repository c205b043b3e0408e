/*
 * Copies a value with only what a schema allows. Unknown, empty and mistyped fields are dropped, text becomes
 * well-formed, and times and protocol-relative URLs get the required form. So one bad field of a page never costs the
 * whole document. Nothing is left if a required field is missing. Each schema is compiled once to functions and cached
 * by its identity, since a document has hundreds of fields and the schemas never change.
 */

import type { TSchema } from '../../contracts/index.js';
import { toIsoTime } from './dates.js';

/** The keywords that the document schemas use. */
interface Keywords {
  type?: string;
  const?: unknown;
  anyOf?: readonly Keywords[];
  properties?: Readonly<Record<string, Keywords>>;
  patternProperties?: Readonly<Record<string, Keywords>>;
  required?: readonly string[];
  items?: Keywords;
  minItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
}

type Fit = (value: unknown) => unknown;

const TIME_PATTERN = '^\\d{4}-';
const compiled = new WeakMap<object, Fit>();
const nothing: Fit = () => undefined;

/**
 * A copy of a value with only what a schema allows: unknown, empty or mistyped fields are omitted, text becomes
 * well-formed, times and protocol-relative URLs get the form that the schema requires. Undefined if nothing is left.
 * One bad avatar must not cost the whole document.
 */
export function fitSchema(schema: TSchema, value: unknown): unknown {
  return fitOf(schema as Keywords)(value);
}

/** A document has hundreds of fields and the schemas never change, so each schema is compiled once. */
function fitOf(schema: Keywords): Fit {
  const known = compiled.get(schema);
  if (known) return known;
  const made = compile(schema);
  compiled.set(schema, made);
  return made;
}

function compile(schema: Keywords): Fit {
  if (schema.anyOf) return compileAny(schema.anyOf.map(fitOf));
  if ('const' in schema) return (value) => (value === schema.const ? value : undefined);
  switch (schema.type) {
    case 'string':
      return compileText(schema);
    case 'number':
    case 'integer':
      return compileNumber(schema);
    case 'boolean':
      return (value) => (typeof value === 'boolean' ? value : undefined);
    case 'array':
      return schema.items ? compileArray(fitOf(schema.items), schema.minItems ?? 0) : nothing;
    case 'object':
      return compileObject(schema);
    default:
      return nothing;
  }
}

function compileAny(options: readonly Fit[]): Fit {
  return (value) => {
    for (const option of options) {
      const fitted = option(value);
      if (fitted !== undefined) return fitted;
    }
    return undefined;
  };
}

function compileText({ pattern, maxLength = Number.POSITIVE_INFINITY }: Keywords): Fit {
  const expression = pattern === undefined ? undefined : new RegExp(pattern);
  return (value) => {
    if (typeof value !== 'string') return undefined;
    const text = cleanText(value);
    if (!/\S/.test(text) || text.length > maxLength) return undefined;
    if (!expression || !pattern || expression.test(text)) return text;
    if (pattern.startsWith(TIME_PATTERN)) return toIsoTime(text);
    return pattern.startsWith('^https') && /^\/\/[^/]/.test(text) ? `https:${text}` : undefined;
  };
}

/** NUL, which databases refuse, and lone surrogates, which UTF-8 cannot encode, become U+FFFD. */
function cleanText(text: string): string {
  const whole = text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;
  return whole.isWellFormed() ? whole : whole.toWellFormed();
}

function compileNumber({
  type,
  minimum = Number.NEGATIVE_INFINITY,
  maximum = Number.POSITIVE_INFINITY,
}: Keywords): Fit {
  const isKind = type === 'integer' ? Number.isSafeInteger : Number.isFinite;
  return (value) =>
    typeof value === 'number' && isKind(value) && value >= minimum && value <= maximum ? value : undefined;
}

function compileArray(fitItem: Fit, minItems: number): Fit {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    const fitted: unknown[] = [];
    for (const element of value) {
      const item = fitItem(element);
      if (item !== undefined) fitted.push(item);
    }
    return fitted.length > 0 && fitted.length >= minItems ? fitted : undefined;
  };
}

function compileObject({ properties, patternProperties, required = [] }: Keywords): Fit {
  const fields = new Map(Object.entries(properties ?? {}).map(([name, property]) => [name, fitOf(property)]));
  const free = patternProperties && Object.values(patternProperties)[0];
  const fitFree = properties || !free ? undefined : fitOf(free);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
    const fitted: Record<string, unknown> = {};
    let empty = true;
    // A field named `__proto__` is always dropped: schemas have no such name, and free records contain no objects.
    for (const name of Object.keys(value)) {
      const property = (fitFree ?? fields.get(name))?.((value as Record<string, unknown>)[name]);
      if (property === undefined) continue;
      fitted[name] = property;
      empty = false;
    }
    return empty || required.some((name) => !Object.hasOwn(fitted, name)) ? undefined : fitted;
  };
}
