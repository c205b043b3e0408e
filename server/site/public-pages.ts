/*
 * The routes of the public pages about the service itself: its models and platforms. Pages work without scripts, and
 * nothing on them names a host, a key or an upstream.
 */

import type { Gateway } from 'mediagate';
import { Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { AccountServices, AccountView, SignedIn } from '../accounts/index.js';
import type { RequestContext, Route } from '../http/index.js';
import { type Catalogue, isOffered } from '../plans/index.js';
import type { ServiceStatus } from '../status/index.js';
import { localeOf } from './language/index.js';
import { loadModels, loadPlatforms, type ModelKind, type ModelSources } from './model-views.js';
import { PAGE_ROUTE } from './page.js';
import { type ModelSearch, modelsPage } from './pages/models.js';
import { statusPage } from './pages/status.js';
import { sendTo, visitOf } from './visit.js';

export interface PublicPageServices extends AccountServices, Omit<ModelSources, 'gateway'> {
  gateway: Gateway;
  catalogue: Catalogue;
  view: Pick<AccountView, 'account'>;
  status: Pick<ServiceStatus, 'report'>;
}

export function publicPageRoutes(services: PublicPageServices): Route[] {
  return [
    {
      ...PAGE_ROUTE,
      path: '/models',
      summary: 'Models page',
      description: 'Page of the models and platforms: what each does, its routes and limits.',
      query: {
        q: { schema: Type.String({ maxLength: MAX_SEARCH }), description: 'Part of a name, a route or a task.' },
        kind: { schema: Type.String(), description: '`text`, `audio`, `image` or `link`. Default: all.' },
        page: { schema: Type.Integer({ minimum: 1 }), description: 'Page of the list. Default 1.' },
      },
      errors: ['invalid_value'],
      handler: (context) => sendModels(context, services),
    },
    {
      ...PAGE_ROUTE,
      path: '/status',
      summary: 'Status page',
      description: 'Page of the state of the service: its parts now and in the last 24 hours, and incidents.',
      handler: (context) => sendStatus(context, services),
    },
  ];
}

async function sendModels(context: RequestContext, services: PublicPageServices): Promise<void> {
  const { gateway, catalogue, sessions, prices, ...rest } = services;
  const search = readSearch(context);
  const visit = await visitOf(context, sessions);
  const sources = { ...rest, gateway, prices: catalogue.publicPriceTablesVisible ? prices : undefined };
  const hasLinks = await offersLinks(visit.signedIn, services);
  const view = { search, models: loadModels(sources), platforms: hasLinks ? loadPlatforms(sources) : [] };
  sendTo(context, visit, modelsPage(view, visit.locale));
}

async function sendStatus(context: RequestContext, services: PublicPageServices): Promise<void> {
  // The page is also for times without a database.
  const visit = await visitOf(context, services.sessions).catch(() => ({
    signedIn: undefined,
    locale: localeOf(context),
  }));
  const [report, hasLinks] = await Promise.all([
    services.status.report(),
    offersLinks(visit.signedIn, services).catch(() => false),
  ]);
  sendTo(context, visit, statusPage({ report, hasLinks }, visit.locale));
}

/** Whether a plan includes link data, or the visitor's own does, such as that of the operator. */
export async function offersLinks(
  signedIn: SignedIn | undefined,
  { catalogue, view }: Pick<PublicPageServices, 'catalogue' | 'view'>,
): Promise<boolean> {
  if (isOffered('extract', catalogue)) return true;
  const { plan } = signedIn ? await view.account(signedIn.user) : { plan: null };
  return plan?.grants.includes('extract') ?? false;
}

const MAX_SEARCH = 200;
const MAX_PAGE = 10_000;
const KINDS: readonly ModelKind[] = ['text', 'audio', 'image', 'link'];

/** An empty field does not limit. @throws GatewayError `invalid_value`. */
function readSearch({ query: { q = '', kind = '', page = '1' } }: RequestContext): ModelSearch {
  if (typeof q !== 'string' || q.length > MAX_SEARCH) {
    throw new GatewayError('invalid_value', `q must be a text of at most ${MAX_SEARCH} characters.`, { param: 'q' });
  }
  const known = KINDS.find((one) => one === kind);
  if (known === undefined && kind !== '') {
    throw new GatewayError('invalid_value', `kind must be one of ${KINDS.join(', ')}.`, { param: 'kind' });
  }
  const number = typeof page === 'string' && /^\d{1,5}$/.test(page) ? Number(page) : 0;
  if (number < 1 || number > MAX_PAGE) {
    throw new GatewayError('invalid_value', `page must be a whole number from 1 to ${MAX_PAGE}.`, { param: 'page' });
  }
  return { q: q.trim(), kind: known, page: number };
}
