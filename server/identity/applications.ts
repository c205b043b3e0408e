/*
 * The applications of `SIGN_IN_APPS`, which sign people in with the accounts of the gateway (OpenID Connect). The operator
 * names them, so no page asks for consent. Their client secrets follow from the newest key pepper and the name: none is
 * stored, all nodes know the same, and another pepper ends them.
 */

import { hkdfSync, type KeyObject } from 'node:crypto';
import type { SignInApp } from '../accounts/index.js';
import type { ClientMetadata } from './client-metadata.js';

/** What an application may ask for. */
export const APPLICATION_SCOPES = ['openid', 'profile', 'email'] as const;
const SECRET_BYTES = 32;

/** The client secret of an application. @param secret That of the newest key pepper. */
export function applicationSecret(secret: KeyObject, name: string): string {
  const bytes = hkdfSync('sha256', secret, '', `mediagate application ${name}`, SECRET_BYTES);
  return Buffer.from(bytes).toString('base64url');
}

/** Undefined if no application has this client id. */
export function findApplication(
  { applications, secret }: { applications: readonly SignInApp[]; secret: KeyObject },
  id: string,
): ClientMetadata | undefined {
  const found = applications.find(({ name }) => name === id);
  return (
    found && {
      client_id: found.name,
      client_name: found.name,
      client_secret: applicationSecret(secret, found.name),
      redirect_uris: found.redirectUris,
      application_type: 'web',
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_post',
      id_token_signed_response_alg: 'ES256',
    }
  );
}

/** The scopes that an application gets: the id of the user always. */
export function readApplicationScope(scope: string | null): readonly string[] {
  const named = new Set(scope?.split(' '));
  return APPLICATION_SCOPES.filter((one) => one === 'openid' || named.has(one));
}

/** Name and secret in the header of an application (RFC 6749, 2.3.1). Undefined if it has none, or another form. */
export function readClientHeader(header: string | undefined): { client_id: string; client_secret: string } | undefined {
  const [, encoded] = /^Basic +([A-Za-z0-9+/=_-]{1,1024})$/i.exec(header ?? '') ?? [];
  if (encoded === undefined) return undefined;
  const [, id = '', secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? [];
  try {
    return { client_id: decodePart(id), client_secret: decodePart(secret) };
  } catch {
    return undefined;
  }
}

function decodePart(text: string): string {
  return decodeURIComponent(text.replaceAll('+', ' '));
}
