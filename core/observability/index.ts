export { createRedaction } from './logger.js';
export { measureHttp, modelSpan, sendInSpan, usageAttributes, writeInSpans } from './spans.js';
export { currentScope, failureOf, inSpan, leaveScope, openSpan, runInScope, type WorkScope } from './work-scope.js';
