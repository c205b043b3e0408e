export { createLogger, createRedaction } from './logger.js';
export {
  currentScope,
  failureOf,
  inSpan,
  leaveScope,
  measureHttp,
  modelSpan,
  openSpan,
  runAsEntry,
  runInScope,
  sendInSpan,
  usageAttributes,
  type WorkScope,
  writeInSpans,
} from './spans.js';
