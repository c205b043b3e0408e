/*
 * OpenTelemetry, as far as traces use it. The build bundles its packages into this file: an installation needs 300 kB
 * of their 19 MB.
 */

export {
  ROOT_CONTEXT,
  type Span as OtelSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api';
export { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
export { resourceFromAttributes } from '@opentelemetry/resources';
export {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
