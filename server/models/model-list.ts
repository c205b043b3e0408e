/*
 * The forms of a model in `GET /v1/models`: OpenAI's object with the routes that it answers on, or a page in
 * Anthropic's format. Several ready models with one id are one entry with the routes of all. The operator's own names
 * come first, then those of the service document in its order. `created` is a constant, because clients compare it
 * between nodes and starts. The context length is shown only if the operator states it; it appears under the names of
 * OpenRouter and of vLLM.
 */

import type { Gateway } from 'mediagate';
import {
  type AudioOperation,
  field,
  optional,
  type ReadyModel,
  type Static,
  type TextRoute,
  Type,
} from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { Count, Text } from '../http/index.js';
import { MODEL_NOTES } from '../plans/index.js';

const { chat, audio, image } = MODEL_NOTES;
/** The models of the service document in display order; other models come first. */
const ORDER: readonly string[] = [...chat.models, ...audio.map(({ model }) => model), image.listed, image.model];
/** Seconds since 1970: the same on each node and at each start, since clients compare it. */
export const CREATED = 1_781_481_600;

export const ModelSchema = Type.Object(
  {
    id: field(Text, 'Id of the model.', 'm-5.5'),
    object: field(Type.Literal('model'), 'Always `model`.'),
    created: field(Count, 'Start of the list, in seconds since 1970; the same for all models.'),
    owned_by: field(Text, 'Owner of the model, for clients that expect one.'),
    routes: field(Type.Array(Text), 'Routes of the API that the model answers on.', ['/v1/chat/completions']),
    context_length: optional(
      Count,
      'Tokens of input and output together. Absent if the operator has not stated it.',
      131072,
    ),
    description: optional(Text, 'What the model is, in a sentence of the operator. Absent without one.'),
    max_model_len: optional(Count, 'The same, by the name that vLLM gives it.', 131072),
    mock: optional(Type.Boolean(), 'True if a mock answers, because no real model is connected. Absent otherwise.'),
  },
  { description: 'A model.' },
);

export type ModelObject = Static<typeof ModelSchema>;

/** Any model with one of the other formats answers on `/v1/messages`, if that route is enabled. */
const TEXT_PATHS: Readonly<Record<Exclude<TextRoute, 'messages'>, string>> = {
  chat_completions: '/v1/chat/completions',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
  moderations: '/v1/moderations',
};
const AUDIO_PATHS: Readonly<Record<AudioOperation, string>> = {
  transcribe: '/v1/audio/transcriptions',
  translate: '/v1/audio/translations',
  speak: '/v1/audio/speech',
  changeVoice: '/v1/audio/voice-changer',
  generateSound: '/v1/audio/sound-effects',
};

const MESSAGES = '/v1/messages';
const EDITS = '/v1/images/edits';
const WRITING: readonly TextRoute[] = ['chat_completions', 'responses', 'messages'];

function pathsOf(model: ReadyModel, messagesEnabled: boolean): readonly string[] {
  const { kind, routes = [], operations = [], takesImages } = model;
  if (kind === 'image') return [...MODEL_NOTES.image.routes, ...(takesImages ? [EDITS] : [])];
  const texts = routes.flatMap((route) => (route === 'messages' ? [] : TEXT_PATHS[route]));
  const hasMessages = messagesEnabled && routes.some((route) => WRITING.includes(route));
  return [...texts, ...(hasMessages ? [MESSAGES] : []), ...operations.map((operation) => AUDIO_PATHS[operation])];
}

/** Whether it is a model for chats, and not only for embeddings or moderations. */
export function isWritingModel({ routes = [] }: Pick<ReadyModel, 'routes'>): boolean {
  return routes.some((route) => route === 'chat_completions' || route === 'responses');
}

/** In tokens; undefined if it is not known. */
export function contextLengthOf(id: string, models: readonly ReadyModel[]): number | undefined {
  return models.find((model) => model.id === id && model.contextLength !== undefined)?.contextLength;
}

/** Ids of the plugin entries that are mocks. */
export function mockEntries(gateway: Pick<Gateway, 'plugins'>): ReadonlySet<string> {
  return new Set(gateway.plugins().flatMap(({ id, standIn }) => (standIn ? [id] : [])));
}

export interface ModelListOptions {
  /** Whether models answer on `/v1/messages`. */
  messagesEnabled: boolean;
  /** See {@link mockEntries}. */
  mocks: ReadonlySet<string>;
}

/** @param models The ready models; entries of the same id are one model. */
export function encodeModel(
  id: string,
  models: readonly ReadyModel[],
  { messagesEnabled, mocks }: ModelListOptions,
): ModelObject {
  const own = models.filter((model) => model.id === id);
  const routes = new Set(own.flatMap((model) => pathsOf(model, messagesEnabled)));
  const length = contextLengthOf(id, models);
  const lengths = length === undefined ? undefined : { context_length: length, max_model_len: length };
  const description = own.find((model) => model.description !== undefined)?.description;
  const words = description === undefined ? undefined : { description };
  const isMock = own.length > 0 && own.every(({ entry }) => mocks.has(entry));
  const mock = isMock ? { mock: true } : undefined;
  return {
    id,
    object: 'model',
    created: CREATED,
    owned_by: 'gateway',
    routes: [...routes],
    ...lengths,
    ...words,
    ...mock,
  };
}

/** @param models The models that are ready; repetitions are allowed. */
export function encodeModelList(
  models: readonly ReadyModel[],
  options: ModelListOptions,
): { object: 'list'; data: ModelObject[] } {
  const ids = orderModels(models.map(({ id }) => id));
  return { object: 'list', data: ids.map((id) => encodeModel(id, models, options)) };
}

/** Each once: the operator's own names first, then those of the service document. */
export function orderModels(ids: readonly string[]): string[] {
  return [...new Set(ids)].sort((one, other) => ORDER.indexOf(one) - ORDER.indexOf(other));
}

/** Without the names of the service document whose model has a name of its own. */
export function withoutAliases(models: readonly ReadyModel[]): ReadyModel[] {
  const idOf = ({ id, aliasOf = id }: ReadyModel) => aliasOf;
  const named = new Set(models.filter(({ id }) => !ORDER.includes(id)).map(idOf));
  return models.filter((model) => !ORDER.includes(model.id) || !named.has(idOf(model)));
}

type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 1_000;
const CREATED_AT = new Date(CREATED * 1000).toISOString();

/** A model in the form of Anthropic's SDK. The capabilities of an upstream's model are not known here, and its context length only
 * if the operator states it. */
export function describeModel(id: string, models: readonly ReadyModel[]) {
  return {
    type: 'model',
    id,
    display_name: id,
    created_at: CREATED_AT,
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
    capabilities: null,
    max_input_tokens: contextLengthOf(id, models) ?? null,
    max_tokens: null,
  } as const;
}

/**
 * Selects a page of a list by `?limit=` (default 20), `after_id` or `before_id`.
 * @throws GatewayError `invalid_value` with `param`.
 */
export function encodeModelPage(ids: readonly string[], models: readonly ReadyModel[], query: Query) {
  const all = wantsActive(query) ? ids : [];
  const limit = limitOf(query);
  const after = indexOf('after_id', all, query);
  const before = indexOf('before_id', all, query);
  if (after !== undefined && before !== undefined) {
    throw new GatewayError('invalid_value', 'Send after_id or before_id, not both.', { param: 'before_id' });
  }
  const start = before === undefined ? (after ?? -1) + 1 : Math.max(0, before - limit);
  const end = before ?? Math.min(all.length, start + limit);
  const page = all.slice(start, end);
  return {
    data: page.map((id) => describeModel(id, models)),
    has_more: before === undefined ? end < all.length : start > 0,
    first_id: page[0] ?? null,
    last_id: page.at(-1) ?? null,
  };
}

/** Query parameters of lists have either name. */
function wantsActive({ lifecycle, 'lifecycle[]': listed = lifecycle }: Query): boolean {
  return listed === undefined || [listed].flat().includes('active');
}

function limitOf({ limit }: Query): number {
  if (limit === undefined) return DEFAULT_LIMIT;
  const count = typeof limit === 'string' && /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (count >= 1 && count <= MAX_LIMIT) return count;
  throw new GatewayError('invalid_value', `limit must be a whole number from 1 to ${MAX_LIMIT}.`, { param: 'limit' });
}

function indexOf(param: 'after_id' | 'before_id', ids: readonly string[], query: Query): number | undefined {
  const id = query[param];
  if (id === undefined) return undefined;
  const index = typeof id === 'string' ? ids.indexOf(id) : -1;
  if (index !== -1) return index;
  throw new GatewayError('invalid_value', `${param} must be the id of a model of this list.`, { param });
}
