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
import type { NewSpan, Span, SpanAttributes, Tracer } from 'mediagate';
import type { TracingSettings } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';

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
