/*
 * Metrics of requests, models and connections. Counting happens in batches of 100, because calling the Prometheus
 * library for each request takes five times as long; a scrape counts the pending batch first. A request costs a
 * microsecond or two. Label values that clients could invent, such as unknown models and methods, are counted as
 * `other`, so the number of series stays bounded. Sizes that exist anyway, such as open requests, are read at the
 * scrape and cost nothing in between.
 */

import type { ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { type ListItem, SwapRemoveList } from '../../core/runtime/index.js';
import type { Admissions, Settlement } from '../usage/index.js';
import type { AddPolledMetric, MetricSources } from './metric-sources.js';

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
export interface RequestMetrics {
  /** Call it when a request arrives; call the result when its handler has ended. */
  requestCame(response: ServerResponse): OpenRequest;
  requestDone(request: OpenRequest, done: FinishedRequest): void;
  /** Wraps the admissions so that each settled one is counted. */
  watchAdmissions(admissions: Admissions): Admissions;
  /** Counts the pending batch. */
  count(): void;
}

export function createRequestMetrics(
  { Counter, Histogram }: typeof import('prom-client'),
  registry: Registry,
  add: AddPolledMetric,
  sources: MetricSources,
): RequestMetrics {
  const registers = [registry];
  const open = new SwapRemoveList<OpenRequest>();
  let uncounted: FinishedRequest[] = [];
  /** By model, route and status: calling prom-client takes longer than summing up. */
  const uncountedUse = new Map<string, Used>();

  const requests = new Counter({
    name: 'mediagate_http_requests_total',
    help: 'Requests by route template, method and response status.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'mediagate_http_request_duration_seconds',
    help: 'Seconds from a request to the end of its handler; for streams of models, to the end of the stream.',
    labelNames: ['route', 'method'],
    buckets: BUCKETS,
    registers,
  });
  const errors = new Counter({
    name: 'mediagate_http_errors_total',
    help: 'Requests that were answered with an error, by route template and error code.',
    labelNames: ['route', 'code'],
    registers,
  });
  const rateLimitRefusals = new Counter({
    name: 'mediagate_window_refusals_total',
    help: 'Requests refused by the rate limit of their key, by route template.',
    labelNames: ['route'],
    registers,
  });
  const modelRequests = new Counter({
    name: 'mediagate_model_requests_total',
    help: 'Ended requests of model routes, without refused ones, by model, route template and status.',
    labelNames: ['model', 'route', 'status'],
    registers,
  });
  const tokens = new Counter({
    name: 'mediagate_model_tokens_total',
    help: 'Tokens of those requests, by model and direction (input, output).',
    labelNames: ['model', 'direction'],
    registers,
  });
  add({
    name: 'mediagate_open_requests',
    help: 'Requests in progress, streams of models included.',
    read: () => [[{}, open.size]],
  });
  add({
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
  add({
    name: 'mediagate_open_connections',
    help: 'Open client connections, idle ones included.',
    merge: 'sum',
    read: async () => sources.connections && [[{}, await sources.connections()]],
  });
  add({
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

  function countRequests(): void {
    const done = uncounted;
    uncounted = [];
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

  function settled({ model, route, status, usage: { inputTokens = 0, outputTokens = 0 } = {} }: Settlement): void {
    const name = `${model}\n${route}\n${status}`;
    const used = uncountedUse.get(name);
    if (used) {
      used.requests += 1;
      used.inputTokens += inputTokens;
      used.outputTokens += outputTokens;
    } else uncountedUse.set(name, { model, route, status, requests: 1, inputTokens, outputTokens });
    if (uncountedUse.size >= BATCH) countSettled();
  }

  function countSettled(): void {
    if (uncountedUse.size === 0) return;
    const known = new Set(sources.gateway?.models().map(({ id }) => id));
    for (const { model: asked, route, status, requests, inputTokens, outputTokens } of uncountedUse.values()) {
      const model = known.has(asked) ? asked : OTHER;
      modelRequests.inc({ model, route, status }, requests);
      tokens.inc({ model, direction: 'input' }, inputTokens);
      tokens.inc({ model, direction: 'output' }, outputTokens);
    }
    uncountedUse.clear();
  }

  return {
    requestCame(response) {
      const request = { listIndex: 0, response };
      open.add(request);
      return request;
    },
    requestDone(request, done) {
      open.delete(request);
      uncounted.push(done);
      if (uncounted.length >= BATCH) countRequests();
    },
    watchAdmissions: (admissions) => ({
      admit: (request) => admissions.admit(request),
      settle(settlement) {
        settled(settlement);
        admissions.settle(settlement);
      },
      release: (reservation, cost) => admissions.release(reservation, cost),
      correct: (correction) => admissions.correct(correction),
      flush: () => admissions.flush(),
      flushInTime: () => admissions.flushInTime(),
    }),
    count() {
      countRequests();
      countSettled();
    },
  };
}

function isEventStream(response: ServerResponse): boolean {
  return response.headersSent && String(response.getHeader('content-type')).startsWith('text/event-stream');
}
