/** A program that waits to be let in by somebody who is signed in (RFC 8628). Times are milliseconds since 1970. */
export interface DeviceGrant {
  /** 8 letters, no vowels, without a hyphen. */
  userCode: string;
  /** What the program calls itself; whoever approves it sees this. At most 100 characters. */
  clientName: string;
  createdAt: number;
  expiresAt: number;
}

export interface NewDeviceGrant {
  /** SHA-256 of the device code in lower-case hex. */
  deviceHash: string;
  clientName: string;
}

/**
 * What a poll answers, in the words of RFC 8628 and RFC 6749. `invalid_grant`: there is no such device code, or it was
 * traded in before.
 */
export type DevicePoll =
  | { status: 'granted'; userId: string }
  | {
      status: 'authorization_pending' | 'slow_down';
      /** Seconds to wait before the next poll. */
      interval: number;
    }
  | { status: 'access_denied' | 'expired_token' | 'invalid_grant' };

/** Every call throws GatewayError `upstream_unavailable` within 2.5 s where the database does not answer. */
export interface DeviceGrants {
  /** Good for 10 minutes. The latest 20,000 are kept. */
  create(grant: NewDeviceGrant): Promise<DeviceGrant & { interval: number }>;
  /** One that waits for an answer, by its user code as a person types it: case and whatever is no letter do not matter. */
  find(userCode: string): Promise<DeviceGrant | undefined>;
  /** Lets the program in as this user. False where nothing waits under the code (any more). */
  approve(userCode: string, userId: string): Promise<boolean>;
  deny(userCode: string): Promise<boolean>;
  /** `granted` is answered once. Whoever polls before their interval is over has to wait 5 s longer from then on. */
  poll(deviceHash: string): Promise<DevicePoll>;
}
