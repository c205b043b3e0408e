export { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.js';
export { type Clock, drawRandomBytes, systemClock } from './clock.js';
export { endsWithin, unlessAborted, withDeadline } from './deadline.js';
export {
  type Attempt,
  boundedWait,
  DEFINITIVE_CODES,
  type DefinitiveCode,
  damagedFile,
  diskFailure,
  type ErrorCode,
  GatewayError,
  type GatewayErrorDetails,
  isDamagedFile,
  isDefinitiveCode,
  isGatewayError,
  isProcessRunning,
  isSystemError,
  isTransientCode,
  TRANSIENT_CODES,
  type TransientCode,
  withBoundedWait,
} from './errors.js';
export { folderNames, makeFolder } from './folder-names.js';
export { type LogFields, type Logger, silentLogger } from './logger.js';
export { createThrottledWarning, type PollLoop, startPollLoop } from './poll-loop.js';
export { type ListItem, SharedTimer, SwapRemoveList, type Ticking } from './swap-remove-list.js';
export { type Checked, createValidator } from './validation.js';
