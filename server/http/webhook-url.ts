/*
 * The field of a body that names where the webhook of a job is sent.
 */

import { optional, Type } from '../../core/contracts/index.js';

export const MAX_WEBHOOK_URL_LENGTH = 2048;
export const WEBHOOK_URL = `a public https URL of at most ${MAX_WEBHOOK_URL_LENGTH} characters, without user info`;

export const webhookUrlField = optional(
  Type.String({ maxLength: MAX_WEBHOOK_URL_LENGTH }),
  `Receives a webhook when the job ends, if the operator has enabled webhooks: ${WEBHOOK_URL}.`,
);
