import type Router from '@koa/router';
import type { Gateway, StoredResponseAction } from 'mediagate';
import type { ParamsContext, PollGuard, RequestState } from '../http/index.js';
import { leaveWithClient, markModel, sendText } from '../http/index.js';
import { type createAuth, keyOf } from '../keys/index.js';

export interface StoredResponseRoutes {
  gateway: Gateway;
  auth: ReturnType<typeof createAuth>;
  polls: PollGuard;
}

const ROUTE = '/v1/responses/:id';

/** What became of a response: asked for where it was made. It costs no slot and no tokens. */
export function addStoredResponseRoutes(router: Router<RequestState>, options: StoredResponseRoutes): void {
  const { gateway, auth, polls } = options;
  const authenticate = auth({ grant: 'text' });

  const ask = (action: StoredResponseAction) => async (context: ParamsContext) => {
    const { id: keyId, accountId } = keyOf(context);
    polls.admit(keyId);
    const exchange = await gateway.text.stored({
      action,
      responseId: context.params.id ?? '',
      owner: accountId,
      query: context.querystring,
      requestId: context.state.requestId,
    });
    leaveWithClient(context.res, exchange);
    await sendText(context, await exchange.answer);
  };
  router.get(ROUTE, markModel, authenticate, ask('retrieve'));
  router.delete(ROUTE, markModel, authenticate, ask('delete'));
  router.post(`${ROUTE}/cancel`, markModel, authenticate, ask('cancel'));
  router.get(`${ROUTE}/input_items`, markModel, authenticate, ask('input_items'));
}
