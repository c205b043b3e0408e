/*
 * Delivers the due rows of budget alerts to the operator's address as signed webhooks, each at least once. An alert is
 * tried eight times within about 28 hours, with the delays of image webhooks, and then given up with a warning. Several
 * processes may run it: each attempt is taken by one of them for a lease of a minute.
 */

import { openHttpClient } from 'mediagate';
import type { HttpClient } from '../../core/contracts/index.js';
import { DueWork } from '../../core/database/index.js';
import { type Clock, createThrottledWarning, isGatewayError, type Logger } from '../../core/runtime/index.js';
import { type AlertTry, type BudgetAlerts, isLowBalance } from '../budgets/index.js';
import type { CloseList } from '../close-list.js';
import { isoTime } from '../format/index.js';
import { loadWebhookSecrets, type Settings } from '../settings/index.js';
import { PAUSES_MS, postSigned, TRY_MS } from './delivery.js';
import type { Webhooks } from './webhook-events.js';
import { WebhookSecrets } from './webhooks.js';

/** Signs alerts of budgets: no account has this name. */
export const ALERT_SIGNER = 'operator:budgets';

const LEASE_MS = 60_000;
const POLL_MS = 2_000;
const AT_ONCE = 8;
const STOP_MS = 3_000;

export interface AlertDeliveryOptions {
  alerts: BudgetAlerts;
  /** Address of the operator's receiver. */
  url: string;
  secrets: Pick<WebhookSecrets, 'signing'>;
  /** Has its own deadline. */
  client: HttpClient;
  clock: Clock;
  logger: Logger;
  /** Default: as for webhooks of image jobs. Tests set it, as the following. */
  pausesMs?: readonly number[];
  pollMs?: number;
}

/** Delivers alerts of budgets as webhooks, each at least once, and retries them as those of image jobs. */
export function startAlertDelivery(options: AlertDeliveryOptions): DueWork<AlertTry> {
  const { alerts, url, secrets, client, clock, logger, pausesMs = PAUSES_MS, pollMs = POLL_MS } = options;

  async function deliver(alert: AlertTry, signal: AbortSignal): Promise<void> {
    const fields = { budgetId: alert.budgetId, percent: alert.percent, attempt: alert.tries };
    const result = await send(alert, signal).catch((error) => {
      // An error of the database is not the receiver's fault.
      if (!isGatewayError(error) || signal.aborted) throw error;
      return error.code;
    });
    const answer = typeof result === 'number' ? { status: result } : { code: result };
    const { status = 0 } = answer;
    const isDelivered = status >= 200 && status < 300;
    const waitMs = isDelivered ? undefined : pausesMs[alert.tries - 1];
    if (waitMs !== undefined) {
      await alerts.postpone(alert, waitMs);
      logger.info('a budget alert was not accepted; it is retried', { ...fields, ...answer });
    } else {
      await alerts.settle(alert);
      if (isDelivered) logger.debug('a budget alert was delivered', fields);
      else logger.warn('a budget alert was given up after its last retry', { ...fields, ...answer });
    }
  }

  async function send(alert: AlertTry, signal: AbortSignal): Promise<number> {
    const signing = await secrets.signing(ALERT_SIGNER);
    const body = JSON.stringify({
      type: isLowBalance(alert) ? 'balance.low' : 'budget.alert',
      timestamp: isoTime(alert.at),
      data: JSON.parse(alert.data),
    });
    const id = `evt_${[alert.budgetId, alert.period, alert.percent, alert.limit].join('_').replaceAll(' ', '_')}`;
    const event = { id, at: clock.now(), body, secrets: signing };
    return postSigned(client, event, { url, timeoutMs: TRY_MS, signal });
  }

  return new DueWork<AlertTry>({
    intervalMs: pollMs,
    atOnce: AT_ONCE,
    take: ({ max }) => alerts.takeDue({ max, leaseMs: LEASE_MS }),
    work: deliver,
    report: createThrottledWarning(logger, 'budget alerts wait for the database'),
    stopMs: STOP_MS,
  });
}

export interface OpenAlertsOptions extends Pick<AlertDeliveryOptions, 'alerts' | 'clock' | 'logger'> {
  settings: Settings;
  webhooks: Webhooks;
  /** Registers what must be closed with the process. */
  opened: CloseList;
}

/** Starts the delivery of alerts, if an address is set. */
export async function openBudgetAlerts({ settings, webhooks, opened, ...rest }: OpenAlertsOptions): Promise<void> {
  const { budgetWebhookUrl: url, egressProxyUrl } = settings;
  if (url === undefined) return;
  const secrets = new WebhookSecrets(await loadWebhookSecrets(settings), webhooks);
  // The operator chose the address, so it may be a private one.
  const trustedOrigins = [new URL(url).origin];
  const http = await openHttpClient({ timeoutMs: TRY_MS, trustedOrigins, egressProxyUrl });
  opened.add(() => http.close());
  const delivery = startAlertDelivery({ url, secrets, client: http.client, ...rest });
  opened.add(() => delivery.close());
}
