import type { ServerResponse } from 'node:http';
import type { Admissions, Clock, Jobs, Settlement } from 'mediagate';
import type { BodyBudget } from './middleware/body-budget.js';

/** The database is asked for the sizes of queues no more often. */
const FRESH_MS = 1_000;
const LOOP_RESOLUTION_MS = 100;
/** Requests that are counted at once: one after the other, between other work, each takes five times as long. */
const BATCH = 100;
/** Seconds. A stream of a model takes minutes. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'DELETE']);
/** In place of a label's value that callers could make up. */
const OTHER = 'other';

export interface MetricsOptions {
  jobs: Pick<Jobs, 'counts'>;
  /** Ids of the models that there are; requests for others are counted together. */
  models: readonly string[];
  clock: Clock;
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

/** Figures for Prometheus. Counting takes a microsecond or two of a request; the rest is looked up when somebody asks. */
export interface Metrics {
  /** To be called when a request has come, and when its handler is done. */
  requestCame(response: ServerResponse): void;
  requestDone(response: ServerResponse, done: FinishedRequest): void;
  /** The same admissions, those that are settled counted. */
  watchAdmissions(admissions: Admissions): Admissions;
  /** What request bodies take is read from there. */
  watchBodies(bodies: BodyBudget): void;
  readonly contentType: string;
  /** What there is to say, in the text format of Prometheus; the sizes of queues are at most a second old. */
  render(): Promise<string>;
}

/** Each app has its own registry. Loads prom-client, which nothing needs where no figures are wanted. */
export async function createMetrics({ jobs, models, clock }: MetricsOptions): Promise<Metrics> {
  const { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } = await import('prom-client');
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_RESOLUTION_MS });

  const open = new Set<ServerResponse>();
  let uncounted: FinishedRequest[] = [];
  /** By model, route and status: telling prom-client takes longer than adding up. */
  const uncountedUse = new Map<string, Used>();
  const known = new Set(models);
  let bodies: BodyBudget | undefined;

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
  new Gauge({
    name: 'mediagate_open_requests',
    help: 'Requests whose handler is at work, streams of models included.',
    registers,
    collect() {
      this.set(open.size);
    },
  });
  new Gauge({
    name: 'mediagate_open_streams',
    help: 'Of them, streams of events that have begun.',
    registers,
    collect() {
      this.set([...open].filter(isEventStream).length);
    },
  });
  new Gauge({
    name: 'mediagate_jobs',
    help: 'Background jobs by kind and state, over all processes.',
    labelNames: ['kind', 'state'],
    registers,
    async collect() {
      this.reset();
      try {
        for (const [kind, { queued, running }] of Object.entries(await countJobs())) {
          this.set({ kind, state: 'queued' }, queued);
          this.set({ kind, state: 'running' }, running);
        }
      } catch {
        // The database is away, which /health says; the other figures are the more needed.
      }
    },
  });
  new Gauge({
    name: 'mediagate_request_body_room_taken_ratio',
    help: 'Of the room for request bodies up to 1 MiB, and of that for larger ones, what is taken, 0 to 1.',
    labelNames: ['size'],
    registers,
    collect() {
      const { small = 0, big = 0 } = bodies?.taken() ?? {};
      this.set({ size: 'small' }, small);
      this.set({ size: 'big' }, big);
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

  let asked: { at: number; counts: ReturnType<Jobs['counts']> } | undefined;
  function countJobs(): ReturnType<Jobs['counts']> {
    const now = clock.monotonic();
    if (!asked || now - asked.at >= FRESH_MS) asked = { at: now, counts: jobs.counts() };
    return asked.counts;
  }

  function settled({
    model: asked,
    route,
    status,
    usage: { inputTokens = 0, outputTokens = 0 } = {},
  }: Settlement): void {
    const model = known.has(asked) ? asked : OTHER;
    const name = `${model}\n${route}\n${status}`;
    const used = uncountedUse.get(name);
    if (used) {
      used.requests += 1;
      used.inputTokens += inputTokens;
      used.outputTokens += outputTokens;
    } else uncountedUse.set(name, { model, route, status, requests: 1, inputTokens, outputTokens });
  }

  function countSettled(): void {
    for (const { model, route, status, requests, inputTokens, outputTokens } of uncountedUse.values()) {
      modelRequests.inc({ model, route, status }, requests);
      tokens.inc({ model, direction: 'input' }, inputTokens);
      tokens.inc({ model, direction: 'output' }, outputTokens);
    }
    uncountedUse.clear();
  }

  return {
    requestCame: (response) => void open.add(response),
    requestDone(response, done) {
      open.delete(response);
      uncounted.push(done);
      if (uncounted.length >= BATCH) countRequests();
    },
    watchAdmissions: (admissions) => ({
      admit: (request) => admissions.admit(request),
      settle(settlement) {
        settled(settlement);
        admissions.settle(settlement);
      },
      flush: () => admissions.flush(),
    }),
    watchBodies(watched) {
      bodies = watched;
    },
    contentType: registry.contentType,
    render() {
      countRequests();
      countSettled();
      return registry.metrics();
    },
  };
}

function isEventStream(response: ServerResponse): boolean {
  return response.headersSent && String(response.getHeader('content-type')).startsWith('text/event-stream');
}
