export type { Progress } from './backup.js';
export {
  backUpState,
  importState,
  isStateThere,
  migrateState,
  readDifferences,
  readSchema,
  restoreState,
  type SchemaStatus,
} from './maintenance.js';
