/** A process that opens, closes and sends alerts of conditions that come and go, until it is killed. */

import { setTimeout as sleep } from 'node:timers/promises';
import { isGatewayError, systemClock } from '../../core/runtime/index.js';
import { openAlertSender, startAlertMessages } from '../../server/alerts/delivery.js';
import type { Condition } from '../../server/alerts/index.js';
import { CloseList } from '../../server/close-list.js';
import { readSettings } from '../../server/settings/index.js';
import { openState } from '../../server/state.js';
import { ListLogger } from '../support/databases/engines.js';

export interface AlertNodeOptions {
  dataDir: string;
  databaseUrl?: string;
  receiver: string;
  /** After that, no condition is met any more. Milliseconds since 1970. */
  until: number;
}

/** Names of platforms whose probes fail now and then. */
export const PLATFORMS = Array.from({ length: 20 }, (_, index) => `platform-${index}`);
/** Without a condition for so long, an alert closes. */
const QUIET_MS = 150;
/** A killed process has what it took for so long. */
const LEASE_MS = 1_500;
const EVERY_MS = 30;
const CHANNELS = ['webhook'] as const;

if (process.argv[2]?.startsWith('{')) await run(JSON.parse(process.argv[2]) as AlertNodeOptions);

async function run({ dataDir, databaseUrl, receiver, until }: AlertNodeOptions): Promise<void> {
  const [clock, logger] = [systemClock, new ListLogger()];
  const state = await openState({ dataDir, databaseUrl, clock, logger });
  const { alerts } = state;
  const settings = readSettings({
    DATA_DIR: dataDir,
    ALERT_WEBHOOK_URL: receiver,
    IMAGE_WEBHOOK_SECRET: 'a secret of the fault runs with 32 characters and more',
  });
  const opened = new CloseList();
  const send = await openAlertSender({ settings, webhooks: state.webhooks, clock, siteUrl: () => undefined, opened });
  const short: Pick<typeof alerts, 'takeDue' | 'finish' | 'postpone'> = {
    takeDue: ({ max }) => alerts.takeDue({ max, leaseMs: LEASE_MS }),
    finish: (message) => alerts.finish(message),
    postpone: (message, waitMs) => alerts.postpone(message, waitMs),
  };
  const pausesMs = Array.from({ length: 50 }, () => 50);
  startAlertMessages({ alerts: short, send, logger, pausesMs, pollMs: EVERY_MS });
  console.log('ready');
  for (;;) {
    const now = Date.now();
    // Each has its own rhythm, which all processes see alike.
    const met = PLATFORMS.filter((_, index) => now < until && Math.floor(now / (500 + 97 * index)) % 2 === 0);
    const conditions = met.map((subject): Condition => ({ kind: 'probe_failed', subject, detail: { failed: 1 } }));
    try {
      await alerts.note(conditions, { channels: CHANNELS });
      await alerts.settle({ channels: CHANNELS, quietMs: QUIET_MS });
    } catch (error) {
      if (!(isGatewayError(error) && error.code === 'upstream_unavailable'))
        console.log(`failed: ${error instanceof Error ? error.message : error}`);
    }
    await sleep(EVERY_MS);
  }
}
