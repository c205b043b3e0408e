import type Router from '@koa/router';
import { type Clock, GatewayError } from 'mediagate';
import type { DeviceGrant, DeviceGrants, SessionDesk, UserRecord } from '../accounts/index.js';
import { showUserCode } from '../accounts/index.js';
import type { AddressOf, BodyBudget, Next, RequestContext, RequestState, SiteAddress } from '../http/index.js';
import { createAddressLimit, markPage, readForm, seeOther } from '../http/index.js';
import { type Page, sendPage } from './page.js';
import { type DeviceAnswer, deviceAnswerPage, deviceCodePage, deviceDonePage } from './pages/device.js';

const MAX_FORM_BYTES = 1_024;
/** Codes of one address, and of one person: far more than anybody types, far fewer than guessing takes. */
const CODES_PER_MINUTE = 30;

export interface DevicePageRoutes {
  deviceGrants: DeviceGrants;
  sessions: SessionDesk;
  bodies: BodyBudget;
  clock: Clock;
  addressOf: AddressOf;
  /** Lets through what the site's own pages send. */
  sameOrigin(context: RequestContext, next: Next): Promise<void>;
  site(): SiteAddress;
}

/** Where somebody who is signed in sees which program asks to act for them, and answers. */
export function addDevicePageRoutes(router: Router<RequestState>, options: DevicePageRoutes): void {
  const { deviceGrants, sessions, bodies, clock, addressOf, sameOrigin, site } = options;
  const codes = createAddressLimit({ clock, perMinute: CODES_PER_MINUTE, what: 'Too many codes' });

  async function findGrant(context: RequestContext, user: UserRecord, code: string): Promise<DeviceGrant | undefined> {
    codes.admit(addressOf(context.req));
    codes.admit(user.id);
    return deviceGrants.find(code);
  }

  router.get('/device', markPage, async (context: RequestContext) => {
    const { user_code: given, answered } = context.query;
    const code = typeof given === 'string' && isCode(given) ? given : undefined;
    const signedIn = await sessions.find(context);
    if (!signedIn) {
      const here = code === undefined ? '/device' : `/device?user_code=${code}`;
      return seeOther(context, `${site().url}/signin?return_to=${encodeURIComponent(here)}`);
    }
    if (isAnswer(answered)) return sendPage(context, deviceDonePage(answered));
    if (given === undefined) return sendPage(context, deviceCodePage());
    const grant = code === undefined ? undefined : await findGrant(context, signedIn.user, code);
    if (!grant) context.status = 404;
    sendPage(context, grant ? answerPage(grant, signedIn.user) : deviceCodePage(String(given)));
  });

  router.post('/device', markPage, sameOrigin, async (context: RequestContext) => {
    const { user, session } = await sessions.require(context);
    // A program that was let in lets no other program in.
    if (session.kind !== 'browser') throw new GatewayError('not_signed_in', 'Answer this in a browser.');
    const limits = { maxBytes: MAX_FORM_BYTES, budget: bodies, owner: user.accountId };
    const { user_code: code = '', answer } = await readForm(context.req, context.res, limits);
    if (!isAnswer(answer)) {
      throw new GatewayError('invalid_value', 'answer must be approve or deny.', { param: 'answer' });
    }
    const grant = isCode(code) ? await findGrant(context, user, code) : undefined;
    const taken =
      grant && (await (answer === 'approve' ? deviceGrants.approve(code, user.id) : deviceGrants.deny(code)));
    // To a page of its own: one that is loaded again would send the form again.
    if (taken) return seeOther(context, `${site().url}/device?answered=${answer}`);
    context.status = 404;
    sendPage(context, deviceCodePage(code));
  });
}

function isAnswer(text: unknown): text is DeviceAnswer {
  return text === 'approve' || text === 'deny';
}

function isCode(text: string): boolean {
  return /^[A-Za-z -]{8,12}$/.test(text);
}

function answerPage({ userCode, clientName }: DeviceGrant, { email, name }: UserRecord): Page {
  const label = email ?? name ?? 'your account';
  return deviceAnswerPage({ clientName, label, userCode, shownCode: showUserCode(userCode) });
}
