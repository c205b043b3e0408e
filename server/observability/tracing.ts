import { randomUUID } from 'node:crypto';
import {
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import {
  type HttpClient,
  type Logger,
  leaveScope,
  type NewSpan,
  openHttpClient,
  runInScope,
  type Span,
  type SpanAttributes,
  type Tracer,
} from 'mediagate';
import { endsWithin } from '../../core/runtime/index.js';
import type { RequestContext } from '../http/index.js';
import { isTracing, type TracingSettings } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';

const TIMEOUT_MS = 10_000;
const DELAY_MS = 5_000;
const QUEUE_SIZE = 2_048;
const BATCH_SIZE = 512;
/** A collector that is away does not keep the gateway from ending. */
const CLOSE_MS = 3_000;

export interface Tracing {
  readonly tracer: Tracer;
  /** Finished spans by what became of them, since the start. */
  spans(): { sent: number; failed: number; dropped: number };
  /** Sends what waits, for a moment. Idempotent. */
  close(): Promise<void>;
}

/** Undefined where the settings name no collector: nothing is loaded then. */
export async function openTracing(settings: TracingSettings, logger: Logger): Promise<Tracing | undefined> {
  if (!isTracing(settings)) return undefined;
  const { createOtelTracer, encodeSpans } = await import('./tracing.js');
  const { otlpEndpoint: endpoint, otlpHeaders: headers = {}, otlpProtocol: protocol = 'http/protobuf' } = settings;
  const { otlpTimeoutMs: timeoutMs = TIMEOUT_MS } = settings;
  const { client, close } = await openHttpClient({ timeoutMs, trustedOrigins: [new URL(endpoint).origin] });
  const contentType = protocol === 'http/json' ? 'application/json' : 'application/x-protobuf';
  const out = createSpanExport({ client, endpoint, headers, contentType, timeoutMs, logger });
  const queue = createBatchQueue<Parameters<typeof encodeSpans>[0][number]>({
    most: settings.spanQueueSize ?? QUEUE_SIZE,
    batch: settings.spanBatchSize ?? BATCH_SIZE,
    delayMs: settings.spanDelayMs ?? DELAY_MS,
    send: (spans, signal) => out.send(encodeSpans(spans, protocol), spans.length, signal),
  });
  return {
    tracer: createOtelTracer(settings, (span) => queue.add(span)),
    spans: () => ({ ...out.spans, dropped: queue.dropped }),
    async close() {
      await queue.close(CLOSE_MS);
      await close();
    },
  };
}

/** Asked every few seconds by whoever watches the gateway. */
const UNTRACED = /^\/(?:health|metrics)(?:\/|$)/;
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** A request as a span, which goes on with the trace of its `traceparent`. Everything done for it belongs to that. */
export function handleInSpan(
  tracer: Tracer,
  context: RequestContext,
  handle: () => Promise<unknown>,
): Promise<unknown> {
  const { requestId } = context.state;
  if (UNTRACED.test(context.path)) return handle();
  const parent = context.req.headers.traceparent;
  const span = tracer.start({
    name: methodOf(context),
    kind: 'server',
    attributes: {
      'http.request.method': methodOf(context),
      'url.scheme': 'http',
      'mediagate.request.id': requestId,
    },
    ...(typeof parent === 'string' && { parent }),
  });
  context.state.span = span;
  return runInScope({ requestId, span }, handle);
}

/** @param route Template: a path as sent may hold what only its caller knows, as signed links do. */
export function endRequestSpan(span: Span, context: RequestContext, route: string | undefined): void {
  const { res: response, state } = context;
  const { statusCode: status } = response;
  if (route !== undefined) span.rename(`${methodOf(context)} ${route}`);
  span.set({
    'http.route': route,
    // A template without places for names is the path.
    'url.path': route !== undefined && !/[:*{(]/.test(route) ? route : undefined,
    'http.response.status_code': status,
    'mediagate.key.id': state.key?.id,
    ...(status >= 400 && { 'error.type': state.errorCode ?? String(status) }),
  });
  // What a caller did wrong is no failure of the server's.
  span.end(status >= 500 ? { failure: state.errorCode ?? String(status) } : {});
}

function methodOf({ method }: RequestContext): string {
  return METHODS.has(method) ? method : '_OTHER';
}

/** Longer values are cut. */
const MAX_VALUE_LENGTH = 256;
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:$|-)/;

const KINDS: Readonly<Record<NonNullable<NewSpan['kind']>, SpanKind>> = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
};

/** A span that has ended, for {@link encodeSpans}. */
export type EndedSpan = ReadableSpan;

/** @param onEnd Told of each span that is to be sent, when it has ended. */
export function createOtelTracer(settings: TracingSettings, onEnd: (span: EndedSpan) => void): Tracer {
  const provider = new TracerProvider({
    sampler: samplerOf(settings),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_LENGTH },
    resource: resourceFromAttributes({
      'service.version': PACKAGE_VERSION,
      'service.instance.id': randomUUID(),
      'process.pid': process.pid,
      'service.name': 'mediagate',
      ...settings.resourceAttributes,
      ...(settings.serviceName !== undefined && { 'service.name': settings.serviceName }),
    }),
    spanProcessors: [
      {
        onStart: () => undefined,
        onEnd(span) {
          if (span.spanContext().traceFlags & TraceFlags.SAMPLED) onEnd(span);
        },
        forceFlush: async () => undefined,
        shutdown: async () => undefined,
      },
    ],
  });
  const tracer = provider.getTracer('mediagate', PACKAGE_VERSION);

  function start(
    { name, kind = 'internal', attributes = {}, startedAt }: NewSpan,
    parent: SpanContext | undefined,
  ): Span {
    const options = { kind: KINDS[kind], attributes: { ...attributes }, startTime: startedAt };
    const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
    return adapt(tracer.startSpan(name, options, context));
  }

  function adapt(span: OtelSpan): Span {
    const own = span.spanContext();
    const { traceId, spanId, traceFlags } = own;
    return {
      traceId,
      spanId,
      traceparent: `00-${traceId}-${spanId}-${traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`,
      start: (wanted) => start(wanted, own),
      rename: (name) => void span.updateName(name),
      set: (attributes: SpanAttributes) => void span.setAttributes(attributes),
      end({ failure, endedAt } = {}) {
        if (failure !== undefined) span.setAttribute('error.type', failure).setStatus({ code: SpanStatusCode.ERROR });
        span.end(endedAt);
      },
    };
  }

  return { start: ({ parent, ...wanted }) => start(wanted, parent === undefined ? undefined : readParent(parent)) };
}

/** Undefined where it is no `traceparent`, or one of a version whose first part is not ours. */
function readParent(traceparent: string): SpanContext | undefined {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true };
}

function samplerOf({ sampler = 'parentbased_always_on', samplerRatio = 1 }: TracingSettings): Sampler {
  const root = sampler.endsWith('always_on')
    ? new AlwaysOnSampler()
    : sampler.endsWith('always_off')
      ? new AlwaysOffSampler()
      : new TraceIdRatioBasedSampler(samplerRatio);
  return sampler.startsWith('parentbased') ? new ParentBasedSampler({ root }) : root;
}

/** As OTLP has them. */
export function encodeSpans(spans: readonly EndedSpan[], protocol: 'http/protobuf' | 'http/json'): Uint8Array {
  const serializer = protocol === 'http/json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  const body = serializer.serializeRequest([...spans]);
  if (!body) throw new Error('spans could not be encoded');
  return body;
}

/** What a collector answers is not of interest beyond its status. */
const MAX_ANSWER_BYTES = 64 * 1024;

export interface SpanExportOptions {
  client: HttpClient;
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  contentType: string;
  timeoutMs: number;
  logger: Logger;
}

/** Spans by what became of them. */
export interface ExportedSpans {
  sent: number;
  failed: number;
}

export interface SpanExport {
  readonly spans: Readonly<ExportedSpans>;
  /** Never rejects: a collector that is away costs spans and nothing else. */
  send(body: Uint8Array, count: number, signal: AbortSignal): Promise<void>;
}

/** The way to the collector. It is not tried again: what it does not take at once is lost, and counted. */
export function createSpanExport(options: SpanExportOptions): SpanExport {
  const { client, endpoint, headers, contentType, timeoutMs, logger } = options;
  const spans: ExportedSpans = { sent: 0, failed: 0 };
  let isFailing = false;

  /** Undefined where the collector took them. */
  async function post(
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<{ status?: number; error?: unknown } | undefined> {
    try {
      const { status } = await client.request({
        url: endpoint,
        method: 'POST',
        headers: { ...headers, 'content-type': contentType },
        body,
        timeoutMs,
        maxBytes: MAX_ANSWER_BYTES,
        signal,
      });
      return status < 300 ? undefined : { status };
    } catch (error) {
      return { error };
    }
  }

  return {
    spans,
    // The timer that sends them was set by some request, which this is no part of.
    send: (body, count, signal) =>
      leaveScope(async () => {
        const failure = await post(body, signal);
        spans[failure ? 'failed' : 'sent'] += count;
        // Once, not for each batch of an outage.
        if (failure && !isFailing) logger.warn('the collector of traces does not take them', { ...failure, count });
        if (!failure && isFailing) logger.info('the collector of traces takes them again');
        isFailing = failure !== undefined;
      }),
  };
}

export interface BatchQueueOptions<Item> {
  /** Items that may wait; more are dropped. */
  most: number;
  /** Items that are sent together. */
  batch: number;
  /** Milliseconds that an item waits for others. */
  delayMs: number;
  /** One at a time; never rejects. */
  send(items: readonly Item[], signal: AbortSignal): Promise<void>;
}

export interface BatchQueue<Item> {
  /** Never waits. */
  add(item: Item): void;
  /** Items there was no room for. */
  readonly dropped: number;
  /** Sends what waits, for at most so many milliseconds; then gives up. Idempotent. */
  close(patienceMs: number): Promise<void>;
}

/** Sends items together, without ever holding up whoever adds them. */
export function createBatchQueue<Item>({ most, batch, delayMs, send }: BatchQueueOptions<Item>): BatchQueue<Item> {
  let waiting: Item[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let sending: Promise<void> | undefined;
  let closing: Promise<void> | undefined;
  const end = new AbortController();

  async function flush(least: number): Promise<void> {
    while (waiting.length >= least && !end.signal.aborted) {
      const items = waiting.slice(0, batch);
      waiting = waiting.slice(batch);
      await send(items, end.signal);
    }
  }

  function start(least: number): void {
    clearTimeout(timer);
    timer = undefined;
    sending ??= flush(least).finally(() => {
      sending = undefined;
      if (waiting.length > 0 && !closing) arm();
    });
  }

  function arm(): void {
    timer ??= setTimeout(start, delayMs, 1).unref();
  }

  async function drain(patienceMs: number): Promise<void> {
    clearTimeout(timer);
    await endsWithin(patienceMs, async () => {
      await sending;
      await flush(1);
    });
    end.abort(new Error('There is no time left.'));
    dropped += waiting.length;
    waiting = [];
  }

  return {
    add(item) {
      if (closing || waiting.length >= most) {
        dropped += 1;
        return;
      }
      waiting.push(item);
      if (waiting.length >= batch) start(batch);
      else arm();
    },
    get dropped() {
      return dropped;
    },
    close(patienceMs) {
      closing ??= drain(patienceMs);
      return closing;
    },
  };
}
