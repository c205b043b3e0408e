/*
 * Several processes on one port: the supervisor that keeps them running, and what a worker needs to know of the others.
 */

export { placeOf, SAME_SIGNAL_MS, type WorkerPlace } from './messages.js';
export { WorkerSiblings } from './siblings.js';
export { supervise } from './supervisor.js';
export { countWorkers } from './worker-count.js';
