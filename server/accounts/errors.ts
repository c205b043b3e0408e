/*
 * Error codes of accounts, users and signing in.
 */

import {
  BAD_REQUEST,
  CONFLICT,
  type DeclaredCodes,
  declareErrors,
  FORBIDDEN,
  NOT_FOUND,
  OVERLOADED,
  UNAUTHENTICATED,
} from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof accountErrors> {}
}

const accountErrors = declareErrors({
  account_suspended: {
    ...FORBIDDEN,
    meaning: 'The account is suspended.',
    cause: 'The operator suspended it.',
    action: 'Ask the operator.',
  },
  not_signed_in: {
    ...UNAUTHENTICATED,
    meaning: 'The route needs a signed-in user.',
    cause: 'There is no session, or it has ended.',
    action: 'Open `loginUrl` in a browser, or start the device flow.',
  },
  sign_in_failed: {
    ...BAD_REQUEST,
    meaning: 'The sign-in did not succeed.',
    cause: 'It was cancelled, took too long, or was finished in another browser.',
    action: 'Start again from the sign-in page.',
  },
  cross_site_request: {
    ...FORBIDDEN,
    meaning: 'The request came from another site.',
    cause: 'The headers `Origin` or `Sec-Fetch-Site` are missing, or name another site.',
    action: 'Send the request from a page of the site. Programs use the device flow.',
  },
  account_not_found: {
    ...NOT_FOUND,
    meaning: 'The account does not exist.',
    cause: 'Its id is mistyped, or it was erased.',
    action: 'Check the id.',
  },
  user_not_found: {
    ...NOT_FOUND,
    meaning: 'The user does not exist.',
    cause: 'The id is mistyped, or the user was erased.',
    action: 'Check the id.',
  },
  last_operator: {
    ...CONFLICT,
    meaning: 'The gateway would have no operator.',
    cause: 'The user is its last active operator.',
    action: 'Make another user an operator first.',
  },
  sign_in_unavailable: {
    ...OVERLOADED,
    retryable: true,
    meaning: 'The identity provider is unavailable.',
    cause: 'It does not answer, or the sign-in is not configured correctly.',
    action: 'Try again in a minute. The operator runs `mediagate doctor`.',
  },
});
