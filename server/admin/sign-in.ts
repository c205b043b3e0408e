/*
 * How people sign in, for operators: invitations to this gateway, and the applications of `SIGN_IN_APPS` where its accounts
 * sign in. The link of an invitation is answered once, since only its hash is stored. Where passkeys cannot work, no
 * invitation is made and the answer says why. Applications are set in the settings, and have no secret here.
 * Routes exist on a gateway with a site alone.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { Identity, UserRecord, UserRole } from '../accounts/index.js';
import { isoTime } from '../format/index.js';
import { Nullable, OneOf, type Route, type SiteAddress, Text, Url } from '../http/index.js';
import {
  INVITATION_HOURS,
  type InvitationRecord,
  invitationLink,
  invitedPlan,
  MAX_INVITATION_HOURS,
  MAX_PERSON_NAME,
} from '../passkeys/index.js';
import { type AdminActor, adminRoute, NOTE, NoteBody, strict } from './admin-route.js';
import { encodePage, LIST_QUERY, type ListPage, type ListRange, listSchema, rangeOf, wholeList } from './lists.js';
import type { AdminServices, Of, Stored } from './services.js';
import { findUser, termsOfPlan } from './users.js';

export const INVITED_ROLES: readonly UserRole[] = ['member', 'billing', 'operator'];

/** What invitations need beside the state: the address of the site, and whether passkeys work there. */
export interface InvitationServices extends AdminServices {
  site(): SiteAddress;
  identity: Pick<Identity, 'status' | 'applications'>;
}

export interface InvitationRequest {
  role: UserRole;
  /** Suggested name. Default: none. */
  name?: string;
  /** Id or address of a user whose passkeys it replaces. Default: the invitation makes a new user. */
  user?: string;
  /** Id of the plan that the new account gets. Default: none, so the free tier. */
  plan?: string;
  /** Hours until it expires. Default: 72. */
  hours?: number;
}

/**
 * Makes an invitation.
 * @returns It and its link, which cannot be read again.
 * @throws GatewayError `sign_in_unavailable`, `user_not_found`, `invalid_value`.
 */
export async function invite(
  services: Stored<'users' | 'invitations'> &
    Of<'catalogue' | 'freeTierPeriod'> &
    Pick<InvitationServices, 'site'> & { identity: Pick<Identity, 'status'> },
  { role, name, user, plan, hours = INVITATION_HOURS, ...by }: InvitationRequest & AdminActor,
): Promise<{ invitation: InvitationRecord; link: string }> {
  const { passkeys } = services.identity.status();
  if (passkeys.state === 'off') throw new GatewayError('sign_in_unavailable', passkeys.reason ?? 'Passkeys are off.');
  const userId = user === undefined ? undefined : (await findUser(services, user)).id;
  const terms = plan === undefined ? {} : { terms: termsOfPlan(services, plan) };
  const input = { role, hours, ...terms, ...(name !== undefined && { name }), ...(userId !== undefined && { userId }) };
  const { token, ...invitation } = await services.state.invitations.invite({ ...input, ...by });
  return { invitation, link: invitationLink(services.site().url, { token }) };
}

/** Open ones, newest first: those of at most 30 days, so the page is cut from the whole. */
async function listInvitations(
  { state: { invitations } }: Stored<'invitations'>,
  { limit, after }: ListRange,
): Promise<ListPage<InvitationRecord>> {
  const all = await invitations.list();
  const rest = after
    ? all.filter(({ createdAt, id }) => createdAt < after.at || (createdAt === after.at && id > after.id))
    : all;
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(rest.length > limit && last && { next: { at: last.createdAt, id: last.id } }) };
}

export function describeInvitation(invitation: InvitationRecord) {
  const { id, role, name, userId, invitedBy, createdAt, expiresAt } = invitation;
  const times = { created_at: isoTime(createdAt), expires_at: isoTime(expiresAt) };
  return { id, role, name, user: userId, plan: invitedPlan(invitation), invited_by: invitedBy, ...times };
}

export const invitationFields = {
  id: field(Text, 'Id of the invitation.', 'inv_1f0c93ab55aa0011'),
  role: field(OneOf('member', 'billing', 'operator'), 'Role that the person gets.'),
  name: field(Nullable(Text), 'Suggested name. Null if none.'),
  user: field(Nullable(Text), 'User whose passkeys it replaces. Null if it makes a new user.'),
  plan: field(Nullable(Text), 'Plan that the new account gets. Null: the free tier, or that of the user or role.'),
  invited_by: field(Text, 'Who made it.', 'operator:user_5f1c'),
  created_at: field(Text, 'When it was made (RFC 3339).'),
  expires_at: field(Text, 'Until when it works (RFC 3339).'),
};
const ListedInvitation = Type.Object(invitationFields);
const MadeInvitation = Type.Object({
  ...invitationFields,
  link: field(Text, 'The link, which works once. It is answered only here.'),
});

const NewInvitation = Type.Object(
  {
    role: optional(OneOf('member', 'billing', 'operator'), 'Role that the person gets. Default `member`.'),
    name: optional(Type.String({ minLength: 1, maxLength: MAX_PERSON_NAME }), 'Suggested name. Default: none.', 'Ann'),
    user: optional(
      Type.String({ minLength: 1, maxLength: 200 }),
      'Id or address of a user who lost all passkeys, which it replaces. Default: it makes a new user.',
    ),
    plan: optional(
      Type.String({ minLength: 1, maxLength: 200 }),
      'Id of the plan that the new account gets. Default: the free tier. Not for operators, and not with `user`.',
    ),
    hours: optional(
      Type.Integer({ minimum: 1, maximum: MAX_INVITATION_HOURS }),
      `Hours until it expires. Default ${INVITATION_HOURS}.`,
    ),
    ...NOTE,
  },
  strict,
);

export function inviteRoutes(services: InvitationServices): Route[] {
  const { invitations } = services.state;
  return [
    applicationRoute(services),
    adminRoute(services, {
      method: 'GET',
      path: '/invitations',
      summary: 'List invitations',
      description: 'Lists the invitations that were not used yet, newest first, without their links.',
      query: LIST_QUERY,
      answer: {
        description: 'The invitations.',
        name: 'InvitationList',
        schema: listSchema(ListedInvitation, 'Invitations'),
      },
      async run({ query }) {
        const page = await listInvitations(services, rangeOf(query));
        return encodePage(page, describeInvitation);
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/invitations',
      summary: 'Invite a person',
      description: 'Makes a link by which a person signs in with a passkey; it works once, for any person who has it.',
      body: NewInvitation,
      example: { role: 'member', name: 'Ann', hours: 24 },
      answer: { description: 'The invitation with its link.', name: 'MadeInvitation', schema: MadeInvitation },
      errors: ['invalid_value', 'user_not_found', 'sign_in_unavailable'],
      async run({ body: { role = 'member', ...request }, by }) {
        const { invitation, link } = await invite(services, { role, ...request, ...by });
        return { ...describeInvitation(invitation), link };
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/invitations/:id/withdraw',
      params: { id: { description: 'Id of the invitation.', example: 'inv_1f0c93ab55aa0011' } },
      summary: 'Withdraw an invitation',
      description: 'The link no longer works. No effect on one that was used, expired or withdrawn.',
      body: NoteBody,
      answer: {
        description: 'Whether it was open.',
        name: 'WithdrawnInvitation',
        schema: Type.Object({
          id: field(Text, 'Id of the invitation.'),
          withdrawn: field(Type.Boolean(), 'Whether it was open until now.'),
        }),
      },
      run: async ({ param, by }) => ({
        id: param('id'),
        withdrawn: await invitations.withdraw({ id: param('id'), ...by }),
      }),
    }),
  ];
}

/** Sign-ins of each application. */
const LATEST = 10;

export interface ApplicationServices extends Stored<'agentSignIn' | 'users'> {
  identity: Pick<Identity, 'applications'>;
}

export interface ListedApplication {
  /** Its client id. */
  name: string;
  redirectUris: readonly string[];
  /** The last sign-in of each user, latest first. */
  signIns: readonly { user: UserRecord; at: number }[];
}

/** In the order of the setting. */
export function listApplications({ state, identity }: ApplicationServices): Promise<readonly ListedApplication[]> {
  return Promise.all(
    identity.applications.map(async ({ name, redirectUris }) => {
      const latest = await state.agentSignIn.applications.latest(name, LATEST);
      const found = await state.users.ofIds(latest.map(({ userId }) => userId));
      const users = new Map(found.map((user) => [user.id, user]));
      const signIns = latest.flatMap(({ userId, signedInAt: at }) => {
        const user = users.get(userId);
        return user ? [{ user, at }] : [];
      });
      return { name, redirectUris, signIns };
    }),
  );
}

const Application = Type.Object({
  name: field(Text, 'Its name, which is its client id.', 'grafana'),
  redirect_uris: field(Type.Array(Url), 'Where it gets the codes of sign-ins.'),
  last_sign_in_at: field(Nullable(Text), 'Last sign-in of any user (RFC 3339). Null before the first.'),
  sign_ins: field(
    Type.Array(
      Type.Object({
        user: field(Text, 'Id of the user.'),
        name: field(Nullable(Text), 'Name of the user. Null if not known.'),
        email: field(Nullable(Text), 'Address of the user. Null if not known.'),
        at: field(Text, 'Last sign-in (RFC 3339).'),
      }),
    ),
    `The last sign-in of each user, latest first; at most ${LATEST}.`,
  ),
});

function applicationRoute(services: InvitationServices): Route {
  return adminRoute(services, {
    method: 'GET',
    path: '/applications',
    summary: 'List applications',
    description:
      'Lists the applications that sign people in with accounts of this gateway (`SIGN_IN_APPS`), without secrets. Every user who is not suspended may sign in.',
    answer: {
      description: 'The applications.',
      name: 'ApplicationList',
      schema: wholeList(Application, 'In the order of the setting.'),
    },
    async run() {
      const data = (await listApplications(services)).map(({ name, redirectUris, signIns }) => ({
        name,
        redirect_uris: redirectUris,
        last_sign_in_at: isoTime(signIns[0]?.at ?? null),
        sign_ins: signIns.map(({ user, at }) => ({
          user: user.id,
          name: user.name,
          email: user.email,
          at: isoTime(at),
        })),
      }));
      return { object: 'list', data };
    },
  });
}
