/*
 * What workers that have ended had counted. Prometheus takes a counter that falls for one that began anew at 0, so the
 * counts of a worker stay in the sum of all when it has ended. Values of the moment, such as open requests, end with it.
 */

/** Topic of the questions of workers for the metrics of the others. */
export const SAMPLES = 'metrics';

/** One metric of prom-client, as `getMetricsAsJSON` gives it. */
interface Metric {
  name: string;
  type: string;
  values: readonly Value[];
}

interface Value {
  value: number;
  labels: Readonly<Record<string, string | number>>;
  /** Of histograms: the name of the series. */
  metricName?: string;
}

/**
 * Adds the counters and histograms of a worker that has ended to those of others.
 * @param before Of workers that ended before; undefined for the first one.
 * @param last The metrics that it was last asked for.
 */
export function addEndedSamples(before: unknown, last: unknown): unknown {
  const totals = new Map((before as readonly Metric[] | undefined)?.map((metric) => [metric.name, metric]));
  for (const metric of last as readonly Metric[]) {
    if (metric.type !== 'counter' && metric.type !== 'histogram') continue;
    totals.set(metric.name, {
      ...metric,
      values: sumOf([...(totals.get(metric.name)?.values ?? []), ...metric.values]),
    });
  }
  return [...totals.values()];
}

function sumOf(values: readonly Value[]): readonly Value[] {
  const sums = new Map<string, Value>();
  for (const each of values) {
    const labels = Object.entries(each.labels).sort(([one], [other]) => (one < other ? -1 : 1));
    const series = JSON.stringify([each.metricName, labels]);
    sums.set(series, { ...each, value: each.value + (sums.get(series)?.value ?? 0) });
  }
  return [...sums.values()];
}
