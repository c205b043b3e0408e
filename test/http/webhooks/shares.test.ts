/** Webhooks of accounts with hanging receivers. */

import { expect } from 'chai';
import { openHttpClient, systemClock } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { startWebhookDelivery, type WebhookDelivery, WebhookSecrets } from '../../../server/webhooks/index.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/http/webhook-receiver.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import type { ListeningApp } from '../http/listening-app.js';
import { PROMPT, startImageApp } from '../images/client.js';

const ACCOUNTS = 30;
const EVENTS = 10;

describeOnStacks('webhooks of accounts with hanging receivers', (stack) => {
  const once = onceIt(stack);
  let receiver: WebhookReceiver;
  let app: ListeningApp;
  let http: Awaited<ReturnType<typeof openHttpClient>>;
  let delivery: WebhookDelivery | undefined;

  before(async () => {
    receiver = await startWebhookReceiver();
    http = await openHttpClient({ timeoutMs: 15_000, trustedOrigins: [receiver.origin] });
    app = await startImageApp({ stack, images: { workers: 0 } });
  });
  after(async () => {
    // Ends the tries that hang.
    await receiver?.close();
    await delivery?.close();
    await app?.close();
    await http?.close();
  });

  async function endJob(owner: string): Promise<void> {
    const submission = await app.gateway.images.submit({
      ...PROMPT,
      ...({ size: 'auto', references: [], options: {}, delivery: 'url' } as const),
      owner,
      webhookUrl: receiver.url(owner),
    });
    if (!('job' in submission)) throw new Error('not accepted');
    await app.gateway.images.cancel(submission.job.id, owner);
  }

  once('delay those of another account by less than five seconds', async () => {
    const names = Array.from({ length: ACCOUNTS }, (_, index) => `hanging${index}`);
    for (const name of names) {
      receiver.behave(name, ...Array.from({ length: 10 * EVENTS }, () => 'hang' as const));
      for (let count = 0; count < EVENTS; count += 1) await endJob(name);
    }
    const { webhooks } = app.state;
    const secrets = new WebhookSecrets([Buffer.from('s'.repeat(32))], webhooks);
    const logger = createRecordingLogger();
    const parts = { webhooks, images: app.gateway.images, secrets, client: http.client, clock: systemClock, logger };
    delivery = startWebhookDelivery({ ...parts, baseUrl: () => app.url });
    await until(() => names.every((name) => receiver.of(name).length > 0));

    // Before the first tries have timed out, and while they are repeated.
    for (let round = 1; round <= 12; round += 1) {
      const startedAt = performance.now();
      await endJob('another');
      await receiver.heard('another', round);
      expect(performance.now() - startedAt, `round ${round}`).to.be.lessThan(5_000);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    for (const name of names) expect(receiver.of(name).length).to.be.lessThan(EVENTS);
  });
});
