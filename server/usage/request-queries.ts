/*
 * What routes and pages read from the query of a request: the days, the filters of usage and of single requests, and the
 * place where a page continues. A cursor is the time and the name of the last row, in base64url; it is refused if it is
 * anything else. Days are by UTC, both included.
 */

import { GatewayError } from '../../core/runtime/index.js';
import { REQUEST_OUTCOMES, type RequestOutcome, type RequestPlace, type RequestQuery } from './request-log.js';
import { USAGE_DIMENSIONS, type UsageDimension, type UsageFilter } from './usage-groups.js';
import { type DayRange, readRangeQuery } from './usage-report.js';

type Query = Readonly<Record<string, string | string[] | undefined>>;

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_TEXT = 200;
const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** The days and filters of usage. @throws GatewayError `invalid_value`. */
export function readUsageQuery(query: Query, now: number): { range: DayRange; filter: UsageFilter } {
  const filter = {
    key: textOf(query, 'key'),
    model: textOf(query, 'model'),
    platform: textOf(query, 'platform'),
    route: textOf(query, 'route'),
  };
  return { range: readRangeQuery(withoutEmpty(query), now), filter };
}

/** Default `day`. @throws GatewayError `invalid_value`. */
export function readDimension(query: Query, fallback: UsageDimension = 'day'): UsageDimension {
  return oneOf(query, 'by', USAGE_DIMENSIONS) ?? fallback;
}

/** Default `json`. @throws GatewayError `invalid_value`. */
export function readFormat(query: Query): 'json' | 'csv' {
  return oneOf(query, 'format', ['json', 'csv'] as const) ?? 'json';
}

/** Filters of single requests, without the keys. */
export interface RequestFilter extends Omit<RequestQuery, 'keyIds' | 'accountId' | 'withInputs'> {
  /** Id of a key. */
  key?: string | undefined;
  /** The days of `from` and `to`. */
  range: DayRange;
  outcome?: RequestOutcome | undefined;
}

/** @throws GatewayError `invalid_value`. */
export function readRequestFilter(query: Query, now: number): RequestFilter {
  const range = readRangeQuery(withoutEmpty(query), now);
  return {
    range,
    from: Date.parse(range.from),
    to: Date.parse(range.to) + DAY_MS,
    key: textOf(query, 'key'),
    outcome: oneOf(query, 'outcome', REQUEST_OUTCOMES),
    route: textOf(query, 'route'),
    model: textOf(query, 'model'),
    errorCode: textOf(query, 'code'),
    requestId: textOf(query, 'request_id'),
  };
}

/** @throws GatewayError `invalid_value`. */
export function readLimit(query: Query): number {
  const text = textOf(query, 'limit');
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw invalid('limit', `must be a whole number from 1 to ${MAX_LIMIT}`);
}

/** Where a page continues. @throws GatewayError `invalid_value`. */
export function readCursor(query: Query): RequestPlace | undefined {
  const text = textOf(query, 'after');
  if (text === undefined) return undefined;
  const [, at, requestId] = /^(\d{1,15}) (\S{1,200})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (at === undefined || requestId === undefined) throw invalid('after', 'must be the cursor of an earlier page');
  return { at: Number(at), requestId };
}

export function encodeCursor({ at, requestId }: RequestPlace): string {
  return Buffer.from(`${at} ${requestId}`).toString('base64url');
}

/** Empty fields of a form are not limited. @throws GatewayError `invalid_value`. */
function textOf(query: Query, param: string): string | undefined {
  const text = query[param];
  if (text === undefined || text === '') return undefined;
  if (Array.isArray(text)) throw invalid(param, 'is given twice');
  if (text.length > MAX_TEXT || text.includes('\0')) throw invalid(param, `must be at most ${MAX_TEXT} characters`);
  return text;
}

function oneOf<Value extends string>(query: Query, param: string, values: readonly Value[]): Value | undefined {
  const text = textOf(query, param);
  const value = values.find((each) => each === text);
  if (text === undefined || value !== undefined) return value;
  throw invalid(param, `must be one of ${values.join(', ')}`);
}

function withoutEmpty(query: Query): Query {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''));
}

function invalid(param: string, problem: string): GatewayError {
  return new GatewayError('invalid_value', `${param} ${problem}.`, { param });
}
