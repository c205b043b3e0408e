export { checkPlatforms, createHealth, type Health, type HealthOptions, healthRoutes } from './health.js';
export {
  createMetrics,
  type FinishedRequest,
  type MetricSources,
  type Metrics,
  type MetricsOptions,
  metricsRoutes,
} from './metrics.js';
export { endRequestSpan, handleInSpan, openTracing } from './tracing.js';
