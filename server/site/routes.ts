import type Router from '@koa/router';
import { type Clock, type Gateway, GatewayError } from 'mediagate';
import type { AccountDependencies, AccountDesks } from '../account-services.js';
import {
  type DeviceGrant,
  type DeviceGrants,
  modelsForSetup,
  type SessionDesk,
  type SignedIn,
  setupClients,
  showUserCode,
  type UserRecord,
} from '../accounts/index.js';
import {
  type AddressOf,
  type BodyBudget,
  createAddressLimit,
  markPage,
  type Next,
  type ParamsContext,
  type RequestContext,
  type RequestState,
  readForm,
  readReturnPath,
  type SiteAddress,
  seeOther,
} from '../http/index.js';
import { type PlanTerms, planTerms } from '../plans/index.js';
import { addAssetRoutes, createViewerFiles } from './assets.js';
import { type Page, sendPage } from './page.js';
import { dashboardPage } from './pages/dashboard.js';
import { type DeviceAnswer, deviceAnswerPage, deviceCodePage, deviceDonePage } from './pages/device.js';
import { homePage } from './pages/home.js';
import { paymentPage, plansPage } from './pages/plans.js';
import { playgroundPage } from './pages/playground.js';
import { referencePage } from './pages/reference.js';
import { setupPage } from './pages/setup.js';
import { signInPage } from './pages/sign-in.js';
import { describeOutcome, labelOf, lookAtDashboard, lookAtPlayground, planName, planViews } from './views.js';

export interface SiteRoutes {
  account: AccountDependencies;
  desks: AccountDesks;
  gateway: Pick<Gateway, 'platforms' | 'models' | 'audioProvider'>;
  clock: Clock;
  baseUrl(): string;
}

/** The pages that people visit. */
export function addSiteRoutes(router: Router<RequestState>, options: SiteRoutes): void {
  const { account, desks, gateway, clock, baseUrl } = options;
  const { sessions, view } = desks;
  const { identity, catalogue, payments, site, state } = account;
  const { jobs, orders } = state;
  const { support } = catalogue;

  const send = (context: RequestContext, page: Omit<Page, 'viewer'>, signedIn: SignedIn | undefined) =>
    sendPage(context, { ...page, viewer: signedIn ? { label: labelOf(signedIn.user) } : null });

  addAssetRoutes(router);
  addReferenceRoutes(router, { find: sessions.find.bind(sessions), send });

  router.get('/', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    const platforms = gateway.platforms().map(({ name }) => name);
    const plans = planViews(catalogue);
    const models = countModels(gateway);
    send(context, homePage({ baseUrl: baseUrl(), platforms, models, plans, isSignedIn: !!signedIn }), signedIn);
  });

  router.get('/login', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    const returnTo =
      context.query.return_to === undefined ? '/dashboard' : readReturnPath(context.query.return_to, site());
    if (signedIn) return seeOther(context, returnTo);
    send(context, signInPage({ status: identity.status(), returnTo }), undefined);
  });

  router.get('/plans', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    const current = signedIn && (await view.account(signedIn.user));
    const previews = signedIn ? await state.accounts.preview(signedIn.user.accountId, orderableTerms(account)) : [];
    const plans = planViews(catalogue).map((plan) => {
      const preview = previews.find(({ planId }) => planId === plan.id);
      return preview ? { ...plan, outcome: describeOutcome(preview, catalogue) } : plan;
    });
    send(
      context,
      plansPage({ plans, support, isSignedIn: !!signedIn, currentPlanId: current?.plan?.planId }),
      signedIn,
    );
  });

  router.get('/setup', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    const plan = signedIn && (await view.account(signedIn.user)).plan;
    const allowed = signedIn && (plan ? plan.models : catalogue.freeTier.modelAccess);
    const clients = setupClients({ baseUrl: baseUrl(), models: modelsForSetup(allowed) });
    send(context, setupPage({ clients, baseUrl: baseUrl(), isSignedIn: !!signedIn }), signedIn);
  });

  router.get('/dashboard', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    if (!signedIn) return seeOther(context, signInPath(context));
    const { revoked } = context.query;
    const revokedId = typeof revoked === 'string' ? revoked : undefined;
    const sources = { view, jobs, orders, catalogue, now: clock.now(), revokedId };
    send(context, dashboardPage(await lookAtDashboard(sources, signedIn.user)), signedIn);
  });

  router.get('/playground', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    if (!signedIn) return seeOther(context, signInPath(context));
    send(context, playgroundPage(await lookAtPlayground({ ...options, state }, signedIn.user)), signedIn);
  });

  router.get('/pay/:code', markPage, async (context: ParamsContext) => {
    const signedIn = await sessions.find(context);
    if (!signedIn) return seeOther(context, signInPath(context));
    const order = await payments.find(signedIn.user, context.params.code ?? '');
    const name = planName(catalogue, order.planId);
    const transfer = payments.transferOf(order);
    const preview = await payments.preview(order);
    const outcome = preview && describeOutcome(preview, catalogue);
    send(context, paymentPage({ order, planName: name, transfer, support, outcome, now: clock.now() }), signedIn);
  });
}

/** What plans that have a price give. */
function orderableTerms({ catalogue, freeTierPeriod }: AccountDependencies): PlanTerms[] {
  const terms = catalogue.prices.map(({ planId }) => planTerms(planId, { catalogue, freeTierPeriod }));
  return terms.filter((each) => each !== undefined);
}

function countModels(gateway: Pick<Gateway, 'models'>) {
  const counts = { text: 0, audio: 0, image: 0 };
  for (const { kind } of gateway.models()) counts[kind] += 1;
  return counts;
}

function signInPath({ path }: RequestContext): string {
  return `/login?return_to=${encodeURIComponent(path)}`;
}

const FOR_EVER = 'public, max-age=31536000, immutable';

export interface ReferenceRoutes {
  find(context: RequestContext): Promise<SignedIn | undefined>;
  send(context: RequestContext, page: Omit<Page, 'viewer'>, signedIn: SignedIn | undefined): void;
}

/** The API reference for people. */
export function addReferenceRoutes(router: Router<RequestState>, { find, send }: ReferenceRoutes): void {
  const files = createViewerFiles();

  router.get('/docs', markPage, async (context: RequestContext) => {
    send(context, referencePage(`/docs/${files.version}`), await find(context));
  });

  router.get('/docs/:version/:name', async (context: ParamsContext) => {
    const file = await files.find(context.params.name ?? '');
    if (!file) throw new GatewayError('file_not_found', 'There is no such file.');
    const { res: response } = context;
    const isBrotli = context.acceptsEncodings('br') === 'br';
    response.setHeader('Cache-Control', context.params.version === files.version ? FOR_EVER : 'no-cache');
    response.setHeader('Vary', 'Accept-Encoding');
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin');
    if (isBrotli) response.setHeader('Content-Encoding', 'br');
    response.setHeader('Content-Type', file.contentType);
    context.body = isBrotli ? file.compressed : file.bytes;
  });
}

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
