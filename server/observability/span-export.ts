import { type HttpClient, type Logger, leaveScope } from 'mediagate';

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
