/*
 * `GET /v1/usage/daily` and `GET /v1/usage/requests`: sums of a key's usage by day, model, platform or route, and its
 * single requests in pages, as JSON or CSV. A key reads its own usage alone. Neither is rate limited; a key that polls
 * without a pause is refused.
 */

import { Readable } from 'node:stream';
import type { Gateway } from 'mediagate';
import { field, optional, Type } from '../../core/contracts/index.js';
import { csvLine, isoTime } from '../format/index.js';
import {
  Count,
  defineRoute,
  Nullable,
  OneOf,
  type RequestContext,
  type Route,
  type ServerContext,
  Text,
} from '../http/index.js';
import { pollingKeyOf } from '../keys/index.js';
import { decimalOf, type Prices } from '../prices/index.js';
import { wordsOfCode } from './log-codes.js';
import { outcomeOf, REQUEST_OUTCOMES, type RequestLog, shownRequestId } from './request-log.js';
import {
  encodeCursor,
  readCursor,
  readDimension,
  readFormat,
  readLimit,
  readRequestFilter,
  readUsageQuery,
} from './request-queries.js';
import { filterTotals, groupUsage, renderUsageCsv, USAGE_DIMENSIONS } from './usage-groups.js';
import type { UsageEntry, UsageLog } from './usage-log.js';
import { addUp, encodeCounts, keyUsageRoutes, USAGE_COUNTS, type UsageRouteServices } from './usage-report.js';

const DayText = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' });
const RANGE_QUERY = {
  from: { schema: DayText, description: 'First day by UTC, e.g. 2026-06-15. Default: 30 days.' },
  to: { schema: DayText, description: 'Last day by UTC. Default: today.' },
  model: { schema: Text, description: 'Only this model or platform.' },
  route: { schema: Text, description: 'Only this route, such as /v1/chat/completions.' },
  format: { schema: OneOf('json', 'csv'), description: '`csv`: the same for spreadsheets. Default `json`.' },
};
const CURRENCY = optional(Text, 'Currency of the costs (ISO 4217). Only if the gateway has prices.', 'USD');

const DailyUsage = Type.Object(
  {
    object: field(Type.Literal('usage.groups'), 'Always `usage.groups`.'),
    by: field(OneOf(...USAGE_DIMENSIONS), 'What `name` is.'),
    from: field(Text, 'First day, by UTC.', '2026-06-01'),
    to: field(Text, 'Last day, by UTC.', '2026-06-30'),
    currency: CURRENCY,
    total: field(Type.Object(USAGE_COUNTS), 'All of them together.'),
    data: field(
      Type.Array(
        Type.Object({
          name: field(Text, 'Day, id of a key or model, key of a platform, or route.', '2026-06-15'),
          ...USAGE_COUNTS,
        }),
      ),
      'Days newest first; all else with the most requests first.',
    ),
  },
  { description: 'Usage of an API key by one dimension.' },
);

const LoggedRequest = Type.Object({
  request_id: field(Text, 'Id of the request, as its answer had it; for an image the id of its job.'),
  at: field(Text, 'When it ended (RFC 3339).'),
  route: field(Text, 'Path of the route.', '/v1/chat/completions'),
  model: field(Text, 'Id of the model; for link data the platform. Empty if it is not known.', 'm-5.5'),
  outcome: field(OneOf(...REQUEST_OUTCOMES), '`refused`: nothing was done, and it is not among the requests of usage.'),
  status: field(Count, 'HTTP status; 499 if the client disconnected.', 200),
  error_code: field(Nullable(Text), 'Why it failed. Null if it succeeded.'),
  duration_ms: field(Count, 'Milliseconds to the end of the answer.'),
  input_tokens: field(Nullable(Count), 'Input tokens. Null if it has none.'),
  output_tokens: field(Nullable(Count), 'Output tokens. Null if it has none.'),
  input: optional(
    Nullable(Text),
    'What it asked, in at most 1,000 characters. Null if it is not stored. Only if the account keeps it.',
  ),
  cost: optional(
    Nullable(Type.Number()),
    'Cost in `currency`. Null without a known price. Only if the gateway has prices.',
    0.001,
  ),
});

const LoggedRequests = Type.Object(
  {
    object: field(Type.Literal('list'), 'Always `list`.'),
    currency: CURRENCY,
    data: field(Type.Array(LoggedRequest), 'Requests, newest first.'),
    has_more: field(Type.Boolean(), 'Whether there are older ones.'),
    next: field(Nullable(Text), 'Cursor of the next page, for `after`. Null on the last page.'),
  },
  { description: 'Single requests of an API key.' },
);

export interface UsageLogServices extends Pick<ServerContext, 'polls' | 'clock'> {
  gateway: Pick<Gateway, 'platforms'>;
  usageLog: Pick<UsageLog, 'totals'>;
  requestLog: RequestLog;
  /** Default: none. */
  prices?: Prices;
}

/** Usage of the key itself. */
export function usageRoutes(services: UsageLogServices & UsageRouteServices): Route[] {
  const common = { method: 'GET', grant: 'any', apiKeyHeader: true, tag: 'Account' } as const;
  return [
    ...keyUsageRoutes(services),
    defineRoute({
      ...common,
      path: '/v1/usage/daily',
      endpoint: 'usageDaily',
      summary: 'Usage by day, model, platform or route',
      description: 'Returns sums of what the API key used, by one dimension, as JSON or CSV.',
      query: { by: { schema: OneOf(...USAGE_DIMENSIONS), description: 'Default `day`.' }, ...RANGE_QUERY },
      answers: { 200: { description: 'The sums.', name: 'UsageGroups', schema: DailyUsage, also: CSV } },
      errors: ['invalid_value', 'rate_limit_exceeded'],
      handler: (context) => sendDaily(context, services),
    }),
    defineRoute({
      ...common,
      path: '/v1/usage/requests',
      endpoint: 'usageRequests',
      summary: 'Single requests of the API key',
      description:
        'Lists what the API key did, newest first, without answers; what was asked only if the account keeps it.',
      query: {
        outcome: { schema: OneOf(...REQUEST_OUTCOMES), description: 'Only requests that ended so.' },
        code: { schema: Text, description: 'Only requests with this error code.' },
        request_id: { schema: Text, description: 'Only this request.' },
        ...RANGE_QUERY,
        limit: { schema: Type.Integer({ minimum: 1, maximum: 200 }), description: 'Maximum number. Default 50.' },
        after: { schema: Text, description: '`next` of the page before.' },
      },
      answers: { 200: { description: 'The requests.', name: 'UsageRequests', schema: LoggedRequests, also: CSV } },
      errors: ['invalid_value', 'rate_limit_exceeded'],
      handler: (context) => sendRequests(context, services),
    }),
  ];
}

const CSV = { 'text/csv': { schema: Type.String({ description: 'The same fields, in lines.' }) } };

async function sendDaily(context: RequestContext, services: UsageLogServices): Promise<void> {
  const { polls, clock, gateway, usageLog, prices } = services;
  const key = pollingKeyOf(context, polls);
  const { query } = context;
  const { range, filter } = readUsageQuery(query, clock.now());
  const by = readDimension(query);
  const isCsv = readFormat(query) === 'csv';
  const { currency } = prices ?? {};
  const totals = filterTotals(await usageLog.totals({ keyId: key.id, ...range }), filter);
  const groups = groupUsage(totals, by, platformsOf(gateway));
  if (isCsv) return sendCsv(context, `usage-${range.from}-${range.to}`, renderUsageCsv(groups, by, { currency }));
  const encode = (counts: Parameters<typeof encodeCounts>[0]) => encodeCounts(counts, currency !== undefined);
  context.set('Cache-Control', 'no-store');
  context.body = {
    object: 'usage.groups',
    by,
    ...range,
    ...(currency !== undefined && { currency }),
    total: encode(addUp(totals)),
    data: groups.map(({ name, counts }) => ({ name, ...encode(counts) })),
  };
}

async function sendRequests(context: RequestContext, services: UsageLogServices): Promise<void> {
  const { polls, clock, requestLog, prices } = services;
  const { id, accountId } = pollingKeyOf(context, polls);
  const { query } = context;
  const { range, ...filter } = readRequestFilter(query, clock.now());
  const limit = readLimit(query);
  const after = readCursor(query);
  const { currency } = prices ?? {};
  const wanted = { ...filter, keyIds: [id], accountId, withInputs: true };
  if (readFormat(query) === 'csv') {
    const hasInputs = (await requestLog.inputs.daysOf(accountId)) !== null;
    const rows = requestLog.all(wanted);
    sendRequestsCsv(context, `requests-${range.from}-${range.to}`, rows, { currency, hasInputs });
    return;
  }
  // One more shows whether there are more.
  const rows = await requestLog.list(wanted, limit + 1, after);
  const page = rows.slice(0, limit);
  const last = rows.length > limit ? page.at(-1) : undefined;
  context.set('Cache-Control', 'no-store');
  context.body = {
    object: 'list',
    ...(currency !== undefined && { currency }),
    data: page.map((row) => encodeRequest(row, currency)),
    has_more: last !== undefined,
    next: last ? encodeCursor(last) : null,
  };
}

/** Keys of the gateway's platforms. */
export function platformsOf(gateway: Pick<Gateway, 'platforms'>): ReadonlySet<string> {
  return new Set(gateway.platforms().map(({ key }) => key));
}

function encodeRequest(row: UsageEntry, currency: string | undefined) {
  const { at, route, model, status, errorCode, latencyMs, inputTokens, outputTokens, cost } = row;
  return {
    request_id: shownRequestId(row),
    at: isoTime(at),
    route,
    model,
    outcome: outcomeOf(row),
    status,
    error_code: errorCode,
    duration_ms: latencyMs,
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    ...(row.input !== undefined && { input: row.input }),
    ...(currency !== undefined && { cost: cost === null ? null : Number(decimalOf(cost)) }),
  };
}

/** Sends a CSV file. @param name Without its extension. */
export function sendCsv(context: RequestContext, name: string, body: string | Readable): void {
  context.set({
    'Content-Type': 'text/csv; charset=utf-8',
    'Content-Disposition': `attachment; filename="mediagate-${name}.csv"`,
    'Cache-Control': 'no-store',
  });
  context.body = body;
}

interface RequestsCsv {
  /** Of the costs. Undefined without prices, and there is no such column. */
  currency: string | undefined;
  /** Names of keys by id. Default: the keys are not named. */
  names?: ReadonlyMap<string, string>;
  /** Whether what the requests asked has a column. Default false. */
  hasInputs?: boolean;
}

/** Sends requests as a CSV file, while they are read. */
export function sendRequestsCsv(
  context: RequestContext,
  name: string,
  rows: AsyncIterable<UsageEntry>,
  columns: RequestsCsv,
): void {
  sendCsv(context, name, Readable.from(csvOf(rows, columns), { objectMode: false }));
}

async function* csvOf(
  rows: AsyncIterable<UsageEntry>,
  { currency, names, hasInputs = false }: RequestsCsv,
): AsyncGenerator<string> {
  const optional: Readonly<Record<string, boolean>> = {
    cost: currency !== undefined,
    key_name: names !== undefined,
    input: hasInputs,
  };
  const columns = COLUMNS.filter((column) => optional[column] ?? true);
  let lines = [csvLine(columns)];
  for await (const row of rows) {
    const { errorCode, keyId } = row;
    const error = errorCode === null ? '' : wordsOfCode(errorCode);
    const cells = { ...encodeRequest(row, currency), error, key: keyId, key_name: names?.get(keyId) ?? '' };
    lines.push(csvLine(columns, cells));
    if (lines.length < LINES) continue;
    yield lines.join('');
    lines = [];
  }
  yield lines.join('');
}

const COLUMNS = [
  'request_id',
  'at',
  'key',
  'key_name',
  'route',
  'model',
  'outcome',
  'status',
  'error_code',
  'error',
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'cost',
  'input',
];
/** Lines that are sent at once. */
const LINES = 200;
