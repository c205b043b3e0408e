export { addHealthRoutes, checkPlatforms, createHealth, type Health, type HealthOptions } from './health.js';
export {
  addMetricsRoute,
  createMetrics,
  type FinishedRequest,
  type MetricSources,
  type Metrics,
  type MetricsOptions,
} from './metrics.js';
export { endRequestSpan, handleInSpan, openTracing } from './tracing.js';
