import type Router from '@koa/router';
import { GatewayError } from 'mediagate';
import type { PollGuard, RequestContext, RequestState } from '../http/index.js';
import { type createAuth, keyOf } from '../keys/index.js';
import type { WebhookSecrets } from './secrets.js';

export interface WebhookRoutes {
  auth: ReturnType<typeof createAuth>;
  polls: PollGuard;
  /** Default: there are no webhooks. */
  secrets?: WebhookSecrets;
}

const ROUTE = '/v1/webhooks/secret';

/** The secret that an account knows its events by. */
export function addWebhookRoutes(router: Router<RequestState>, { auth, polls, secrets }: WebhookRoutes): void {
  const authenticate = auth({ grant: 'images' });

  const answer = (work: keyof Pick<WebhookSecrets, 'newest' | 'rotate'>) => async (context: RequestContext) => {
    if (!secrets) throw new GatewayError('route_not_allowed', 'Webhooks are switched off at this gateway.');
    const { id, accountId } = keyOf(context);
    polls.admit(id);
    const secret = await secrets[work](accountId);
    context.res.setHeader('Cache-Control', 'no-store');
    context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
    context.body = JSON.stringify({ secret });
  };
  router.get(ROUTE, authenticate, answer('newest'));
  router.post(`${ROUTE}/rotate`, authenticate, answer('rotate'));
}
