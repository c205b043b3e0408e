/*
 * Who asks for a page, and how it is shown to them: the signed-in user, and the language and brand of the pages. Pages of
 * an account send visitors who are not signed in to the sign-in page and back.
 */

import type { SessionService, SignedIn } from '../accounts/index.js';
import { type RequestContext, seeOther } from '../http/index.js';
import { type Locale, localeOf } from './language/index.js';
import { type Page, sendPage, type Viewer } from './page.js';
import { labelOf } from './views.js';

export interface Visit {
  /** Undefined if the visitor is not signed in. */
  signedIn: SignedIn | undefined;
  locale: Locale;
}

/** A visit of a signed-in user. */
export interface OwnVisit extends Visit {
  signedIn: SignedIn;
}

export async function visitOf(context: RequestContext, sessions: SessionService): Promise<Visit> {
  const signedIn = await sessions.find(context);
  return { signedIn, locale: localeOf(context, signedIn?.user.language) };
}

/** Undefined if the visitor must sign in first; then the answer leads there. */
export async function ownVisitOf(context: RequestContext, sessions: SessionService): Promise<OwnVisit | undefined> {
  const { signedIn, locale } = await visitOf(context, sessions);
  if (signedIn) return { signedIn, locale };
  seeOther(context, `/login?return_to=${encodeURIComponent(context.url)}`);
  return undefined;
}

const CONSOLES: Readonly<Record<string, Viewer['console']>> = { operator: '/admin', billing: '/admin/orders' };

/** What the header of a page says about the visitor. */
export function viewerOf({ user }: SignedIn, locale: Locale): Viewer {
  return { label: labelOf(user, locale), console: CONSOLES[user.role] };
}

/** Sends a page whose header names the visitor. */
export function sendTo(context: RequestContext, { signedIn, locale }: Visit, page: Omit<Page, 'viewer'>): void {
  sendPage(context, { ...page, viewer: signedIn ? viewerOf(signedIn, locale) : null }, locale);
}
