export { createHealth, type Health, type HealthOptions } from './health.js';
export { addHealthRoutes } from './health-route.js';
export {
  createMetrics,
  type FinishedRequest,
  type MetricSources,
  type Metrics,
  type MetricsOptions,
} from './metrics.js';
export { addMetricsRoute } from './metrics-route.js';
export { checkPlatforms } from './platform-check.js';
export { endRequestSpan, handleInSpan } from './request-span.js';
export { openTracing } from './tracing.js';
