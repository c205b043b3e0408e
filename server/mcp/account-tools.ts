/*
 * The tools `list_models` and `get_usage`: what the key may use, and what it has used.
 */

import { optional, type TSchema, Type } from '../../core/contracts/index.js';
import { closed } from './link-tools.js';
import { CAP_FIELDS, ownResult } from './results.js';
import { answerSchema, outline, routeOf, type Tool, type ToolInput, type ToolSources } from './tool.js';

const MODELS = '/v1/models';
const USAGE = '/v1/usage';
const DAILY = '/v1/usage/daily';
const HINTS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };
const OFFERED = ['by', 'from', 'to', 'model', 'route'] as const;

export function accountTools({ routes }: ToolSources): Tool[] {
  const models = routeOf(routes, 'GET', MODELS);
  const usage = routeOf(routes, 'GET', DAILY);
  const limits = answerSchema(routeOf(routes, 'GET', USAGE));
  // The second form of the list is for another vendor's clients.
  const [list = Type.Object({})] = (answerSchema(models) as TSchema & { anyOf: TSchema[] }).anyOf;
  const filters = OFFERED.flatMap((name) => {
    const parameter = usage.query?.[name];
    return parameter ? [[name, optional(parameter.schema, parameter.description)] as const] : [];
  });
  return [
    {
      name: 'list_models',
      title: 'List models',
      description: 'Lists the models that the API key may use: text, image and audio models, with their routes.',
      grant: models.grant as Tool['grant'],
      input: closed({}),
      output: withCap(list),
      hints: HINTS,
      async run({ callRoute, signal }) {
        const { json } = await callRoute({ method: 'GET', path: MODELS }, signal);
        return ownResult(json);
      },
    },
    {
      name: 'get_usage',
      title: 'Get usage',
      description:
        'Returns what the API key has used, by day, model, platform or route, and what its limits have left. Free.',
      grant: 'any',
      input: closed(Object.fromEntries(filters)),
      output: outline(Type.Object({ usage: answerSchema(usage), limits: leftOf(limits), ...CAP_FIELDS }), 2),
      hints: HINTS,
      async run({ input, callRoute, signal }) {
        const { json } = await callRoute({ method: 'GET', path: `${DAILY}${queryOf(input)}` }, signal);
        const now = await callRoute({ method: 'GET', path: USAGE }, signal);
        const { days: _, ...left } = now.json;
        return ownResult({ usage: json, limits: left });
      },
    },
  ];
}

function withCap(schema: TSchema): TSchema {
  const { properties } = schema as TSchema & { properties: Record<string, TSchema> };
  return outline(Type.Object({ ...properties, ...CAP_FIELDS }), 2);
}

/** Without the days, which the other answer has. */
function leftOf(schema: TSchema): TSchema {
  const { properties } = schema as TSchema & { properties: Record<string, TSchema> };
  const { days: _, ...rest } = properties;
  return Type.Object(rest);
}

function queryOf(input: ToolInput): string {
  const query = new URLSearchParams(input as Record<string, string>).toString();
  return query === '' ? '' : `?${query}`;
}
