/*
 * Background batches of links: the job, its table, runner and routes. Other folders import these from here alone.
 */

export { type BatchSummary, createBatchAdmission } from './batch-jobs.js';
export { BatchLinks } from './batch-links.js';
export { type BatchRoutesServices, batchRoutes, encodeBatch } from './batch-routes.js';
export { startBatches } from './batch-runner.js';
export { Batches } from './batches.js';
export { batchPersonalRecords } from './personal-records.js';
export { batchMigrations } from './tables.js';
