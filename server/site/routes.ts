import type Router from '@koa/router';
import { type Gateway, GatewayError, type SignedIn } from 'mediagate';
import { readReturnPath } from '../account/return-path.js';
import type { AccountDependencies } from '../account/routes.js';
import { createSessionDesk } from '../account/sessions.js';
import type { RequestContext, RequestState } from '../middleware/request-state.js';
import { setupClients } from '../setup-clients.js';
import { addAssetRoutes } from './asset-routes.js';
import { type DashboardSources, labelOf, lookAtAccount } from './dashboard-view.js';
import { markPage } from './failure-page.js';
import { type Page, sendPage } from './page.js';
import { dashboardPage } from './pages/dashboard.js';
import { homePage } from './pages/home.js';
import { paymentPage } from './pages/payment.js';
import { plansPage } from './pages/plans.js';
import { playgroundPage } from './pages/playground.js';
import { setupPage } from './pages/setup.js';
import { signInPage } from './pages/sign-in.js';
import { planViews } from './plan-view.js';
import { lookAtPlayground } from './playground-view.js';

export interface SiteRoutes extends Omit<DashboardSources, 'state'> {
  account: AccountDependencies;
  gateway: Pick<Gateway, 'platforms' | 'models' | 'audioProvider'>;
  baseUrl(): string;
}

/** The pages that people visit. */
export function addSiteRoutes(router: Router<RequestState>, options: SiteRoutes): void {
  const { account, gateway, catalogue, clock, baseUrl } = options;
  const { identity, site, state, transferOf } = account;
  const sessions = createSessionDesk(state.sessions, site);

  const send = (context: RequestContext, page: Omit<Page, 'viewer'>, signedIn: SignedIn | undefined) =>
    sendPage(context, { ...page, viewer: signedIn ? { label: labelOf(signedIn.user) } : null });

  addAssetRoutes(router);

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
    const current = signedIn && (await state.accounts.find(signedIn.user.accountId));
    const view = { plans: planViews(catalogue), isSignedIn: !!signedIn, currentPlanId: current?.plan?.planId };
    send(context, plansPage(view), signedIn);
  });

  router.get('/setup', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    const clients = setupClients(baseUrl());
    send(context, setupPage({ clients, baseUrl: baseUrl(), isSignedIn: !!signedIn }), signedIn);
  });

  router.get('/dashboard', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    if (!signedIn) return seeOther(context, signInPath(context));
    send(context, dashboardPage(await lookAtAccount({ ...options, state }, signedIn.user)), signedIn);
  });

  router.get('/playground', markPage, async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    if (!signedIn) return seeOther(context, signInPath(context));
    send(context, playgroundPage(await lookAtPlayground({ ...options, state }, signedIn.user)), signedIn);
  });

  router.get('/pay/:code', markPage, async (context: RequestContext & { params: Record<string, string> }) => {
    const signedIn = await sessions.find(context);
    if (!signedIn) return seeOther(context, signInPath(context));
    const order = await state.orders.find(context.params.code ?? '');
    const transfer = order && transferOf?.(order);
    if (!order || !transfer || order.accountId !== signedIn.user.accountId) {
      throw new GatewayError('order_not_found', 'There is no such order of this account.');
    }
    const planName = catalogue.plans.find(({ id }) => id === order.planId)?.name ?? order.planId;
    send(context, paymentPage({ order, planName, transfer, now: clock.now() }), signedIn);
  });
}

function countModels(gateway: Pick<Gateway, 'models'>) {
  const counts = { text: 0, audio: 0, image: 0 };
  for (const { kind } of gateway.models()) counts[kind] += 1;
  return counts;
}

function signInPath({ path }: RequestContext): string {
  return `/login?return_to=${encodeURIComponent(path)}`;
}

function seeOther(context: RequestContext, path: string): void {
  context.status = 303;
  context.set('Location', path);
  context.body = '';
}
