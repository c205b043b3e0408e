/*
 * Reads values of converted requests and answers without throwing on unexpected types, and creates the errors that
 * name the wrong field of a request.
 */

import { GatewayError, isRecord, type JsonRecord, recordOf } from '../../runtime/index.js';

export type { JsonRecord };

const ONLY_CHATS = 'The upstream of this model only has the chat format';

export function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${ONLY_CHATS}, ${why}`, { param });
}

/** For a valid value that a chat cannot express. */
export function unable(param: string, why: string): GatewayError {
  return new GatewayError('unsupported_value', `${ONLY_CHATS}, ${why}`, { param });
}

export function invalid(param: string, expected: string): GatewayError {
  return new GatewayError('invalid_value', `"${param}" must be ${expected}.`, { param });
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

/** The fields that have a value. */
export function given(fields: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));
}

/** The entries of a list as records; empty for everything else. */
export function listOf(value: unknown): JsonRecord[] {
  return Array.isArray(value) ? value.map(recordOf) : [];
}

/** The value of JSON, its large integers rounded; undefined if it is none. */
export function parseRounded(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @throws GatewayError `invalid_value` */
export function recordAt(value: unknown, at: string): JsonRecord {
  if (isRecord(value)) return value;
  throw invalid(at, 'an object');
}

/** @throws GatewayError `invalid_value` */
export function textOf(value: unknown, at: string): string {
  if (typeof value === 'string') return value;
  throw invalid(at, 'a text');
}

/** A value of a request as an error shows it. */
export function nameOf(type: unknown): string {
  return `"${String(type).slice(0, 60)}"`;
}
