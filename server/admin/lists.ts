/*
 * Lists of the admin API: pages of at most 200 rows, newest first, with the cursor of the next page. A cursor is the
 * place of the last row, its time and its id, so it stays right while rows are added or deleted. It names no owner and
 * gives no access: each page is checked and filtered as the first one is.
 */

import { field, type TSchema, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { Nullable, Text } from '../http/index.js';

/** A place in the order of a list: its last row. */
export interface ListPlace {
  /** Milliseconds since 1970. */
  at: number;
  id: string;
}

/** What part of a list is read. */
export interface ListRange {
  /** 1 to 200. */
  limit: number;
  /** Rows after this place. Default: from the newest on. */
  after?: ListPlace;
}

export interface ListPage<Item> {
  items: readonly Item[];
  /** Where the next page begins; undefined on the last one. */
  next?: ListPlace;
}

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 200;

/** The query parameters of a list. */
export const LIST_QUERY = {
  limit: {
    schema: Type.Integer({ minimum: 1, maximum: MAX_LIMIT }),
    description: `Maximum number of rows, at most ${MAX_LIMIT}. Default ${DEFAULT_LIMIT}.`,
  },
  after: { schema: Type.String({ maxLength: 400 }), description: '`next` of the page before.' },
} as const;

/** @throws GatewayError `invalid_value` if the cursor is not one of an earlier page. */
export function rangeOf({ limit = DEFAULT_LIMIT, after }: { limit?: number; after?: string }): ListRange {
  return { limit, ...(after !== undefined && { after: decodeCursor(after) }) };
}

/** Reads a page. One more row than asked for shows whether there are more. */
export async function readPage<Row>(
  { limit, ...range }: ListRange,
  read: (range: ListRange) => Promise<readonly Row[]>,
  placeOf: (row: Row) => ListPlace,
): Promise<ListPage<Row>> {
  const rows = await read({ ...range, limit: limit + 1 });
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, ...(rows.length > limit && last !== undefined && { next: placeOf(last) }) };
}

/** The answer of a list. */
export function encodePage<Item>({ items, next }: ListPage<Item>, encode: (item: Item) => object) {
  return {
    object: 'list',
    data: items.map(encode),
    has_more: next !== undefined,
    next: next ? encodeCursor(next) : null,
  };
}

/** Schema of {@link encodePage}. */
export function listSchema(item: TSchema, rows: string, order = 'newest first') {
  return Type.Object({
    object: field(Type.Literal('list'), 'Always `list`.'),
    data: field(Type.Array(item), `${rows}, ${order}.`),
    has_more: field(Type.Boolean(), 'Whether there are more.'),
    next: field(Nullable(Text), 'Cursor of the next page, for `after`. Null on the last page.'),
  });
}

export function encodeCursor({ at, id }: ListPlace): string {
  return Buffer.from(`${at} ${id}`).toString('base64url');
}

/** @throws GatewayError `invalid_value`. */
export function decodeCursor(text: string): ListPlace {
  const [, at, id] = /^(\d{1,15}) ([^\s\0]{1,250})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (at !== undefined && id !== undefined) return { at: Number(at), id };
  throw new GatewayError('invalid_value', 'after must be `next` of an earlier page.', { param: 'after' });
}

/** Schema of a list that is answered as a whole, since it is short. */
export function wholeList(item: TSchema, what: string) {
  return Type.Object({
    object: field(Type.Literal('list'), 'Always `list`.'),
    data: field(Type.Array(item), what),
  });
}
