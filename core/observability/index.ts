export { createRedaction } from './logger.js';
export {
  currentScope,
  failureOf,
  inSpan,
  leaveScope,
  measureHttp,
  modelSpan,
  openSpan,
  runInScope,
  sendInSpan,
  usageAttributes,
  type WorkScope,
  writeInSpans,
} from './spans.js';
