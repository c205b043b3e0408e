export { absentBrowser, absentSoundFilters, absentStorage, silentLogger } from './absent.js';
export { systemClock } from './clock.js';
export { damagedFile, isDamagedFile } from './damaged-file.js';
export { withDeadline } from './deadline.js';
export {
  type Attempt,
  boundedWait,
  DEFINITIVE_CODES,
  type DefinitiveCode,
  type ErrorCode,
  GatewayError,
  type GatewayErrorDetails,
  isDefinitiveCode,
  isGatewayError,
  isTransientCode,
  TRANSIENT_CODES,
  type TransientCode,
  withBoundedWait,
} from './errors.js';
export { folderNames, makeFolder } from './folder-names.js';
export { startLifetime } from './lifetime.js';
export { startPatience } from './patience.js';
export { type Placed, PlacedList } from './placed-list.js';
export { drawRandomBytes } from './random-bytes.js';
export { createRareWarning } from './rare-warning.js';
export { type Rounds, startRounds } from './rounds.js';
export { diskFailure, isProcessRunning, isSystemError } from './system-error.js';
export { unlessAborted } from './unless-aborted.js';
export { type Checked, createValidator } from './validation.js';
