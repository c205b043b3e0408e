import { GatewayError } from 'mediagate';

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
