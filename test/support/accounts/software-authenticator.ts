/*
 * An authenticator in software, for ceremonies of WebAuthn without a browser: it makes ES256 passkeys and signs with them
 * as the standard says, and wrongly where a test asks for it. It counts signatures only if it is told to.
 */

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

export interface CeremonyOptions {
  /** What the browser says its page is. Default: that of the authenticator. */
  origin?: string;
  /** Host name that the passkey is bound to. Default: that of the origin. */
  host?: string;
  /** Default: that of the options. */
  challenge?: string;
  /** Whether the person was verified. Default true. */
  verified?: boolean;
  /** Counter that is signed. Default: the next one, or 0 if it does not count. */
  counter?: number;
}

interface PublicKeyOptions {
  challenge: string;
  user?: { id: string };
}

export interface SoftwareAuthenticator {
  /** Id of the passkey, base64url. */
  readonly id: string;
  /** The answer of `navigator.credentials.create`, as JSON. */
  register(options: PublicKeyOptions, wrong?: CeremonyOptions): Record<string, unknown>;
  /** The answer of `navigator.credentials.get`, as JSON. */
  signIn(options: PublicKeyOptions, wrong?: CeremonyOptions): Record<string, unknown>;
}

const USER_PRESENT = 0x01;
const USER_VERIFIED = 0x04;
const HAS_CREDENTIAL = 0x40;

export function createSoftwareAuthenticator(origin: string, isCounting = false): SoftwareAuthenticator {
  const credential = randomBytes(32);
  const id = credential.toString('base64url');
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  let counter = 0;
  let userHandle = '';

  function clientData(type: string, { challenge }: PublicKeyOptions, wrong: CeremonyOptions): Buffer {
    const data = { type, challenge: wrong.challenge ?? challenge, origin: wrong.origin ?? origin, crossOrigin: false };
    return Buffer.from(JSON.stringify(data));
  }

  function authenticatorData(flags: number, wrong: CeremonyOptions, rest = Buffer.alloc(0)): Buffer {
    if (isCounting) counter += 1;
    const host = wrong.host ?? new URL(wrong.origin ?? origin).hostname;
    const head = Buffer.alloc(5);
    head[0] = flags | USER_PRESENT | (wrong.verified === false ? 0 : USER_VERIFIED);
    head.writeUInt32BE(wrong.counter ?? counter, 1);
    return Buffer.concat([sha256(Buffer.from(host)), head, rest]);
  }

  return {
    id,
    register(options, wrong = {}) {
      userHandle = options.user?.id ?? '';
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credential.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, credential, coseKey(publicKey)]);
      const authData = authenticatorData(HAS_CREDENTIAL, wrong, attested);
      const attestationObject = cborMap([
        [text('fmt'), text('none')],
        [text('attStmt'), cborMap([])],
        [text('authData'), bytes(authData)],
      ]);
      const response = {
        clientDataJSON: clientData('webauthn.create', options, wrong).toString('base64url'),
        attestationObject: attestationObject.toString('base64url'),
        transports: ['internal'],
      };
      return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
    },
    signIn(options, wrong = {}) {
      const data = clientData('webauthn.get', options, wrong);
      const authData = authenticatorData(0, wrong);
      const response = {
        clientDataJSON: data.toString('base64url'),
        authenticatorData: authData.toString('base64url'),
        signature: sign('sha256', Buffer.concat([authData, sha256(data)]), privateKey).toString('base64url'),
        userHandle,
      };
      return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
    },
  };
}

function sha256(data: Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}

/** The public key in COSE, RFC 9053: EC2, ES256, P-256. */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' });
  return cborMap([
    [integer(1), integer(2)],
    [integer(3), integer(-7)],
    [integer(-1), integer(1)],
    [integer(-2), bytes(Buffer.from(x, 'base64url'))],
    [integer(-3), bytes(Buffer.from(y, 'base64url'))],
  ]);
}

/* The parts of CBOR, RFC 8949, that are needed: heads of one or two bytes. */
function head(major: number, value: number): Buffer {
  return value < 24 ? Buffer.from([(major << 5) | value]) : Buffer.from([(major << 5) | 24, value]);
}
const integer = (value: number) => (value >= 0 ? head(0, value) : head(1, -1 - value));
const bytes = (value: Buffer) => Buffer.concat([head(2, value.length), value]);
const text = (value: string) => Buffer.concat([head(3, value.length), Buffer.from(value)]);
const cborMap = (entries: readonly (readonly [Buffer, Buffer])[]) =>
  Buffer.concat([head(5, entries.length), ...entries.flat()]);
