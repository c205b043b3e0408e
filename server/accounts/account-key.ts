import { createValidator, GatewayError, Type, type Validator } from 'mediagate';
import { isoTime, isVisible } from '../format/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { keyState, maskedKey } from '../keys/index.js';

const HOUR_MS = 3_600_000;
const MAX_NAME = 100;
const DEFAULT_NAME = 'default';
const DEFAULT_OVERLAP_HOURS = 24;
const MAX_OVERLAP_HOURS = 168;

export const MAX_KEY_BODY_BYTES = 4_096;

const strict = { additionalProperties: false } as const;

/** Body of `POST /api/user` and `POST /api/user/keys`. */
export const KeyBodySchema = Type.Object({ name: Type.Optional(Type.String({ maxLength: MAX_NAME })) }, strict);

/** Body of `POST /api/user/rotate`. */
export const RotationBodySchema = Type.Object(
  {
    keyId: Type.Optional(Type.String({ pattern: '^[0-9A-Za-z]{8}$' })),
    overlapHours: Type.Optional(Type.Number({ minimum: 0, maximum: MAX_OVERLAP_HOURS })),
  },
  strict,
);

const keyBody = createValidator(KeyBodySchema);
const rotationBody = createValidator(RotationBodySchema);

const ACCEPTED: Readonly<Record<string, string>> = {
  name: `a string of 1 to ${MAX_NAME} characters, none of them invisible`,
  keyId: 'the id of a key: 8 characters',
  overlapHours: `a number from 0 to ${MAX_OVERLAP_HOURS}`,
};

/**
 * What the new key is to be called.
 * @throws GatewayError `invalid_value`, `unsupported_parameter` with `param`.
 */
export function decodeKeyBody(body: Readonly<Record<string, unknown>>): string {
  const { name: given = DEFAULT_NAME } = check(keyBody, body);
  const name = given.trim();
  // Names end up in terminals and tables.
  if (!isVisible(name)) throw unaccepted('name');
  return name;
}

export interface DecodedRotation {
  id?: string;
  overlapMs: number;
}

/** Which key is to be replaced. @throws GatewayError as {@link decodeKeyBody} does. */
export function decodeRotationBody(body: Readonly<Record<string, unknown>>): DecodedRotation {
  const { keyId, overlapHours = DEFAULT_OVERLAP_HOURS } = check(rotationBody, body);
  return { ...(keyId !== undefined && { id: keyId }), overlapMs: Math.round(overlapHours * HOUR_MS) };
}

/** A key without its secret. */
export function encodeAccountKey(record: ApiKeyRecord, now: number) {
  return {
    id: record.id,
    name: record.name,
    maskedKey: maskedKey(record.id),
    state: keyState(record, now),
    planId: record.planId,
    grants: record.grants,
    models: record.models,
    rpm: record.rpm,
    imageDailyLimit: record.imageDailyLimit,
    createdAt: isoTime(record.createdAt),
    expiresAt: isoTime(record.expiresAt),
    revokedAt: isoTime(record.revokedAt),
    replacedBy: record.replacedBy,
    lastUsedAt: isoTime(record.lastUsedAt),
  };
}

/** Types are strict; `null` counts as not sent. */
function check<Body>(validator: Validator<Body>, body: Readonly<Record<string, unknown>>): Body {
  const checked = validator.check(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)));
  if (checked.ok) return checked.value;
  const [issue] = checked.issues;
  if (issue?.keyword !== 'additionalProperties') throw unaccepted(issue?.path ?? '');
  const param = String(issue.params.additionalProperty).slice(0, 100);
  throw new GatewayError('unsupported_parameter', 'The body has a member that is not known here.', { param });
}

function unaccepted(param: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${ACCEPTED[param]}.`, { param });
}
