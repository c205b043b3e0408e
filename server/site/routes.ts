import type Router from '@koa/router';
import type { Clock, Gateway } from 'mediagate';
import type { AccountDependencies } from '../account-routes.js';
import type { AccountDesks } from '../account-services.js';
import type { PlanTerms, SignedIn } from '../accounts/index.js';
import { modelsForSetup, setupClients } from '../accounts/index.js';
import type { ParamsContext, RequestContext, RequestState } from '../http/index.js';
import { markPage, readReturnPath, seeOther } from '../http/index.js';
import { planTerms } from '../plans/index.js';
import { addAssetRoutes } from './asset-routes.js';
import { labelOf, lookAtDashboard } from './dashboard-view.js';
import { type Page, sendPage } from './page.js';
import { dashboardPage } from './pages/dashboard.js';
import { homePage } from './pages/home.js';
import { paymentPage } from './pages/payment.js';
import { plansPage } from './pages/plans.js';
import { playgroundPage } from './pages/playground.js';
import { setupPage } from './pages/setup.js';
import { signInPage } from './pages/sign-in.js';
import { describeOutcome, planName, planViews } from './plan-view.js';
import { lookAtPlayground } from './playground-view.js';
import { addReferenceRoutes } from './reference-routes.js';

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
