/*
 * Export and erasure of the data of a person. Other folders import these from here alone.
 */

export { createErasures, type Erasure, type Erasures, erasureMigrations } from './erasure.js';
export { createPersonalExport, type PersonalExport } from './export.js';
export { personalDataRoutes, startErasureSweep } from './routes.js';
