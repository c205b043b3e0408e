import { type Gateway, GatewayError, type ImageJob } from 'mediagate';
import type { BodyBudget, RequestContext } from '../http/index.js';
import { useJsonBody } from '../http/index.js';
import type { Idempotency } from '../idempotency/index.js';
import { markReplayed } from '../idempotency/index.js';
import { holderOf, keyOf } from '../keys/index.js';
import type { SlotAnswer } from '../limits/index.js';
import { acceptSlot, slotRequest } from '../limits/index.js';
import { toJobTerms } from '../usage/index.js';
import type { WebhookTargets } from '../webhooks/index.js';
import { decodeImage, IMAGE_FIELDS, MAX_IMAGE_BODY_BYTES, type SizeRule } from './image-request.js';

export interface ImageSubmitterOptions extends SizeRule {
  gateway: Gateway;
  bodies: BodyBudget;
  /** Images that an account may ask for on one day (UTC), where its key has no limit of its own. Default: any number. */
  dailyLimit?: number;
  /** Where the ends of jobs may be told. Default: nowhere, and nobody asks. */
  webhookTargets?: WebhookTargets;
}

export interface Submitted {
  job: ImageJob;
  /** Whether an earlier request made the job. */
  replayed: boolean;
}

export interface SubmitTerms {
  /** What makes a later request the same as this one, by the fingerprint of its body; undefined where nothing does. */
  rememberAs(fingerprint: string): Idempotency | undefined;
  /** Whether a replay of what was cancelled is a new request. */
  renewsCancelled: boolean;
  /** Whether the body may name a webhook. */
  takesWebhook: boolean;
}

/**
 * Reads an image request, submits it, and says in header fields how the key's window stands and whether this is a replay.
 * @throws GatewayError of body, fields, input images, idempotency, quota, window and queue.
 */
export type ImageSubmitter = (context: RequestContext, terms: SubmitTerms) => Promise<Submitted>;

export function createImageSubmitter(options: ImageSubmitterOptions): ImageSubmitter {
  const { gateway, bodies, anySize, dailyLimit, webhookTargets } = options;
  return async (context, { rememberAs, renewsCancelled, takesWebhook }) => {
    const { req: request, res: response, state } = context;
    const key = keyOf(context);
    const slot = slotRequest({ key, family: 'image' });
    const imagesPerDay = key.imageDailyLimit ?? dailyLimit;
    const limits = { maxBytes: MAX_IMAGE_BODY_BYTES, budget: bodies, owner: holderOf(key), fields: IMAGE_FIELDS };
    const submission = await useJsonBody(request, response, limits, async ({ value, fingerprint }) => {
      const image = decodeImage(value, { anySize });
      const { webhook_url: target = null } = value;
      const webhookUrl = takesWebhook && target !== null ? webhookTargets?.check(target) : undefined;
      const wanted = { ...image, webhookUrl, owner: key.accountId, keyId: key.id };
      const submit = (idempotency: Idempotency | undefined) =>
        gateway.images.submit({
          ...wanted,
          requestId: state.requestId,
          terms: toJobTerms({
            slot,
            idempotency,
            ...(imagesPerDay !== undefined && { quota: { limit: imagesPerDay } }),
          }),
        });
      const idempotency = rememberAs(fingerprint);
      const first = await submit(idempotency);
      const renews = renewsCancelled && 'job' in first && first.replayed && first.job.state === 'cancelled';
      return idempotency && renews ? submit({ ...idempotency, replay: false }) : first;
    });
    if (slot && submission.answer) acceptSlot(response, slot, submission.answer as SlotAnswer);
    if (!('job' in submission)) throw new GatewayError('rate_limit_exceeded', 'This API key has no free slot.');
    const { job, replayed } = submission;
    if (replayed) markReplayed(response);
    return { job, replayed };
  };
}
