/*
 * The routes on which a signed-in user answers the request of an agent, and ends its access. An answer counts only from
 * the browser session that the page was shown to, by the form of the page: the request belongs to the browser that began
 * it, the form has a token that follows from session and request, and no other site can send it. A program that acts for
 * the user cannot answer.
 */

import { timingSafeEqual } from 'node:crypto';
import { Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { AccountServices, AccountView, SignedIn } from '../accounts/index.js';
import { defineRoute, type ParamsContext, paramOf, type Route, readForm, seeOther } from '../http/index.js';
import { type AuthorizationServer, CONSENT_PATH } from '../identity/index.js';
import { GRANTS, type Grant, hashToken } from '../keys/index.js';
import { type PlanTermsOptions, termsAt } from '../plans/index.js';
import { OWN_PAGE_ROUTE } from './page.js';
import { answeredPage, consentPage, rightField } from './pages/agents.js';
import { labelOf } from './views.js';
import { ownVisitOf, sendTo } from './visit.js';

const MAX_FORM_BYTES = 1_024;

export interface AgentPageServices extends AccountServices, PlanTermsOptions {
  authorization: AuthorizationServer;
  view: Pick<AccountView, 'account'>;
}

export function agentPageRoutes(services: AgentPageServices): Route[] {
  const pages = new AgentPages(services);
  const errors = ['agent_request_invalid', 'agent_sign_in_unavailable'] as const;
  const params = { uid: { description: 'Id of the request.' } };
  return [
    defineRoute({
      ...OWN_PAGE_ROUTE,
      path: `${CONSENT_PATH}/:uid`,
      params,
      summary: 'Page of a request for access',
      description: 'Page on which a user sees which agent asks for access, and what it may do.',
      errors,
      handler: (context) => pages.sendRequest(context),
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      method: 'POST',
      path: `${CONSENT_PATH}/:uid`,
      params,
      summary: 'Answer a request for access',
      description: 'Gives an agent access, or refuses it.',
      body: {
        type: 'application/x-www-form-urlencoded',
        schema: Type.Object({
          answer: Type.String({ description: '`allow` or `deny`.' }),
          ...Object.fromEntries(GRANTS.map((grant) => [rightField(grant), allowedRight(grant)])),
          form_token: Type.String({ description: 'Token of the form.' }),
        }),
      },
      answers: { 200: { description: 'A page that says so and leads back to the program.', type: 'text/html' } },
      errors,
      handler: (context) => pages.takeAnswer(context),
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      method: 'POST',
      path: '/agents/:id/disconnect',
      params: { id: { description: 'Id of the connection.' } },
      summary: 'Disconnect an agent (form)',
      description: 'Ends the access of an agent and cancels its running jobs, for the form of the dashboard.',
      body: { type: 'application/x-www-form-urlencoded', schema: Type.Object({}) },
      answers: { 303: { description: 'To the dashboard.' } },
      handler: (context) => pages.disconnect(context),
    }),
  ];
}

function allowedRight(grant: Grant) {
  return Type.Optional(Type.String({ description: `Sent if the user allows the grant \`${grant}\`.` }));
}

class AgentPages {
  readonly #services: AgentPageServices;

  constructor(services: AgentPageServices) {
    this.#services = services;
  }

  async sendRequest(context: ParamsContext): Promise<void> {
    const { authorization, sessions, site } = this.#services;
    authorization.checkOpen();
    const uid = paramOf(context, 'uid');
    const demand = await authorization.demandOf(context, uid);
    if (demand) {
      const found = await sessions.find(context);
      const isRecent = found !== undefined && found.session.createdAt >= demand.since;
      // No page may be shown, and a session may have ended meanwhile.
      if (demand.isSilent && !isRecent)
        return seeOther(context, site().url + (await authorization.refuseSilently(context)));
      if (found && !isRecent) return seeOther(context, signInAgain(context));
    }
    const visit = await ownVisitOf(context, sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    checkBrowser(signedIn);
    // Applications of the operator need no answer.
    const here = { user: signedIn.user, signedInAt: signedIn.session.createdAt };
    const path = await authorization.signIn(context, uid, here);
    if (path !== undefined) return seeOther(context, site().url + path);
    const request = await authorization.find(context, uid);
    const allowed = await this.#allowed(signedIn, request.grants);
    const label = labelOf(signedIn.user, locale);
    const form = { action: `${CONSENT_PATH}/${uid}`, formToken: formTokenOf(signedIn, uid) };
    sendTo(context, visit, consentPage({ ...request, ...form, allowed, label }, locale));
  }

  async takeAnswer(context: ParamsContext): Promise<void> {
    const { authorization, sessions, bodies } = this.#services;
    authorization.checkAvailable();
    const uid = paramOf(context, 'uid');
    const signedIn = await sessions.require(context);
    checkBrowser(signedIn);
    const limits = { maxBytes: MAX_FORM_BYTES, budget: bodies, owner: signedIn.user.accountId };
    const { answer, form_token: token = '', ...rights } = await readForm(context.req, context.res, limits);
    if (answer !== 'allow' && answer !== 'deny')
      throw new GatewayError('invalid_value', 'answer must be allow or deny.', { param: 'answer' });
    if (!isSame(token, formTokenOf(signedIn, uid))) {
      const message = 'This form was shown to another session. Open the page again.';
      throw new GatewayError('agent_request_invalid', message);
    }
    const { grants: asked } = await authorization.find(context, uid);
    const allowed = answer === 'allow' ? await this.#allowed(signedIn, asked) : [];
    const chosen = allowed.filter((grant) => rights[rightField(grant)] !== undefined);
    if (allowed.length > 0 && chosen.length === 0) {
      const message = 'Nothing that the agent may do is chosen. Choose at least one right, or deny the request.';
      throw new GatewayError('invalid_value', message, { param: rightField(allowed[0] as Grant) });
    }
    const grants = answer === 'allow' ? chosen : undefined;
    const path = await authorization.answer(context, uid, { user: signedIn.user, grants });
    const visit = await ownVisitOf(context, sessions);
    if (!visit) return;
    // No redirect: a policy of forms would have to name the address of the program.
    context.set('Refresh', `0; url=${path}`);
    sendTo(context, visit, answeredPage(grants !== undefined && grants.length > 0, path, visit.locale));
  }

  async disconnect(context: ParamsContext): Promise<void> {
    const { authorization, sessions, site } = this.#services;
    const signedIn = await sessions.require(context);
    await authorization.disconnect(paramOf(context, 'id'), signedIn.user.id);
    seeOther(context, `${site().url}/dashboard`);
  }

  async #allowed({ user }: SignedIn, asked: readonly Grant[]): Promise<readonly Grant[]> {
    const { view, clock } = this.#services;
    const { grants } = termsAt((await view.account(user)).plan, clock.now(), this.#services);
    return asked.filter((grant) => grants.includes(grant));
  }
}

/** To the sign-in page, also for who is signed in, and back. */
function signInAgain({ url }: ParamsContext): string {
  return `/login?return_to=${encodeURIComponent(url)}&again=1`;
}

/** A program that was given access must not give it to others. */
function checkBrowser({ session }: SignedIn): void {
  if (session.kind !== 'browser') throw new GatewayError('not_signed_in', 'Answer this in a browser.');
}

function formTokenOf({ session }: SignedIn, uid: string): string {
  return hashToken(`${session.hash}:${uid}`);
}

function isSame(sent: string, expected: string): boolean {
  const [left, right] = [Buffer.from(sent), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}
