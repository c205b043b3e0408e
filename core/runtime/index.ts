/*
 * The base of all other folders: errors, deadlines, clocks, circuit breakers, validation, server-sent events and the
 * interface of the log.
 * It imports nothing of core.
 */

export { ArrivedBody, MAX_ARRIVED_BYTES } from './arrived-body.js';
export { CircuitBreaker, CoolDown, type Cooling } from './circuit-breaker.js';
export { closePort } from './close-port.js';
export {
  BAD_REQUEST,
  CONFLICT,
  type DeclaredCodes,
  declareErrors,
  type ErrorClass,
  FORBIDDEN,
  GONE,
  NOT_FOUND,
  OVERLOADED,
  SOURCE_FAILED,
  SOURCE_TIMEOUT,
  UNAUTHENTICATED,
  WAIT,
} from './error-declarations.js';
export {
  type Attempt,
  boundedWait,
  damagedFile,
  diskFailure,
  ERROR_CODES,
  ERRORS,
  type ErrorCode,
  type ErrorCodes,
  GatewayError,
  type GatewayErrorDetails,
  isDamagedFile,
  isDefinitiveCode,
  isGatewayError,
  isProcessRunning,
  isSystemError,
  isTransientCode,
  missingPackageError,
  type UpstreamWords,
  withBoundedWait,
} from './errors.js';
export { withFileLock } from './file-lock.js';
export { folderNames, makeFolder } from './folder-names.js';
export {
  asArray,
  asBoolean,
  asCount,
  asId,
  asNumber,
  asPositive,
  asRecord,
  asRecords,
  asString,
  at,
  type FindLimits,
  findAll,
  firstLine,
  isRecord,
  type JsonRecord,
  literalEnd,
  parseJson,
  parseJsonPart,
  rawStats,
  recordOf,
  tryParseJson,
} from './json.js';
export { parseJsonFile, readJsonFile, readTextFile } from './json-file.js';
export { type LogFields, type Logger, silentLogger } from './logger.js';
export { isPlain as isPlainSchema, satisfies as satisfiesSchema } from './plain-schema.js';
export {
  DONE_EVENT,
  encodeEvent,
  encodeLongEvent,
  encodeTypedEvent,
  KEEP_ALIVE,
  KEEP_ALIVE_MS,
  withKeepAlive,
} from './server-sent-events.js';
export { countShortLived } from './short-lived-buffers.js';
export { type Claim, type Hints, noSiblings, type SiblingAnswers, type Siblings } from './siblings.js';
export {
  DEFINITIVE_CODES,
  type DefinitiveCode,
  failureMessage,
  TRANSIENT_CODES,
  type TransientCode,
} from './source-errors.js';
export { lowerThreadPriority } from './thread-priority.js';
export {
  type Clock,
  createThrottledWarning,
  drawRandomBytes,
  endsWithin,
  type ListItem,
  type PollLoop,
  SharedTimer,
  SwapRemoveList,
  startPollLoop,
  systemClock,
  type Ticking,
  unlessAborted,
  watchAborted,
  withDeadline,
} from './time.js';
export { type Checked, closestMatch, createValidator, type Issue, type Validator } from './validation.js';
export { WorkerQueue, type WorkerQueueOptions } from './worker-queue.js';
