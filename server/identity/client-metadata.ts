/*
 * What programs say of themselves, by registration (RFC 7591) or in a document at the https address that is their id.
 * Both are reduced to the same few fields: every program is a native one without a secret, which uses codes with PKCE
 * and may go back to any port of the machine if it registered a loopback address. Documents are fetched by the guarded
 * client, without redirects, within 5 s, up to 64 KiB, and are fresh from 1 minute to 1 day, as their headers say. Names
 * are texts of strangers.
 */

import type { Gateway } from 'mediagate';
import { isGatewayError } from '../../core/runtime/index.js';
import { isVisible } from '../format/index.js';

const TIMEOUT_MS = 5_000;
export const MAX_DOCUMENT_BYTES = 64 * 1024;
const MAX_URIS = 20;
const MAX_URI = 1_024;
const MAX_NAME = 100;
const MAX_ID = 1_024;
const MIN_FRESH_SECONDS = 60;
const MAX_FRESH_SECONDS = 24 * 3_600;
/** Addresses with these run or show something in the browser. */
const NO_APPS: ReadonlySet<string> = new Set(['javascript:', 'vbscript:', 'data:', 'blob:', 'file:', 'about:']);
const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Metadata of a program in the form of RFC 7591. */
export type ClientMetadata = Readonly<Record<string, unknown>>;

/** An error of RFC 7591 about the metadata. */
export class MetadataError extends Error {
  readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata';

  constructor(code: MetadataError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** The fields that count. @throws MetadataError naming what is accepted. */
export function readMetadata(sent: ClientMetadata): ClientMetadata {
  const { redirect_uris: uris, client_name: name, response_types: types } = sent;
  if (!Array.isArray(uris) || uris.length === 0 || uris.length > MAX_URIS)
    throw new MetadataError('invalid_redirect_uri', `redirect_uris must be a list of 1 to ${MAX_URIS} addresses.`);
  for (const uri of uris) checkRedirect(uri);
  if (Array.isArray(types) && types.length > 0 && !types.includes('code'))
    throw new MetadataError('invalid_client_metadata', 'response_types must include "code".');
  return {
    redirect_uris: uris,
    client_name: nameOf(name),
    application_type: 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

function checkRedirect(uri: unknown): void {
  const url = typeof uri === 'string' && uri.length <= MAX_URI ? URL.parse(uri) : null;
  const accepted =
    'an https address, http on localhost, 127.0.0.1 or [::1], or an address of an app with a scheme of its own';
  if (url === null || `${url.hash}${url.username}${url.password}` !== '')
    throw new MetadataError('invalid_redirect_uri', `Each of redirect_uris must be ${accepted}.`);
  const { protocol } = url;
  const isLoopback = LOOPBACK.has(url.hostname);
  if (protocol === 'http:' ? isLoopback : protocol === 'https:' ? !isLoopback : !NO_APPS.has(protocol)) return;
  throw new MetadataError('invalid_redirect_uri', `Each of redirect_uris must be ${accepted}.`);
}

function nameOf(name: unknown): string {
  if (typeof name !== 'string') return '';
  const visible = name
    .replace(/\p{C}+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_NAME)
    .trim()
    .toWellFormed();
  return isVisible(visible) ? visible : '';
}

/** Whether an id is the address of a metadata document: https, with a path, and nothing that can be read in two ways. */
export function isDocumentId(id: string): boolean {
  if (id.length > MAX_ID || !id.startsWith('https://')) return false;
  const url = URL.parse(id);
  return url !== null && url.pathname !== '/' && url.href === id && url.hash === '' && url.username === '';
}

/** A document that was fetched. */
export interface FetchedDocument {
  metadata: ClientMetadata;
  /** Seconds until it is fetched again. */
  freshSeconds: number;
}

/** What helps where the document cannot be fetched. */
const WAYS_OUT =
  'If the gateway needs a proxy to reach it, the operator can set EGRESS_PROXY_URL. Otherwise have the program register itself (Codex: --oauth-client-registration dcr), or connect it with an API key.';

/** Fetches the document of a program. @throws MetadataError in words for the person who wants to connect it. */
export async function fetchDocument({ httpClient }: Pick<Gateway, 'httpClient'>, id: string): Promise<FetchedDocument> {
  const request = { url: id, headers: { accept: 'application/json' }, maxRedirects: 0, maxBytes: MAX_DOCUMENT_BYTES };
  const answer = await httpClient({ timeoutMs: TIMEOUT_MS })
    .request(request)
    .catch((error: unknown) => {
      const why = isGatewayError(error) ? error.message : 'It could not be fetched.';
      const { host } = new URL(id);
      const message = `The program names itself by a document at ${host}, which this gateway cannot read: ${why} ${WAYS_OUT}`;
      throw new MetadataError('invalid_client_metadata', message);
    });
  if (answer.status !== 200)
    throw new MetadataError(
      'invalid_client_metadata',
      `The document of the program answers with status ${answer.status}; redirects are not followed.`,
    );
  const sent = parseObject(answer.text());
  if (sent?.client_id !== id)
    throw new MetadataError('invalid_client_metadata', 'client_id of the document must be its own address.');
  const { token_endpoint_auth_method: method = 'none' } = sent;
  if ('client_secret' in sent || method !== 'none')
    throw new MetadataError('invalid_client_metadata', 'token_endpoint_auth_method of the document must be "none".');
  return { metadata: { ...readMetadata(sent), client_id: id }, freshSeconds: freshSecondsOf(answer.headers) };
}

function freshSecondsOf({ 'cache-control': control = '' }: Readonly<Record<string, string>>): number {
  const seconds = Number(/(?:^|,)\s*max-age\s*=\s*(\d{1,9})/i.exec(control)?.[1] ?? MIN_FRESH_SECONDS);
  return Math.min(Math.max(seconds, MIN_FRESH_SECONDS), MAX_FRESH_SECONDS);
}

function parseObject(text: string): ClientMetadata | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as ClientMetadata) : undefined;
  } catch {
    return undefined;
  }
}

/** Where a redirect address leads, for people. */
export function describeRedirect(uri: string): { host: string; isLocal: boolean; isApp: boolean } {
  const url = new URL(uri);
  const isApp = url.protocol !== 'https:' && url.protocol !== 'http:';
  return { host: isApp ? url.protocol : url.host, isLocal: LOOPBACK.has(url.hostname), isApp };
}
