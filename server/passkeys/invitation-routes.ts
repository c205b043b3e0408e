/*
 * The routes by which a person accepts an invitation: what it says, the options for the browser, and the registration,
 * which makes the user, signs the browser in and shows the recovery codes. The secret of the link comes in the body,
 * never in an address, so no log of a proxy has it. Attempts are limited by address, though 256 bits cannot be guessed.
 */

import type { Logger } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { type AccountServices, type Identity, newUserId, type Users } from '../accounts/index.js';
import {
  AddressLimit,
  networkOwner,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readJsonBody,
} from '../http/index.js';
import { Ceremonies, loadWebauthn } from './ceremonies.js';
import type { Challenges } from './challenges.js';
import { type Invitations, readPersonName } from './invitations.js';
import {
  AcceptanceStartBody,
  AcceptedSchema,
  CredentialBody,
  encodeCodes,
  InvitationBody,
  InvitationSchema,
  MAX_BODY_BYTES,
  nameOfDevice,
  OptionsSchema,
  readerOf,
} from './passkey-bodies.js';
import type { Passkeys } from './passkeys.js';

const ATTEMPTS_PER_MINUTE = 60;

export interface PasskeyServices extends AccountServices {
  users: Pick<Users, 'find'>;
  identity: Identity;
  invitations: Invitations;
  passkeys: Passkeys;
  passkeyChallenges: Challenges;
  logger: Logger;
}

/** Declarations of routes that a visitor without a session calls from a page of the site. */
export const VISITOR_ROUTE = {
  method: 'POST',
  grant: 'session',
  sessionOptional: true,
  tag: 'Account',
} as const;

const EXAMPLE = { invitation: 'b3BlbiB0aGUgZG9vciBvZiB0aGUgbGlnaHRob3VzZQ' };

const SHOW: RouteDeclaration = {
  ...VISITOR_ROUTE,
  path: '/api/invitation',
  summary: 'Show an invitation',
  description: 'Returns role and name of an invitation, which stays valid.',
  body: { schema: InvitationBody, example: EXAMPLE },
  answers: { 200: { description: 'The invitation.', schema: InvitationSchema } },
  errors: ['invitation_invalid', 'invalid_value', 'rate_limit_exceeded'],
};

const BEGIN: RouteDeclaration = {
  ...VISITOR_ROUTE,
  path: '/api/invitation/options',
  summary: 'Begin to accept an invitation',
  description: 'Returns the options by which the browser registers the first passkey. They are valid for 5 minutes.',
  body: { schema: AcceptanceStartBody, example: { ...EXAMPLE, name: 'Ann' } },
  answers: { 200: { description: 'Options for `navigator.credentials.create`.', schema: OptionsSchema } },
  errors: ['invitation_invalid', 'invalid_value', 'sign_in_unavailable', 'rate_limit_exceeded'],
};

const ACCEPT: RouteDeclaration = {
  ...VISITOR_ROUTE,
  path: '/api/invitation/accept',
  summary: 'Accept an invitation',
  description:
    'Registers the passkey, makes the user and signs the browser in. The recovery codes are shown only once.',
  body: { schema: CredentialBody },
  answers: { 201: { description: 'The user, with recovery codes.', schema: AcceptedSchema } },
  errors: ['invitation_invalid', 'passkey_refused', 'invalid_value', 'sign_in_unavailable', 'rate_limit_exceeded'],
};

const readInvitation = readerOf(InvitationBody);
const readStart = readerOf(AcceptanceStartBody);
const readCredential = readerOf(CredentialBody);

export function invitationRoutes(services: PasskeyServices): Route[] {
  const { users, invitations, passkeys, sessions, publicBodies, clock, siblings, addressOf, logger } = services;
  const ceremonies = new Ceremonies(services);
  const limit = { clock, siblings, perMinute: ATTEMPTS_PER_MINUTE };
  const attempts = new AddressLimit({ ...limit, name: 'invitations', what: 'Too many invitations' });

  async function bodyOf({ req, res }: RequestContext): Promise<unknown> {
    const address = addressOf(req);
    attempts.admit(address);
    return readJsonBody(req, res, { maxBytes: MAX_BODY_BYTES, budget: publicBodies, owner: networkOwner(address) });
  }

  async function show(context: RequestContext): Promise<void> {
    const { invitation } = readInvitation(await bodyOf(context));
    const { role, name, userId, expiresAt } = await invitations.find(invitation);
    context.set('Cache-Control', 'no-store');
    context.body = { role, name, replaces: userId !== null, expiresAt: new Date(expiresAt).toISOString() };
  }

  async function begin(context: RequestContext): Promise<void> {
    const { invitation, name: given } = readStart(await bodyOf(context));
    const place = ceremonies.place();
    const { hash, userId: invited, name: suggested } = await invitations.find(invitation);
    const userId = invited ?? newUserId();
    const known = invited === null ? undefined : await users.find(invited);
    const name = known ? (known.name ?? known.email ?? known.id) : readPersonName(given ?? suggested ?? '');
    const ceremony = { purpose: 'invitation', userId, invitationHash: hash, name } as const;
    const challenge = await ceremonies.begin(context, ceremony);
    const { startRegistration } = await loadWebauthn();
    const siteName = context.state.brand?.name ?? 'mediagate';
    const publicKey = await startRegistration({ place, siteName, user: { id: userId, name }, challenge, known: [] });
    context.set('Cache-Control', 'no-store');
    context.body = { publicKey };
  }

  async function accept(context: RequestContext): Promise<void> {
    const place = ceremonies.place();
    const { credential } = readCredential(await bodyOf(context));
    const taken = await ceremonies.take(context, 'invitation', credential);
    const passkey =
      taken &&
      (await ceremonies.check(({ finishRegistration }) => finishRegistration(credential, taken.challenge, place)));
    if (!taken || !passkey) throw refusedPasskey();
    const name = nameOfDevice(context.req.headers['user-agent']);
    const { userId, recoveryCodes } = await passkeys.accept(taken, { passkey, name, host: place.host });
    logger.info(`${userId} accepted an invitation`);
    await sessions.startBrowser(context, userId);
    context.status = 201;
    context.set('Cache-Control', 'no-store');
    context.body = { user: { id: userId }, ...encodeCodes(recoveryCodes) };
  }

  return [
    { ...SHOW, handler: show },
    { ...BEGIN, handler: begin },
    { ...ACCEPT, handler: accept },
  ];
}

export function refusedPasskey(): GatewayError {
  const message =
    'The passkey could not be verified: it was made for another address, was tried before, took longer than 5 minutes, or the browser blocks cookies of this site.';
  return new GatewayError('passkey_refused', message);
}
