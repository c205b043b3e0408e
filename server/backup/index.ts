/*
 * Backup, restore, migration and import of a state, for the CLI and `doctor`. The heavy parts are loaded with their
 * first use.
 */

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
