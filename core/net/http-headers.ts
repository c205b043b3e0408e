/** Fields that are between two neighbours (RFC 9110 7.6.1), what older clients send in their place, and the host. */
export const HOP_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Fields that describe the connection or the framing, which are the transport's business. */
const OURS = new Set([...HOP_FIELDS, 'content-length', 'expect']);

/** What the transport can undo. */
const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';

/** Fields by which a caller proves who it is; only the origin they were meant for may see them. */
const CREDENTIAL = /auth|cookie|token|secret|session|signature|credential|passw|(?:^|[-_])key(?:$|[-_])|apikey/;

export type HeaderFields = Readonly<Record<string, string>>;

/** The caller's fields as they will be sent. */
export function requestFields(headers: HeaderFields = {}): Record<string, string> {
  const fields: Record<string, string> = { 'accept-encoding': ACCEPT_ENCODING };
  for (const name in headers) {
    const value = headers[name];
    const lower = name.toLowerCase();
    if (value !== undefined && !OURS.has(lower)) fields[lower] = value;
  }
  return fields;
}

export function withoutCredentials(headers: HeaderFields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIAL.test(name)));
}

/** For a request that has lost its body. */
export function withoutContentFields(headers: HeaderFields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));
}

/** Fields of one name in one string. Commas occur inside cookies, so those are kept apart by line feeds. */
export function responseFields(received: Readonly<Record<string, string | string[] | undefined>>): HeaderFields {
  const fields: Record<string, string> = {};
  for (const name in received) {
    const value = received[name];
    fields[name] = Array.isArray(value) ? value.join(name === 'set-cookie' ? '\n' : ', ') : (value ?? '');
  }
  return fields;
}
