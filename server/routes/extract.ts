import type Router from '@koa/router';
import { type ApiKeyRecord, type Gateway, GatewayError, type Windows } from 'mediagate';
import { takeSlot } from '../limits.js';
import type { createAuth } from '../middleware/auth.js';
import { type BodyBudget, readJsonBody } from '../middleware/body.js';
import type { Next, RequestContext, RequestState } from '../middleware/request-state.js';
import { encodeCapabilities } from '../wire/capabilities.js';
import { checkExtractBody, decodeExtract, ignoredOptions, MAX_URL_LENGTH } from '../wire/extract-request.js';
import { encodeExtraction } from '../wire/extract-response.js';

const MAX_BODY_BYTES = 65_536;

export interface ExtractRoutes {
  gateway: Gateway;
  windows: Windows;
  auth: ReturnType<typeof createAuth>;
  bodies: BodyBudget;
}

/** Link data: what can be extracted, and extracting it. */
export function addExtractRoutes(
  router: Router<RequestState>,
  { gateway, windows, auth, bodies }: ExtractRoutes,
): void {
  const authenticate = auth({ grant: 'extract', allowApiKeyHeader: true });

  router.get('/v1/capabilities', markLinkData, authenticate, async (context: RequestContext) => {
    context.body = encodeCapabilities(gateway.platforms(), keyOf(context), MAX_BODY_BYTES);
  });

  router.post('/v1/extract', markLinkData, authenticate, async (context: RequestContext) => {
    const { req: request, res: response, state } = context;
    const sent = await readJsonBody(request, response, { maxBytes: MAX_BODY_BYTES, budget: bodies });
    if (typeof sent.url === 'string' && sent.url.length <= MAX_URL_LENGTH) state.link = { inputUrl: sent.url };
    const body = checkExtractBody(sent);
    const { platform } = gateway.match(body.url);
    await takeSlot(windows, response, { key: keyOf(context), family: 'link_data' });

    const gone = new AbortController();
    const leave = () => gone.abort(new GatewayError('bad_request', 'The client closed the connection.'));
    response.once('close', leave);
    const result = await gateway.extract(decodeExtract(body, gone.signal));
    response.off('close', leave);
    const notes = ignoredOptions(body, gateway, platform);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    context.body = encodeExtraction(result, notes);
  });
}

function markLinkData(context: RequestContext, next: Next): Promise<unknown> {
  context.state.link = {};
  return next();
}

function keyOf(context: RequestContext): ApiKeyRecord {
  const { key } = context.state;
  if (!key) throw new Error('a route asked for the key before it was checked');
  return key;
}
