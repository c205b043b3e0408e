export { type AnswerDesk, type AnswerDeskOptions, createAnswerDesk, type KeyedRequest } from './answer-desk.js';
export type { OutgoingAnswer } from './answer-sending.js';
export { encodeAround, type LongBody } from './base64-body.js';
export { inProgress, markReplayed, readIdempotencyKey, readRetryCount } from './idempotency-key.js';
