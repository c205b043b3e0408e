/*
 * Routes of background batches: submit up to 10,000 links, list, poll, cancel, and read the results in pages. A batch
 * itself costs nothing; each link takes a request of the key's rate limit when it starts. Polls and results are free.
 */

import { field, Type } from '../../core/contracts/index.js';
import { isoTime } from '../format/index.js';
import {
  Count,
  describeFailure,
  Failure,
  fieldError,
  JOB_LIST_ERRORS,
  JSON_TYPE,
  jobListQuery,
  jobListSchema,
  Nullable,
  OneOf,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readJson,
  sendBytes,
  sendJobList,
  Text,
  Time,
} from '../http/index.js';
import { IDEMPOTENCY_HEADER, markReplayed, readIdempotencyKey } from '../idempotency/index.js';
import { keyOf, pollingKeyOf, queueShareOf, quotaSubject } from '../keys/index.js';
import {
  EXAMPLE_LINK,
  ExtractRequests,
  INFO_TYPE,
  LINK_ROUTE,
  type LinkServices,
  MAX_JOB_BATCH_BYTES,
  MAX_JOB_BATCH_URLS,
  mediaIssuer,
  readFlag,
} from '../links/index.js';
import { toJobTerms } from '../usage/index.js';
import { formatFeed, formatInfoDict, formatLines, formatM3u, type ResultFormat } from './batch-formats.js';
import { formatArchive, formatTable } from './batch-tables.js';
import { BATCH_STATUS, type Batch, type Batches, isOpenBatch } from './batches.js';

const ROUTE = '/v1/extract/batches';
/** Seconds between two polls of an open batch. */
const POLL_AFTER_SECONDS = 5;
const DEFAULT_LIMIT = 100;

interface FormatEntry {
  type: string;
  write: ResultFormat;
  /** Links of a page by default. */
  limit: number;
  /** Whether it is about the files, for players. */
  isForPlayers?: boolean;
  /** The ending of a file that a browser saves it as. Default: it is shown. */
  ending?: string;
}

const FORMATS: Readonly<Record<string, FormatEntry>> = {
  ndjson: { type: 'application/x-ndjson', write: formatLines, limit: DEFAULT_LIMIT },
  csv: { type: 'text/csv; charset=utf-8', write: formatTable, limit: MAX_JOB_BATCH_URLS, ending: 'csv' },
  zip: { type: 'application/zip', write: formatArchive, limit: MAX_JOB_BATCH_URLS, ending: 'zip' },
  jsonfeed: { type: 'application/feed+json', write: formatFeed, limit: DEFAULT_LIMIT, isForPlayers: true },
  m3u: { type: 'audio/x-mpegurl; charset=utf-8', write: formatM3u, limit: MAX_JOB_BATCH_URLS, isForPlayers: true },
  'yt-dlp': { type: INFO_TYPE, write: formatInfoDict, limit: MAX_JOB_BATCH_URLS, isForPlayers: true },
};

/** What each parameter of the results accepts, for error messages. */
const ACCEPTED = {
  format: Object.keys(FORMATS).join(', '),
  from: `a whole number from 0 to ${MAX_JOB_BATCH_URLS}`,
  limit: `a whole number from 1 to ${MAX_JOB_BATCH_URLS}`,
};

const Progress = Type.Object({
  total: field(Count, 'Links of the batch.'),
  started: field(Count, 'Links that have started: each has taken a request of the rate limit.'),
  completed: field(Count, 'Links with a document.'),
  failed: field(Count, 'Links that failed.'),
  percent: field(Count, 'Share of the links that have ended, in percent.'),
});
const BatchJob = Type.Object(
  {
    id: field(Text, 'Id of the batch.', 'exbatch_0123456789abcdef'),
    status: field(
      OneOf(...Object.values(BATCH_STATUS)),
      'State of the batch. `completed` means that each link has ended; `failed` and `cancelled` are final as well.',
    ),
    progress: field(Progress, 'How many links have ended.'),
    attempts: field(Count, 'Runs that have begun; more than one if a process died.'),
    created_at: field(Time, 'When the batch was accepted (RFC 3339).'),
    started_at: field(Nullable(Time), 'When the latest run began (RFC 3339). Null while it has not.'),
    finished_at: field(Nullable(Time), 'When the batch ended (RFC 3339). Null before.'),
    expires_at: field(Nullable(Time), 'When the batch and its results are deleted (RFC 3339). Null before its end.'),
    error: field(Nullable(Failure), 'Why the batch failed as a whole. Null otherwise.'),
    status_url: field(Text, 'Path to poll, relative to the address of the API.'),
    results_url: field(Text, 'Path of the results, relative to the address of the API.'),
    poll_after_seconds: field(Count, 'Recommended wait before the next poll, in seconds. 0 if the batch has ended.', 5),
  },
  { description: 'A background batch of links.' },
);
const BATCH_ANSWER = { description: 'The batch.', name: 'ExtractionBatch', schema: BatchJob };

const SUBMIT: RouteDeclaration = {
  ...LINK_ROUTE,
  method: 'POST',
  path: ROUTE,
  endpoint: 'extractBatches',
  summary: 'Submit a background batch',
  description: `Extracts up to ${MAX_JOB_BATCH_URLS} links in the background, at the pace of the key: each takes its request of the rate limit when it starts.`,
  headers: IDEMPOTENCY_HEADER,
  answers: { 202: BATCH_ANSWER },
  errors: ['queue_full', 'too_many_open_jobs', 'invalid_value', 'idempotency_key_reused', 'invalid_idempotency_key'],
};

const LIST: RouteDeclaration = {
  ...LINK_ROUTE,
  method: 'GET',
  path: ROUTE,
  endpoint: 'extractBatches',
  summary: 'List background batches',
  description: "Returns the background batches of the key's account, newest first, in pages.",
  query: jobListQuery(BATCH_STATUS),
  answers: {
    200: {
      description: 'The batches, newest first.',
      name: 'ExtractionBatchList',
      schema: jobListSchema(BatchJob, { jobs: 'The batches, newest first.', description: 'Batches of an account.' }),
    },
  },
  errors: JOB_LIST_ERRORS,
};

/** Declarations that the routes of one batch share. */
const ONE_BATCH = {
  ...LINK_ROUTE,
  path: `${ROUTE}/:id`,
  endpoint: 'extractBatchJob',
  parameter: 'batch_id',
  params: { id: { description: 'Id of the batch.', example: 'exbatch_0123456789abcdef' } },
} as const;

const GET: RouteDeclaration = {
  ...ONE_BATCH,
  method: 'GET',
  summary: 'Get a background batch',
  description: 'Returns the status and the progress of a background batch.',
  answers: { 200: BATCH_ANSWER },
  errors: ['job_not_found', 'rate_limit_exceeded'],
};

const CANCEL: RouteDeclaration = {
  ...ONE_BATCH,
  method: 'DELETE',
  summary: 'Cancel a background batch',
  description: 'Cancels a background batch that has not ended. Results until then stay.',
  answers: { 200: BATCH_ANSWER },
  errors: ['job_not_found', 'job_already_terminal', 'rate_limit_exceeded'],
};

const RESULTS: RouteDeclaration = {
  ...ONE_BATCH,
  method: 'GET',
  path: `${ROUTE}/:id/results`,
  endpoint: 'extractBatchResults',
  summary: 'Get the results of a background batch',
  description:
    'Returns the documents and errors of the links that have ended, in the order of the request, up to the first that has not. The header `Link` names the next page; without it, there is none.',
  query: {
    format: {
      schema: OneOf(...Object.keys(FORMATS)),
      description:
        'Lines of JSON (default), a CSV table, a ZIP archive with this table and a JSON file for each link, a JSON Feed, an M3U playlist, or an info dict of a playlist for yt-dlp.',
    },
    from: {
      schema: Type.Integer({ minimum: 0, maximum: MAX_JOB_BATCH_URLS }),
      description: 'Position of the first link, from 0. Default 0.',
    },
    limit: {
      schema: Type.Integer({ minimum: 1, maximum: MAX_JOB_BATCH_URLS }),
      description: `Maximum number of links. Default ${DEFAULT_LIMIT}; all for tables, archives and playlists.`,
    },
    include_media_links: {
      schema: OneOf('true', 'false'),
      description:
        'As the field of `POST /v1/extract`. Default false; true on the site, and for feeds and playlists if the operator allows media links to all.',
    },
  },
  answers: {
    200: { description: 'A line of JSON for each link, or another format.', type: 'application/x-ndjson' },
  },
  errors: ['job_not_found', 'rate_limit_exceeded', 'invalid_value'],
};

export interface BatchRoutesServices extends LinkServices {
  batches: Batches;
}

/** Background batches: submit, list, poll, cancel, results. */
export function batchRoutes(services: BatchRoutesServices): Route[] {
  const { batches, gateway, polls } = services;
  const requests = new ExtractRequests(gateway);
  const accountOf = (context: RequestContext) => pollingKeyOf(context, polls).accountId;
  const body = { schema: requests.jobBatchSchema, example: { urls: [EXAMPLE_LINK] } };
  return [
    { ...SUBMIT, body, handler: (context) => submit(context, services, requests) },
    {
      ...LIST,
      handler(context) {
        const owner = accountOf(context);
        return sendJobList(context, {
          states: BATCH_STATUS,
          read: (limit, filter) => batches.list(owner, limit, filter),
          show: encodeBatch,
        });
      },
    },
    {
      ...GET,
      async handler(context) {
        const owner = accountOf(context);
        send(context, await batches.find(paramOf(context, 'id'), owner));
      },
    },
    {
      ...CANCEL,
      async handler(context) {
        const owner = accountOf(context);
        send(context, await batches.cancel(paramOf(context, 'id'), owner));
      },
    },
    { ...RESULTS, handler: (context) => sendResults(context, services, requests) },
  ];
}

async function submit(
  context: RequestContext,
  { batches, bodies, webhooks, accountQueueShare }: BatchRoutesServices,
  requests: ExtractRequests,
): Promise<void> {
  const { req: request, res: response, state } = context;
  const apiKey = keyOf(context);
  const key = readIdempotencyKey(request.headers);
  const limits = { maxBytes: MAX_JOB_BATCH_BYTES, budget: bodies, owner: quotaSubject(apiKey), fingerprinted: true };
  const { value, fingerprint = '' } = await readJson(request, response, limits);
  const { urls, webhook_url: target, ...fields } = requests.checkJobBatch(value);
  const decoded = requests.decodeOptions(fields);
  const idempotency = key === undefined ? undefined : { scope: `${apiKey.id} POST ${ROUTE}`, key, fingerprint };
  const { batch, replayed } = await batches.submit({
    ...queueShareOf(apiKey, accountQueueShare),
    owner: apiKey.accountId,
    keyId: apiKey.id,
    urls,
    options: decoded.options,
    verifyMedia: decoded.verifyMedia,
    ...(fields.include_transcript && { captions: { languages: fields.transcript_languages ?? [] } }),
    fields,
    requestId: state.requestId,
    webhookUrl: target === undefined ? undefined : webhooks?.targets.check(target),
    terms: toJobTerms({ idempotency }),
  });
  if (replayed) markReplayed(response);
  context.status = 202;
  response.setHeader('Location', statusUrlOf(batch));
  send(context, batch);
}

function send(context: RequestContext, batch: Batch): void {
  context.res.setHeader('Content-Type', JSON_TYPE);
  if (isOpenBatch(batch)) context.res.setHeader('Retry-After', POLL_AFTER_SECONDS);
  context.body = JSON.stringify(encodeBatch(batch));
}

async function sendResults(
  context: ParamsContext,
  { batches, polls, mediaProxy, baseUrl }: BatchRoutesServices,
  requests: ExtractRequests,
): Promise<void> {
  const { accountId } = pollingKeyOf(context, polls);
  const { name, from, limit } = readPage(context);
  const isLinked = readFlag(context, 'include_media_links');
  const { type, write, isForPlayers, ending } = FORMATS[name] as FormatEntry;
  const mediaLinksFor = mediaIssuer(context, mediaProxy, isLinked, isForPlayers);
  const batch = await batches.find(paramOf(context, 'id'), accountId);
  const ended = await batches.ended(batch);
  const to = Math.min(from + limit, ended);
  const isOpen = isOpenBatch(batch);
  const url = `${baseUrl()}${resultsUrlOf(batch)}`;
  const isLast = isOpen ? to >= batch.total : to >= ended;
  const nextUrl = isLast ? undefined : `${url}?${pageQuery(context, Math.max(from, to))}`;
  context.set('Cache-Control', 'private, no-cache');
  if (nextUrl !== undefined) context.set('Link', `<${nextUrl}>; rel="next"`);
  if (nextUrl !== undefined && to === ended) context.set('Retry-After', String(POLL_AFTER_SECONDS));
  context.set('Content-Type', type);
  if (ending) context.set('Content-Disposition', `attachment; filename="${batch.id}.${ending}"`);
  const notesFor = (platform: string) => requests.ignoredOptions(batch.fields, platform);
  const results = { [Symbol.asyncIterator]: () => batches.results(batch, { from, to, mediaLinksFor }) };
  const own = `${url}?${pageQuery(context, from)}`;
  sendBytes(context, write(results, { batch, url: own, nextUrl, notesFor }));
}

/** The parameters of a request, for a page from another position on. */
function pageQuery({ query }: ParamsContext, from: number): string {
  const same = Object.entries(query).filter(([, value]) => typeof value === 'string') as [string, string][];
  return new URLSearchParams({ ...Object.fromEntries(same), from: String(from) }).toString();
}

/** @throws GatewayError `invalid_value`. */
function readPage({ query }: ParamsContext): { name: string; from: number; limit: number } {
  const { format: name = 'ndjson' } = query;
  const refuse = (param: string) => fieldError({ path: param }, ACCEPTED);
  const format = typeof name === 'string' && Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined;
  if (typeof name !== 'string' || !format) throw refuse('format');
  const { from = '0', limit = String(format.limit) } = query;
  const read = (param: 'from' | 'limit', text: unknown, minimum: number) => {
    const value = typeof text === 'string' && /^\d{1,5}$/.test(text) ? Number(text) : -1;
    if (value < minimum || value > MAX_JOB_BATCH_URLS) throw refuse(param);
    return value;
  };
  return { name, from: read('from', from, 0), limit: read('limit', limit, 1) };
}

function statusUrlOf({ id }: Batch): string {
  return `${ROUTE}/${id}`;
}

function resultsUrlOf(batch: Batch): string {
  return `${statusUrlOf(batch)}/results`;
}

/** A batch as polls and webhooks show it. */
export function encodeBatch(batch: Batch) {
  const { total, progress, error } = batch;
  const { started, completed, failed } = progress;
  return {
    id: batch.id,
    status: BATCH_STATUS[batch.state],
    progress: { total, started, completed, failed, percent: Math.floor((100 * (completed + failed)) / total) },
    attempts: batch.attempts,
    created_at: isoTime(batch.createdAt),
    started_at: isoTime(batch.startedAt),
    finished_at: isoTime(batch.finishedAt),
    expires_at: isoTime(batch.expiresAt),
    error: error && describeFailure(error),
    status_url: statusUrlOf(batch),
    results_url: resultsUrlOf(batch),
    poll_after_seconds: isOpenBatch(batch) ? POLL_AFTER_SECONDS : 0,
  };
}
