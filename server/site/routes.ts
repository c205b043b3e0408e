/*
 * The routes of the pages. Pages of an account send visitors who are not signed in to the sign-in page and back. On the
 * device page, users see which program requests access to their account, and approve or deny it; attempts to enter a
 * code are limited by address and by user, so that codes cannot be guessed, and only a session of a browser may answer,
 * since an approved program must not approve others.
 */

import type { Gateway } from 'mediagate';
import { Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  type AccountServices,
  type Accounts,
  type AccountView,
  agentClients,
  type DeviceGrant,
  type DeviceGrants,
  type Identity,
  modelsForSetup,
  type SignInStatus,
  setupClients,
  showUserCode,
  type UserRecord,
  type Users,
} from '../accounts/index.js';
import {
  AddressLimit,
  defineRoute,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  readForm,
  readReturnPath,
  seeOther,
} from '../http/index.js';
import { MCP_PATH } from '../mcp/index.js';
import { isOpen, type OrderRecord, type PaymentService } from '../payments/index.js';
import { type Catalogue, type FreeTierPeriod, isOffered, type PlanTerms, planTerms } from '../plans/index.js';
import { type AccountPageServices, accountPageRoutes } from './account-pages.js';
import { type AgentPageServices, agentPageRoutes } from './agent-pages.js';
import { assetRoutes } from './assets.js';
import { type Brand, brandRoutes, MEDIAGATE } from './brand.js';
import { discoveryRoutes } from './discovery.js';
import { type ImagePageServices, imagePageRoutes } from './image-pages.js';
import { type JobSources, loadLatestJobs } from './job-views.js';
import { type Locale, languageRoutes, localeOf } from './language/index.js';
import { loadModels } from './model-views.js';
import { orderPageRoutes } from './order-pages.js';
import { OWN_PAGE_ROUTE, PAGE_ROUTE, type Page } from './page.js';
import { connectPage } from './pages/connect.js';
import { dashboardPage } from './pages/dashboard.js';
import { homePage } from './pages/home.js';
import type { NextSteps } from './pages/next-steps.js';
import { type PaymentView, paymentPage, plansPage } from './pages/plans.js';
import { playgroundPage } from './pages/playground.js';
import { setupPage } from './pages/setup.js';
import { type DeviceAnswer, deviceAnswerPage, deviceCodePage, deviceDonePage, signInPage } from './pages/sign-in.js';
import { type PasskeyPageServices, passkeyPageRoutes } from './passkey-pages.js';
import { loadPlayground } from './playground-view.js';
import { offersLinks, type PublicPageServices, publicPageRoutes } from './public-pages.js';
import { allowancesOf, type DashboardSources, describeOutcome, loadDashboard, planName, planViews } from './views.js';
import { ownVisitOf, sendTo, visitOf } from './visit.js';

/** Among so many are the open ones, of which an account has few. */
const NEWEST_ORDERS = 25;

interface SiteServices
  extends AccountPageServices,
    Omit<AgentPageServices, 'view'>,
    Omit<PasskeyPageServices, 'identity'>,
    Omit<ImagePageServices, 'view' | 'gateway' | 'jobs'>,
    Omit<PublicPageServices, 'view'> {
  /** Whether there is an endpoint for agents. */
  mcpEnabled: boolean;
  users: Pick<Users, 'list' | 'setLanguage'>;
  accounts: Pick<Accounts, 'preview'>;
  jobs: JobSources['jobs'] & ImagePageServices['jobs'];
  orders: DashboardSources['orders'];
  identity: Identity;
  catalogue: Catalogue;
  freeTierPeriod: FreeTierPeriod;
  payments: PaymentService;
  /** Default: that of mediagate. */
  brand?: Brand;
  view: AccountView;
}

/** The pages of the site. */
export function siteRoutes(services: SiteServices): Route[] {
  const brand = services.brand ?? MEDIAGATE;
  const pages = pageRoutes(services);
  const ownPaths = pages.filter(({ grant, method }) => grant === 'session' && method === 'GET').map(({ path }) => path);
  return [...assetRoutes(), ...brandRoutes(brand), ...discoveryRoutes({ brand, ownPaths }), ...pages];
}

function pageRoutes(services: SiteServices): Route[] {
  const pages = new SitePages(services);
  return [
    ...languageRoutes(services),
    ...accountPageRoutes(services),
    ...agentPageRoutes(services),
    ...imagePageRoutes(services),
    ...publicPageRoutes(services),
    ...orderPageRoutes(services),
    ...passkeyPageRoutes(services),
    {
      ...PAGE_ROUTE,
      path: '/',
      summary: 'Home page',
      description: 'The first page of the site: what the gateway does, and the plans.',
      handler: (context) => pages.sendHome(context),
    },
    {
      ...PAGE_ROUTE,
      path: '/login',
      summary: 'Sign-in page',
      description: 'Page that names the identity provider, and what is never asked for.',
      handler: (context) => pages.sendSignIn(context),
    },
    {
      ...PAGE_ROUTE,
      path: '/plans',
      summary: 'Plans page',
      description: 'Page of the plans, where signed-in users order one.',
      handler: (context) => pages.sendPlans(context),
    },
    {
      ...PAGE_ROUTE,
      path: '/setup',
      summary: 'Setup page',
      description: 'Page with a working setup for each kind of client, to copy.',
      handler: (context) => pages.sendSetup(context),
    },
    ...(services.mcpEnabled
      ? [
          {
            ...PAGE_ROUTE,
            path: '/connect',
            summary: 'Page for agents',
            description: 'Page that connects agents to the tools of the gateway.',
            handler: (context: RequestContext) => pages.sendConnect(context),
          },
        ]
      : []),
    {
      ...OWN_PAGE_ROUTE,
      path: '/dashboard',
      summary: 'Dashboard',
      description: 'Page of the account: keys, plan, usage, rate limits, jobs, orders.',
      handler: (context) => pages.sendDashboard(context),
    },
    {
      ...OWN_PAGE_ROUTE,
      path: '/playground',
      summary: 'Playground',
      description: 'Page for trying links, images and models.',
      handler: (context) => pages.sendPlayground(context),
    },
    {
      ...OWN_PAGE_ROUTE,
      path: '/pay/:code',
      params: { code: { description: 'Code of the order.' } },
      summary: 'Payment page',
      description: 'Page of an order: QR code, bank account, status.',
      handler: (context) => pages.sendPayment(context),
    },
  ];
}

class SitePages {
  readonly #services: SiteServices;

  constructor(services: SiteServices) {
    this.#services = services;
  }

  async sendHome(context: RequestContext): Promise<void> {
    const { gateway, catalogue, baseUrl } = this.#services;
    const visit = await visitOf(context, this.#services.sessions);
    if (!visit.locale.brand.hasHome) return seeOther(context, visit.signedIn ? '/dashboard' : '/login');
    const platforms = gateway.platforms().map(({ name }) => name);
    const current = visit.signedIn && (await this.#services.view.account(visit.signedIn.user)).plan?.planId;
    const plans = planViews(catalogue, visit.locale, current);
    const hasLinks = await offersLinks(visit.signedIn, this.#services);
    const models = countModels(gateway);
    const view = { baseUrl: baseUrl(), platforms, models, plans, hasLinks, isSignedIn: !!visit.signedIn };
    sendTo(context, visit, homePage(view, visit.locale));
  }

  async sendSignIn(context: RequestContext): Promise<void> {
    const { users, identity, site } = this.#services;
    const visit = await visitOf(context, this.#services.sessions);
    const returnTo =
      context.query.return_to === undefined ? '/dashboard' : readReturnPath(context.query.return_to, site());
    const isAgain = context.query.again === '1';
    if (visit.signedIn && !isAgain) return seeOther(context, returnTo);
    const status = identity.status();
    const isFirst = status.standIn && (await users.list({ limit: 1 })).length === 0;
    const { origin } = site();
    sendTo(context, visit, signInPage({ status, origin, returnTo, isFirst, isAgain }, visit.locale));
  }

  async sendPlans(context: RequestContext): Promise<void> {
    const { accounts, catalogue, view } = this.#services;
    const visit = await visitOf(context, this.#services.sessions);
    const { signedIn, locale } = visit;
    const current = signedIn && (await view.account(signedIn.user));
    const terms = orderableTerms(this.#services);
    const previews = signedIn ? await accounts.preview(signedIn.user.accountId, terms) : [];
    const currentPlanId = current?.plan?.planId;
    const plans = planViews(catalogue, locale, currentPlanId).map((plan) => {
      const preview = previews.find(({ planId }) => planId === plan.id);
      return preview ? { ...plan, outcome: describeOutcome(preview, { catalogue, locale }) } : plan;
    });
    const { support } = catalogue;
    const { plan: chosen } = context.query;
    const chosenId = typeof chosen === 'string' ? chosen : undefined;
    const budget = current && (await view.planBudget(current));
    const left = budget && allowancesOf(budget, locale);
    const orders = signedIn ? await this.#services.payments.page(signedIn.user, NEWEST_ORDERS) : [];
    const plansView = {
      ...{ plans, support, currentPlanId, chosenId, left, isSignedIn: !!signedIn },
      ...{ isAdded: areAdded(terms), openOrders: orders.filter(isOpen) },
    };
    sendTo(context, visit, plansPage(plansView, locale));
  }

  async sendSetup(context: RequestContext): Promise<void> {
    const { catalogue, view: accounts, baseUrl } = this.#services;
    const visit = await visitOf(context, this.#services.sessions);
    const { signedIn } = visit;
    const plan = signedIn && (await accounts.account(signedIn.user)).plan;
    const allowed = signedIn && (plan ? plan.models : catalogue.freeTier.modelAccess);
    const clients = setupClients({ baseUrl: baseUrl(), models: modelsForSetup(allowed) });
    const view = { clients, baseUrl: baseUrl(), isSignedIn: !!signedIn, connects: this.#services.mcpEnabled };
    sendTo(context, visit, setupPage(view, visit.locale));
  }

  async sendConnect(context: RequestContext): Promise<void> {
    const { baseUrl, sessions, authorization } = this.#services;
    const visit = await visitOf(context, sessions);
    const signsIn = authorization.isAvailable();
    const clients = agentClients(baseUrl(), signsIn);
    const view = { clients, url: baseUrl() + MCP_PATH, signsIn, isSignedIn: !!visit.signedIn };
    sendTo(context, visit, connectPage(view, visit.locale));
  }

  async sendDashboard(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    const { view, orders, payments, catalogue, clock } = this.#services;
    const sources = { view, orders, payments, catalogue, now: clock.now() };
    const [dashboard, jobs, agents] = await Promise.all([
      loadDashboard(sources, signedIn.user, locale),
      loadLatestJobs(this.#services, signedIn.user.accountId),
      this.#services.authorization.connections(signedIn.user.id),
    ]);
    const nextSteps = signedIn.user.role === 'operator' ? this.#nextSteps() : undefined;
    const hasPasskeys = this.#services.identity.status().passkeys.state === 'ready';
    sendTo(context, visit, dashboardPage({ ...dashboard, jobs, agents, nextSteps, hasPasskeys }, locale));
  }

  async sendPlayground(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const playground = await loadPlayground(this.#services, visit.signedIn.user, visit.locale);
    const { link } = context.query;
    sendTo(context, visit, playgroundPage({ ...playground, ...(typeof link === 'string' && { link }) }, visit.locale));
  }

  async sendPayment(context: ParamsContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    const { payments, catalogue, clock } = this.#services;
    const { user } = signedIn;
    const order = await payments.find(user, paramOf(context, 'code'));
    const preview = await payments.preview(order);
    const view = {
      order,
      planName: planName({ catalogue, locale }, order.planId),
      transfer: payments.transferOf(order),
      support: catalogue.support,
      outcome: preview && describeOutcome(preview, { catalogue, locale }),
      now: clock.now(),
      ...(order.state === 'paid' && (await this.#gained(order, user, locale))),
    };
    sendTo(context, visit, paymentPage(view, locale));
  }

  /** What the account has now of what a paid order was for. */
  async #gained(order: OrderRecord, user: UserRecord, locale: Locale): Promise<Pick<PaymentView, 'left' | 'balance'>> {
    const { payments, view } = this.#services;
    if (order.topUp) return { balance: await payments.balanceOf(user) };
    const account = await view.account(user);
    const budget = account.plan?.planId === order.planId ? await view.planBudget(account) : undefined;
    return { left: budget && allowancesOf(budget, locale) };
  }

  /** What the operator of this gateway has done. */
  #nextSteps(): NextSteps {
    const { gateway, catalogue, identity, payments } = this.#services;
    const models = loadModels(this.#services);
    return {
      model: models.some(({ isMock }) => !isMock),
      prices: models.some(({ prices }) => prices.length > 0),
      people: isForPeople(identity.status()),
      links: gateway.platforms().length === 0 ? undefined : isOffered('extract', catalogue),
      payments: payments.acceptsOrders,
    };
  }
}

/** Whether more than the development provider signs people in. */
function isForPeople({ oidc, standIn, passkeys }: SignInStatus): boolean {
  return oidc === 'ready' ? !standIn : passkeys.state === 'ready';
}

/** Whether each of these plans adds to what is left of the others: tokens without an end. */
function areAdded(terms: readonly PlanTerms[]): boolean {
  return (
    terms.length > 0 &&
    terms.every(({ durationMs, budget }) => durationMs === null && budget?.resets === 'never' && isOfTokens(budget))
  );
}

function isOfTokens({ tokenLimit, requestLimit, dailyTokenLimit, costLimit = null }: NonNullable<PlanTerms['budget']>) {
  return tokenLimit !== null && requestLimit === null && dailyTokenLimit === null && costLimit === null;
}

/** The effects of priced plans. */
function orderableTerms({ catalogue, freeTierPeriod }: SiteServices): PlanTerms[] {
  const terms = catalogue.prices.map(({ planId }) => planTerms(planId, { catalogue, freeTierPeriod }));
  return terms.filter((each) => each !== undefined);
}

function countModels(gateway: Pick<Gateway, 'models'>) {
  const counts = { text: 0, audio: 0, image: 0 };
  for (const { kind, aliasOf } of gateway.models()) if (aliasOf === undefined) counts[kind] += 1;
  return counts;
}

const MAX_FORM_BYTES = 1_024;
/** Limits of code attempts per address and user: far more than people need, far fewer than guessing needs. */
const CODES_PER_MINUTE = 30;

interface DevicePageServices extends AccountServices {
  deviceGrants: DeviceGrants;
}

/** The page where a signed-in user sees which program requests access, and answers. */
export function devicePageRoutes(services: DevicePageServices): Route[] {
  const { deviceGrants, site, sessions, bodies, clock, siblings, addressOf } = services;
  const codes = new AddressLimit({
    clock,
    siblings,
    name: 'device codes',
    perMinute: CODES_PER_MINUTE,
    what: 'Too many codes',
  });

  async function findGrant(context: RequestContext, user: UserRecord, code: string): Promise<DeviceGrant | undefined> {
    codes.admit(addressOf(context.req));
    codes.admit(user.id);
    return deviceGrants.find(code);
  }

  async function sendDevice(context: RequestContext): Promise<void> {
    const { user_code: given, answered } = context.query;
    const code = typeof given === 'string' && isCode(given) ? given : undefined;
    const signedIn = await sessions.find(context);
    if (!signedIn) {
      const here = code === undefined ? '/device' : `/device?user_code=${code}`;
      return seeOther(context, `${site().url}/signin?return_to=${encodeURIComponent(here)}`);
    }
    const locale = localeOf(context, signedIn.user.language);
    const visit = { signedIn, locale };
    if (isAnswer(answered)) return sendTo(context, visit, deviceDonePage(answered, locale));
    if (given === undefined) return sendTo(context, visit, deviceCodePage(locale));
    const grant = code === undefined ? undefined : await findGrant(context, signedIn.user, code);
    if (!grant) context.status = 404;
    const page = grant ? answerPage(grant, signedIn.user, locale) : deviceCodePage(locale, String(given));
    sendTo(context, visit, page);
  }

  async function takeAnswer(context: RequestContext): Promise<void> {
    const signedIn = await sessions.require(context);
    const { user, session } = signedIn;
    // An approved program must not approve other programs.
    if (session.kind !== 'browser') throw new GatewayError('not_signed_in', 'Answer this in a browser.');
    const limits = { maxBytes: MAX_FORM_BYTES, budget: bodies, owner: user.accountId };
    const { user_code: code = '', answer } = await readForm(context.req, context.res, limits);
    if (!isAnswer(answer)) {
      throw new GatewayError('invalid_value', 'answer must be approve or deny.', { param: 'answer' });
    }
    const grant = isCode(code) ? await findGrant(context, user, code) : undefined;
    const taken =
      grant && (await (answer === 'approve' ? deviceGrants.approve(code, user.id) : deviceGrants.deny(code)));
    // A redirect, so that a reload does not submit the form again.
    if (taken) return seeOther(context, `${site().url}/device?answered=${answer}`);
    context.status = 404;
    const locale = localeOf(context, user.language);
    sendTo(context, { signedIn, locale }, deviceCodePage(locale, code));
  }

  return [
    defineRoute({
      ...OWN_PAGE_ROUTE,
      path: '/device',
      endpoint: 'deviceVerification',
      summary: 'Device page',
      description: 'Page on which a user sees which program asks for access.',
      handler: sendDevice,
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      method: 'POST',
      path: '/device',
      summary: 'Answer a device request',
      description: 'Gives a program access, or refuses it.',
      body: {
        type: 'application/x-www-form-urlencoded',
        schema: Type.Object({
          user_code: Type.String({ description: 'The code that the program shows.' }),
          answer: Type.String({ description: '`approve` or `deny`.' }),
        }),
      },
      answers: { 200: { description: 'A page that says so.', type: 'text/html' }, 303: { description: 'Done.' } },
      handler: takeAnswer,
    }),
  ];
}

function isAnswer(text: unknown): text is DeviceAnswer {
  return text === 'approve' || text === 'deny';
}

function isCode(text: string): boolean {
  return /^[A-Za-z -]{8,12}$/.test(text);
}

function answerPage({ userCode, clientName }: DeviceGrant, { email, name }: UserRecord, locale: Locale): Page {
  const label = email ?? name ?? locale.texts.words.yourAccount;
  return deviceAnswerPage({ clientName, label, userCode, shownCode: showUserCode(userCode) }, locale);
}
