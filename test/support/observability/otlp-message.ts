/** Reads messages of the OpenTelemetry protocol. */

/** A span as a collector gets it. */
export interface CollectedSpan {
  traceId: string;
  spanId: string;
  /** Empty where it begins a trace. */
  parentSpanId: string;
  name: string;
  /** Of OTLP: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  kind: number;
  /** Nanoseconds since 1970. */
  startedAt: bigint;
  endedAt: bigint;
  /** Of OTLP: 2 is an error. */
  status: number;
  attributes: Attributes;
  /** Of the process. */
  resource: Attributes;
}

type Attributes = Readonly<Record<string, string | number | boolean>>;

/** Reads an export of traces in JSON. */
export function readJsonTraces(body: Buffer): CollectedSpan[] {
  const { resourceSpans } = JSON.parse(body.toString()) as JsonExport;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: span.kind,
        startedAt: BigInt(span.startTimeUnixNano),
        endedAt: BigInt(span.endTimeUnixNano),
        status: span.status?.code ?? 0,
        attributes: readJsonAttributes(span.attributes),
        resource: readJsonAttributes(resource?.attributes),
      })),
    ),
  );
}

interface JsonAttribute {
  key: string;
  value: { stringValue?: string; intValue?: string | number; doubleValue?: number; boolValue?: boolean };
}

interface JsonExport {
  resourceSpans: readonly {
    resource?: { attributes?: readonly JsonAttribute[] };
    scopeSpans: readonly {
      spans: readonly {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        status?: { code?: number };
        attributes?: readonly JsonAttribute[];
      }[];
    }[];
  }[];
}

function readJsonAttributes(attributes: readonly JsonAttribute[] = []): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
      key,
      stringValue ?? boolValue ?? doubleValue ?? Number(intValue),
    ]),
  );
}

/** Reads an export of traces in protobuf (opentelemetry/proto/collector/trace/v1). */
export function readProtobufTraces(body: Buffer): CollectedSpan[] {
  return messages(body, 1).flatMap((resourceSpans) => {
    const resource = readAttributes(messages(resourceSpans, 1).flatMap((one) => messages(one, 1)));
    return messages(resourceSpans, 2)
      .flatMap((scopeSpans) => messages(scopeSpans, 2))
      .map((span) => readSpan(span, resource));
  });
}

function readSpan(span: Buffer, resource: Attributes): CollectedSpan {
  const hex = (field: number) => messages(span, field)[0]?.toString('hex') ?? '';
  const nanoseconds = (field: number) => messages(span, field)[0]?.readBigUInt64LE() ?? 0n;
  const status = messages(span, 15)[0];
  return {
    traceId: hex(1),
    spanId: hex(2),
    parentSpanId: hex(4),
    name: messages(span, 5)[0]?.toString() ?? '',
    kind: number(span, 6),
    startedAt: nanoseconds(7),
    endedAt: nanoseconds(8),
    status: status ? number(status, 3) : 0,
    attributes: readAttributes(messages(span, 9)),
    resource,
  };
}

function readAttributes(pairs: readonly Buffer[]): Attributes {
  return Object.fromEntries(
    pairs.map((pair) => {
      const value = messages(pair, 2)[0] ?? Buffer.alloc(0);
      const text = messages(value, 1)[0];
      const double = messages(value, 4)[0];
      const flag = fields(value).find(({ field }) => field === 2);
      const plain = text?.toString() ?? double?.readDoubleLE() ?? (flag ? flag.number === 1n : number(value, 3));
      return [messages(pair, 1)[0]?.toString() ?? '', plain];
    }),
  );
}

interface Field {
  field: number;
  /** Of a varint. */
  number?: bigint;
  /** Of whatever has bytes. */
  bytes?: Buffer;
}

/** @throws Error where it is no protobuf. */
function fields(message: Buffer): Field[] {
  const found: Field[] = [];
  let at = 0;
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = message.readUInt8(at++);
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (length: number): Buffer => {
    if (at + length > message.length) throw new Error('a message is cut');
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = Number(varint());
    const field = tag >> 3;
    const wire = tag & 7;
    if (wire === 0) found.push({ field, number: varint() });
    else if (wire === 1) found.push({ field, bytes: bytes(8) });
    else if (wire === 2) found.push({ field, bytes: bytes(Number(varint())) });
    else if (wire === 5) found.push({ field, bytes: bytes(4) });
    else throw new Error(`a field has wire type ${wire}`);
  }
  return found;
}

function messages(message: Buffer, wanted: number): Buffer[] {
  return fields(message).flatMap(({ field, bytes }) => (field === wanted && bytes ? [bytes] : []));
}

function number(message: Buffer, wanted: number): number {
  return Number(fields(message).find(({ field }) => field === wanted)?.number ?? 0n);
}
