import type Router from '@koa/router';
import type { ExtractionJob, ExtractRequest, ExtractResult, Gateway } from 'mediagate';
import type { BodyBudget, ParamsContext, PollGuard, RequestContext, RequestState } from '../http/index.js';
import { clientSignal, markLinkData, readJsonBody } from '../http/index.js';
import { type createAuth, holderOf, keyOf } from '../keys/index.js';
import type { SlotAnswer, Windows } from '../limits/index.js';
import { acceptSlot, slotRequest, takeSlot } from '../limits/index.js';
import { toJobTerms } from '../usage/index.js';
import { encodeCapabilities } from './capabilities.js';
import { encodeJob, isOpen, POLL_AFTER_SECONDS } from './extract-job.js';
import {
  checkExtractBody,
  decodeExtract,
  type ExtractBody,
  ignoredOptions,
  MAX_BODY_BYTES,
  MAX_URL_LENGTH,
} from './extract-request.js';
import { encodeExtraction } from './extract-response.js';

export interface ExtractRoutes {
  gateway: Gateway;
  windows: Windows;
  auth: ReturnType<typeof createAuth>;
  bodies: BodyBudget;
  polls: PollGuard;
}

const FAMILY = 'link_data';

/** Link data: what can be extracted, extracting it, and what became of it in the background. */
export function addExtractRoutes(
  router: Router<RequestState>,
  { gateway, windows, auth, bodies, polls }: ExtractRoutes,
): void {
  const authenticate = auth({ grant: 'extract', allowApiKeyHeader: true });

  router.get('/v1/capabilities', markLinkData, authenticate, async (context: RequestContext) => {
    context.body = encodeCapabilities(gateway, keyOf(context));
  });

  router.post('/v1/extract', markLinkData, authenticate, async (context: RequestContext) => {
    const { req: request, res: response, state } = context;
    const owner = holderOf(keyOf(context));
    const sent = await readJsonBody(request, response, { maxBytes: MAX_BODY_BYTES, budget: bodies, owner });
    if (typeof sent.url === 'string' && sent.url.length <= MAX_URL_LENGTH) state.link = { inputUrl: sent.url };
    const body = checkExtractBody(sent);
    const wanted = decodeExtract(body, clientSignal(response));
    if (body.async_mode || body.force_async) return submit(context, body, wanted);
    match(context, body);
    await takeSlot(windows, response, { key: keyOf(context), family: FAMILY });
    sendResult(context, body, await gateway.extract(wanted));
  });

  /** Whatever is refused from here on names the platform. */
  function match({ state }: RequestContext, { url }: ExtractBody) {
    const matched = gateway.match(url);
    state.link = { inputUrl: url, platform: matched.platform };
    return matched;
  }

  /** The slot goes with the job where the link alone says that there may be one; else it is taken before any work. */
  async function submit(context: RequestContext, body: ExtractBody, wanted: ExtractRequest): Promise<void> {
    const key = keyOf(context);
    const { platform, link } = match(context, body);
    const isJob = link.kind !== 'short_link' && isAsync(gateway, platform);
    const slot = isJob ? slotRequest({ key, family: FAMILY }) : undefined;
    const { requestId } = context.state;
    const submitted = {
      ...wanted,
      owner: key.accountId,
      requestId,
      refresh: body.force_async,
      terms: toJobTerms({ slot }),
    };
    if (!isJob) {
      await gateway.checkQueue({ ...submitted, urls: [body.url] });
      await takeSlot(windows, context.res, { key, family: FAMILY });
    }
    const submission = await gateway.submitExtraction(submitted);
    if (slot && 'answer' in submission) acceptSlot(context.res, slot, submission.answer as SlotAnswer);
    else if (slot) await takeSlot(windows, context.res, { key, family: FAMILY });
    if ('refusal' in submission) throw submission.refusal;
    if ('result' in submission) sendResult(context, body, submission.result);
    else if ('job' in submission) sendJob(context, submission.job, body);
  }

  function sendResult(context: RequestContext, body: ExtractBody, result: ExtractResult): void {
    context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
    context.res.setHeader('X-Cache', result.cache);
    if (result.cache !== 'miss') context.res.setHeader('Age', Math.floor(result.ageMs / 1000));
    context.body = encodeExtraction(result, { notes: ignoredOptions(body, gateway, result.platform) });
  }

  function sendJob(context: RequestContext, job: ExtractionJob, body?: ExtractBody): void {
    context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (isOpen(job)) context.res.setHeader('Retry-After', POLL_AFTER_SECONDS);
    const asked = body && { inputUrl: body.url, notes: ignoredOptions(body, gateway, job.platform) };
    context.body = encodeJob(job, asked);
  }

  router.get('/v1/extract/jobs/:id', markLinkData, authenticate, async (context: ParamsContext) => {
    const { id, accountId } = keyOf(context);
    polls.admit(id);
    sendJob(context, await gateway.extractionJob(context.params.id ?? '', accountId));
  });

  router.delete('/v1/extract/jobs/:id', markLinkData, authenticate, async (context: ParamsContext) => {
    const { id, accountId } = keyOf(context);
    polls.admit(id);
    sendJob(context, await gateway.cancelExtractionJob(context.params.id ?? '', accountId));
  });
}

function isAsync(gateway: Gateway, platform: string): boolean {
  return gateway.platforms().some(({ key, features }) => key === platform && features.async);
}
