/*
 * Bodies and answers of the routes of invitations and passkeys, and the limits that they share. A credential is passed to
 * the library as the browser encodes it in JSON. Unknown fields of the own bodies are refused.
 */

import { field, optional, type Static, type TSchema, Type } from '../../core/contracts/index.js';
import { createValidator, GatewayError } from '../../core/runtime/index.js';
import { isVisible } from '../format/index.js';
import { AnyObject, Count, Nullable, OneOf, Text, Time } from '../http/index.js';
import { MAX_PERSON_NAME } from './invitations.js';
import { MAX_PASSKEY_NAME, type PasskeyRecord } from './passkeys.js';

export const MAX_BODY_BYTES = 16_384;

const strict = { additionalProperties: false } as const;
const Credential = field(AnyObject, 'The credential of the browser, in the form of JSON (`toJSON()`).');
const Secret = field(Type.String({ maxLength: 100 }), 'What follows `#` in the link.');

export const InvitationBody = Type.Object({ invitation: Secret }, strict);
export const AcceptanceStartBody = Type.Object(
  {
    invitation: Secret,
    name: optional(Type.String({ maxLength: MAX_PERSON_NAME }), 'Name of a new user, for people.'),
  },
  strict,
);
export const CredentialBody = Type.Object({ credential: Credential }, strict);
export const NameBody = Type.Object(
  { name: field(Type.String({ maxLength: MAX_PASSKEY_NAME }), 'Name of the passkey, for people.') },
  strict,
);
export const CodeBody = Type.Object(
  { code: field(Type.String({ maxLength: 100 }), 'A recovery code; dashes, blanks and case make no difference.') },
  strict,
);

export const OptionsSchema = Type.Object({
  publicKey: field(AnyObject, 'Options for `navigator.credentials`, in the form of JSON.'),
});
export const InvitationSchema = Type.Object({
  role: field(OneOf('operator', 'billing', 'member'), 'Role of the user.'),
  name: field(Nullable(Text), 'Suggested name. Null without one.'),
  replaces: field(Type.Boolean(), 'Whether it replaces the passkeys of an existing user.'),
  expiresAt: field(Time, 'When it expires (RFC 3339).'),
});
export const PasskeySchema = Type.Object({
  id: field(Text, 'Id of the passkey.'),
  name: field(Text, 'Name, for people.'),
  kind: field(OneOf('synced', 'device'), '`synced` between devices of the user, or of one `device`.'),
  host: field(Text, 'Host name that it works at.'),
  createdAt: field(Time, 'When it was registered (RFC 3339).'),
  lastUsedAt: field(Nullable(Time), 'Last sign-in with it (RFC 3339). Null if it was never used.'),
});
export const PasskeysSchema = Type.Object({
  passkeys: field(Type.Array(PasskeySchema), 'Oldest first.'),
  recoveryCodesLeft: field(Count, 'Unused recovery codes.'),
});
export const SignedInSchema = Type.Object({
  user: field(Type.Object({ id: field(Text, 'Id of the user.') }), 'The signed-in user.'),
});
export const CodesSchema = Type.Object({
  recoveryCodes: field(Type.Array(Text), 'Shown only once; each works once.'),
  text: field(Text, 'The same, one code a line.'),
});
export const AcceptedSchema = Type.Object({ ...SignedInSchema.properties, ...CodesSchema.properties });

/** @returns A reader of bodies. It throws GatewayError `invalid_value`, `unsupported_parameter`. */
export function readerOf<Schema extends TSchema>(schema: Schema): (body: unknown) => Static<Schema> {
  const validator = createValidator(schema);
  return (body) => {
    const checked = validator.check(body);
    if (checked.ok) return checked.value as Static<Schema>;
    const [issue] = checked.issues;
    if (issue?.keyword === 'additionalProperties') {
      const param = String(issue.params.additionalProperty).slice(0, 100);
      throw new GatewayError('unsupported_parameter', 'The body has an unknown field.', { param });
    }
    const missing = issue?.keyword === 'required' ? String(issue.params.missingProperty) : undefined;
    const param = missing ?? issue?.path.split(/[.[/]/)[0] ?? '';
    throw new GatewayError('invalid_value', `${param} ${missing ? 'is missing' : issue?.message}.`, { param });
  };
}

export function encodePasskey({ createdAt, lastUsedAt, ...passkey }: PasskeyRecord) {
  const time = (at: number) => new Date(at).toISOString();
  return { ...passkey, createdAt: time(createdAt), lastUsedAt: lastUsedAt === null ? null : time(lastUsedAt) };
}

export function encodeCodes(recoveryCodes: readonly string[]) {
  return { recoveryCodes, text: recoveryCodes.join('\n') };
}

/** @throws GatewayError `invalid_value`. */
export function readPasskeyName(text: string): string {
  const name = text.trim();
  if (isVisible(name) && name.length <= MAX_PASSKEY_NAME) return name;
  const message = `name must be 1 to ${MAX_PASSKEY_NAME} visible characters.`;
  throw new GatewayError('invalid_value', message, { param: 'name' });
}

const SYSTEMS = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'Mac'],
  [/CrOS/, 'Chromebook'],
  [/Linux/, 'Linux'],
] as const;
const BROWSERS = [
  [/Edg(e|A|iOS)?\//, 'Edge'],
  [/Firefox\/|FxiOS\//, 'Firefox'],
  [/Chrome\/|CriOS\/|Chromium\//, 'Chrome'],
  [/Safari\//, 'Safari'],
] as const;

/** A name for a new passkey: the system and the browser of the request. */
export function nameOfDevice(userAgent = ''): string {
  const found = [SYSTEMS, BROWSERS].flatMap((list) => list.find(([pattern]) => pattern.test(userAgent))?.[1] ?? []);
  return found.length === 0 ? 'Passkey' : found.join(', ');
}
