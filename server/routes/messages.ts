import type Router from '@koa/router';
import { GatewayError } from 'mediagate';
import { GRANTS } from '../keys.js';
import type { createAuth } from '../middleware/auth.js';
import { markAnthropic } from '../middleware/error-shapes.js';
import type { RequestState } from '../middleware/request-state.js';

export interface MessageRoutes {
  auth: ReturnType<typeof createAuth>;
}

const ROUTES = ['/v1/messages', '/v1/messages/count_tokens'];

/** Routes that are there and disabled: who has a key is told where to turn, in the shape that these routes have. */
export function addMessageRoutes(router: Router<RequestState>, { auth }: MessageRoutes): void {
  const authenticate = auth({ grant: GRANTS, allowApiKeyHeader: true });
  for (const route of ROUTES) {
    router.post(route, markAnthropic, authenticate, () => {
      const message = 'The messages route is disabled. Use /v1/responses or /v1/chat/completions.';
      throw new GatewayError('route_not_allowed', message);
    });
  }
}
