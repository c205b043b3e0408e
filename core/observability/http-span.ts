import type { HttpRequest, NewSpan, Span } from '../contracts/index.js';
import { currentScope, inSpan } from './work-scope.js';

export interface Sender {
  /** Of the entry that asks. */
  id: string;
  /** Origins that are told which trace the request belongs to. */
  configuredOrigins: readonly string[];
}

/**
 * A request of an entry as a span, which ends with the answer's header where the body is handed over as it comes. Path and
 * query stay out of it: they name what somebody looks at, and may hold keys.
 */
export function sendInSpan<Answer extends { status: number }>(
  request: HttpRequest,
  { id, configuredOrigins }: Sender,
  send: (request: HttpRequest) => Promise<Answer>,
): Promise<Answer> {
  // Nothing is made for what nobody traces.
  return currentScope()?.span ? inSpan(HTTP_SPAN, (span) => (span ? sendTraced(span) : send(request))) : send(request);

  async function sendTraced(span: Span): Promise<Answer> {
    const { method = 'GET' } = request;
    const url = request.url instanceof URL ? request.url : URL.parse(request.url);
    span.rename(method);
    span.set({ 'http.request.method': method, 'mediagate.entry': id, ...(url && addressOf(url)) });
    // Never along a redirect, whose target nobody configured.
    const isTold = url !== null && !request.maxRedirects && configuredOrigins.includes(url.origin);
    const answer = await send(
      isTold ? { ...request, headers: { ...request.headers, traceparent: span.traceparent } } : request,
    );
    const { status } = answer;
    span.set({ 'http.response.status_code': status, ...(status >= 400 && { 'error.type': String(status) }) });
    return answer;
  }
}

const HTTP_SPAN: NewSpan = { name: 'HTTP', kind: 'client' };

function addressOf({ hostname, port, protocol }: URL) {
  const scheme = protocol.slice(0, -1);
  return {
    'url.scheme': scheme,
    'server.address': hostname,
    'server.port': Number(port || (scheme === 'https' ? 443 : 80)),
  };
}
