/*
 * The routes of the admin API that change models: switch off and on, weigh, price, add and remove. They check the form of
 * what is sent; what is meant is checked in `model-changes.ts`, whose functions the console and the commands use too.
 * Each answers the model as it is after the change, in the form of the list of models.
 */

import { field, ModelPricesSchema, optional, Type } from '../../../core/contracts/index.js';
import { OneOf, type Route, Text } from '../../http/index.js';
import { type AddedServer, SERVER_FORMATS } from '../../model-changes/index.js';
import { adminRoute, NOTE, NoteBody, strict } from '../admin-route.js';
import type { AdminServices } from '../services.js';
import { addModel, changeModel, NEW_MODEL, removeModel } from './model-changes.js';
import { describeWatchedModel, ModelShape, watchModels } from './models.js';

const Prices = Type.Union([ModelPricesSchema, Type.Null()], { title: 'prices as in PRICES_FILE, or null' });
const Weights = Type.Union([Type.Record(Type.String({ maxLength: 200 }), Type.Number()), Type.Null()], {
  title: 'a weight from 0 to 1000 for each upstream, or null',
});
const ChangeBody = Type.Object(
  {
    enabled: optional(
      Type.Boolean(),
      'Whether it takes requests. One that is switched off is in no list, and what was submitted before is finished.',
    ),
    weights: optional(
      Weights,
      'Share of the requests of each upstream, by its name; 0 for one that only replaces others. Null: as configured.',
      { first: 3, second: 1 },
    ),
    prices: optional(
      Prices,
      'All prices of the model, in the currency of the gateway, as in `PRICES_FILE`. Null: as configured.',
      { input: 1.25, output: 10 },
    ),
    accept: optional(
      Type.Boolean(),
      'Makes price changes that may be mistakes: a price that would vanish, or is 10 times another one. Default false.',
    ),
    ...NOTE,
  },
  strict,
);
const NewModelBody = Type.Object(
  {
    id: field(NEW_MODEL.id, 'Public name of the model.', 'team-llama'),
    url: field(
      NEW_MODEL.url,
      'Base address of the API. One in a private network must be named in `TRUSTED_ORIGINS`.',
      'https://api.example.com/v1',
    ),
    format: optional(
      Type.Unsafe<AddedServer['format']>(OneOf(...SERVER_FORMATS)),
      'Format of the server. Default `openai`.',
      'openai',
    ),
    model: optional(NEW_MODEL.model, 'Name of the model at the server. Default: `id`.', 'llama-3.3-70b'),
    key: optional(
      NEW_MODEL.key,
      'Key of the server, which is stored encrypted and never shown. Default: it needs none.',
      'sk-of-the-server',
    ),
    context_length: optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
      'Tokens of input and output together, for lists. Default: not known.',
    ),
    ...NOTE,
  },
  strict,
);
const MODEL = { id: { description: 'Id of the model, or another name of it.', example: 'team-llama' } };

export function modelChangeRoutes(services: AdminServices): Route[] {
  const answer = { description: 'The model.', name: 'AdminModel', schema: ModelShape };

  function describe(id: string): object {
    const found = watchModels(services).find(({ model }) => model.id === id);
    if (!found) throw new Error(`the model ${id} was changed and is not there`);
    return describeWatchedModel(found, services.livePrices?.ofModel(id));
  }

  return [
    adminRoute(services, {
      method: 'POST',
      path: '/models',
      summary: 'Add a model',
      description:
        'Adds a text model at a server of the OpenAI or Anthropic format, without a restart. A model that was added before gets the new server and key.',
      body: NewModelBody,
      example: { id: 'team-llama', url: 'https://api.example.com/v1', model: 'llama-3.3-70b', key: 'sk-of-the-server' },
      answer,
      errors: ['invalid_value'],
      async run({ body: { id, context_length: contextLength, format = 'openai', ...given }, by }) {
        const length = contextLength === undefined ? {} : { contextLength };
        await addModel(services, { id, format, ...given, ...length }, by);
        return describe(id);
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/models/:id',
      params: MODEL,
      summary: 'Change a model',
      description:
        'Switches a model off or on, weighs its upstreams or sets its prices, without a restart. It lasts over restarts; other nodes follow within 2 seconds.',
      body: ChangeBody,
      example: { enabled: false, note: 'its server is being moved' },
      answer,
      errors: ['invalid_value', 'missing_required_parameter'],
      run: async ({ param, body, by }) => describe(await changeModel(services, param('id'), body, by)),
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/models/:id/remove',
      params: MODEL,
      summary: 'Remove a model',
      description:
        'Removes a model that was added while the gateway ran, with its prices. Requests that run are finished.',
      body: NoteBody,
      answer: {
        description: 'The id.',
        name: 'RemovedModel',
        schema: Type.Object({
          id: field(Text, 'Id of the model.'),
          removed: field(Type.Literal(true), 'Always true.'),
        }),
      },
      errors: ['invalid_value'],
      async run({ param, by }) {
        await removeModel(services, param('id'), by);
        return { id: param('id'), removed: true };
      },
    }),
  ];
}
