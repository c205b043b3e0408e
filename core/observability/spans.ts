import { AsyncLocalStorage } from 'node:async_hooks';
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
import { isGatewayError } from '../runtime/index.js';

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

/** What the work at hand belongs to; it goes along wherever that work goes. */
export interface WorkScope {
  /** The request that asked for it. */
  requestId?: string;
  /** The background job that it is done for. */
  jobId?: string;
  /** The span at work, where there are traces. */
  span?: Span;
}

/*
 * Held by the process, and empty until somebody enters: a gateway that neither traces nor runs a job pays a look at it.
 * Handing scopes through every call would put them into the contract of each plugin.
 */
const scopes = new AsyncLocalStorage<WorkScope | undefined>();

/** Undefined outside of any. */
export function currentScope(): WorkScope | undefined {
  return scopes.getStore();
}

export function runInScope<Result>(scope: WorkScope, work: () => Result): Result {
  return scopes.run(scope, work);
}

/** For what goes on after the work at hand, or serves others as well. */
export function leaveScope<Result>(work: () => Result): Result {
  return scopes.getStore() === undefined ? work() : scopes.run(undefined, work);
}

/** The work as a span beneath the one at work; where there is none, the work alone. */
export function inSpan<Result>(wanted: NewSpan, work: (span: Span | undefined) => Promise<Result>): Promise<Result> {
  const opened = openSpan(wanted);
  return opened ? perform(opened, work) : work(undefined);
}

async function perform<Result>({ span, run }: OpenSpan, work: (span: Span) => Promise<Result>): Promise<Result> {
  try {
    const result = await run(() => work(span));
    span.end();
    return result;
  } catch (error) {
    span.end({ failure: failureOf(error) });
    throw error;
  }
}

/** A span whose end is up to whoever opened it. */
export interface OpenSpan {
  readonly span: Span;
  /** The work belongs to the span. */
  run<Result>(work: () => Result): Result;
}

/** Beneath the one at work; undefined where there is none. */
export function openSpan(wanted: NewSpan): OpenSpan | undefined {
  const scope = scopes.getStore();
  if (!scope?.span) return undefined;
  const span = scope.span.start(wanted);
  return { span, run: (work) => scopes.run({ ...scope, span }, work) };
}

/** A stable word for what was thrown. */
export function failureOf(error: unknown): string {
  if (isGatewayError(error)) return error.code;
  // What says more of a failure keeps it as its cause.
  if (error instanceof Error && isGatewayError(error.cause)) return error.cause.code;
  return error instanceof Error ? error.name : 'thrown';
}
