/*
 * Changes of models while the gateway runs: switched off, other weights, other prices, added servers. Other folders import
 * these from here.
 */

export { AppliedModels, entryIdOf } from './applied-models.js';
export {
  type AddedServer,
  type ChangedModel,
  ChangedModels,
  changesOf,
  MODEL_CHANGES,
  type ModelChange,
  modelChangeMigrations,
  readChangedModels,
  SERVER_FORMATS,
} from './changed-models.js';
export { createSealer, type Sealer } from './sealed-keys.js';
