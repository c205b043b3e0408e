/*
 * Health, metrics and traces of a process, for the app and for `openServer`. Other folders import these from here.
 */

export { checkPlatforms, Health, healthRoutes } from './health.js';
export { createMetrics, type Metrics, metricsRoutes } from './metrics.js';
export { endRequestSpan, handleInSpan, openTracing } from './tracing.js';
