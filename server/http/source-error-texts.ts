/*
 * Explains the error codes that concern a platform or a model vendor: why an item cannot be extracted, and how an
 * upstream may fail.
 */

import type { DefinitiveCode, TransientCode } from '../../core/runtime/index.js';

/** The explanation of an error code, for the API reference and `docs/reference/errors.md`. */
export interface ErrorText {
  meaning: string;
  /** The usual cause. */
  cause: string;
  /** What the client or its operator can do. */
  action: string;
}

export const WAIT = 'Wait for the seconds in `Retry-After`, then send the request again.';
export const ASK_AGAIN = 'Send the request again later. If it keeps failing, tell the operator the request id.';

/** Why an item cannot be extracted, and how a platform or model vendor may fail. */
export const SOURCE_ERROR_TEXTS: Readonly<Record<DefinitiveCode | TransientCode, ErrorText>> = {
  // Definitive refusals of an item
  removed: {
    meaning: 'The item was removed or never existed.',
    cause: 'The author or the platform deleted it, or the id in the link is wrong.',
    action: 'Check the link in a browser.',
  },
  private: {
    meaning: 'The item is private.',
    cause: 'The author shows it only to chosen people. A login of this gateway would not help.',
    action: 'Ask the author to make it public.',
  },
  login_required: {
    meaning: 'The platform shows the item to signed-in users only.',
    cause: 'The item may be public, but the platform asks visitors to sign in, more often from addresses it distrusts.',
    action: 'The gateway never signs in. Try later, or ask the operator for another exit (`EGRESS_PROXY_URL`).',
  },
  password_protected: {
    meaning: 'The item is protected by a password.',
    cause: 'The author set a password.',
    action: 'The gateway cannot extract it.',
  },
  age_restricted: {
    meaning: 'The item is restricted by age.',
    cause: 'The platform shows it only to adults who have signed in.',
    action: 'The gateway never signs in, so it cannot extract the item.',
  },
  geo_blocked: {
    meaning: 'The item is not available in the region of this gateway.',
    cause: 'The platform or the author limits the item to some countries.',
    action: 'Ask the operator for an exit in another country (`EGRESS_PROXY_URL`).',
  },
  members_only: {
    meaning: 'The item is for members only.',
    cause: 'The author shows it to paying or chosen members.',
    action: 'The gateway cannot extract it.',
  },
  paid: {
    meaning: 'The item must be paid for.',
    cause: 'The platform sells or rents it.',
    action: 'The gateway cannot extract it.',
  },
  under_review: {
    meaning: 'The platform is still reviewing the item.',
    cause: 'The item was uploaded a short time ago, or was reported.',
    action: 'Try again after some hours.',
  },
  unavailable: {
    meaning: 'The platform does not show the item.',
    cause: 'It is removed, private or blocked; the platform does not state which.',
    action: 'Check the link in a browser. `reason` may have the words of the platform.',
  },
  short_link_dead: {
    meaning: 'The short link leads nowhere.',
    cause: 'The short link has expired, or its item was removed.',
    action: 'Send the full link of the item.',
  },
  redirected_to_unsupported: {
    meaning: 'The short link leads to something that is not supported.',
    cause: 'It leads to a profile, a shop or another site.',
    action: 'Send the link of one post, video or product.',
  },
  // Failures of an upstream (platform or model vendor)
  bot_check: {
    meaning: 'The platform asked for a check that only a person can pass.',
    cause: "The platform distrusts the gateway's IP address or its rate of requests.",
    action: 'Try again later. The operator can set another exit (`EGRESS_PROXY_URL`).',
  },
  upstream_rate_limited: {
    meaning: 'The platform or model vendor limits the requests of this gateway.',
    cause: 'All clients of the gateway together sent too many requests.',
    action: WAIT,
  },
  upstream_refused: {
    meaning: 'The platform or model vendor refused the request without a reason.',
    cause: 'It answered with an empty page or a refusal, often because of the IP address.',
    action: ASK_AGAIN,
  },
  upstream_changed: {
    meaning: 'The answer of the platform could not be understood.',
    cause: 'The platform changed its pages.',
    action: 'Tell the operator: a newer release may understand them.',
  },
  upstream_error: {
    meaning: 'The platform or model vendor could not be reached, or failed.',
    cause: 'A network failure, or an error of its server.',
    action: ASK_AGAIN,
  },
  upstream_timeout: {
    meaning: 'The platform or model vendor did not answer in time.',
    cause: 'It is slow or overloaded.',
    action: ASK_AGAIN,
  },
};
