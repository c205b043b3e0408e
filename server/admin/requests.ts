/*
 * Single requests of all keys for operators, newest first, without prompts, links and answers: by key, account, outcome,
 * route, model, error code or request id. The error of a request that a client quotes by its id is found here.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { dayOf, isoTime } from '../format/index.js';
import { Count, Nullable, OneOf, type Route, Text } from '../http/index.js';
import { decimalOf } from '../prices/index.js';
import {
  type AnyRequestQuery,
  outcomeOf,
  REQUEST_OUTCOMES,
  type RequestOutcome,
  readRangeQuery,
  shownRequestId,
  type UsageDays,
  type UsageEntry,
} from '../usage/index.js';
import { adminRoute } from './admin-route.js';
import { encodePage, LIST_QUERY, type ListPage, type ListRange, listSchema, rangeOf, readPage } from './lists.js';
import type { AdminServices, Stored } from './services.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_SPAN_MS = 400 * DAY_MS;

export interface AdminRequestFilter extends AnyRequestQuery {
  /** Id of a key. */
  keyId?: string;
  accountId?: string;
}

/** Newest first. */
export function listRequests(
  { state: { requestLog, keys, usageDays } }: Stored<'requestLog' | 'keys' | 'usageDays'>,
  { keyId, accountId, ...query }: AdminRequestFilter,
  range: ListRange,
): Promise<ListPage<UsageEntry>> {
  const read = async ({ limit, after }: ListRange) => {
    const place = after && { at: after.at, requestId: after.id };
    const owner = accountId ?? (keyId === undefined ? undefined : (await keys.find(keyId))?.accountId);
    if (owner === undefined) {
      if (keyId !== undefined) return [];
      const narrow = await daysWith(usageDays, query);
      return narrow ? requestLog.listAll(narrow, limit, place) : [];
    }
    const keyIds = keyId === undefined ? (await keys.listOf(owner, true)).map(({ id }) => id) : [keyId];
    return requestLog.list({ ...query, keyIds, accountId: owner }, limit, place);
  };
  return readPage(range, read, ({ at, requestId: id }) => ({ at, id }));
}

/** The query without days that have no request of its model or its route; undefined if no day has one. */
async function daysWith(
  usageDays: Pick<UsageDays, 'daysWith'>,
  query: AnyRequestQuery,
): Promise<AnyRequestQuery | undefined> {
  const { model, route, from, to } = query;
  // A span without a beginning has no days to look at.
  if ((model === undefined && route === undefined) || to - from > MAX_SPAN_MS) return query;
  const range = { from: dayOf(from), to: dayOf(to) };
  const [ofModel, ofRoute] = await Promise.all([
    model === undefined ? undefined : usageDays.daysWith('model', model, range),
    route === undefined ? undefined : usageDays.daysWith('route', route, range),
  ]);
  const days = (ofModel ?? ofRoute ?? []).filter((day) => ofRoute === undefined || ofRoute.includes(day));
  const [first, last] = [days[0], days.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return { ...query, from: Math.max(from, Date.parse(first)), to: Math.min(to, Date.parse(last) + DAY_MS) };
}

/** A request for the API. @param withCosts Whether there are prices. */
export function describeRequest(entry: UsageEntry, withCosts: boolean) {
  return {
    request_id: shownRequestId(entry),
    at: isoTime(entry.at),
    key: entry.keyId,
    account: entry.accountId,
    route: entry.route,
    model: entry.model,
    outcome: outcomeOf(entry),
    status: entry.status,
    error_code: entry.errorCode,
    duration_ms: entry.latencyMs,
    input_tokens: entry.inputTokens,
    output_tokens: entry.outputTokens,
    ...(withCosts && { cost: entry.cost === null ? null : Number(decimalOf(entry.cost)) }),
  };
}

export const RequestShape = Type.Object({
  request_id: field(Text, 'Id of the request, as its answer had it; for an image the id of its job.'),
  at: field(Text, 'When it ended (RFC 3339).'),
  key: field(Text, 'Id of the key.'),
  account: field(Text, 'Account of the key.'),
  route: field(Text, 'Path of the route.', '/v1/chat/completions'),
  model: field(Text, 'Id of the model; for link data the platform. Empty if it is not known.'),
  outcome: field(OneOf(...REQUEST_OUTCOMES), '`refused`: nothing was done.'),
  status: field(Count, 'HTTP status; 499 if the client disconnected.', 200),
  error_code: field(Nullable(Text), 'Why it failed. Null if it succeeded.'),
  duration_ms: field(Count, 'Milliseconds to the end of the answer.'),
  input_tokens: field(Nullable(Count), 'Input tokens. Null if it has none.'),
  output_tokens: field(Nullable(Count), 'Output tokens. Null if it has none.'),
  cost: optional(Nullable(Type.Number()), 'Cost in the currency of the prices. Only if the gateway has prices.'),
});

/** A day by UTC. */
export const DayText = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', title: 'a day such as 2026-06-15' });
/** First and last day of a range. */
export const DAYS_QUERY = {
  from: { schema: DayText, description: 'First day by UTC, e.g. 2026-06-15. Default: 30 days.' },
  to: { schema: DayText, description: 'Last day by UTC. Default: today.' },
} as const;

export function requestRoutes(services: AdminServices): Route[] {
  const { clock, prices } = services;
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/requests',
      summary: 'List requests',
      description: 'Lists single requests of all keys, newest first, without prompts, links and answers.',
      query: {
        key: { schema: Text, description: 'Only of this key.' },
        account: { schema: Text, description: 'Only of this account.' },
        outcome: {
          schema: Type.Unsafe<RequestOutcome>(OneOf(...REQUEST_OUTCOMES)),
          description: 'Only requests that ended so.',
        },
        code: { schema: Text, description: 'Only requests with this error code.' },
        route: { schema: Text, description: 'Only this route, such as /v1/chat/completions.' },
        model: { schema: Text, description: 'Only this model or platform.' },
        request_id: { schema: Text, description: 'Only this request.' },
        ...DAYS_QUERY,
        ...LIST_QUERY,
      },
      answer: { description: 'The requests.', name: 'RequestList', schema: listSchema(RequestShape, 'Requests') },
      async run({ query: { key, account, code, request_id: requestId, from, to, limit, after, ...query } }) {
        const days = readRangeQuery({ from, to }, clock.now());
        const filter = {
          ...query,
          ...(key !== undefined && { keyId: key }),
          ...(account !== undefined && { accountId: account }),
          errorCode: code,
          requestId,
          from: Date.parse(days.from),
          to: Date.parse(days.to) + DAY_MS,
        };
        const page = await listRequests(services, filter, rangeOf({ limit, after }));
        return encodePage(page, (entry) => describeRequest(entry, prices !== undefined));
      },
    }),
  ];
}
