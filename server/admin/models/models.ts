/*
 * Models and plugins of the process that answers, for operators: which provider serves a model, where its servers are,
 * whether they answer or cool down after failures, and how often they failed since the start. Addresses are shown, keys
 * never. Several workers of a machine share cool-downs, and latencies are added up over all nodes; tries and failures
 * are those of one.
 */

import type { Gateway } from 'mediagate';
import {
  field,
  type ModelPrices,
  ModelPricesSchema,
  optional,
  Type,
  type UpstreamState,
} from '../../../core/contracts/index.js';
import { Count, Nullable, OneOf, type Route, Text } from '../../http/index.js';
import { type ChangedModel, changesOf, MODEL_CHANGES } from '../../model-changes/index.js';
import { encodeModel, mockEntries, orderModels } from '../../models/index.js';
import { groupEntries } from '../../plugin-groups.js';
import type { ModelLatency } from '../../usage/index.js';
import { adminRoute } from '../admin-route.js';
import { wholeList } from '../lists.js';
import type { AdminServices, Of } from '../services.js';

/** A model for the API and the `--json` output. */
export type ListedModel = ReturnType<typeof listModels>[number];

/** Own names first, then those of the service document. */
export function listModels(gateway: Pick<Gateway, 'allModels' | 'plugins' | 'upstreamsOf'>, messagesEnabled: boolean) {
  const ready = gateway.allModels();
  const mocks = mockEntries(gateway);
  return orderModels(ready.map(({ id }) => id)).map((id) => {
    const { kind = '', entry = '', contextLength } = ready.find((model) => model.id === id) ?? {};
    return {
      id,
      kind,
      provider: entry,
      mock: mocks.has(entry),
      upstreams: gateway.upstreamsOf(id).upstreams,
      context_length: contextLength ?? null,
      routes: encodeModel(id, ready, { messagesEnabled, mocks }).routes,
    };
  });
}

/** A model with the health of its provider. */
export interface WatchedModel {
  model: ListedModel;
  /**
   * `ok`, `degraded` while some upstreams cool down, `down` while all do or the upstream does not list the model, `off`
   * if an operator has switched it off.
   */
  health: 'ok' | 'degraded' | 'down' | 'off';
  /** The id that it is another name of. */
  aliasOf: string | undefined;
  /** Of its provider, by name. */
  upstreams: readonly UpstreamState[];
  /** What operators have changed of it. Default: nothing. */
  changed: ChangedModel | undefined;
}

/** The models that answer now or are switched off, with the health of their providers. */
export function watchModels({
  gateway,
  messagesEnabled,
  changedModels,
}: Of<'gateway' | 'messagesEnabled' | 'changedModels'>): readonly WatchedModel[] {
  const plugins = new Map(gateway.plugins().map((plugin) => [plugin.id, plugin]));
  const ready = new Map(gateway.allModels().map((model) => [model.id, model]));
  const all = new Map(changedModels.all.map((one) => [one.model, one]));
  return listModels(gateway, messagesEnabled).map((model) => {
    const upstreams = plugins.get(model.provider)?.upstreams ?? [];
    const cooling = upstreams.filter(({ isCoolingDown }) => isCoolingDown).length;
    const { isAbsent, aliasOf } = ready.get(model.id) ?? {};
    const isDown = isAbsent === true || (cooling > 0 && cooling === upstreams.length);
    const changed = all.get(aliasOf ?? model.id);
    const health = changed?.isClosed ? 'off' : isDown ? 'down' : cooling > 0 ? 'degraded' : 'ok';
    return { model, health, aliasOf, upstreams, changed };
  });
}

/** @param prices Of the model. Default: it has none. */
export function describeWatchedModel(
  { model, health, aliasOf, upstreams, changed }: WatchedModel,
  prices?: ModelPrices,
) {
  return {
    ...model,
    ...(aliasOf !== undefined && { alias_of: aliasOf }),
    health,
    provider_upstreams: upstreams.map(describeUpstream),
    ...(changed && { changed: changesOf(changed) }),
    ...(prices && { prices }),
  };
}

function describeUpstream({ name, isCoolingDown, tries, failures }: UpstreamState) {
  return { name, cooling_down: isCoolingDown, tries, failures };
}

/** The latencies of models, by id. Models without an answer are left out. */
export async function latenciesOf({ latencies }: Of<'latencies'>): Promise<ReadonlyMap<string, ModelLatency>> {
  return latencies ? latencies.read() : new Map();
}

function describeLatency({ answers, total, first }: ModelLatency) {
  return {
    answers,
    p50_ms: total.p50,
    p95_ms: total.p95,
    ...(first && { first_token_p50_ms: first.p50, first_token_p95_ms: first.p95 }),
  };
}

const Latency = Type.Object({
  answers: field(
    Count,
    'Answers that are counted: those of the last 30 to 60 minutes on all nodes, without failures; of other nodes those of 5 seconds before.',
  ),
  p50_ms: field(Count, 'Half of them ended within so many milliseconds, retries included.'),
  p95_ms: field(Count, '95 % of them did.'),
  first_token_p50_ms: optional(Count, 'Half of the text answers began within so many milliseconds.'),
  first_token_p95_ms: optional(Count, '95 % of them did.'),
});
const Upstream = Type.Object({
  name: field(Text, 'Name in the log.', 'upstreams.0'),
  cooling_down: field(Type.Boolean(), 'Whether it pauses after failures.'),
  tries: field(Count, 'Requests since the start of the process.'),
  failures: field(Count, 'Those that failed.'),
});
/** Schema of a model, also of `mediagate models list`, which reads the plugins file and knows no health. */
export const ModelShape = Type.Object({
  id: field(Text, 'Id of the model.'),
  kind: field(Text, '`text`, `image` or `audio`.'),
  provider: field(Text, 'Entry of the plugins file that serves it.'),
  mock: field(Type.Boolean(), 'Whether a mock answers.'),
  upstreams: field(
    Type.Array(
      Type.Object({
        name: optional(Text, 'Name of the upstream.'),
        url: field(Text, 'Address.'),
        model: field(Text, "The upstream's name of the model."),
        weight: optional(Type.Number(), 'Its share of the requests. Absent if the first that works gets all.'),
      }),
    ),
    'Its servers, if its provider names them.',
  ),
  context_length: field(Nullable(Count), 'Tokens of input and output together. Null if not stated.'),
  routes: field(Type.Array(Text), 'Routes that it answers on.'),
  alias_of: optional(Text, 'Id of the model that it is another name of. Absent for an own name.'),
  health: optional(
    Text,
    'Of a running gateway: `ok`; `degraded` while some of its upstreams cool down; `down` while all do; `off` if it is switched off.',
    'ok',
  ),
  provider_upstreams: optional(
    Type.Array(Upstream),
    'Of a running gateway: upstreams of its provider, if it reports them.',
  ),
  changed: optional(
    Type.Array(OneOf(...MODEL_CHANGES)),
    'Of a running gateway: what operators have changed of it since it was configured. Absent without a change.',
  ),
  prices: optional(ModelPricesSchema, 'Of a running gateway: its prices, as in `PRICES_FILE`. Absent without any.'),
  latency: optional(Latency, 'Of a running gateway: how long its answers take. Absent without an answer.'),
});
/** Schema of an entry of the plugins file, also of `mediagate plugins`. */
export const PluginShape = Type.Object({
  id: field(Text, 'Id of the entry.'),
  plugin: field(Text, 'Name of the plugin.'),
  summary: field(Text, 'What it does.'),
  state: field(Text, '`ready`, `failed`, `disabled`, `loading` or `disposed`.'),
  reason: optional(Text, 'Why it failed or is disabled.'),
  badVariable: optional(Text, 'Environment variable that caused the failure.'),
  unmet: optional(Text, 'What this machine lacks: `browser` or `ffmpeg`.'),
  variables: field(
    Type.Object({
      names: field(Type.Array(Text), 'Variables that the entry names.'),
      switchOff: field(Type.Array(Text), 'Variables that enable entries in place of this one.'),
    }),
    'Environment variables.',
  ),
  provides: field(Type.Array(Text), 'Kinds of what it provides.'),
  serves: field(Type.Array(Text), 'Platforms and models that it serves.'),
  standIn: field(Type.Boolean(), 'Whether it only replaces a provider that is not configured.'),
  required: field(Type.Boolean(), 'Whether the gateway does not start without it.'),
  upstreams: field(
    Type.Array(
      Type.Object({
        name: field(Text, 'Name in the log.'),
        isCoolingDown: field(Type.Boolean(), 'Whether it pauses after failures.'),
        tries: field(Count, 'Requests since the start.'),
        failures: field(Count, 'Those that failed.'),
      }),
    ),
    'Its upstreams, if it reports them.',
  ),
});

export function modelRoutes(services: AdminServices): Route[] {
  const { gateway } = services;
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/models',
      summary: 'List models and their upstreams',
      description:
        'Lists the models that answer now or are switched off, with provider, servers, health and failures of this process.',
      answer: { description: 'The models.', name: 'AdminModels', schema: wholeList(ModelShape, 'Own names first.') },
      async run() {
        const latencies = await latenciesOf(services);
        const data = watchModels(services).map((one) => {
          const latency = latencies.get(one.aliasOf ?? one.model.id);
          const prices = services.livePrices?.ofModel(one.aliasOf ?? one.model.id);
          return { ...describeWatchedModel(one, prices), ...(latency && { latency: describeLatency(latency) }) };
        });
        return { object: 'list', data };
      },
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/plugins',
      summary: 'List plugins',
      description: 'Lists the entries of the plugins file with their state in this process.',
      answer: { description: 'The entries.', name: 'AdminPlugins', schema: wholeList(PluginShape, 'In their order.') },
      run: async () => ({ object: 'list', data: gateway.plugins() }),
    }),
  ];
}

/** Entries that failed, or of which all upstreams cool down, for the overview. */
export function failedPlugins({ gateway }: Of<'gateway'>) {
  return groupEntries(gateway.plugins().filter(({ state }) => state === 'failed'));
}
