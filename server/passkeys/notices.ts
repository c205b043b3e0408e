/*
 * What the person who starts the gateway reads about sign-in: a link for the first operator, why no user can sign in, and
 * passkeys that ended with another host name. The link is printed to the terminal alone, never to the log.
 */

import type { SignInStatus } from '../accounts/index.js';
import { type Invitations, invitationLink } from './invitations.js';
import type { Passkeys } from './passkeys.js';

export interface PasskeyNoticeSources {
  /** Undefined without accounts. */
  status: SignInStatus | undefined;
  siteUrl: string;
  invitations: Pick<Invitations, 'inviteFirst'>;
  passkeys: Pick<Passkeys, 'countElsewhere'>;
}

/** Paragraphs. Makes an invitation for the first operator, if only passkeys sign in and there is no operator. */
export async function passkeyNotices(sources: PasskeyNoticeSources): Promise<string[]> {
  const { status, siteUrl, invitations, passkeys } = sources;
  if (!status || status.oidc === 'ready') return [];
  const { state, host = '', reason } = status.passkeys;
  if (state === 'off') return [`Nobody can sign in. ${status.reason} ${reason}`];
  const invitation = await invitations.inviteFirst();
  const ended = await passkeys.countElsewhere(host);
  return [
    ...(invitation
      ? [
          `There is no operator yet. Open this link within an hour to become one; it works once:\n  ${invitationLink(siteUrl, invitation)}`,
        ]
      : []),
    ...(ended > 0 ? [endedPasskeys(ended, host)] : []),
  ];
}

/** A browser offers a passkey at its own host name alone. */
export function endedPasskeys(count: number, host: string): string {
  const passkeys = count === 1 ? '1 passkey was' : `${count} passkeys were`;
  return `${passkeys} registered at another host name and cannot be used at ${host}. Set BASE_URL back, or invite their users again: mediagate users invite --user USER.`;
}
