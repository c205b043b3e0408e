/*
 * The commands that make, list and withdraw invitations. The link is printed once, on standard output; it is stored as a
 * hash. A command cannot know the address of a gateway that has none in its settings, so it asks for BASE_URL then.
 */

import { Identity } from '../../accounts/index.js';
import { describeInvitation } from '../../admin/index.js';
import { isoTime, sanitizeForTerminal } from '../../format/index.js';
import { createSiteAddress, localAddress } from '../../http/index.js';
import { invitationLink } from '../../passkeys/index.js';
import type { Settings } from '../../settings/index.js';
import { byOperator, withNewState, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure } from '../mistakes.js';
import { type Outcome, renderRows } from '../output.js';
import type { inviteUser, NoteOptions } from './access-commands.js';
import { findUser } from './users.js';

/** Makes an invitation, also before the first start. */
export async function inviteCommand(
  settings: Settings,
  { operator, billing, name, hours, user: named, note }: OptionsOf<typeof inviteUser>,
): Promise<Outcome<'Invitation'>> {
  const siteUrl = siteOf(settings);
  const by = byOperator(note);
  const role = operator ? 'operator' : billing ? 'billing' : 'member';
  const invitation = await withNewState(settings, async (state) => {
    const userId = named === undefined ? undefined : (await findUser(state, named)).id;
    return state.invitations.invite({ role, name, hours, userId, ...by });
  });
  const link = invitationLink(siteUrl, invitation);
  const { userId, expiresAt } = invitation;
  const who =
    userId === null
      ? `The person becomes a user with the role ${invitation.role}`
      : `It replaces the passkeys of ${userId}`;
  return {
    json: { ...describeInvitation(invitation), link },
    text: link,
    remarks: [`${who}. The link works once, until ${isoTime(expiresAt)}.`],
  };
}

/** Open invitations, newest first. */
export async function listInvitationsCommand(settings: Settings): Promise<Outcome<'Invitations'>> {
  const all = await withState(settings, (state) => state.invitations.list());
  const rows = all.map((one) => {
    const { id, role, name, userId, invitedBy, expiresAt } = one;
    return [id, role, sanitizeForTerminal(name ?? '-'), userId ?? '-', invitedBy, isoTime(expiresAt)];
  });
  const head = ['ID', 'ROLE', 'NAME', 'REPLACES PASSKEYS OF', 'INVITED BY', 'EXPIRES'];
  return { json: all.map(describeInvitation), text: renderRows(head, rows) || 'There are no open invitations.' };
}

export async function withdrawInvitationCommand(
  settings: Settings,
  id: string,
  { note }: NoteOptions,
): Promise<Outcome<'WithdrawnInvitation'>> {
  const by = byOperator(note);
  if (!(await withState(settings, (state) => state.invitations.withdraw({ id, ...by })))) {
    throw new CommandFailure(
      `There is no open invitation ${sanitizeForTerminal(id)}; "mediagate users invitations" shows them.`,
    );
  }
  return { json: { id, withdrawn: true }, text: `The invitation ${id} no longer works.` };
}

/** @throws CommandFailure if the link could not be used. */
function siteOf(settings: Settings): string {
  const { siteUrl, baseUrl } = settings;
  const site = createSiteAddress(() => siteUrl ?? baseUrl ?? localAddress(settings));
  // What plugins provide makes no difference to passkeys.
  const { passkeys } = new Identity({ gateway: { identityProvider: () => undefined }, settings, site }).status();
  if (!settings.site) throw new CommandFailure('SITE is off, so nobody can sign in.', 2);
  if (passkeys.state === 'off') throw new CommandFailure(`Invitations do not work here. ${passkeys.reason}`, 2);
  return site().url;
}
