import { createAddressGuard, GatewayError, isGatewayError } from 'mediagate';
import { MAX_WEBHOOK_URL_LENGTH, WEBHOOK_URL } from '../images/index.js';

const PARAM = 'webhook_url';

/** Where events may go. */
export interface WebhookTargets {
  /**
   * A URL as a client sent it, normalised. What its name resolves to is seen at each delivery.
   * @throws GatewayError `invalid_value` with `param`.
   */
  check(url: unknown): string;
}

/** @param trustedOrigins Private ones that are let through, also without TLS. */
export function createWebhookTargets(trustedOrigins: readonly string[] = []): WebhookTargets {
  const guard = createAddressGuard({ trustedOrigins });
  return {
    check(text) {
      const isShort = typeof text === 'string' && text.length <= MAX_WEBHOOK_URL_LENGTH;
      const url = isShort ? URL.parse(text) : null;
      if (!url || (url.protocol !== 'https:' && !guard.isTrusted(url))) throw refusal();
      try {
        guard.checkUrl(url);
      } catch (error) {
        throw isGatewayError(error) ? refusal(error.message) : error;
      }
      // It is for the receiver's own scripts, if for anybody.
      url.hash = '';
      return url.href;
    },
  };
}

function refusal(why?: string): GatewayError {
  const message = `${PARAM} must be ${WEBHOOK_URL}.${why === undefined ? '' : ` ${why}`}`;
  return new GatewayError('invalid_value', message, { param: PARAM });
}
