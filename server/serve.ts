/*
 * Decides how many processes `mediagate serve` has. One process serves by itself; of several, this one supervises, and
 * each worker comes here as well and serves. What serves is loaded only where something does, so that the supervisor
 * stays small.
 */

import type { ServeOptions } from './main.js';
import { withoutSettingsFile } from './settings/index.js';
import { countWorkers, placeOf, supervise, WorkerSiblings } from './workers/index.js';

/** Serves until a signal, with the number of workers of the settings. Resolves with the exit code. */
export async function serve(options: ServeOptions): Promise<number> {
  const { settings, environment, role } = options;
  const place = placeOf(environment);
  // A process that only runs jobs has no requests to share.
  const count = place || role === 'worker' ? 1 : countWorkers(settings.workers);
  if (count === 1) {
    const { serveHere } = await import('./main.js');
    return serveHere(options, place && { place, siblings: new WorkerSiblings() });
  }
  const { addEndedSamples, SAMPLES } = await import('./observability/ended-samples.js');
  const { host, port, metricsHost, metricsPort } = settings;
  return supervise({
    count,
    // Each worker reads the file itself, as it is when the worker starts.
    environment: withoutSettingsFile(environment),
    // Only counters outlast their worker; what else workers are asked for ends with them, or is in the database.
    addEnded: (topic, before, last) => (topic === SAMPLES ? addEndedSamples(before, last) : undefined),
    ports: {
      product: { host, port },
      ...(metricsPort !== undefined && { metrics: { host: metricsHost, port: metricsPort } }),
    },
  });
}
