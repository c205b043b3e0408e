import { GatewayError, type Issue } from 'mediagate';
import type { RequestContext } from './koa-app.js';

/** Texts of a form, by their names. */
export type FormFields = ReadonlyMap<string, readonly string[]>;

/**
 * The one value of a field; undefined where it is absent or empty.
 * @throws GatewayError `invalid_value` where it is sent twice.
 */
export function fieldOf(fields: FormFields, name: string): string | undefined {
  const values = fields.get(name) ?? [];
  if (values.length > 1) throw new GatewayError('invalid_value', `${name} is sent twice.`, { param: name });
  return values[0] || undefined;
}

/**
 * As {@link fieldOf}, for what a request must have.
 * @throws GatewayError `missing_required_parameter` as well.
 */
export function requiredField(fields: FormFields, name: string, what: string): string {
  return fieldOf(fields, name) ?? missing(name, what);
}

/** @throws GatewayError `missing_required_parameter` */
export function missing(param: string, what: string): never {
  throw new GatewayError('missing_required_parameter', `${param} is missing: send ${what}.`, { param });
}

/** Own members that the schema knows; `null` counts as not sent. */
export function knownMembers(
  sent: Readonly<Record<string, unknown>>,
  { properties }: { properties: object },
): Record<string, unknown> {
  const known: Record<string, unknown> = {};
  for (const member of Object.keys(properties)) {
    if (Object.hasOwn(sent, member) && sent[member] !== null) known[member] = sent[member];
  }
  return known;
}

/**
 * The refusal of a body for a member of its own.
 * @param accepted What each member accepts, in words.
 */
export function memberError(
  { path = '', keyword }: Partial<Issue> = {},
  accepted: Readonly<Record<string, string>>,
): GatewayError {
  const [param = ''] = path.split('.');
  return keyword === 'required'
    ? new GatewayError('missing_required_parameter', `${param} is missing: send ${accepted[param]}.`, { param })
    : new GatewayError('invalid_value', `${param} must be ${accepted[param]}.`, { param });
}

/** Of a header field, which is to stay short whatever is sent. */
const MOST_NAMES = 20;

/** Names what was left out; the names are those of the open format, or the caller's own. */
export function nameIgnored({ res: response }: RequestContext, ignored: readonly string[]): void {
  const names = [...new Set(ignored)].filter((name) => /^[\w.[\]-]{1,64}$/.test(name)).slice(0, MOST_NAMES);
  if (names.length > 0) response.setHeader('x-ignored-params', names.join(', '));
}
