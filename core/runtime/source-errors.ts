/*
 * Error codes of a source: a platform that refuses an item for good, and a platform or model vendor that fails for now.
 * Extractors report them, with these messages. After a definitive code other methods cannot help; after a transient one
 * nothing is known about the item, so another method or a later request may succeed. Each code has the explanation that
 * the API reference prints.
 */

import {
  ASK_AGAIN,
  type DeclaredCodes,
  declareErrors,
  NOT_EXTRACTABLE,
  SOURCE_FAILED,
  SOURCE_TIMEOUT,
  WAIT,
} from './error-declarations.js';

declare module './errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof definitiveErrors>, DeclaredCodes<typeof transientErrors> {}
}

/** The source has refused with a reason: other methods cannot help. */
export const definitiveErrors = declareErrors({
  removed: {
    ...NOT_EXTRACTABLE,
    message: 'The item was removed or never existed.',
    meaning: 'The item was removed or never existed.',
    cause: 'The author or the platform deleted it, or the id in the link is wrong.',
    action: 'Check the link in a browser.',
  },
  private: {
    ...NOT_EXTRACTABLE,
    message: 'The item is private.',
    meaning: 'The item is private.',
    cause: 'The author shows it only to chosen people. A login of this gateway would not help.',
    action: 'Ask the author to make it public.',
  },
  login_required: {
    ...NOT_EXTRACTABLE,
    message: 'The item is shown to signed-in users only.',
    meaning: 'The platform shows the item to signed-in users only.',
    cause: 'The item may be public, but the platform asks visitors to sign in, more often from addresses it distrusts.',
    action: 'The gateway never signs in. Try later, or ask the operator for another exit (`EGRESS_PROXY_URL`).',
  },
  password_protected: {
    ...NOT_EXTRACTABLE,
    message: 'The item is protected by a password.',
    meaning: 'The item is protected by a password.',
    cause: 'The author set a password.',
    action: 'The gateway cannot extract it.',
  },
  age_restricted: {
    ...NOT_EXTRACTABLE,
    message: 'The item is restricted by age.',
    meaning: 'The item is restricted by age.',
    cause: 'The platform shows it only to adults who have signed in.',
    action: 'The gateway never signs in, so it cannot extract the item.',
  },
  geo_blocked: {
    ...NOT_EXTRACTABLE,
    message: 'The item is not available in the region of this gateway.',
    meaning: 'The item is not available in the region of this gateway.',
    cause: 'The platform or the author limits the item to some countries.',
    action: 'Ask the operator for an exit in another country (`EGRESS_PROXY_URL`).',
  },
  members_only: {
    ...NOT_EXTRACTABLE,
    message: 'The item is for members only.',
    meaning: 'The item is for members only.',
    cause: 'The author shows it to paying or chosen members.',
    action: 'The gateway cannot extract it.',
  },
  paid: {
    ...NOT_EXTRACTABLE,
    message: 'The item must be paid for.',
    meaning: 'The item must be paid for.',
    cause: 'The platform sells or rents it.',
    action: 'The gateway cannot extract it.',
  },
  under_review: {
    ...NOT_EXTRACTABLE,
    retryable: true,
    message: 'The platform is still reviewing the item.',
    meaning: 'The platform is still reviewing the item.',
    cause: 'The item was uploaded a short time ago, or was reported.',
    action: 'Try again after some hours.',
  },
  unavailable: {
    ...NOT_EXTRACTABLE,
    message: 'The platform does not show the item.',
    meaning: 'The platform does not show the item.',
    cause: 'It is removed, private or blocked; the platform does not state which.',
    action: 'Check the link in a browser. `reason` may have the words of the platform.',
  },
  short_link_dead: {
    ...NOT_EXTRACTABLE,
    message: 'The short link does not work.',
    meaning: 'The short link leads nowhere.',
    cause: 'The short link has expired, or its item was removed.',
    action: 'Send the full link of the item.',
  },
  redirected_to_unsupported: {
    ...NOT_EXTRACTABLE,
    message: 'The short link leads to something that is not supported.',
    meaning: 'The short link leads to something that is not supported.',
    cause: 'It leads to a profile, a shop or another site.',
    action: 'Send the link of one post, video or product.',
  },
});

/** Only the source failed, and nothing is known about the item. */
export const transientErrors = declareErrors({
  bot_check: {
    ...SOURCE_FAILED,
    retryable: true,
    message: 'The platform asked for a check that only a person can solve.',
    meaning: 'The platform asked for a check that only a person can pass.',
    cause: "The platform distrusts the gateway's IP address or its rate of requests.",
    action: 'Try again later. The operator can set another exit (`EGRESS_PROXY_URL`).',
  },
  upstream_rate_limited: {
    ...SOURCE_FAILED,
    onModelRoutes: { status: 429, type: 'rate_limit_error' },
    retryable: true,
    message: 'The platform limits requests at the moment.',
    meaning: 'The platform or model vendor limits the requests of this gateway.',
    cause: 'All clients of the gateway together sent too many requests.',
    action: WAIT,
  },
  upstream_refused: {
    ...SOURCE_FAILED,
    onModelRoutes: { status: 502, type: 'server_error' },
    retryable: true,
    message: 'The platform refused the request.',
    meaning: 'The platform or model vendor refused the request without a reason.',
    cause: 'It answered with an empty page or a refusal, often because of the IP address.',
    action: ASK_AGAIN,
  },
  upstream_changed: {
    ...SOURCE_FAILED,
    onModelRoutes: { status: 502, type: 'server_error' },
    message: 'The answer of the platform could not be read.',
    meaning: 'The answer of the platform could not be understood.',
    cause: 'The platform changed its pages.',
    action: 'Tell the operator: a newer release may understand them.',
  },
  upstream_error: {
    ...SOURCE_FAILED,
    onModelRoutes: { status: 502, type: 'server_error' },
    retryable: true,
    message: 'The platform could not be reached or failed.',
    meaning: 'The platform or model vendor could not be reached, or failed.',
    cause: 'A network failure, or an error of its server.',
    action: ASK_AGAIN,
  },
  upstream_timeout: {
    ...SOURCE_TIMEOUT,
    onModelRoutes: { status: 504, type: 'timeout_error' },
    retryable: true,
    message: 'The platform did not answer in time.',
    meaning: 'The platform or model vendor did not answer in time.',
    cause: 'It is slow or overloaded.',
    action: ASK_AGAIN,
  },
});

export type DefinitiveCode = keyof typeof definitiveErrors;
export type TransientCode = keyof typeof transientErrors;

export const DEFINITIVE_CODES = Object.keys(definitiveErrors) as readonly DefinitiveCode[];
export const TRANSIENT_CODES = Object.keys(transientErrors) as readonly TransientCode[];

const SOURCE_ERRORS = { ...definitiveErrors, ...transientErrors };

/** What clients read if an item could not be extracted. */
export function failureMessage(code: DefinitiveCode | TransientCode): string {
  return SOURCE_ERRORS[code].message;
}
