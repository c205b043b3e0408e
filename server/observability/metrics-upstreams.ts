import type { Meter, UpstreamState } from 'mediagate';
import type { Registry } from 'prom-client';
import type { AddLookedUp, Figure } from './metrics-figures.js';
import type { MetricSources } from './metrics-sources.js';

/** Requests that are counted at once. */
const BATCH = 100;
/** Seconds until the header of an answer, or its end. */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300];

type Answered = Parameters<Meter['upstreamAnswered']>[0];

export interface UpstreamFigures extends Pick<Meter, 'upstreamAnswered' | 'extractionAnswered'> {
  /** Counts what has not been counted yet. */
  count(): void;
}

/** Figures of what the gateway asks others, and of how those do. */
export function createUpstreamFigures(
  { Counter, Histogram }: typeof import('prom-client'),
  registry: Registry,
  add: AddLookedUp,
  sources: MetricSources,
): UpstreamFigures {
  const registers = [registry];
  let uncounted: Answered[] = [];

  const answers = new Histogram({
    name: 'mediagate_upstream_request_duration_seconds',
    help: 'Seconds of each request of a plugin entry, by outcome: 2xx to 5xx, or an error code; of streams, until the header.',
    labelNames: ['entry', 'outcome'],
    buckets: BUCKETS,
    registers,
  });
  const extractions = new Counter({
    name: 'mediagate_extractions_total',
    help: 'Items that were given out, by platform and cache: hit, miss (asked for now), stale (the source is out).',
    labelNames: ['platform', 'cache'],
    registers,
  });

  const perUpstream = (value: (state: UpstreamState) => number): Figure[] | undefined =>
    sources.gateway
      ?.plugins()
      .flatMap(({ id: entry, upstreams }) =>
        upstreams.map((state): Figure => [{ entry, upstream: state.name }, value(state)]),
      );
  const labelNames = ['entry', 'upstream'];
  add({
    name: 'mediagate_upstream_tries_total',
    help: 'Tries at each upstream of a model entry.',
    labelNames,
    total: true,
    look: () => perUpstream(({ tries }) => tries),
  });
  add({
    name: 'mediagate_upstream_failures_total',
    help: 'Of them, those that failed other than by the fault of a caller.',
    labelNames,
    total: true,
    look: () => perUpstream(({ failures }) => failures),
  });
  add({
    name: 'mediagate_upstream_resting',
    help: '1 while an upstream is left alone after failing: its circuit is open, or it asked us to wait.',
    labelNames,
    look: () => perUpstream(({ resting }) => (resting ? 1 : 0)),
  });
  add({
    name: 'mediagate_rung_resting',
    help: '1 while a way to a platform is left alone after failing; ways that this gateway lacks are left out.',
    labelNames: ['platform', 'rung'],
    look: () =>
      sources.gateway
        ?.platforms()
        .flatMap(({ key: platform, rungs }) =>
          rungs.flatMap(({ name: rung, available, rest }): Figure[] =>
            available ? [[{ platform, rung }, rest ? 1 : 0]] : [],
          ),
        ),
  });

  function count(): void {
    const done = uncounted;
    uncounted = [];
    for (const { entry, outcome, ms } of done) answers.observe({ entry, outcome }, ms / 1000);
  }

  return {
    upstreamAnswered(answered) {
      uncounted.push(answered);
      if (uncounted.length >= BATCH) count();
    },
    extractionAnswered: ({ platform, cache }) => extractions.inc({ platform, cache }),
    count,
  };
}
