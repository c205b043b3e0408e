/*
 * The routes of the pages of invitations, recovery codes and passkeys. The page of an invitation is the same for each,
 * since the secret stands behind `#` and reaches no server.
 */

import type { AccountServices, Identity } from '../accounts/index.js';
import { defineRoute, type RequestContext, type Route } from '../http/index.js';
import type { Passkeys } from '../passkeys/index.js';
import { OWN_PAGE_ROUTE, PAGE_ROUTE } from './page.js';
import {
  invitationPage,
  type OwnPasskeysView,
  ownPasskeysPage,
  type PasskeyPlace,
  recoveryPage,
} from './pages/passkeys.js';
import { ownVisitOf, sendTo, visitOf } from './visit.js';

export interface PasskeyPageServices extends AccountServices {
  identity: Pick<Identity, 'status'>;
  passkeys: Pick<Passkeys, 'list' | 'countRecoveryCodes'>;
}

export function passkeyPageRoutes(services: PasskeyPageServices): Route[] {
  const { identity, passkeys, sessions, site } = services;
  const place = (): PasskeyPlace => ({ status: identity.status().passkeys, origin: site().origin });

  async function sendOwn(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, sessions);
    if (!visit) return;
    const { id } = visit.signedIn.user;
    const [own, codesLeft] = await Promise.all([passkeys.list(id), passkeys.countRecoveryCodes(id)]);
    const view = { ...place(), passkeys: own, codesLeft, done: doneOf(context.query) };
    sendTo(context, visit, ownPasskeysPage(view, visit.locale));
  }

  return [
    defineRoute({
      ...PAGE_ROUTE,
      path: '/invite',
      summary: 'Invitation page',
      description: 'Page on which a person accepts an invitation with a passkey.',
      async handler(context) {
        const visit = await visitOf(context, sessions);
        sendTo(context, visit, invitationPage(place(), visit.locale));
      },
    }),
    defineRoute({
      ...PAGE_ROUTE,
      path: '/recover',
      summary: 'Recovery page',
      description: 'Page on which a person signs in with a recovery code.',
      async handler(context) {
        const visit = await visitOf(context, sessions);
        sendTo(context, visit, recoveryPage(place(), visit.locale));
      },
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      path: '/passkeys',
      summary: 'Passkeys page',
      description: 'Page of the passkeys and recovery codes of the signed-in user.',
      handler: sendOwn,
    }),
  ];
}

const DONE = ['added', 'saved', 'removed', 'recovered'] as const;

function doneOf({ done }: RequestContext['query']): OwnPasskeysView['done'] {
  return DONE.find((each) => each === done);
}
