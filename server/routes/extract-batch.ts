import { Readable } from 'node:stream';
import type Router from '@koa/router';
import { clientSignal } from '../client-signal.js';
import { takeSlot } from '../limits.js';
import { keyOf } from '../middleware/auth.js';
import { readJsonBody } from '../middleware/body.js';
import { markLinkData } from '../middleware/error-shapes.js';
import type { RequestContext, RequestState } from '../middleware/request-state.js';
import { encodeBatch } from '../wire/extract-batch.js';
import { checkBatchBody, decodeOptions, ignoredOptions, MAX_BATCH_BYTES } from '../wire/extract-request.js';
import type { ExtractRoutes } from './extract.js';

/** Several links at once. A link that is no good is told where it stands, and costs its slot like any other. */
export function addExtractBatchRoute(
  router: Router<RequestState>,
  { gateway, windows, auth, bodies }: Omit<ExtractRoutes, 'polls'>,
): void {
  const authenticate = auth({ grant: 'extract', allowApiKeyHeader: true });

  router.post('/v1/extract/batch', markLinkData, authenticate, async (context: RequestContext) => {
    const { req: request, res: response, state } = context;
    const key = keyOf(context);
    const limits = { maxBytes: MAX_BATCH_BYTES, budget: bodies, keyId: key.id };
    const body = checkBatchBody(await readJsonBody(request, response, limits));
    const { urls, force_async: refresh } = body;
    const { accountId } = key;
    const { requestId } = state;
    const batch = { ...decodeOptions(body), urls, refresh, accountId, requestId, signal: clientSignal(response) };
    await gateway.checkQueue(batch);
    await takeSlot(windows, response, { key, family: 'link_data', slots: urls.length });
    const items = await gateway.extractBatch(batch);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    context.body = Readable.from(encodeBatch(items, (platform) => ignoredOptions(body, gateway, platform)));
  });
}
