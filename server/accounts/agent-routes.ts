import type Router from '@koa/router';
import type { Clock, Gateway } from 'mediagate';
import type { RequestContext, RequestState, SiteAddress } from '../http/index.js';
import { sendJson, sendTagged } from '../http/index.js';
import type { Catalogue } from '../plans/index.js';
import { encodeManifest } from './account-manifest.js';
import type { AccountView } from './account-overview.js';
import { encodePlans } from './account-plans.js';
import { encodeSession, encodeSignedOut } from './account-session.js';
import { encodeSetup, readSetupClient, renderSetup, type SetupAccount } from './account-setup.js';
import { countGoodKeys } from './account-user.js';
import type { Identity } from './identity.js';
import type { SessionDesk } from './sessions.js';
import { modelsForSetup, setupClients } from './setup-guide.js';
import type { UserRecord } from './users.js';

const MARKDOWN = 'text/markdown';

export interface AgentRoutes {
  gateway: Gateway;
  identity: Identity;
  sessions: SessionDesk;
  view: AccountView;
  catalogue: Catalogue;
  clock: Clock;
  baseUrl(): string;
  site(): SiteAddress;
}

/** What programs and pages read of the service and of who is signed in. Nobody has to be. */
export function addAgentRoutes(router: Router<RequestState>, options: AgentRoutes): void {
  const { gateway, identity, sessions, view, catalogue, clock, baseUrl, site } = options;

  router.get('/api/agent/manifest', (context: RequestContext) => {
    const clients = setupClients({ baseUrl: baseUrl(), models: modelsForSetup(undefined) });
    const addresses = { baseUrl: baseUrl(), siteUrl: site().url };
    const signIn = identity.status();
    const manifest = encodeManifest({ ...addresses, signIn, catalogue, models: gateway.models(), clients });
    sendJson(context, manifest, 'public');
  });

  router.get('/api/agent/plans', (context: RequestContext) => sendJson(context, encodePlans(catalogue), 'public'));

  router.get('/api/agent/session', async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    if (!signedIn) return sendJson(context, encodeSignedOut(site().url), 'private');
    const { user, session } = signedIn;
    const [account, keys] = await Promise.all([view.account(user), view.keys(user)]);
    sendJson(context, encodeSession({ user, session, account, keys }, { catalogue, now: clock.now() }), 'private');
  });

  router.get('/api/agent/setup', async (context: RequestContext) => {
    const wanted = readSetupClient(context.query.client);
    const signedIn = await sessions.find(context);
    const account = signedIn && (await setupAccountOf(signedIn.user));
    const models = modelsForSetup(account?.models);
    const clients = setupClients({ baseUrl: baseUrl(), models }).filter(
      ({ id }) => wanted === undefined || id === wanted,
    );
    const guide = { baseUrl: baseUrl(), siteUrl: site().url, clients, ...(account && { account }) };
    context.vary('Accept');
    if (context.accepts('json', MARKDOWN) !== MARKDOWN) return sendJson(context, encodeSetup(guide), 'private');
    sendTagged(context, renderSetup(guide), { type: `${MARKDOWN}; charset=utf-8`, keeping: 'private' });
  });

  async function setupAccountOf(user: UserRecord): Promise<SetupAccount> {
    const [{ plan }, keys] = await Promise.all([view.account(user), view.keys(user)]);
    const { freeTier } = catalogue;
    return {
      planId: plan?.planId ?? null,
      grants: plan?.grants ?? [],
      // Whoever has no plan gets the free tier with the first key.
      models: plan ? plan.models : freeTier.modelAccess,
      keys: countGoodKeys(keys, clock.now()),
    };
  }
}
