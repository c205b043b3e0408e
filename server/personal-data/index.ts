export { createErasures, type Erasure, type Erasures, erasureMigrations } from './erasure.js';
export { createPersonalExport, type PersonalExport } from './export.js';
export { personalDataRoutes, startErasureSweep } from './routes.js';
