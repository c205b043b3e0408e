export { type AnswerDesk, type AnswerDeskOptions, createAnswerDesk, type KeyedRequest } from './answer-desk.js';
export type { OutgoingAnswer } from './answer-sending.js';
export { encodeAround, type LongBody } from './base64-body.js';
export { inProgress, markReplayed, readIdempotencyKey, readRetryCount } from './idempotency-key.js';
export {
  createIdempotencyKeys,
  forgetExpired,
  hashKey,
  type Idempotency,
  type JobKeyRow,
  type KeyHash,
  keyReused,
} from './idempotency-keys.js';
export type { AnswerHead, KeptAnswers } from './kept-answers.js';
export { createKeptAnswers } from './kept-answers.js';
