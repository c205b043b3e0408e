import type {
  HttpClient,
  HttpRequest,
  Meter,
  NewSpan,
  Span,
  SpanAttributes,
  Storage,
  Usage,
} from '../contracts/index.js';
import { currentScope, failureOf, inSpan } from './work-scope.js';

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

/** The same client; each request is told of when it has its answer, or the answer's header where the body is handed over. */
export function measureHttp(client: HttpClient, entry: string, meter: Meter): HttpClient {
  async function measure<Answer extends { status: number }>(send: () => Promise<Answer>): Promise<Answer> {
    const begun = performance.now();
    let outcome = 'unknown';
    try {
      const answer = await send();
      outcome = `${Math.floor(answer.status / 100)}xx`;
      return answer;
    } catch (error) {
      outcome = failureOf(error);
      throw error;
    } finally {
      meter.upstreamAnswered({ entry, outcome, ms: performance.now() - begun });
    }
  }

  return {
    request: (request) => measure(() => client.request(request)),
    stream: (request) => measure(() => client.stream(request)),
  };
}

/** Work of a model, as OpenTelemetry's conventions for generative AI name it. They are not final yet. */
export function modelSpan(operation: string, model: string, entry: string): NewSpan {
  return {
    name: `${operation} ${model}`,
    kind: 'client',
    attributes: { 'gen_ai.operation.name': operation, 'gen_ai.request.model': model, 'mediagate.entry': entry },
  };
}

export function usageAttributes({ inputTokens, outputTokens }: Usage = {}): SpanAttributes {
  return { 'gen_ai.usage.input_tokens': inputTokens, 'gen_ai.usage.output_tokens': outputTokens };
}

/** The same files; what is written is a span. */
export function writeInSpans(storage: Storage): Storage {
  return {
    write: (file) =>
      inSpan({ name: 'file put', attributes: { 'mediagate.content_type': file.contentType } }, async (span) => {
        const source = await storage.write(file);
        span?.set({ 'mediagate.file.source': source });
        return source;
      }),
    read: (name, range) => storage.read(name, range),
    stat: (name) => storage.stat(name),
    delete: (name) => storage.delete(name),
  };
}
