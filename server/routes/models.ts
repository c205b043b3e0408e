import type Router from '@koa/router';
import { type Gateway, GatewayError } from 'mediagate';
import { type createAuth, keyOf } from '../middleware/auth.js';
import type { ParamsContext, RequestContext, RequestState } from '../middleware/request-state.js';
import { checkModel, isModelAllowed } from '../usage.js';
import { encodeModel, encodeModelList } from '../wire/model-list.js';

export interface ModelRoutes {
  gateway: Gateway;
  auth: ReturnType<typeof createAuth>;
}

/** Models of all kinds that are ready and that the plan of the key allows; which routes it is granted is another matter. */
export function addModelRoutes(router: Router<RequestState>, { gateway, auth }: ModelRoutes): void {
  const authenticate = auth({ grant: ['text', 'audio'] });

  router.get('/v1/models', authenticate, async (context: RequestContext) => {
    const key = keyOf(context);
    const ids = gateway.models().map(({ id }) => id);
    context.body = encodeModelList(ids.filter((id) => isModelAllowed(key, id)));
  });

  router.get('/v1/models/:id', authenticate, async (context: ParamsContext) => {
    const { id = '' } = context.params;
    if (!gateway.models().some((model) => model.id === id)) {
      const message = `There is no model "${id.slice(0, 100)}". GET /v1/models has those there are.`;
      throw new GatewayError('model_not_found', message, { param: 'model' });
    }
    checkModel(keyOf(context), id);
    context.body = encodeModel(id);
  });
}
