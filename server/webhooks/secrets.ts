import { createHmac } from 'node:crypto';
import type { Webhooks } from './webhook-events.js';

/** For so long events are signed with the secret before the newest as well. */
const OVERLAP_MS = 24 * 60 * 60 * 1000;
/** Of a secret where it is shown; the rest is base64. */
const PREFIX = 'whsec_';

/**
 * The secrets that events are signed with, one for each account, 32 bytes. They are derived whenever they are needed, from
 * the gateway's own secrets and a number in the database: whoever reads that alone learns none.
 */
export interface WebhookSecrets {
  /** The newest of an account, as its owner is told it: `whsec_…`. */
  newest(accountId: string): Promise<string>;
  /** Makes another one the newest; the one before it goes on signing for 24 hours. */
  rotate(accountId: string): Promise<string>;
  /** Those that sign now, the newest first. */
  signing(accountId: string): Promise<readonly Uint8Array[]>;
}

/** @param own The gateway's, newest first, 32 bytes each or more. */
export function createWebhookSecrets(
  own: readonly [Uint8Array, ...Uint8Array[]],
  versions: Pick<Webhooks, 'secretVersion' | 'rotateSecret'>,
): WebhookSecrets {
  const derive = (from: Uint8Array, accountId: string, version: number) =>
    createHmac('sha256', from).update(`mediagate webhooks\n${version}\n${accountId}`).digest();
  const show = (accountId: string, version: number) => PREFIX + derive(own[0], accountId, version).toString('base64');

  return {
    newest: async (accountId) => show(accountId, (await versions.secretVersion(accountId)).version),
    rotate: async (accountId) => show(accountId, (await versions.rotateSecret(accountId)).version),
    async signing(accountId) {
      const { version, changedMsAgo } = await versions.secretVersion(accountId);
      const overlaps = changedMsAgo !== undefined && changedMsAgo < OVERLAP_MS;
      const signing = overlaps ? [version, version - 1] : [version];
      return signing.flatMap((one) => own.map((from) => derive(from, accountId, one)));
    },
  };
}
