export { measureHttp } from './http-figures.js';
export { sendInSpan } from './http-span.js';
export { createRedaction } from './log-redaction.js';
export { modelSpan, usageAttributes } from './model-span.js';
export { writeInSpans } from './storage-span.js';
export { currentScope, failureOf, inSpan, leaveScope, openSpan, runInScope, type WorkScope } from './work-scope.js';
