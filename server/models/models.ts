/*
 * The routes of the list of models and of stored responses. The list has the models that are ready and that the plan of
 * the key allows; a request with `anthropic-version` gets it in Anthropic's format, without models for embeddings and
 * moderations. Ids with slashes, which some SDKs do not encode, are routed again with the slashes encoded. A stored
 * response is fetched, cancelled or deleted at the upstream that stores it, for the account that made it. These
 * requests cost no tokens and have a rate limit of their own for polls.
 */

import { field, type ReadyModel, type StoredResponseAction, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  AnyObject,
  Count,
  defineRoute,
  type Middleware,
  Nullable,
  OneOf,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type RouteAnswer,
  type ServerContext,
  sendText,
  Text,
  Time,
} from '../http/index.js';
import { keyOf, pollingKeyOf } from '../keys/index.js';
import { checkModel, isModelAllowed } from '../usage/index.js';
import {
  describeModel,
  encodeModel,
  encodeModelList,
  encodeModelPage,
  isWritingModel,
  ModelSchema,
  mockEntries,
  orderModels,
  withoutAliases,
} from './model-list.js';
import { endWithCaller, PASSED_ON, RESPONSE, RESPONSE_EVENTS, TEXT_ROUTE, type TextServices } from './text.js';

const ModelList = Type.Object(
  {
    object: field(Type.Literal('list'), 'Always `list`.'),
    data: field(Type.Array(ModelSchema), 'The models.'),
  },
  { description: 'A list of models.' },
);

const AnthropicModel = Type.Object(
  {
    type: field(Type.Literal('model'), 'Always `model`.'),
    id: field(Text, 'Id of the model.', 'm-5.5'),
    display_name: field(Text, 'The same as `id`.', 'm-5.5'),
    created_at: field(Time, 'Start of the list (RFC 3339); the same for all models.'),
  },
  { ...PASSED_ON, description: "A model in Anthropic's format." },
);

const AnthropicModelList = Type.Object(
  {
    data: field(Type.Array(AnthropicModel), 'The models of the page.'),
    has_more: field(Type.Boolean(), 'Whether there are models after the page, or before it with `before_id`.'),
    first_id: field(Nullable(Text), 'Id of the first model of the page. Null if the page is empty.'),
    last_id: field(Nullable(Text), 'Id of the last model of the page. Null if the page is empty.'),
  },
  { description: "A page of the list of models in Anthropic's format." },
);

const AnyModel = Type.Union([ModelSchema, AnthropicModel], {
  description: "A model; with `anthropic-version` in Anthropic's format.",
});
const AnyModelList = Type.Union([ModelList, AnthropicModelList], {
  description: "A list of models; with `anthropic-version` a page in Anthropic's format.",
});

const ANTHROPIC_PAGE = {
  limit: {
    schema: Type.Integer({ minimum: 1, maximum: 1_000 }),
    description: 'Only with `anthropic-version`: models of a page, 1 to 1000. Default 20.',
  },
  after_id: { schema: Text, description: 'Only with `anthropic-version`: the page begins after this model.' },
  before_id: { schema: Text, description: 'Only with `anthropic-version`: the page ends before this model.' },
} as const;

const FOR_ANTHROPIC = {
  'anthropic-version':
    "With any version, the answer has Anthropic's format and only text models, if the operator has enabled messages. The key may then be in X-API-Key.",
} as const;

interface ModelListServices extends Pick<ServerContext, 'gateway'> {
  /** Whether the routes of Anthropic's format are enabled. */
  messagesEnabled: boolean;
  /** Whether the names of the service document are listed for models with names of their own. */
  modelAliases: boolean;
}

/**
 * Lists the models of all kinds that are ready and allowed by the key's plan, regardless of the key's grants. Clients
 * of Anthropic's format, identified by its version header, get the models of that format, in that format.
 */
export function modelRoutes({ gateway, messagesEnabled, modelAliases }: ModelListServices): Route[] {
  const common = {
    method: 'GET',
    grant: ['text', 'audio'],
    advice(grants: readonly string[]) {
      const ids = grants.includes('images') ? gateway.models().filter(({ kind }) => kind === 'image') : [];
      if (ids.length === 0) return undefined;
      return `Its image models: ${orderModels(ids.map(({ id }) => id)).join(', ')}.`;
    },
    format: ({ req }: RequestContext) =>
      messagesEnabled && req.headers['anthropic-version'] !== undefined ? 'anthropic' : undefined,
    tag: 'Models',
    headers: FOR_ANTHROPIC,
  } as const;

  function modelsFor({ state: { anthropic } }: RequestContext): readonly ReadyModel[] {
    const there = gateway.models().filter(({ isAbsent }) => !isAbsent);
    const all = modelAliases ? there : withoutAliases(there);
    return anthropic ? all.filter(isWritingModel) : all;
  }

  return [
    defineRoute({
      ...common,
      path: '/v1/models',
      endpoint: 'models',
      summary: 'List models',
      description:
        "Returns the models that are ready and that the plan of the API key allows. With `anthropic-version` in Anthropic's format.",
      query: ANTHROPIC_PAGE,
      answers: { 200: { description: 'The list.', name: 'ModelList', schema: AnyModelList } },
      async handler(context) {
        const key = keyOf(context);
        const models = modelsFor(context).filter(({ id }) => isModelAllowed(key, id, gateway.resolveModel));
        const { anthropic } = context.state;
        context.body = anthropic
          ? encodeModelPage(orderModels(models.map(({ id }) => id)), models, context.query)
          : encodeModelList(models, { messagesEnabled, mocks: mockEntries(gateway) });
      },
    }),
    defineRoute({
      ...common,
      path: '/v1/models/:id',
      endpoint: 'model',
      parameter: 'model',
      params: { id: { description: 'Id of the model.', example: 'm-5.5' } },
      summary: 'Get a model',
      description: 'Returns a model that is ready and that the plan of the API key allows.',
      answers: { 200: { description: 'The model.', name: 'Model', schema: AnyModel } },
      errors: ['model_not_found'],
      async handler(context) {
        const { id = '' } = context.params;
        const models = modelsFor(context);
        if (!models.some((model) => model.id === id)) {
          const message = `There is no model "${id.slice(0, 100)}". GET /v1/models lists the models.`;
          throw new GatewayError('model_not_found', message, { param: 'model' });
        }
        checkModel(keyOf(context), id, gateway.resolveModel);
        const options = { messagesEnabled, mocks: mockEntries(gateway) };
        context.body = context.state.anthropic ? describeModel(id, models) : encodeModel(id, models, options);
      },
    }),
  ];
}

const MODELS = '/v1/models/';

/**
 * For requests without a route: ids with slashes, as SDKs of some languages send them, belong to the route of one model.
 * @param route Looks up a route again.
 */
export function createModelPaths(route: Middleware): Middleware {
  return (context, next) => {
    const { path } = context;
    const id = path.startsWith(MODELS) ? path.slice(MODELS.length) : '';
    if (!id.includes('/')) return next();
    context.path = `${MODELS}${id.replaceAll('/', '%2F')}`;
    return route(context, next);
  };
}

const ROUTE = '/v1/responses/:id';

/** Stored responses: fetched from their upstream. Costs no request of the rate limit and no tokens. */
export function storedResponseRoutes({ gateway, polls, keys }: TextServices): Route[] {
  const ask = (action: StoredResponseAction) => async (context: ParamsContext) => {
    const { accountId } = pollingKeyOf(context, polls);
    const exchange = await gateway.text.stored({
      action,
      responseId: paramOf(context, 'id'),
      owner: accountId,
      query: context.querystring,
      requestId: context.state.requestId,
    });
    endWithCaller(context, keys, exchange);
    await sendText(context, await exchange.answer);
  };

  const stored = (answer: Omit<RouteAnswer, 'description'>) =>
    ({
      ...TEXT_ROUTE,
      parameter: 'response_id',
      params: { id: { description: 'Id of the response.', example: 'resp_0123456789abcdef' } },
      answers: { 200: { description: 'The answer of the upstream that stores it.', ...answer } },
      errors: ['response_not_found', 'rate_limit_exceeded'],
    }) as const;
  return [
    defineRoute({
      ...stored({ ...RESPONSE, also: RESPONSE_EVENTS }),
      method: 'GET',
      path: ROUTE,
      query: {
        stream: { schema: Type.Boolean(), description: 'Send the events of the response. Default false.' },
        starting_after: { schema: Count, description: 'Only with `stream`: the events after this number.' },
      },
      endpoint: 'response',
      summary: 'Get a stored response',
      description: 'Returns a response that its upstream stores.',
      handler: ask('retrieve'),
    }),
    defineRoute({
      ...stored({ schema: AnyObject }),
      method: 'DELETE',
      path: ROUTE,
      endpoint: 'response',
      summary: 'Delete a stored response',
      description: 'Deletes a response at the upstream that stores it.',
      handler: ask('delete'),
    }),
    defineRoute({
      ...stored(RESPONSE),
      method: 'POST',
      path: `${ROUTE}/cancel`,
      endpoint: 'responseCancel',
      summary: 'Cancel a background response',
      description: 'Cancels a response that runs in the background.',
      handler: ask('cancel'),
    }),
    defineRoute({
      ...stored({ schema: AnyObject }),
      method: 'GET',
      path: `${ROUTE}/input_items`,
      query: {
        limit: { schema: Count, description: 'Items of a page, as the upstream accepts it.' },
        order: { schema: OneOf('asc', 'desc'), description: 'Order of the items.' },
        after: { schema: Text, description: 'The page begins after the item with this id.' },
      },
      endpoint: 'responseInputItems',
      summary: 'List input items',
      description: 'Returns the input items of a stored response.',
      handler: ask('input_items'),
    }),
  ];
}
