/*
 * Traces with OpenTelemetry. The library's processor collects spans in batches, and this file sends them with the
 * gateway's own HTTP client, because the library's exporters have a client of their own that repeats requests. A
 * failure loses the spans of its batch and nothing else: it is counted, logged once for each outage, and not retried.
 * Spans beyond the queue are dropped and counted. Values are cut at 256 characters. At the end of the process, the
 * collector has 3 s to take the rest.
 */

import { randomUUID } from 'node:crypto';
import { openHttpClient } from 'mediagate';
import type { HttpClient, NewSpan, Span, SpanAttributes, Tracer } from '../../core/contracts/index.js';
import { leaveScope } from '../../core/observability/index.js';
import type { Logger } from '../../core/runtime/index.js';
import type { TracingSettings } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  JsonTraceSerializer,
  type OtelSpan,
  ParentBasedSampler,
  ProtobufTraceSerializer,
  type ReadableSpan,
  ROOT_CONTEXT,
  resourceFromAttributes,
  type Sampler,
  type SpanContext,
  type SpanExporter,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  TraceIdRatioBasedSampler,
  TracerProvider,
  trace,
} from './opentelemetry.js';

const TIMEOUT_MS = 10_000;
const DELAY_MS = 5_000;
const QUEUE_SIZE = 2_048;
const BATCH_SIZE = 512;
/** Maximum wait for a collector at the end of the process. */
const CLOSE_MS = 3_000;

/**
 * OpenTelemetry traces. Its processor collects the spans in batches; they are sent with the gateway's own HTTP client.
 */
export async function openOtelTracing(settings: TracingSettings & { otlpEndpoint: string }, logger: Logger) {
  const { otlpEndpoint: endpoint, otlpHeaders: headers = {}, otlpProtocol: protocol = 'http/protobuf' } = settings;
  const { otlpTimeoutMs: timeoutMs = TIMEOUT_MS, spanQueueSize = QUEUE_SIZE, spanBatchSize = BATCH_SIZE } = settings;
  const { client, close } = await openHttpClient({ timeoutMs, trustedOrigins: [new URL(endpoint).origin] });
  const counts = { sent: 0, failed: 0, dropped: 0 };
  const exporter = createExporter({ client, endpoint, headers, protocol, timeoutMs, counts, logger });
  const batches = new BatchSpanProcessor({
    exporter,
    maxQueueSize: spanQueueSize,
    maxExportBatchSize: Math.min(spanBatchSize, spanQueueSize),
    scheduledDelayMillis: settings.spanDelayMs ?? DELAY_MS,
    // The request ends earlier, by its own timeout.
    exportTimeoutMillis: 2 * timeoutMs,
  });
  let ended = 0;
  return {
    tracer: createOtelTracer(settings, (span) => {
      // The processor also drops spans in this case, but does not report how many.
      if (ended - exporter.begun() >= spanQueueSize) counts.dropped += 1;
      else {
        ended += 1;
        batches.onEnd(span);
      }
    }),
    spans: () => ({ ...counts }),
    async close() {
      const timeout = setTimeout(exporter.abort, CLOSE_MS);
      await batches.shutdown();
      clearTimeout(timeout);
      await close();
    },
  };
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

/** A span that has ended. */
export type EndedSpan = ReadableSpan;

/** @param onEnd Called with each sampled span when it has ended. */
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

/** Undefined if it is no `traceparent`, or one of an incompatible version. */
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

/** Only the status of a collector's response is used. */
const MAX_ANSWER_BYTES = 64 * 1024;

interface ExporterOptions {
  client: HttpClient;
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  protocol: 'http/protobuf' | 'http/json';
  timeoutMs: number;
  /** Spans by result; counted here. */
  counts: { sent: number; failed: number };
  logger: Logger;
}

interface Exporter extends SpanExporter {
  /** Spans that were sent or are being sent. */
  begun(): number;
  /** Aborts all running and later requests. */
  abort(): void;
}

/**
 * Sends batches to the collector. A failure loses the spans of its batch and nothing else: it is counted, and there is
 * no retry. OpenTelemetry's own exporters have an HTTP client of their own, which repeats requests.
 */
function createExporter({ client, endpoint, headers, protocol, timeoutMs, counts, logger }: ExporterOptions): Exporter {
  const isJson = protocol === 'http/json';
  const serializer = isJson ? JsonTraceSerializer : ProtobufTraceSerializer;
  const contentType = isJson ? 'application/json' : 'application/x-protobuf';
  const end = new AbortController();
  const sending = new Set<Promise<void>>();
  let begun = 0;
  let isFailing = false;

  /** Undefined if the collector accepted them. */
  async function post(spans: ReadableSpan[]): Promise<{ status?: number; error?: unknown } | undefined> {
    try {
      const { status } = await client.request({
        url: endpoint,
        method: 'POST',
        headers: { ...headers, 'content-type': contentType },
        body: serializer.serializeRequest(spans),
        timeoutMs,
        maxBytes: MAX_ANSWER_BYTES,
        signal: end.signal,
      });
      return status < 300 ? undefined : { status };
    } catch (error) {
      return { error };
    }
  }

  async function send(spans: ReadableSpan[]): Promise<void> {
    const failure = await post(spans);
    const count = spans.length;
    counts[failure ? 'failed' : 'sent'] += count;
    // Once per outage, not per batch.
    if (failure && !isFailing) logger.warn('the trace collector does not accept spans', { ...failure, count });
    if (!failure && isFailing) logger.info('the trace collector accepts spans again');
    isFailing = failure !== undefined;
  }

  return {
    begun: () => begun,
    abort: () => end.abort(new Error('There is no time left.')),
    export(spans, done) {
      begun += spans.length;
      // A request started the timer of the processor; the batch does not belong to that request.
      const sent = leaveScope(() => send(spans)).finally(() => sending.delete(sent));
      sending.add(sent);
      // The processor cannot handle a failure.
      void sent.then(() => done({ code: 0 }));
    },
    // At its end the processor waits for its own batches, but not for earlier ones.
    shutdown: async () => void (await Promise.all(sending)),
  };
}
