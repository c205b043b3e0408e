import type Router from '@koa/router';
import { type Gateway, GatewayError } from 'mediagate';
import type { Next, ParamsContext, RequestContext, RequestState } from '../http/index.js';
import { markAnthropic } from '../http/index.js';
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
