import { type Logger, openHttpClient, type Tracer } from 'mediagate';
import { isTracing, type TracingSettings } from '../settings/index.js';
import { createBatchQueue } from './batch-queue.js';
import { createSpanExport } from './span-export.js';

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
  const { createOtelTracer, encodeSpans } = await import('./open-telemetry.js');
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
