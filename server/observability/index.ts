export { checkPlatforms, createHealth, type Health, healthRoutes } from './health.js';
export { createMetrics, type Metrics, metricsRoutes } from './metrics.js';
export { endRequestSpan, handleInSpan, openTracing } from './tracing.js';
