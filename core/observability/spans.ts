/*
 * Scopes and spans of work. A scope follows asynchronous calls and names the request, job, plugin instance and span,
 * so log lines need no parameters for them. It is shared by all copies of this module in the process, since a plugin
 * may bring its own. Without tracing, a span costs one look at the scope. Requests of plugins become spans without
 * path and query, which may contain keys, and carry the trace context only to origins that the operator configured.
 * Failures are recorded as stable codes.
 */

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
  /** Id of the plugin instance that sends the request. */
  id: string;
  /** Origins that receive the trace context of a request. */
  configuredOrigins: readonly string[];
}

/**
 * A request of a plugin instance as a span, which ends with the response headers if the body is streamed. Path and
 * query are omitted: they are private, and may contain keys.
 */
export function sendInSpan<Answer extends { status: number }>(
  request: HttpRequest,
  { id, configuredOrigins }: Sender,
  send: (request: HttpRequest) => Promise<Answer>,
): Promise<Answer> {
  // No overhead without tracing.
  return currentScope()?.span ? inSpan(HTTP_SPAN, (span) => (span ? sendTraced(span) : send(request))) : send(request);

  async function sendTraced(span: Span): Promise<Answer> {
    const { method = 'GET' } = request;
    const url = request.url instanceof URL ? request.url : URL.parse(request.url);
    span.rename(method);
    span.set({ 'http.request.method': method, 'mediagate.entry': id, ...(url && addressOf(url)) });
    // Never along a redirect, since its target is not configured.
    const isPropagated = url !== null && !request.maxRedirects && configuredOrigins.includes(url.origin);
    const answer = await send(
      isPropagated ? { ...request, headers: { ...request.headers, traceparent: span.traceparent } } : request,
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

/** A client that records each request at its answer, or at its response headers if the body is streamed. */
export function measureHttp(client: HttpClient, entry: string, meter: Meter): HttpClient {
  function measure<Answer extends { status: number }>(send: () => Promise<Answer>): Promise<Answer> {
    const begun = performance.now();
    const note = (outcome: string) => meter.upstreamAnswered({ entry, outcome, ms: performance.now() - begun });
    return send().then(
      (answer) => {
        note(`${Math.floor(answer.status / 100)}xx`);
        return answer;
      },
      (error: unknown) => {
        note(failureOf(error));
        throw error;
      },
    );
  }

  return {
    request: (request) => measure(() => client.request(request)),
    stream: (request) => measure(() => client.stream(request)),
  };
}

/** A model call, with the names of OpenTelemetry's conventions for generative AI. They are not final yet. */
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

/** A storage whose writes are spans. */
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

/** The context of the current work; it follows asynchronous calls. */
export interface WorkScope {
  /** Id of the request. */
  requestId?: string;
  /** Id of the background job. */
  jobId?: string;
  /** Id of the plugin instance that is called: work that it does not wait for belongs to it as well. */
  entry?: string;
  /** The current span, if tracing is on. */
  span?: Span;
}

/*
 * One per process. Passing scopes through every call would put them into the contract of each plugin, and an error that
 * no call waits for has no other trace of its origin.
 */
const scopes = processWide('mediagate.scopes', () => new AsyncLocalStorage<WorkScope | undefined>());

/** One value for all copies of this module in the process: a plugin may bring its own. */
function processWide<Value>(name: string, create: () => Value): Value {
  const shared = globalThis as Record<symbol, Value | undefined>;
  const key = Symbol.for(name);
  shared[key] ??= create();
  return shared[key];
}

/** Undefined outside of any scope. */
export function currentScope(): WorkScope | undefined {
  return scopes.getStore();
}

export function runInScope<Result>(scope: WorkScope, work: () => Result): Result {
  return scopes.run(scope, work);
}

/** Runs a plugin instance's code: its log lines, also those of errors after the call, name the instance. */
export function runAsEntry<Result>(entry: string, work: () => Result): Result {
  return scopes.run({ ...scopes.getStore(), entry }, work);
}

/** Runs outside of the current scope: for work that outlives it, or serves others as well. */
export function leaveScope<Result>(work: () => Result): Result {
  return scopes.getStore() === undefined ? work() : scopes.run(undefined, work);
}

/** Runs the work as a child span of the current one; without a current span, it only runs the work. */
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

/** A span that the caller must end. */
export interface OpenSpan {
  readonly span: Span;
  /** The work belongs to the span. */
  run<Result>(work: () => Result): Result;
}

/** A child of the current span; undefined if there is none. */
export function openSpan(wanted: NewSpan): OpenSpan | undefined {
  const scope = scopes.getStore();
  if (!scope?.span) return undefined;
  const span = scope.span.start(wanted);
  return { span, run: (work) => scopes.run({ ...scope, span }, work) };
}

/** A stable word for what was thrown. */
export function failureOf(error: unknown): string {
  if (isGatewayError(error)) return error.code;
  // A more specific failure keeps the original as its cause.
  if (error instanceof Error && isGatewayError(error.cause)) return error.cause.code;
  return error instanceof Error ? error.name : 'thrown';
}
