/*
 * What every ceremony of WebAuthn needs of a request: where the site is, the cookie that binds the challenge to a
 * browser, and a check whose failures say nothing but that it failed. The library is loaded at the first ceremony. A
 * challenge is taken before anything else is checked, so that each can be tried once.
 */

import type { Logger } from '../../core/contracts/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { Identity } from '../accounts/index.js';
import { type RequestContext, readCookie, removeCookie, type SiteAddress, setCookie } from '../http/index.js';
import { isBrowserToken, newToken } from '../keys/index.js';
import { type Ceremony, type Challenges, challengeOf } from './challenges.js';
import type { CeremonyPlace } from './webauthn.js';

const COOKIE_SECONDS = 300;

export interface CeremonyOptions {
  passkeyChallenges: Challenges;
  identity: Pick<Identity, 'status'>;
  site(): SiteAddress;
  logger: Logger;
}

/** A ceremony that a browser finishes. */
export interface TakenCeremony extends Ceremony {
  challenge: string;
  credential: object;
}

export class Ceremonies {
  readonly #options: CeremonyOptions;

  constructor(options: CeremonyOptions) {
    this.#options = options;
  }

  /** @throws GatewayError `sign_in_unavailable` where the site's address has no passkeys. */
  place(): CeremonyPlace {
    const { identity, site } = this.#options;
    const { state, reason, host } = identity.status().passkeys;
    if (state === 'ready' && host !== undefined) return { origin: site().origin, host };
    throw new GatewayError('sign_in_unavailable', `Passkeys are not available. ${reason}`, { retryable: false });
  }

  /** Binds a new challenge to the browser. @returns The challenge. */
  async begin(context: RequestContext, ceremony: Ceremony): Promise<string> {
    const { passkeyChallenges, site } = this.#options;
    const browser = newToken();
    const challenge = await passkeyChallenges.begin(ceremony, browser);
    setCookie(context, site(), { name: site().cookies.passkey, value: browser, maxAgeSeconds: COOKIE_SECONDS });
    return challenge;
  }

  /** Undefined if the browser has not begun this ceremony, or it was tried before, or took too long. */
  async take(
    context: RequestContext,
    purpose: Ceremony['purpose'],
    credential: unknown,
  ): Promise<TakenCeremony | undefined> {
    const { passkeyChallenges, site } = this.#options;
    const browser = readCookie(context, site().cookies.passkey);
    removeCookie(context, site(), site().cookies.passkey);
    const challenge = challengeOf(credential);
    if (challenge === undefined || browser === undefined || !isBrowserToken(browser)) return undefined;
    const ceremony = await passkeyChallenges.take(challenge, browser, purpose);
    return ceremony && { ...ceremony, challenge, credential: credential as object };
  }

  /** Runs a check of the library. Undefined if it fails; why is only in the log. */
  async check<Result>(work: (webauthn: WebAuthn) => Promise<Result>): Promise<Result | undefined> {
    const webauthn = await loadWebauthn();
    try {
      return await work(webauthn);
    } catch (error) {
      if (isGatewayError(error)) throw error;
      this.#options.logger.debug('a passkey was refused', { error });
      return undefined;
    }
  }
}

type WebAuthn = typeof import('./webauthn.js');

/** By its address, so that the bundle of the program, which each start reads, does not contain the library. */
export function loadWebauthn(): Promise<WebAuthn> {
  const location = new URL('./webauthn.js', import.meta.url).href;
  return import(location);
}
