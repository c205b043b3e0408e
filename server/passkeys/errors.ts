/*
 * Error codes of invitations and passkeys. A failed sign-in has the code of every sign-in, `sign_in_failed`.
 */

import { BAD_REQUEST, CONFLICT, type DeclaredCodes, declareErrors, GONE, NOT_FOUND } from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof passkeyErrors> {}
}

const passkeyErrors = declareErrors({
  invitation_invalid: {
    ...GONE,
    meaning: 'The invitation is not valid.',
    cause: 'It was used, it has expired or was withdrawn, or the link is incomplete.',
    action: 'Sign in if you have used it. Otherwise ask the operator for a new one.',
  },
  passkey_refused: {
    ...BAD_REQUEST,
    meaning: 'The passkey could not be verified.',
    cause: 'It was made for another site, took too long, or is registered already.',
    action: 'Try again from the same page.',
  },
  passkey_not_found: {
    ...NOT_FOUND,
    meaning: 'The account has no such passkey.',
    cause: 'It was removed, or its id is mistyped.',
    action: 'Load the page again.',
  },
  last_passkey: {
    ...CONFLICT,
    meaning: 'The account would have no passkey.',
    cause: 'It is the last one.',
    action: 'Add another passkey first.',
  },
});
