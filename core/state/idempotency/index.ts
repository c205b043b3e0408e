export { keyReused } from './idempotency-keys.js';
export type { KeptAnswers } from './kept-answers.js';
export { createKeptAnswers } from './kept-answers-sql.js';
