/*
 * Tests a model for operators: asks its upstreams what costs nothing, then sends one short request, with 16 tokens of
 * output because some servers accept no fewer. Results are in words: how long the answer took, or what the upstream said,
 * with the remedy. The request counts for no key; its server may bill it.
 */

import type { Gateway } from 'mediagate';
import { field, optional, type TextModel, type TextRoute, Type } from '../../../core/contracts/index.js';
import { GatewayError, isGatewayError } from '../../../core/runtime/index.js';
import { type Route, Text } from '../../http/index.js';
import { unknownName } from '../../names/index.js';
import { adminRoute, strict } from '../admin-route.js';
import type { AdminServices } from '../services.js';

type TestedGateway = Pick<Gateway, 'models' | 'plugins' | 'text' | 'resolveModel' | 'checkUpstreams'>;

/** One line of a test. */
export interface ModelTest {
  ok: boolean;
  detail: string;
  advice?: string;
}

const TEST_MS = 60_000;

function tooSlow(): GatewayError {
  return new GatewayError('upstream_timeout', `No whole answer came within ${TEST_MS / 1000} seconds.`);
}

/** Tests a model that answers now, for at most a minute. @throws GatewayError `invalid_value` with the closest name. */
export async function testServedModel(
  { gateway }: Pick<AdminServices, 'gateway'>,
  model: string,
  request = true,
): Promise<readonly ModelTest[]> {
  const names = gateway.models().map(({ id }) => id);
  if (!names.includes(model)) throw unknownName('model', model, names);
  return testModel(gateway, model, { request, signal: AbortSignal.timeout(TEST_MS) });
}

/**
 * Asks the upstreams of a model, and unless `request` is false sends it one short request.
 * @param signal Ends the request.
 */
export async function testModel(
  gateway: TestedGateway,
  id: string,
  { request = true, signal }: { request?: boolean; signal?: AbortSignal } = {},
): Promise<ModelTest[]> {
  const { describeUpstreams } = await import('../../doctor/index.js');
  const found = gateway.models().find((model) => model.id === id);
  if (!found) return [missing(gateway, id)];
  const modelId = found.aliasOf ?? id;
  const provider = gateway.plugins().find((plugin) => plugin.id === found.entry);
  if (provider?.standIn) {
    const [variable] = provider.variables.switchOff;
    const advice = variable === undefined ? 'Add a provider to the plugins file.' : `Set ${variable}.`;
    return [{ ok: false, detail: `${id}: the mock ${provider.plugin} answers; no upstream is connected.`, advice }];
  }
  const checks = (await gateway.checkUpstreams()).filter(
    ({ entry, models }) => entry === found.entry && models.includes(modelId),
  );
  const { upstreams = [] } = gateway.text.models().find((model) => model.id === modelId) ?? {};
  const at = (upstream: string) => (upstreams.length > 1 ? `${id} at ${placeOf(upstreams, upstream)}` : id);
  const results = describeUpstreams(checks.map((check) => ({ ...check, models: [at(check.upstream)] })));
  const isUsable = results.length === 0 || results.some(({ ok }) => ok);
  const [route] = found.routes ?? [];
  if (!request || !isUsable || route === undefined) {
    return results.length > 0 ? results : [{ ok: true, detail: `${id}: ready. Its plugin does not check upstreams.` }];
  }
  return [...results, await ask(gateway, { id, route, at, signal })];
}

/** The name of an upstream with its address; of one without a name, the address. */
function placeOf(upstreams: NonNullable<TextModel['upstreams']>, name: string): string {
  const url = upstreams.find((one) => one.name === name)?.url;
  if (url === undefined) return name;
  return /^upstreams\.\d+$/.test(name) ? url : `${name} (${url})`;
}

function missing(gateway: TestedGateway, id: string): ModelTest {
  const failed = gateway.plugins().find(({ state }) => state === 'failed');
  if (failed) return { ok: false, detail: `${id}: the provider ${failed.id} failed: ${failed.reason}.` };
  return { ok: false, detail: `There is no model ${id}.`, advice: '"mediagate models list" lists the models.' };
}

/** As few tokens as servers accept: some refuse an output of less than 16. */
const MAX_OUTPUT = 16;
const WORDS = 'Reply with the word OK.';

/** Sends one short request to a model. */
async function ask(
  gateway: TestedGateway,
  {
    id,
    route,
    at,
    signal,
  }: { id: string; route: TextRoute; at: (upstream: string) => string; signal?: AbortSignal | undefined },
): Promise<ModelTest> {
  const { outputLimitField = 'max_completion_tokens' } =
    gateway.text.models().find((model) => model.id === gateway.resolveModel(id)) ?? {};
  const bodies: Readonly<Record<TextRoute, object>> = {
    chat_completions: { messages: [{ role: 'user', content: WORDS }], [outputLimitField]: MAX_OUTPUT },
    responses: { input: WORDS, max_output_tokens: MAX_OUTPUT, store: false },
    messages: { messages: [{ role: 'user', content: WORDS }], max_tokens: MAX_OUTPUT },
    embeddings: { input: 'OK' },
    moderations: { input: 'OK' },
  };
  const text = JSON.stringify({ model: id, ...bodies[route] });
  const call = { owner: 'operator', requestId: 'models-test' };
  const begun = performance.now();
  try {
    const prepared = await gateway.text.prepare({ ...call, route, body: Buffer.from(text), parsed: JSON.parse(text) });
    const exchange = prepared.send();
    signal?.addEventListener('abort', () => exchange.abort(tooSlow()), { once: true });
    const { upstream = '' } = await exchange.answer;
    const { usage } = await exchange.ended;
    const tokens = usage?.estimated || usage?.totalTokens === undefined ? '' : `, ${usage.totalTokens} tokens`;
    return { ok: true, detail: `${at(upstream)}: answered in ${Math.round(performance.now() - begun)} ms${tokens}.` };
  } catch (error) {
    if (!isGatewayError(error)) throw error;
    return { ok: false, detail: `${id}: a short request failed. ${error.message}` };
  }
}

const Tested = Type.Object({
  model: field(Text, 'Id of the model.', 'm-5.5'),
  ok: field(Type.Boolean(), 'Whether it can be used: all lines are well.'),
  results: field(
    Type.Array(
      Type.Object({
        ok: field(Type.Boolean(), 'Whether it works.'),
        detail: field(Text, 'What was found, in words.', 'm-5.5: answered in 412 ms, 14 tokens.'),
        advice: optional(Text, 'The remedy. Absent if none is needed.'),
      }),
    ),
    'Its upstreams, and the short request.',
  ),
});

export function modelTestRoutes(services: AdminServices): Route[] {
  return [
    adminRoute(services, {
      method: 'POST',
      path: '/models/:id/test',
      params: { id: { description: 'Id of the model, or another name of it.', example: 'm-5.5' } },
      summary: 'Test a model',
      description:
        'Asks the upstreams of a model and sends it one short request, which counts for no key; its server may bill it.',
      body: Type.Object(
        {
          request: optional(Type.Boolean(), 'Whether a request is sent. Default true.'),
        },
        strict,
      ),
      example: { request: false },
      answer: { description: 'What was found.', name: 'TestedModel', schema: Tested },
      errors: ['invalid_value'],
      async run({ param, body: { request } }) {
        const model = param('id');
        const results = await testServedModel(services, model, request);
        return { model, ok: results.every(({ ok }) => ok), results };
      },
    }),
  ];
}
