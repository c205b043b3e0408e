import type { TSchema } from 'typebox';
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

const TIME_PATTERN = '^\\d{4}-';
const expressions = new Map<string, RegExp>();

/**
 * The part of a value that a schema allows, as a copy: members that are unknown, empty or of the wrong kind are left
 * out, text becomes well-formed, times and protocol-relative URLs get the form that the schema asks for. Undefined where
 * nothing is left. One bad avatar must not cost the whole document.
 */
export function fitSchema(schema: TSchema, value: unknown): unknown {
  return fit(schema as Keywords, value);
}

function fit(schema: Keywords, value: unknown): unknown {
  if (schema.anyOf) {
    for (const option of schema.anyOf) {
      const fitted = fit(option, value);
      if (fitted !== undefined) return fitted;
    }
    return undefined;
  }
  if ('const' in schema) return value === schema.const ? value : undefined;
  if (schema.type === 'string') return fitText(schema, value);
  if (schema.type === 'number' || schema.type === 'integer') return fitNumber(schema, value);
  if (schema.type === 'boolean') return typeof value === 'boolean' ? value : undefined;
  if (schema.type === 'array') return fitArray(schema, value);
  return schema.type === 'object' ? fitObject(schema, value) : undefined;
}

function fitText(schema: Keywords, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  const text = cleanText(value);
  if (text.trim() === '' || text.length > (schema.maxLength ?? Number.POSITIVE_INFINITY)) return undefined;
  if (schema.pattern === undefined || expression(schema.pattern).test(text)) return text;
  if (schema.pattern.startsWith(TIME_PATTERN)) return toIsoTime(text);
  return schema.pattern.startsWith('^https') && /^\/\/[^/]/.test(text) ? `https:${text}` : undefined;
}

/** NUL, which databases refuse, and halves of surrogate pairs, which UTF-8 cannot say, become U+FFFD. */
export function cleanText(text: string): string {
  return text.replaceAll('\0', '\ufffd').toWellFormed();
}

/** The schemas have a handful of patterns, and a document has hundreds of texts. */
function expression(pattern: string): RegExp {
  const known = expressions.get(pattern) ?? new RegExp(pattern);
  expressions.set(pattern, known);
  return known;
}

function fitNumber(schema: Keywords, value: unknown): number | undefined {
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  if (schema.type === 'integer' && !Number.isSafeInteger(value)) return undefined;
  return value >= (schema.minimum ?? value) && value <= (schema.maximum ?? value) ? value : undefined;
}

function fitArray(schema: Keywords, value: unknown): unknown[] | undefined {
  if (!Array.isArray(value) || !schema.items) return undefined;
  const { items } = schema;
  const fitted = value.map((element) => fit(items, element)).filter((element) => element !== undefined);
  return fitted.length > 0 && fitted.length >= (schema.minItems ?? 0) ? fitted : undefined;
}

function fitObject(schema: Keywords, value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const { properties, required = [] } = schema;
  const any = schema.patternProperties && Object.values(schema.patternProperties)[0];
  const fitted: Record<string, unknown> = {};
  let empty = true;
  // Of a member named `__proto__` nothing arrives: schemas know no such name, and free records hold no objects.
  for (const name of Object.keys(value)) {
    const inner = properties ? own(properties, name) : any;
    const member = inner && fit(inner, (value as Record<string, unknown>)[name]);
    if (member === undefined) continue;
    fitted[name] = member;
    empty = false;
  }
  return empty || required.some((name) => !Object.hasOwn(fitted, name)) ? undefined : fitted;
}

function own(properties: Readonly<Record<string, Keywords>>, name: string): Keywords | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}
