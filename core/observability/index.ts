/*
 * What other folders may import of logs and traces: the root logger, redaction, scopes, and spans of requests and
 * models.
 */

export { createLogger, createRedaction } from './logger.js';
export {
  currentScope,
  failureOf,
  inSpan,
  leaveScope,
  measureHttp,
  modelSpan,
  type OpenSpan,
  openSpan,
  runAsEntry,
  runInScope,
  sendInSpan,
  usageAttributes,
  type WorkScope,
  writeInSpans,
} from './spans.js';
