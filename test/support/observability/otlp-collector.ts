/** A collector of traces that decodes and stores received spans. */

import type { IncomingHttpHeaders } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { extendOrigin, type OriginServer, startOrigin } from '../links/origin-server.js';
import { until } from '../until.js';
import { type CollectedSpan, readJsonTraces, readProtobufTraces } from './otlp-message.js';

export type { CollectedSpan } from './otlp-message.js';

/** What the collector does with an export: takes it, answers with a status, or never answers. */
export type CollectorBehaviour = 'take' | 'hang' | { status: number };

/** A collector of traces on loopback that understands both forms of OTLP over HTTP. */
export interface OtlpCollector extends OriginServer {
  /** All that were taken. */
  readonly spans: readonly CollectedSpan[];
  /** Of each export, whatever became of it. */
  readonly exports: readonly { path: string; headers: IncomingHttpHeaders; body: Buffer }[];
  behave(behaviour: CollectorBehaviour): void;
  /** The first span of the name, once it is there. */
  span(name: string): Promise<CollectedSpan>;
}

export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const exports: { path: string; headers: IncomingHttpHeaders; body: Buffer }[] = [];
  let behaviour: CollectorBehaviour = 'take';

  const origin = await startOrigin(async (request, response) => {
    const body = await buffer(request);
    exports.push({ path: request.url ?? '', headers: request.headers, body });
    if (behaviour === 'hang') return;
    if (behaviour !== 'take') {
      response.writeHead(behaviour.status).end();
      return;
    }
    const isJson = request.headers['content-type'] === 'application/json';
    spans.push(...(isJson ? readJsonTraces(body) : readProtobufTraces(body)));
    response.setHeader('content-type', String(request.headers['content-type']));
    response.end(isJson ? '{}' : undefined);
  });

  return extendOrigin(origin, {
    spans,
    exports,
    behave(next: CollectorBehaviour) {
      behaviour = next;
    },
    span: (name: string) => until(() => spans.find((span) => span.name === name)),
  });
}
