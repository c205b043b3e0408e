import { Readable } from 'node:stream';
import type Router from '@koa/router';
import type { RequestContext, RequestState } from '../http/index.js';
import { markLinkData, readJson } from '../http/index.js';
import type { AnswerDesk } from '../idempotency/index.js';
import { readIdempotencyKey } from '../idempotency/index.js';
import { holderOf, keyOf } from '../keys/index.js';
import { takeSlot } from '../limits/index.js';
import type { ExtractRoutes } from './extract.js';
import { encodeBatch } from './extract-batch-format.js';
import { checkBatchBody, decodeOptions, ignoredOptions, MAX_BATCH_BYTES } from './extract-request.js';

const ROUTE = '/v1/extract/batch';
const JSON_TYPE = 'application/json; charset=utf-8';

export interface ExtractBatchRoute extends Omit<ExtractRoutes, 'polls'> {
  answers: AnswerDesk;
}

/** Several links at once. A link that is no good is told where it stands, and costs its slot like any other. */
export function addExtractBatchRoute(router: Router<RequestState>, options: ExtractBatchRoute): void {
  const { gateway, windows, answers, auth, bodies } = options;
  const authenticate = auth({ grant: 'extract', allowApiKeyHeader: true });

  router.post(ROUTE, markLinkData, authenticate, async (context: RequestContext) => {
    const { req: request, res: response, state } = context;
    const apiKey = keyOf(context);
    const key = readIdempotencyKey(request.headers);
    const owner = holderOf(apiKey);
    const limits = { maxBytes: MAX_BATCH_BYTES, budget: bodies, owner, fingerprinted: key !== undefined };
    const { value, fingerprint } = await readJson(request, response, limits);
    const body = checkBatchBody(value);
    const { urls, force_async: refresh } = body;
    const { accountId } = apiKey;
    const { requestId } = state;
    await answers.answer(context, { route: ROUTE, key, fingerprint }, async ({ signal, send }) => {
      const batch = { ...decodeOptions(body), urls, refresh, owner: accountId, requestId, signal };
      await gateway.checkQueue(batch);
      await takeSlot(windows, response, { key: apiKey, family: 'link_data', slots: urls.length });
      const items = await gateway.extractBatch(batch);
      const notesFor = (platform: string) => ignoredOptions(body, gateway, platform);
      await send({ contentType: JSON_TYPE, body: Readable.from(encodeBatch(items, notesFor)) });
    });
  });
}
