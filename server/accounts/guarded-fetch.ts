import type { HttpClient } from 'mediagate';
import type { CustomFetch } from 'openid-client';

const MAX_BYTES = 1024 * 1024;

/** What the OpenID Connect client sends its requests with: the gateway's own way out, guard, deadline and cap included. */
export function createGuardedFetch(http: HttpClient): CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const answer = await http.request({
      url,
      method: method as 'GET' | 'POST',
      headers,
      ...(body != null && { body: textOf(body) }),
      signal: signal ?? undefined,
      maxBytes: MAX_BYTES,
    });
    const type = answer.headers['content-type'];
    const challenge = answer.headers['www-authenticate'];
    return new Response(bodyless(answer.status) ? null : Buffer.from(answer.body), {
      status: answer.status,
      headers: { ...(type && { 'content-type': type }), ...(challenge && { 'www-authenticate': challenge }) },
    });
  };
}

function textOf(body: unknown): string {
  if (typeof body === 'string' || body instanceof URLSearchParams) return body.toString();
  throw new TypeError('the OpenID Connect client sent a body that is no text');
}

/** Response refuses a body for these. */
function bodyless(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}
