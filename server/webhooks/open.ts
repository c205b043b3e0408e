import { type Clock, type Gateway, type Logger, openHttpClient } from 'mediagate';
import type { CloseList } from '../close-list.js';
import type { Settings } from '../settings/index.js';
import { loadWebhookSecrets } from '../settings/index.js';
import type { State } from '../state.js';
import { startWebhookDelivery, TRY_MS, type WebhookOutcome } from './delivery.js';
import { createWebhookSecrets, type WebhookSecrets } from './secrets.js';
import { createWebhookTargets, type WebhookTargets } from './targets.js';

/** What routes know of webhooks. */
export interface WebhookDesk {
  targets: WebhookTargets;
  secrets: WebhookSecrets;
}

export interface OpenWebhooksOptions {
  settings: Settings;
  webhooks: State['webhooks'];
  gateway: Pick<Gateway, 'images'>;
  clock: Clock;
  logger: Logger;
  baseUrl(): string;
  /** Default: nobody counts. */
  tried?(outcome: WebhookOutcome): void;
  /** Takes what is to be closed with the process. */
  opened: CloseList;
}

/** Webhooks as the settings have them; undefined where they are off. */
export async function openWebhooks(options: OpenWebhooksOptions): Promise<WebhookDesk | undefined> {
  const { settings, webhooks, gateway, opened, ...rest } = options;
  const { imageWebhooks, imageWebhookOrigins: trustedOrigins, egressProxyUrl } = settings;
  if (!imageWebhooks) return undefined;
  const secrets = createWebhookSecrets(await loadWebhookSecrets(settings), webhooks);
  // A way out of its own: what plugins may reach is not for clients to point at.
  const http = await openHttpClient({ timeoutMs: TRY_MS, trustedOrigins, egressProxyUrl });
  opened.add(() => http.close());
  const delivery = startWebhookDelivery({ webhooks, images: gateway.images, secrets, client: http.client, ...rest });
  opened.add(() => delivery.close());
  return { targets: createWebhookTargets(trustedOrigins), secrets };
}
