import { type Clock, GatewayError } from 'mediagate';
import type { AccountDependencies } from '../account-routes.js';
import type { AccountDesks } from '../account-services.js';
import type { Next, RequestContext } from '../http/index.js';
import { isOfPrograms } from '../http/index.js';
import type { ApiKeyRecord, KeyTable } from '../keys/index.js';
import { newestKey } from '../keys/index.js';
import { createSameOriginGuard } from './same-origin.js';
import { bearerOf } from './sessions.js';

const PREFIX = '/api/play';

export interface PlayOptions {
  account: Pick<AccountDependencies, 'state' | 'site'>;
  desks: Pick<AccountDesks, 'sessions'>;
  keys: Pick<KeyTable, 'admit'>;
  clock: Clock;
}

/**
 * Everything under `/v1` once more under `/api/play/v1`, for the site's own pages: whoever is signed in is let in as the
 * newest good key of their account, and whatever holds for that key holds there. So no key is ever in a page.
 */
export function createPlay({ account: { state, site }, desks: { sessions }, keys, clock }: PlayOptions) {
  const sameOrigin = createSameOriginGuard(site);

  async function keyOfAccount(accountId: string): Promise<ApiKeyRecord> {
    const newest = await newestKey(state.keys, accountId, clock.now());
    if (newest) return keys.admit(newest);
    const message = `This account has no API key that is good, and whatever is asked for here is asked for with one. Make one at ${site().url}/dashboard.`;
    throw new GatewayError('no_active_key', message);
  }

  async function play(context: RequestContext, next: Next): Promise<unknown> {
    if (bearerOf(context) !== undefined || context.req.headers['x-api-key'] !== undefined) {
      const message = `${PREFIX} is for pages of the site. Programs send their API key to the same path without it.`;
      throw new GatewayError('route_not_allowed', message);
    }
    return sameOrigin(context, async () => {
      const { user } = await sessions.require(context);
      context.state.playedKey = await keyOfAccount(user.accountId);
      context.path = context.path.slice(PREFIX.length);
      return next();
    });
  }

  return (context: RequestContext, next: Next): Promise<unknown> =>
    isOfPrograms(context.req) || !context.path.startsWith(`${PREFIX}/v1/`) ? next() : play(context, next);
}
