/*
 * Metrics of requests, models and connections. Counting happens in batches of 100, because calling the Prometheus
 * library for each request takes five times as long; a scrape counts the pending batch first. A request costs a
 * microsecond or two. Label values that clients could invent, such as unknown models and methods, are counted as
 * `other`, so the number of series stays bounded. Sizes that exist anyway, such as open requests, are read at the
 * scrape and cost nothing in between.
 */

import type { ServerResponse } from 'node:http';
import { type ListItem, SwapRemoveList } from '../../core/runtime/index.js';
import type { Settlement } from '../usage/index.js';
import type { MetricSources, MetricsRegistry } from './metrics-registry.js';

/** Requests counted in one batch: counting each separately, between other work, takes five times as long. */
const BATCH = 100;
/** Seconds. A stream of a model takes minutes. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE']);
/** Replaces label values that callers could invent. */
const OTHER = 'other';

/** A request with a running handler. */
export interface OpenRequest extends ListItem {
  response: ServerResponse;
}

/** A request while its answer is being sent. */
export interface FinishedRequest {
  /** Route template; undefined if there is no such route. */
  route: string | undefined;
  method: string;
  status: number;
  /** Milliseconds from the request to the end of its handler. */
  ms: number;
  /** Code of the error that was sent. */
  code?: string;
  /** Whether the answer contains rate-limit headers. */
  hasRateLimit: boolean;
}

/** Requests of a model and route that ended with the same status. */
interface Used {
  model: string;
  route: string;
  status: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
}

/** Metrics of requests. Counting takes a microsecond or two per request. */
export class RequestMetrics {
  readonly #counters: ReturnType<typeof countersOf>;
  readonly #sources: MetricSources;
  readonly #open = new SwapRemoveList<OpenRequest>();
  #uncounted: FinishedRequest[] = [];
  /** By model, route and status: calling prom-client takes longer than summing up. */
  readonly #uncountedUse = new Map<string, Used>();

  constructor(metrics: MetricsRegistry, sources: MetricSources) {
    this.#counters = countersOf(metrics);
    this.#sources = sources;
    this.#poll(metrics);
  }

  /** Call it when a request arrives. */
  came(response: ServerResponse): OpenRequest {
    const request = { listIndex: 0, response };
    this.#open.add(request);
    return request;
  }

  /** Call it when the handler of a request has ended. */
  done(request: OpenRequest, done: FinishedRequest): void {
    this.#open.delete(request);
    this.#uncounted.push(done);
    if (this.#uncounted.length >= BATCH) this.#countRequests();
  }

  /** Call it when a request of a model is settled. */
  settled({ model, route, status, usage: { inputTokens = 0, outputTokens = 0 } = {} }: Settlement): void {
    const uncounted = this.#uncountedUse;
    const name = `${model}\n${route}\n${status}`;
    const used = uncounted.get(name);
    if (used) {
      used.requests += 1;
      used.inputTokens += inputTokens;
      used.outputTokens += outputTokens;
    } else uncounted.set(name, { model, route, status, requests: 1, inputTokens, outputTokens });
    if (uncounted.size >= BATCH) this.#countSettled();
  }

  /** Counts the pending batch. */
  count(): void {
    this.#countRequests();
    this.#countSettled();
  }

  #countRequests(): void {
    const { requests, durations, errors, rateLimitRefusals } = this.#counters;
    const done = this.#uncounted;
    this.#uncounted = [];
    for (const { route = '(none)', method: sent, status, ms, code, hasRateLimit } of done) {
      const method = METHODS.has(sent) ? sent : OTHER;
      requests.inc({ route, method, status });
      durations.observe({ route, method }, ms / 1000);
      if (code === undefined) continue;
      errors.inc({ route, code });
      // Excessive polls and guessed keys get the same error code, without rate-limit headers.
      if (code === 'rate_limit_exceeded' && hasRateLimit) rateLimitRefusals.inc({ route });
    }
  }

  #countSettled(): void {
    if (this.#uncountedUse.size === 0) return;
    const { modelRequests, tokens } = this.#counters;
    const known = new Set(this.#sources.gateway?.models().map(({ id }) => id));
    for (const { model: asked, route, status, requests, inputTokens, outputTokens } of this.#uncountedUse.values()) {
      const model = known.has(asked) ? asked : OTHER;
      modelRequests.inc({ model, route, status }, requests);
      tokens.inc({ model, direction: 'input' }, inputTokens);
      tokens.inc({ model, direction: 'output' }, outputTokens);
    }
    this.#uncountedUse.clear();
  }

  /** Adds what is read at each scrape. */
  #poll(metrics: MetricsRegistry): void {
    const open = this.#open;
    const sources = this.#sources;
    metrics.poll({
      name: 'mediagate_open_requests',
      help: 'Requests in progress, streams of models included.',
      read: () => [[{}, open.size]],
    });
    metrics.poll({
      name: 'mediagate_open_streams',
      help: 'Event streams in progress.',
      read() {
        let streams = 0;
        open.visit(({ response }) => {
          if (isEventStream(response)) streams += 1;
        });
        return [[{}, streams]];
      },
    });
    metrics.poll({
      name: 'mediagate_open_connections',
      help: 'Open client connections, idle ones included.',
      merge: 'sum',
      read: async () => sources.connections && [[{}, await sources.connections()]],
    });
    metrics.poll({
      name: 'mediagate_request_body_room_taken_ratio',
      help: 'Used share (0 to 1) of the memory for request bodies, by size: up to 1 MiB, and larger.',
      labelNames: ['size'],
      read() {
        const { small = 0, big = 0 } = sources.bodies?.taken() ?? {};
        return [
          [{ size: 'small' }, small],
          [{ size: 'big' }, big],
        ];
      },
    });
  }
}

function countersOf(metrics: MetricsRegistry) {
  return {
    requests: metrics.counter(
      'mediagate_http_requests_total',
      'Requests by route template, method and response status.',
      ['route', 'method', 'status'],
    ),
    durations: metrics.histogram(
      'mediagate_http_request_duration_seconds',
      'Seconds from a request to the end of its handler; for streams of models, to the end of the stream.',
      ['route', 'method'],
      BUCKETS,
    ),
    errors: metrics.counter(
      'mediagate_http_errors_total',
      'Requests that were answered with an error, by route template and error code.',
      ['route', 'code'],
    ),
    rateLimitRefusals: metrics.counter(
      'mediagate_window_refusals_total',
      'Requests refused by the rate limit of their key, by route template.',
      ['route'],
    ),
    modelRequests: metrics.counter(
      'mediagate_model_requests_total',
      'Ended requests of model routes, without refused ones, by model, route template and status.',
      ['model', 'route', 'status'],
    ),
    tokens: metrics.counter(
      'mediagate_model_tokens_total',
      'Tokens of those requests, by model and direction (input, output).',
      ['model', 'direction'],
    ),
  };
}

function isEventStream(response: ServerResponse): boolean {
  return response.headersSent && String(response.getHeader('content-type')).startsWith('text/event-stream');
}
