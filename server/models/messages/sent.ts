import { GatewayError } from 'mediagate';

export type Members = Readonly<Record<string, unknown>>;

/** @param place of what is wrong: `messages.0.content`; its first part is the `param`. */
export function refuse(place: string, accepted: string): never {
  throw new GatewayError('invalid_value', `${place} must be ${accepted}.`, { param: place });
}

/** What is there and cannot be put into the format of the models. */
export function refuseUnable(place: string, why: string): never {
  throw new GatewayError('unsupported_value', `${place}: ${why}.`, { param: place });
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws GatewayError `invalid_value`, as the others here. */
export function membersAt(value: unknown, place: string): Members {
  return isMembers(value) ? value : refuse(place, 'an object');
}

export function textAt(value: unknown, place: string): string {
  return typeof value === 'string' ? value : refuse(place, 'a text');
}

export function nameAt(value: unknown, place: string): string {
  return typeof value === 'string' && value !== '' ? value : refuse(place, 'a text that is not empty');
}

export function flagAt(value: unknown, place: string): boolean {
  return typeof value === 'boolean' ? value : refuse(place, 'true or false');
}

export function listAt(value: unknown, place: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(place, 'a list');
}

/** Undefined where it was not sent; `null` counts as that. */
export function optional<Value>(
  value: unknown,
  place: string,
  read: (value: unknown, place: string) => Value,
): Value | undefined {
  return value === undefined || value === null ? undefined : read(value, place);
}
