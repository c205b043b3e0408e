import { GatewayError, type Issue } from 'mediagate';

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
