import type { ReadyModel } from '../../../core/contracts/index.js';
import { GatewayError } from '../../../core/runtime/index.js';
import { CREATED, contextLengthOf } from '../model-list.js';

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
