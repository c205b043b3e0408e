/*
 * The OpenTelemetry variables that the gateway supports, in the form of its other settings. A variable for traces comes
 * after the general one and overrides it. Only OTLP over HTTP is offered, as protobuf or JSON. Names and values of
 * headers and attributes are percent-decoded, and headers must be sendable; their values are secrets and are redacted
 * in the log. Without an endpoint, or if the exporter or the SDK is disabled, tracing is off and OpenTelemetry is not
 * loaded.
 */

import { decimal, type GivenSettings, list, oneOf, type Setting, webAddress, wholeNumber } from './setting-values.js';

const PROTOCOLS = ['http/protobuf', 'http/json'] as const;
const EXPORTERS = ['otlp', 'none'] as const;
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

/** A variable for traces overrides the general one, so it comes later. */
export const TRACING_SETTINGS = [
  {
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    unset: 'none: tracing is off',
    description: 'Trace collector; `/v1/traces` is appended.',
    read: (text) => ({ otlpEndpoint: `${webAddress(text)}/v1/traces` }),
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    unset: 'none',
    description: 'The same for traces only, with its path.',
    read: (text) => ({ otlpEndpoint: webAddress(text) }),
  },
  ...pair(
    'HEADERS',
    'none',
    'Header fields of each export, `name=value,…`, percent-encoded; the values are secrets.',
    (text) => ({ otlpHeaders: headerFields(text) }),
  ),
  ...pair('PROTOCOL', 'http/protobuf', 'How they are sent: `http/protobuf`, `http/json`.', (text) => ({
    otlpProtocol: oneOf(text, PROTOCOLS),
  })),
  ...pair('TIMEOUT', '10000', 'Milliseconds for one export.', (text) => ({
    otlpTimeoutMs: wholeNumber(text, 1, 600_000),
  })),
  {
    name: 'OTEL_TRACES_EXPORTER',
    unset: 'otlp',
    description: '`none` disables tracing.',
    read: (text) => ({ tracesExporter: oneOf(text, EXPORTERS) }),
  },
  {
    name: 'OTEL_SDK_DISABLED',
    unset: 'false',
    description: '`true` disables tracing.',
    read: (text) => ({ otelDisabled: oneOf(text, ['true', 'false']) === 'true' }),
  },
  {
    name: 'OTEL_SERVICE_NAME',
    unset: 'mediagate',
    description: 'Name of the service in traces.',
    read: (text) => ({ serviceName: text }),
  },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    unset: 'none',
    description: 'Further resource attributes of traces, `name=value,…`, percent-encoded.',
    read: (text) => ({ resourceAttributes: pairs(text) }),
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    unset: 'parentbased_always_on',
    description: `Sampler of traces: ${SAMPLERS.map((sampler) => `\`${sampler}\``).join(', ')}.`,
    read: (text) => ({ sampler: oneOf(text, SAMPLERS) }),
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    unset: '1',
    description: 'Share of the traces for the samplers by ratio, 0 to 1.',
    read: (text) => ({ samplerRatio: decimal(text, 0, 1) }),
  },
  {
    name: 'OTEL_BSP_SCHEDULE_DELAY',
    unset: '5000',
    description: 'Milliseconds that a finished span waits for others.',
    read: (text) => ({ spanDelayMs: wholeNumber(text, 1, 600_000) }),
  },
  {
    name: 'OTEL_BSP_MAX_QUEUE_SIZE',
    unset: '2048',
    description: 'Finished spans that may wait; more are dropped, and counted.',
    read: (text) => ({ spanQueueSize: wholeNumber(text, 1, 100_000) }),
  },
  {
    name: 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    unset: '512',
    description: 'Spans of one export.',
    read: (text) => ({ spanBatchSize: wholeNumber(text, 1, 10_000) }),
  },
] as const satisfies readonly Setting[];

/** The settings of tracing; nothing is set by default. */
export interface TracingSettings extends GivenSettings<(typeof TRACING_SETTINGS)[number]> {}

function pair<Part extends object>(what: string, fallback: string, description: string, read: (text: string) => Part) {
  return [
    { name: `OTEL_EXPORTER_OTLP_${what}`, unset: fallback, description, read },
    { name: `OTEL_EXPORTER_OTLP_TRACES_${what}`, unset: 'as above', description: 'The same for traces only.', read },
  ];
}

function pairs(text: string): Readonly<Record<string, string>> {
  const entries = list(text).map((part): [string, string] => {
    const [, name, value] = /^([^\s=]+)\s*=\s*(.*)$/.exec(part) ?? [];
    if (name === undefined || value === undefined) throw new Error('name=value, several separated by commas');
    return [decoded(name), decoded(value)];
  });
  return Object.fromEntries(entries);
}

function headerFields(text: string): Readonly<Record<string, string>> {
  const fields = pairs(text);
  const isSendable = ([name, value]: [string, string]) =>
    /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(value);
  if (!Object.entries(fields).every(isSendable)) throw new Error('name=value of header fields, separated by commas');
  return fields;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('percent-encoded where it holds what is not plain');
  }
}

/** Whether tracing is enabled. */
export function isTracing(settings: TracingSettings): settings is TracingSettings & { otlpEndpoint: string } {
  return settings.otlpEndpoint !== undefined && !settings.otelDisabled && settings.tracesExporter !== 'none';
}
