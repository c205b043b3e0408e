/*
 * Error codes of questions about links.
 */

import { type DeclaredCodes, declareErrors } from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof questionErrors> {}
}

const questionErrors = declareErrors({
  answer_unusable: {
    status: 502,
    type: 'api_error',
    retryable: true,
    meaning: 'The model gave no usable answer to a question about a link.',
    cause: 'The answer was no JSON, or did not fit the schema, twice.',
    action: 'Ask again, choose a larger model, or send a simpler schema.',
  },
});
