import { type Clock, GatewayError } from 'mediagate';
import { createAuthFailures } from './auth-failures.js';

/** How often one client address may do something in a minute, over whatever it says it is. */
export interface AddressLimit {
  /** @throws GatewayError `rate_limit_exceeded` with the seconds to wait. */
  admit(address: string | undefined): void;
}

export interface AddressLimitOptions {
  clock: Clock;
  perMinute: number;
  /** What there is too much of, as the sentence begins. */
  what: string;
}

export function createAddressLimit({ clock, perMinute, what }: AddressLimitOptions): AddressLimit {
  const counts = createAuthFailures(clock, perMinute);
  return {
    admit(address = '') {
      const retryAfterSeconds = counts.blockedFor(address);
      if (retryAfterSeconds !== undefined) {
        throw new GatewayError('rate_limit_exceeded', `${what} from this address.`, { retryAfterSeconds });
      }
      counts.add(address);
    },
  };
}
