/*
 * Export and erasure of the data of a person. Other folders import these from here alone.
 */

export { type Erasure, Erasures, erasureMigrations } from './erasure.js';
export { PersonalExport } from './export.js';
export { personalRecords } from './folders.js';
export { personalDataRoutes, startErasureSweep } from './routes.js';
