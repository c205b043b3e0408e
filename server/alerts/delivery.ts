/*
 * Delivers the messages of alerts, each at least once: as a signed webhook to `ALERT_WEBHOOK_URL`, with the pauses,
 * the lease and the deadline of other webhooks, and as an e-mail to `ALERT_EMAIL_TO`. A message that was refused eight
 * times within about 28 hours is given up with a warning. Any process may deliver it.
 */

import { openHttpClient } from 'mediagate';
import type { HttpClient } from '../../core/contracts/index.js';
import { DueWork } from '../../core/database/index.js';
import {
  type Clock,
  createThrottledWarning,
  GatewayError,
  isGatewayError,
  type Logger,
} from '../../core/runtime/index.js';
import type { CloseList } from '../close-list.js';
import { loadWebhookSecrets, type Settings } from '../settings/index.js';
import { PAUSES_MS, postSigned, TRY_MS, WebhookSecrets, type Webhooks } from '../webhooks/index.js';
import type { AlertMessage, Alerts } from './alerts.js';
import { type MessagePlace, mailOf, webhookBody } from './messages.js';
import type { AlertChannel } from './tables.js';

/** Signs alerts: no account has this name. */
export const OPERATOR_ALERTS = 'operator:alerts';

/** Longer than an e-mail or a webhook may take. */
const LEASE_MS = 60_000;
const POLL_MS = 2_000;
const AT_ONCE = 4;
const STOP_MS = 3_000;

export interface AlertSenderOptions {
  settings: Pick<Settings, 'alertWebhookUrl' | 'alertEmailTo' | 'alertEmailFrom' | 'smtpUrl'>;
  place: Omit<MessagePlace, 'siteUrl'> & { siteUrl(): string | undefined };
  secrets: Pick<WebhookSecrets, 'signing'>;
  /** Has its own deadline. */
  client: HttpClient;
  clock: Clock;
}

/** Where messages go by the settings. */
export function channelsOf({ alertWebhookUrl, smtpUrl }: Pick<Settings, 'alertWebhookUrl' | 'smtpUrl'>) {
  const channels: AlertChannel[] = [];
  if (alertWebhookUrl !== undefined) channels.push('webhook');
  if (smtpUrl !== undefined) channels.push('email');
  return channels;
}

export type AlertSender = (message: Pick<AlertMessage, 'id' | 'channel' | 'event' | 'at' | 'alert'>) => Promise<void>;

/** @returns Sends a message once. It throws GatewayError if it was not accepted, or its channel is not set any more. */
export function createAlertSender({ settings, place, secrets, client, clock }: AlertSenderOptions) {
  const { alertWebhookUrl: url, alertEmailTo: to = [], alertEmailFrom, smtpUrl } = settings;
  const from = alertEmailFrom ?? to[0];
  return async (message: Parameters<AlertSender>[0], signal?: AbortSignal): Promise<void> => {
    const { id, channel } = message;
    if (channel === 'email') {
      if (smtpUrl === undefined || from === undefined) throw unset('SMTP_URL');
      const { sendMail } = await import('./mail.js');
      return sendMail(
        { url: smtpUrl },
        { ...mailOf(message, { ...place, siteUrl: place.siteUrl() }), from, to, id },
        signal,
      );
    }
    if (url === undefined) throw unset('ALERT_WEBHOOK_URL');
    const event = { id, at: clock.now(), body: webhookBody(message), secrets: await secrets.signing(OPERATOR_ALERTS) };
    const status = await postSigned(client, event, { url, timeoutMs: TRY_MS, ...(signal && { signal }) });
    if (status < 200 || status >= 300)
      throw new GatewayError('upstream_error', `The receiver answered with the status ${status}.`);
  };
}

function unset(name: string): GatewayError {
  return new GatewayError('invalid_value', `${name} is not set.`, { param: name });
}

export interface AlertDeliveryOptions {
  alerts: Pick<Alerts, 'takeDue' | 'finish' | 'postpone'>;
  send: ReturnType<typeof createAlertSender>;
  logger: Logger;
  /** Default: as for webhooks of jobs. Tests set it, as the next. */
  pausesMs?: readonly number[];
  pollMs?: number;
}

export function startAlertMessages(options: AlertDeliveryOptions): DueWork<AlertMessage> {
  const { alerts, send, logger, pausesMs = PAUSES_MS, pollMs = POLL_MS } = options;

  async function deliver(message: AlertMessage, signal: AbortSignal): Promise<void> {
    const { alert, channel, event, tries: attempt } = message;
    const fields = { id: alert.id, code: `${alert.kind} ${event} ${channel}`, attempt };
    const failure = await send(message, signal).then(
      () => undefined,
      (error: unknown) => {
        // An error of the database is not the receiver's fault.
        if (!isGatewayError(error) || error.code === 'upstream_unavailable' || signal.aborted) throw error;
        return error;
      },
    );
    if (!failure) {
      await alerts.finish(message);
      return logger.debug('an alert was delivered', fields);
    }
    const waitMs = failure.code === 'invalid_value' ? undefined : pausesMs[attempt - 1];
    if (waitMs !== undefined) {
      await alerts.postpone(message, waitMs);
      logger.info(`an alert was not accepted; it is retried: ${failure.message}`, fields);
    } else {
      await alerts.finish(message);
      logger.warn(`an alert was given up after its last retry: ${failure.message}`, fields);
    }
  }

  return new DueWork<AlertMessage>({
    intervalMs: pollMs,
    atOnce: AT_ONCE,
    take: ({ max }) => alerts.takeDue({ max, leaseMs: LEASE_MS }),
    work: deliver,
    report: createThrottledWarning(logger, 'messages of alerts wait for the database'),
    stopMs: STOP_MS,
  });
}

export interface OpenSenderOptions {
  settings: Settings;
  webhooks: Pick<Webhooks, 'secretVersion' | 'rotateSecret'>;
  clock: Clock;
  /** Undefined without a site. */
  siteUrl(): string | undefined;
  /** Registers what must be closed. */
  opened: Pick<CloseList, 'add'>;
}

/** The sender by the settings. Also for a command that tries them. */
export async function openAlertSender({ settings, webhooks, clock, siteUrl, opened }: OpenSenderOptions) {
  const { alertWebhookUrl: url, egressProxyUrl, siteName = 'mediagate', alertLanguage: language } = settings;
  // The operator chose the address, so it may be a private one.
  const trustedOrigins = url === undefined ? [] : [new URL(url).origin];
  const http = await openHttpClient({ timeoutMs: TRY_MS, trustedOrigins, egressProxyUrl });
  opened.add(() => http.close());
  const secrets = new WebhookSecrets(await loadWebhookSecrets(settings), webhooks);
  return createAlertSender({ settings, place: { siteName, siteUrl, language }, secrets, client: http.client, clock });
}
