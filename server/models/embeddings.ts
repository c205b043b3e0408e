/*
 * `POST /v1/embeddings` and `POST /v1/moderations`, in the format of the OpenAI SDKs. Both use the handler of text
 * routes: the body goes to the upstream, the answer is passed back, and the tokens count as those of a chat. If no
 * model of the kind is configured, the route answers 503 and names the setting that the operator must set. The text
 * mock does not serve these routes, because clients store vectors and would compare invented ones with real ones.
 */

import { field, optional, type TextRoute, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { AnyObject, Count, defineRoute, type RequestContext, type Route, Text } from '../http/index.js';
import { MODEL_ERRORS, ModelId, PASSED_ON, TEXT_ROUTE, type TextServices, textHandler } from './text.js';

const Vector = Type.Union([Type.Array(Type.Number()), Type.String()]);

const EmbeddingsBody = Type.Object(
  {
    model: field(Type.String(), 'Id of an embeddings model; `GET /v1/models` lists them.', 'text-embedding-3-small'),
    input: field(
      Type.Union([
        Type.String(),
        Type.Array(Type.String()),
        Type.Array(Type.Integer()),
        Type.Array(Type.Array(Type.Integer())),
      ]),
      'A text, a list of texts, a list of tokens, or a list of such lists.',
    ),
    encoding_format: optional(
      Type.Union([Type.Literal('float'), Type.Literal('base64')]),
      'Form of the vectors. Default `float`.',
    ),
    dimensions: optional(Type.Integer({ minimum: 1 }), 'Length of the vectors, if the model can shorten them.'),
  },
  PASSED_ON,
);

const Embeddings = Type.Object(
  {
    object: field(Type.Literal('list'), 'Always `list`.'),
    data: field(
      Type.Array(
        Type.Object({
          object: field(Type.Literal('embedding'), 'Always `embedding`.'),
          index: field(Count, 'Place of the text in the input.'),
          embedding: field(Vector, 'The vector: numbers, or 32-bit floats in little-endian order as base64.'),
        }),
      ),
      'One vector for each text.',
    ),
    model: field(Text, 'Id of the model.'),
    usage: field(
      Type.Object({
        prompt_tokens: field(Count, 'Tokens of the input.'),
        total_tokens: field(Count, 'The same.'),
      }),
      'Tokens that the request used.',
    ),
  },
  { ...PASSED_ON, description: "Vectors in OpenAI's format. Further fields are passed on from the model." },
);

const ModerationsBody = Type.Object(
  {
    model: ModelId,
    input: field(
      Type.Union([Type.String(), Type.Array(Type.String()), Type.Array(AnyObject)]),
      "A text, a list of texts, or a list of parts in OpenAI's format, images included.",
    ),
  },
  PASSED_ON,
);

const Moderations = Type.Object(
  {
    id: field(Text, 'Id of the answer.'),
    model: field(Text, 'Id of the model.'),
    results: field(Type.Array(AnyObject), "Categories and scores in OpenAI's format, one result for each text."),
  },
  { ...PASSED_ON, description: "Ratings in OpenAI's format. Further fields are passed on from the model." },
);

/** Embeddings and moderations: passed to the upstream, and counted as chats are. */
export function embeddingRoutes(server: TextServices): Route[] {
  const { gateway } = server;
  const handle = textHandler(server);

  /** There is no mock for these: a made-up vector would be stored and compared with real ones. */
  const handleReady = (path: string, route: TextRoute, { what, setting }: { what: string; setting: string }) => {
    const handler = handle(path, { route });
    return async (context: RequestContext) => {
      if (!gateway.text.models().some(({ routes }) => routes.includes(route))) {
        const message = `No model for ${what} is ready. The operator sets TEXT_UPSTREAM_URL and ${setting}.`;
        throw new GatewayError('plugin_unavailable', message, { retryable: false });
      }
      await handler(context);
    };
  };

  return [
    defineRoute({
      ...TEXT_ROUTE,
      method: 'POST',
      path: '/v1/embeddings',
      endpoint: 'embeddings',
      summary: 'Create embeddings',
      description:
        'Returns a vector for each text, in the format of the OpenAI SDKs. 503 if no embeddings model is configured.',
      body: {
        schema: EmbeddingsBody,
        example: { model: 'text-embedding-3-small', input: ['A tug in the harbour.', 'A lighthouse.'] },
      },
      answers: { 200: { description: 'The vectors.', name: 'Embeddings', schema: Embeddings } },
      errors: [...MODEL_ERRORS, 'context_length_exceeded'],
      handler: handleReady('/v1/embeddings', 'embeddings', { what: 'embeddings', setting: 'EMBEDDING_MODELS' }),
    }),
    defineRoute({
      ...TEXT_ROUTE,
      method: 'POST',
      path: '/v1/moderations',
      endpoint: 'moderations',
      summary: 'Rate texts',
      description:
        'Rates texts and images by categories of harm, in the format of the OpenAI SDKs. 503 if no moderation model is configured.',
      body: {
        schema: ModerationsBody,
        example: { model: 'omni-moderation-latest', input: 'A tug in the harbour.' },
      },
      answers: { 200: { description: 'The ratings.', name: 'Moderations', schema: Moderations } },
      errors: [...MODEL_ERRORS, 'context_length_exceeded'],
      handler: handleReady('/v1/moderations', 'moderations', { what: 'moderations', setting: 'MODERATION_MODELS' }),
    }),
  ];
}
