import type Router from '@koa/router';
import { type Gateway, GatewayError, type StoredResponseAction } from 'mediagate';
import {
  leaveWithClient,
  markAnthropic,
  markModel,
  type Next,
  type ParamsContext,
  type PollGuard,
  type RequestContext,
  type RequestState,
  sendText,
} from '../http/index.js';
import { type createAuth, keyOf } from '../keys/index.js';
import { checkModel, isModelAllowed } from '../usage/index.js';
import { describeModel, encodeModelPage } from './messages/model-page.js';
import { encodeModel, encodeModelList, orderModels } from './model-list.js';

export interface ModelRoutes {
  gateway: Gateway;
  auth: ReturnType<typeof createAuth>;
  /** Whether the text models are to be had in Anthropic's format. */
  messagesEnabled: boolean;
}

const GRANT = ['text', 'audio'] as const;

/**
 * Models of all kinds that are ready and that the plan of the key allows; which routes it is granted is another matter. Clients of
 * Anthropic's format, who name its version, are told of those that it is for, and in it.
 */
export function addModelRoutes(router: Router<RequestState>, { gateway, auth, messagesEnabled }: ModelRoutes): void {
  const byBearer = auth({ grant: GRANT });
  const byEither = auth({ grant: GRANT, allowApiKeyHeader: true });

  function authenticate(context: RequestContext, next: Next): Promise<unknown> {
    const isAnthropic = messagesEnabled && context.req.headers['anthropic-version'] !== undefined;
    return isAnthropic ? markAnthropic(context, () => byEither(context, next)) : byBearer(context, next);
  }

  function modelsFor({ state: { anthropic } }: RequestContext): string[] {
    return (anthropic ? gateway.text.models() : gateway.models()).map(({ id }) => id);
  }

  router.get('/v1/models', authenticate, async (context: RequestContext) => {
    const key = keyOf(context);
    const ids = modelsFor(context).filter((id) => isModelAllowed(key, id));
    context.body = context.state.anthropic ? encodeModelPage(orderModels(ids), context.query) : encodeModelList(ids);
  });

  router.get('/v1/models/:id', authenticate, async (context: ParamsContext) => {
    const { id = '' } = context.params;
    if (!modelsFor(context).includes(id)) {
      const message = `There is no model "${id.slice(0, 100)}". GET /v1/models has those there are.`;
      throw new GatewayError('model_not_found', message, { param: 'model' });
    }
    checkModel(keyOf(context), id);
    context.body = context.state.anthropic ? describeModel(id) : encodeModel(id);
  });
}

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
