/*
 * The routes by which people sign in with a passkey or a recovery code, and by which a signed-in user lists, adds, names
 * and removes passkeys and renews recovery codes. Only a browser's session may change what signs in: a program that a
 * user let in must not keep the door open for itself. Every failed sign-in has the same answer. Sign-ins are limited to
 * 120 a minute by address, recovery codes to 20.
 */

import { GatewayError } from '../../core/runtime/index.js';
import type { UserRecord } from '../accounts/index.js';
import {
  AddressLimit,
  networkOwner,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readJsonBody,
} from '../http/index.js';
import { Ceremonies, loadWebauthn } from './ceremonies.js';
import { type PasskeyServices, refusedPasskey, VISITOR_ROUTE } from './invitation-routes.js';
import {
  CodeBody,
  CodesSchema,
  CredentialBody,
  encodeCodes,
  encodePasskey,
  MAX_BODY_BYTES,
  NameBody,
  nameOfDevice,
  OptionsSchema,
  PasskeySchema,
  PasskeysSchema,
  readerOf,
  readPasskeyName,
  SignedInSchema,
} from './passkey-bodies.js';

const SIGN_INS_PER_MINUTE = 120;
const CODES_PER_MINUTE = 20;
const CHANGES_PER_MINUTE = 30;

const OWN_ROUTE = { method: 'POST', grant: 'session', browserOnly: true, tag: 'Account' } as const;
const PASSKEY_ID = { id: { description: 'Id of the passkey.' } };
const signedIn = { 200: { description: 'The browser is signed in.', schema: SignedInSchema } };
const options = (method: string) => ({
  200: { description: `Options for \`navigator.credentials.${method}\`, valid for 5 minutes.`, schema: OptionsSchema },
});

const SIGN_IN_OPTIONS: RouteDeclaration = {
  ...VISITOR_ROUTE,
  path: '/api/passkeys/sign-in/options',
  summary: 'Begin to sign in with a passkey',
  description: 'Returns the options by which the browser signs in with a passkey of the site.',
  answers: options('get'),
  errors: ['sign_in_unavailable', 'rate_limit_exceeded'],
};
const SIGN_IN: RouteDeclaration = {
  ...VISITOR_ROUTE,
  path: '/api/passkeys/sign-in',
  summary: 'Sign in with a passkey',
  description: 'Checks the signature of the passkey, and signs the browser in.',
  body: { schema: CredentialBody },
  answers: signedIn,
  errors: ['sign_in_failed', 'account_suspended', 'invalid_value', 'sign_in_unavailable', 'rate_limit_exceeded'],
};
const RECOVER: RouteDeclaration = {
  ...VISITOR_ROUTE,
  path: '/api/passkeys/recover',
  summary: 'Sign in with a recovery code',
  description: 'Uses up the code, and signs the browser in.',
  body: { schema: CodeBody, example: { code: 'K7QM-2V9C-XJ4T-8RPD' } },
  answers: signedIn,
  errors: ['sign_in_failed', 'account_suspended', 'invalid_value', 'sign_in_unavailable', 'rate_limit_exceeded'],
};
const LIST: RouteDeclaration = {
  ...OWN_ROUTE,
  method: 'GET',
  path: '/api/passkeys',
  summary: 'List passkeys',
  description: 'Returns the passkeys of the signed-in user, and how many recovery codes are left.',
  answers: { 200: { description: 'The passkeys.', schema: PasskeysSchema } },
};
const ADD_OPTIONS: RouteDeclaration = {
  ...OWN_ROUTE,
  path: '/api/passkeys/options',
  summary: 'Begin to add a passkey',
  description: 'Returns the options by which the browser registers another passkey of the signed-in user.',
  answers: options('create'),
  errors: ['sign_in_unavailable', 'rate_limit_exceeded'],
};
const ADD: RouteDeclaration = {
  ...OWN_ROUTE,
  path: '/api/passkeys',
  summary: 'Add a passkey',
  description: 'Registers another passkey, only from a browser session. An account has at most 20.',
  body: { schema: CredentialBody },
  answers: { 201: { description: 'The passkey.', schema: PasskeySchema } },
  errors: ['passkey_refused', 'invalid_value', 'sign_in_unavailable', 'rate_limit_exceeded'],
};
const RENAME: RouteDeclaration = {
  ...OWN_ROUTE,
  path: '/api/passkeys/:id',
  params: PASSKEY_ID,
  summary: 'Rename a passkey',
  description: 'Changes the name of a passkey, only from a browser session.',
  body: { schema: NameBody, example: { name: 'Work laptop' } },
  answers: { 200: { description: 'Renamed.', schema: PasskeysSchema } },
  errors: ['passkey_not_found', 'invalid_value', 'rate_limit_exceeded'],
};
const REMOVE: RouteDeclaration = {
  ...OWN_ROUTE,
  path: '/api/passkeys/:id/remove',
  params: PASSKEY_ID,
  summary: 'Remove a passkey',
  description: 'Removes a passkey, only from a browser session. 409 for the last one.',
  answers: { 200: { description: 'The passkeys that are left.', schema: PasskeysSchema } },
  errors: ['passkey_not_found', 'last_passkey', 'rate_limit_exceeded'],
};
const RENEW_CODES: RouteDeclaration = {
  ...OWN_ROUTE,
  path: '/api/passkeys/recovery-codes',
  summary: 'Make new recovery codes',
  description: 'Replaces all recovery codes, only from a browser session. The new ones are shown only once.',
  answers: { 201: { description: 'Ten new codes.', schema: CodesSchema } },
  errors: ['rate_limit_exceeded'],
};

const readCredential = readerOf(CredentialBody);
const readName = readerOf(NameBody);
const readCode = readerOf(CodeBody);

/** Signing in and recovering, and the passkeys of the signed-in user. */
export function passkeyRoutes(services: PasskeyServices): Route[] {
  return [...signInRoutes(services), ...ownRoutes(services)];
}

function signInRoutes(services: PasskeyServices): Route[] {
  const { passkeys, sessions, publicBodies, clock, siblings, addressOf, logger } = services;
  const ceremonies = new Ceremonies(services);
  const limits = { clock, siblings };
  const signIns = new AddressLimit({
    ...limits,
    name: 'passkeys',
    perMinute: SIGN_INS_PER_MINUTE,
    what: 'Too many sign-ins',
  });
  const codes = new AddressLimit({
    ...limits,
    name: 'recovery codes',
    perMinute: CODES_PER_MINUTE,
    what: 'Too many recovery codes',
  });

  async function bodyOf({ req, res }: RequestContext, limit: AddressLimit): Promise<unknown> {
    const address = addressOf(req);
    limit.admit(address);
    return readJsonBody(req, res, { maxBytes: MAX_BODY_BYTES, budget: publicBodies, owner: networkOwner(address) });
  }

  async function admit(context: RequestContext, userId: string): Promise<void> {
    await sessions.startBrowser(context, userId);
    context.body = { user: { id: userId } };
  }

  async function begin(context: RequestContext): Promise<void> {
    signIns.admit(addressOf(context.req));
    const place = ceremonies.place();
    const ceremony = { purpose: 'sign-in', userId: null, invitationHash: null, name: null } as const;
    const challenge = await ceremonies.begin(context, ceremony);
    const { startSignIn } = await loadWebauthn();
    context.set('Cache-Control', 'no-store');
    context.body = { publicKey: await startSignIn(place, challenge) };
  }

  async function finish(context: RequestContext): Promise<void> {
    const place = ceremonies.place();
    const { credential } = readCredential(await bodyOf(context, signIns));
    const taken = await ceremonies.take(context, 'sign-in', credential);
    const { id, response } = credential as { id?: unknown; response?: { userHandle?: unknown } };
    const known = taken && typeof id === 'string' && id.length <= 1_400 ? await passkeys.find(id) : undefined;
    const handle = response?.userHandle;
    const isTheirs = known && handle === Buffer.from(known.userId).toString('base64url');
    if (!taken || !known || !isTheirs) throw failedSignIn();
    const counter = await ceremonies.check(({ finishSignIn }) =>
      finishSignIn(credential, taken.challenge, place, { ...known, counter: 0 }),
    );
    if (counter === undefined) throw failedSignIn();
    if (!(await passkeys.recordSignIn(known, counter))) {
      await passkeys.recordCopy(known.userId);
      logger.warn(`a passkey of ${known.userId} was refused: its counter has not grown, so it may have been copied`);
      throw failedSignIn();
    }
    await admit(context, known.userId);
  }

  async function recover(context: RequestContext): Promise<void> {
    ceremonies.place();
    const { code } = readCode(await bodyOf(context, codes));
    const userId = await passkeys.recover(code);
    if (userId === undefined) {
      const message = 'This recovery code is unknown, or was used before.';
      throw new GatewayError('sign_in_failed', message, { param: 'code' });
    }
    await admit(context, userId);
  }

  return [
    { ...SIGN_IN_OPTIONS, handler: begin },
    { ...SIGN_IN, handler: finish },
    { ...RECOVER, handler: recover },
  ];
}

function ownRoutes(services: PasskeyServices): Route[] {
  const { passkeys, sessions, bodies, clock, siblings } = services;
  const ceremonies = new Ceremonies(services);
  const changes = new AddressLimit({
    clock,
    siblings,
    name: 'passkey changes',
    perMinute: CHANGES_PER_MINUTE,
    what: 'Too many changes of passkeys',
  });

  /** @throws GatewayError `not_signed_in` for a program. */
  async function userOf(context: RequestContext): Promise<UserRecord> {
    const { user, session } = await sessions.require(context);
    if (session.kind !== 'browser') throw new GatewayError('not_signed_in', 'Do this in a browser.');
    context.set('Cache-Control', 'no-store');
    return user;
  }

  async function changerOf(context: RequestContext): Promise<UserRecord> {
    const user = await userOf(context);
    changes.admit(user.id);
    return user;
  }

  const bodyOf = ({ req, res }: RequestContext, { accountId }: UserRecord) =>
    readJsonBody(req, res, { maxBytes: MAX_BODY_BYTES, budget: bodies, owner: accountId });

  async function list(context: RequestContext, user: UserRecord): Promise<void> {
    const [all, recoveryCodesLeft] = await Promise.all([passkeys.list(user.id), passkeys.countRecoveryCodes(user.id)]);
    context.body = { passkeys: all.map(encodePasskey), recoveryCodesLeft };
  }

  async function begin(context: RequestContext): Promise<void> {
    const { id, name, email } = await changerOf(context);
    const place = ceremonies.place();
    const known = await passkeys.known(id, place.host);
    const ceremony = { purpose: 'addition', userId: id, invitationHash: null, name: null } as const;
    const challenge = await ceremonies.begin(context, ceremony);
    const { startRegistration } = await loadWebauthn();
    const siteName = context.state.brand?.name ?? 'mediagate';
    const user = { id, name: name ?? email ?? id };
    context.body = { publicKey: await startRegistration({ place, siteName, user, challenge, known }) };
  }

  async function add(context: RequestContext): Promise<void> {
    const user = await changerOf(context);
    const place = ceremonies.place();
    const { credential } = readCredential(await bodyOf(context, user));
    const taken = await ceremonies.take(context, 'addition', credential);
    const passkey =
      taken?.userId === user.id &&
      (await ceremonies.check(({ finishRegistration }) => finishRegistration(credential, taken.challenge, place)));
    if (!passkey) throw refusedPasskey();
    const name = nameOfDevice(context.req.headers['user-agent']);
    const added = await passkeys.add(user.id, { passkey, name, host: place.host });
    context.status = 201;
    context.body = encodePasskey(added);
  }

  async function rename(context: ParamsContext): Promise<void> {
    const user = await changerOf(context);
    const name = readPasskeyName(readName(await bodyOf(context, user)).name);
    await passkeys.rename({ userId: user.id, id: paramOf(context, 'id') }, name);
    await list(context, user);
  }

  async function remove(context: ParamsContext): Promise<void> {
    const user = await changerOf(context);
    await passkeys.remove({ userId: user.id, id: paramOf(context, 'id') });
    await list(context, user);
  }

  async function renewCodes(context: RequestContext): Promise<void> {
    const { id } = await changerOf(context);
    context.status = 201;
    context.body = encodeCodes(await passkeys.renewRecoveryCodes(id));
  }

  return [
    { ...LIST, handler: async (context) => list(context, await userOf(context)) },
    { ...ADD_OPTIONS, handler: begin },
    { ...ADD, handler: add },
    { ...RENEW_CODES, handler: renewCodes },
    { ...RENAME, handler: rename },
    { ...REMOVE, handler: remove },
  ];
}

function failedSignIn(): GatewayError {
  return new GatewayError('sign_in_failed', 'The passkey was not accepted. Sign in again.');
}
