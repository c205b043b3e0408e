/*
 * Watches for alerts in the background, once a minute: each node notes the conditions of its machine, and one of all
 * processes in turn notes the shared ones, closes what is over and repeats what is old. Of several workers of a machine,
 * one does this. Messages are delivered if a webhook or a mail server is set; without one, alerts are in the console, the
 * API and the metrics alone.
 */

import { hostname } from 'node:os';
import { type Clock, createThrottledWarning, type Logger, startPollLoop } from '../../core/runtime/index.js';
import type { CloseList } from '../close-list.js';
import type { SiteAddress } from '../http/index.js';
import type { Settings } from '../settings/index.js';
import type { Webhooks } from '../webhooks/index.js';
import type { Alerts } from './alerts.js';
import { type NodeSources, nodeConditions, SharedConditions, type SharedSources } from './conditions.js';
import { channelsOf, openAlertSender, startAlertMessages } from './delivery.js';
import type { Alert, AlertChannel } from './tables.js';
import { titleOf } from './texts.js';

const EVERY_MS = 60_000;

export interface AlertWatchOptions {
  alerts: Pick<Alerts, 'note' | 'settle' | 'takeTurn'>;
  node: NodeSources;
  shared: Omit<SharedSources, 'report'>;
  channels: readonly AlertChannel[];
  logger: Logger;
  /** Default a minute. Tests set it, as the next. */
  everyMs?: number;
  quietMs?: number;
}

export function startAlertWatch(options: AlertWatchOptions): { stop(): Promise<void> } {
  const { alerts, node, shared: sources, channels, logger, everyMs = EVERY_MS, quietMs } = options;
  const report = createThrottledWarning(logger, 'conditions of alerts could not be read');
  const shared = new SharedConditions({ ...sources, report });
  const fieldsOf = ({ id, kind }: Alert) => ({ id, code: kind });

  async function watch(): Promise<void> {
    const own = await nodeConditions(node);
    const isTurn = await alerts.takeTurn(everyMs - everyMs / 10);
    const conditions = isTurn ? [...own, ...(await shared.read())] : own;
    for (const alert of await alerts.note(conditions, { channels })) {
      logger.warn(`an alert has opened: ${titleOf(alert, 'en')}`, fieldsOf(alert));
    }
    if (!isTurn) return;
    const { closed } = await alerts.settle({ channels, ...(quietMs !== undefined && { quietMs }) });
    for (const alert of closed) logger.info('an alert is over', fieldsOf(alert));
  }

  return startPollLoop({ intervalMs: everyMs, work: watch, report });
}

export interface OpenAlertsOptions {
  settings: Settings;
  state: SharedSources['state'] & { alerts: Alerts; webhooks: Webhooks };
  gateway: NodeSources['gateway'];
  clock: Clock;
  logger: Logger;
  /** Called whenever a link is made. */
  site(): Pick<SiteAddress, 'url'>;
  opened: CloseList;
}

/** Starts the watch, and the delivery of its messages, by the settings. */
export async function openAlerts(options: OpenAlertsOptions): Promise<void> {
  const { settings, state, gateway, clock, logger, site, opened } = options;
  const { dataDir, alertDiskPercent: diskPercent, alertErrorPercent: errorPercent } = settings;
  const { alerts, webhooks } = state;
  const channels = channelsOf(settings);
  if (channels.length > 0) {
    const siteUrl = () => (settings.site ? site().url : undefined);
    const send = await openAlertSender({ settings, webhooks, clock, siteUrl, opened });
    const delivery = startAlertMessages({ alerts, send, logger });
    opened.add(() => delivery.close());
  }
  const addresses = [settings.baseUrl, settings.siteUrl].filter((one) => one !== undefined);
  const watch = startAlertWatch({
    alerts,
    node: { gateway, dataDir, host: hostname(), diskPercent },
    shared: { state, addresses, errorPercent, clock },
    channels,
    logger,
  });
  opened.add(() => watch.stop());
}
