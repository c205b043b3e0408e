import type { ServerResponse } from 'node:http';
import { type Placed, SwapRemoveList } from 'mediagate';
import type { Registry } from 'prom-client';
import type { Admissions, Settlement } from '../usage/index.js';
import type { AddLookedUp, MetricSources } from './metrics.js';

/** Requests that are counted at once: one after the other, between other work, each takes five times as long. */
const BATCH = 100;
/** Seconds. A stream of a model takes minutes. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE']);
/** In place of a label's value that callers could make up. */
const OTHER = 'other';

/** A request whose handler is at work. */
export interface OpenRequest extends Placed {
  response: ServerResponse;
}

/** A request whose answer is on its way. */
export interface FinishedRequest {
  /** Template; undefined where there is no such route. */
  route: string | undefined;
  method: string;
  status: number;
  /** Milliseconds from the request until its handler was done. */
  ms: number;
  /** Of the error that was answered. */
  code?: string;
  /** Whether the answer says how the window of a key stands. */
  hasWindow: boolean;
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

/** Figures of requests. Counting takes a microsecond or two of a request. */
export interface RequestFigures {
  /** To be called when a request has come, and when its handler is done. */
  requestCame(response: ServerResponse): OpenRequest;
  requestDone(request: OpenRequest, done: FinishedRequest): void;
  /** The same admissions, those that are settled counted. */
  watchAdmissions(admissions: Admissions): Admissions;
  /** Counts what has not been counted yet. */
  count(): void;
}

export function createRequestFigures(
  { Counter, Histogram }: typeof import('prom-client'),
  registry: Registry,
  add: AddLookedUp,
  sources: MetricSources,
): RequestFigures {
  const registers = [registry];
  const open = new SwapRemoveList<OpenRequest>();
  let uncounted: FinishedRequest[] = [];
  /** By model, route and status: telling prom-client takes longer than adding up. */
  const uncountedUse = new Map<string, Used>();

  const requests = new Counter({
    name: 'mediagate_http_requests_total',
    help: 'Requests by route template, method and status of the answer.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'mediagate_http_request_duration_seconds',
    help: 'Seconds from a request until its handler was done; for streams of models, until the end of the stream.',
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
  const windowRefusals = new Counter({
    name: 'mediagate_window_refusals_total',
    help: 'Requests that found no free slot in the rolling minute of their key, by route template.',
    labelNames: ['route'],
    registers,
  });
  const modelRequests = new Counter({
    name: 'mediagate_model_requests_total',
    help: 'Requests of model routes that were admitted and have ended, by model, route template and status.',
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
    help: 'Requests whose handler is at work, streams of models included.',
    look: () => [[{}, open.size]],
  });
  add({
    name: 'mediagate_open_streams',
    help: 'Of them, streams of events that have begun.',
    look() {
      let streams = 0;
      open.visit(({ response }) => {
        if (isEventStream(response)) streams += 1;
      });
      return [[{}, streams]];
    },
  });
  add({
    name: 'mediagate_open_connections',
    help: 'Connections of clients that are open, idle ones included.',
    look: async () => sources.connections && [[{}, await sources.connections()]],
  });
  add({
    name: 'mediagate_request_body_room_taken_ratio',
    help: 'Of the room for request bodies up to 1 MiB, and of that for larger ones, what is taken, 0 to 1.',
    labelNames: ['size'],
    look() {
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
    for (const { route = '(none)', method: sent, status, ms, code, hasWindow } of done) {
      const method = METHODS.has(sent) ? sent : OTHER;
      requests.inc({ route, method, status });
      durations.observe({ route, method }, ms / 1000);
      if (code === undefined) continue;
      errors.inc({ route, code });
      // Polls that come too often and guessed keys are told the same code, without a word about a window.
      if (code === 'rate_limit_exceeded' && hasWindow) windowRefusals.inc({ route });
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
      const request = { place: 0, response };
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
