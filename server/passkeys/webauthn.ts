/*
 * The ceremonies of WebAuthn, checked by @simplewebauthn/server, which the build bundles into this file. A passkey is
 * discoverable, and the authenticator must verify the person (fingerprint, face or PIN), since it is the only factor.
 * No attestation is requested: which device it is does not matter. The signature counter must grow, unless it is 0 on
 * both sides, as it is for authenticators that do not count.
 */

import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';

/** Where a ceremony takes place. */
export interface CeremonyPlace {
  /** Scheme, host and port of the pages. */
  origin: string;
  /** Host name without a port: passkeys are bound to it. */
  host: string;
}

export interface RegistrationStart {
  place: CeremonyPlace;
  /** Name of the site, which the browser shows. */
  siteName: string;
  user: { id: string; name: string };
  /** Base64url. */
  challenge: string;
  /** Passkeys of the user, so that one device registers once. */
  known: readonly { id: string; transports: readonly string[] }[];
}

/** A passkey that was just registered. */
export interface NewPasskey {
  id: string;
  publicKey: string;
  counter: number;
  transports: readonly string[];
  kind: 'synced' | 'device';
}

/** A stored passkey, for the check of a signature. */
export interface KnownPasskey {
  id: string;
  publicKey: string;
  counter: number;
}

/** Ed25519, ES256 and RS256 of COSE: what authenticators have. The default asks Node for more, which it warns about. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = 300_000;
const MAX_TRANSPORTS = 8;

/** Options for `navigator.credentials.create`, in the form of JSON. */
export function startRegistration({ place, siteName, user, challenge, known }: RegistrationStart): Promise<object> {
  return generateRegistrationOptions({
    rpName: siteName,
    rpID: place.host,
    userID: Uint8Array.from(Buffer.from(user.id)),
    userName: user.name,
    userDisplayName: user.name,
    challenge: Uint8Array.from(Buffer.from(challenge, 'base64url')),
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: known.map(({ id, transports }) => ({ id, transports: [...transports] })),
    supportedAlgorithmIDs: ALGORITHMS,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/** @throws Error that says what is wrong with it, for the log of debugging. */
export async function finishRegistration(
  credential: object,
  challenge: string,
  { origin, host }: CeremonyPlace,
): Promise<NewPasskey> {
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    response: credential as RegistrationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: host,
    requireUserVerification: true,
    supportedAlgorithmIDs: ALGORITHMS,
  });
  if (!verified) throw new Error('the attestation is not valid');
  const { credential: made, credentialDeviceType } = registrationInfo;
  return {
    id: made.id,
    publicKey: Buffer.from(made.publicKey).toString('base64url'),
    counter: made.counter,
    transports: (made.transports ?? []).filter((each) => /^[a-z-]{1,20}$/.test(each)).slice(0, MAX_TRANSPORTS),
    kind: credentialDeviceType === 'multiDevice' ? 'synced' : 'device',
  };
}

/** Options for `navigator.credentials.get`: any passkey of the host. */
export function startSignIn({ host }: CeremonyPlace, challenge: string): Promise<object> {
  return generateAuthenticationOptions({
    rpID: host,
    challenge: Uint8Array.from(Buffer.from(challenge, 'base64url')),
    timeout: TIMEOUT_MS,
    userVerification: 'required',
  });
}

/** @returns The new value of the counter. @throws Error as {@link finishRegistration}. */
export async function finishSignIn(
  credential: object,
  challenge: string,
  { origin, host }: CeremonyPlace,
  { id, publicKey, counter }: KnownPasskey,
): Promise<number> {
  const { verified, authenticationInfo } = await verifyAuthenticationResponse({
    response: credential as AuthenticationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: host,
    credential: { id, publicKey: Uint8Array.from(Buffer.from(publicKey, 'base64url')), counter },
    requireUserVerification: true,
  });
  if (!verified) throw new Error('the signature is not valid');
  return authenticationInfo.newCounter;
}
