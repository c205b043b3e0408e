/*
 * `POST /v1/extract/batch`: up to 50 links in one request. Each link has its own document, job or error, and counts
 * against the rate limit like any other. The answer is streamed item by item, so fifty documents are never in memory as
 * one text.
 */

import { Readable } from 'node:stream';
import type { BatchItem } from '../../core/contracts/index.js';
import { defineRoute, describeFailure, JSON_TYPE, type RequestContext, type Route, readJson } from '../http/index.js';
import { IDEMPOTENCY_ERRORS, IDEMPOTENCY_HEADER, readIdempotencyKey } from '../idempotency/index.js';
import { keyOf, queueShareOf, quotaSubject } from '../keys/index.js';
import { BATCH_ANSWER } from './answer-schemas.js';
import { encodeExtraction, encodeJob } from './answers.js';
import { ExtractRequests, MAX_BATCH_BYTES } from './extract-fields.js';
import { EXAMPLE_LINK, LINK_ROUTE } from './link-route.js';
import { type LinkServices, LinkUsage } from './link-usage.js';
import { mediaIssuer } from './media.js';

const ROUTE = '/v1/extract/batch';

/**
 * Several links at once. An invalid link gets its error at its position, and counts against the rate limit like any
 * other.
 */
export function extractBatchRoutes(services: LinkServices): Route[] {
  const { gateway, answers, bodies, accountQueueShare, mediaProxy } = services;
  const requests = new ExtractRequests(gateway);
  const usage = new LinkUsage(services, ROUTE);

  function platformOf(url: string): string {
    try {
      return gateway.match(url).platform;
    } catch {
      return '';
    }
  }

  async function extractBatch(context: RequestContext): Promise<void> {
    const { req: request, res: response, state } = context;
    const apiKey = keyOf(context);
    const key = readIdempotencyKey(request.headers);
    const owner = quotaSubject(apiKey);
    const limits = { maxBytes: MAX_BATCH_BYTES, budget: bodies, owner, fingerprinted: key !== undefined };
    const { value, fingerprint } = await readJson(request, response, limits);
    const body = requests.checkBatch(value);
    const { urls, force_async: refresh } = body;
    const submitter = { owner: apiKey.accountId, ...queueShareOf(apiKey, accountQueueShare) };
    const { requestId } = state;
    const mediaLinksFor = mediaIssuer(context, mediaProxy, body.include_media_links);
    await answers.answer(context, { route: ROUTE, key, fingerprint }, async ({ signal, send }) => {
      const batch = { ...requests.decodeOptions(body), mediaLinksFor, urls, refresh, ...submitter, requestId, signal };
      await gateway.checkQueue(batch);
      const platforms = () => urls.map(platformOf).filter((platform) => platform !== '');
      const settle = await usage.admit(context, { platforms, count: urls.length });
      try {
        const items = await gateway.extractBatch(batch);
        usage.countBatch(context, items, platformOf, settle);
        const notesFor = (platform: string) => requests.ignoredOptions(body, platform);
        await send({ contentType: JSON_TYPE, body: Readable.from(encodeBatch(items, notesFor)) });
      } finally {
        settle(0);
      }
    });
  }

  return [
    defineRoute({
      ...LINK_ROUTE,
      method: 'POST',
      path: ROUTE,
      endpoint: 'extractBatch',
      summary: 'Extract several links',
      description: 'Extracts up to 50 links: returns a document, a job or an error for each.',
      headers: IDEMPOTENCY_HEADER,
      body: { schema: requests.batchSchema, example: { urls: [EXAMPLE_LINK] } },
      answers: { 200: BATCH_ANSWER },
      errors: ['rate_limit_exceeded', 'insufficient_quota', 'queue_full', ...IDEMPOTENCY_ERRORS],
      handler: extractBatch,
    }),
  ];
}

/** Limitations from the options of a batch, by platform. */
type NotesFor = (platform: string) => readonly string[];

/**
 * The answer to a batch in UTF-8, streamed item by item in the order of the links, so that fifty documents need not be
 * in memory as one text. A failed link has its error at its position.
 */
function* encodeBatch(items: readonly BatchItem[], notesFor: NotesFor): Generator<Buffer> {
  const countOf = (field: string) => items.filter((item) => field in item).length;
  const counts = {
    count: items.length,
    succeeded: countOf('result'),
    queued: countOf('job'),
    failed: countOf('error'),
  };
  yield Buffer.from(`${JSON.stringify({ ok: true, ...counts }).slice(0, -1)},"items":[`);
  for (const [index, item] of items.entries()) {
    const before = `${index > 0 ? ',' : ''}{"index":${index},"url":${JSON.stringify(item.url)},`;
    yield Buffer.concat([Buffer.from(before), ...encodeOutcome(item, notesFor), Buffer.from('}')]);
  }
  yield Buffer.from(']}');
}

function encodeOutcome(item: BatchItem, notesFor: NotesFor): Buffer[] {
  if ('error' in item) {
    const { error } = item;
    const failure = { ok: false, status: 'failed', platform: error.platform, error: describeFailure(error) };
    return [Buffer.from(JSON.stringify(failure).slice(1, -1))];
  }
  const head = (status: string) => Buffer.from(`"ok":true,"status":"${status}","result":`);
  if ('job' in item) {
    const { job, url } = item;
    return [head('queued'), encodeJob(job, { inputUrl: url, notes: notesFor(job.platform) })];
  }
  return [head('completed'), encodeExtraction(item.result, { notes: notesFor(item.result.platform) })];
}
