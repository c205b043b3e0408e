/*
 * The commands that make, list and withdraw invitations, and the one that shows what an application of the operator needs to
 * sign people in. The link is printed once, on standard output; it is stored as a
 * hash. A command cannot know the address of a gateway that has none in its settings, so it asks for BASE_URL then.
 */

import { Identity } from '../../accounts/index.js';
import { describeInvitation } from '../../admin/index.js';
import { isoTime, sanitizeForTerminal } from '../../format/index.js';
import { createSiteAddress, localAddress, type SiteAddress } from '../../http/index.js';
import { applicationSecret } from '../../identity/index.js';
import { invitationLink, invitedPlan } from '../../passkeys/index.js';
import { readCatalogue } from '../../plans/index.js';
import { loadPeppers, type Settings } from '../../settings/index.js';
import { byOperator, withNewState, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure } from '../mistakes.js';
import { type Outcome, renderRows } from '../output.js';
import type { inviteUser, NoteOptions } from './access-commands.js';
import { termsOf } from './plans.js';
import { findUser } from './users.js';

/** Makes an invitation, also before the first start. */
export async function inviteCommand(
  settings: Settings,
  { operator, billing, name, plan, hours, user: named, note }: OptionsOf<typeof inviteUser>,
): Promise<Outcome<'Invitation'>> {
  const siteUrl = siteOf(settings);
  const by = byOperator(note);
  const terms =
    plan === undefined
      ? {}
      : { terms: termsOf(settings, await readCatalogue(settings.plansFile, settings.freeTierGrants), plan) };
  const role = operator ? 'operator' : billing ? 'billing' : 'member';
  const invitation = await withNewState(settings, async (state) => {
    const userId = named === undefined ? undefined : (await findUser(state, named)).id;
    return state.invitations.invite({ role, name, hours, userId, ...terms, ...by });
  });
  const link = invitationLink(siteUrl, invitation);
  const { userId, expiresAt } = invitation;
  const who =
    userId === null
      ? `The person becomes a user with the role ${invitation.role}${plan === undefined ? '' : ` and the plan ${plan}`}`
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
    const plan = invitedPlan(one) ?? '-';
    return [id, role, sanitizeForTerminal(name ?? '-'), userId ?? '-', plan, invitedBy, isoTime(expiresAt)];
  });
  const head = ['ID', 'ROLE', 'NAME', 'REPLACES PASSKEYS OF', 'PLAN', 'INVITED BY', 'EXPIRES'];
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

/** What the applications of `SIGN_IN_APPS` are set up with. */
export async function listAppsCommand(settings: Settings): Promise<Outcome<'SignInApps'>> {
  const { signInApps = [] } = settings;
  if (!settings.site) throw new CommandFailure('SITE is off, so nobody can sign in.', 2);
  const { url: issuer } = addressOf(settings)();
  const configurationUrl = `${issuer}/.well-known/openid-configuration`;
  const [{ secret }] = await loadPeppers(settings);
  const applications = signInApps.map(({ name, redirectUris }) => {
    return { client_id: name, client_secret: applicationSecret(secret, name), redirect_uris: [...redirectUris] };
  });
  const rows = applications.map((one) => [one.client_id, one.client_secret, one.redirect_uris.join(' ')]);
  const table = renderRows(['CLIENT ID', 'CLIENT SECRET', 'REDIRECT ADDRESSES'], rows);
  return {
    json: { issuer, configuration_url: configurationUrl, applications },
    text: table || 'There are no applications. Name them in SIGN_IN_APPS.',
    remarks: [`Issuer: ${issuer}`, `Metadata: ${configurationUrl}`],
  };
}

function addressOf(settings: Settings): () => SiteAddress {
  const { siteUrl, baseUrl } = settings;
  return createSiteAddress(() => siteUrl ?? baseUrl ?? localAddress(settings));
}

/** @throws CommandFailure if the link could not be used. */
function siteOf(settings: Settings): string {
  const site = addressOf(settings);
  // What plugins provide makes no difference to passkeys.
  const { passkeys } = new Identity({ gateway: { identityProvider: () => undefined }, settings, site }).status();
  if (!settings.site) throw new CommandFailure('SITE is off, so nobody can sign in.', 2);
  if (passkeys.state === 'off') throw new CommandFailure(`Invitations do not work here. ${passkeys.reason}`, 2);
  return site().url;
}
