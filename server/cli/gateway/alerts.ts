/*
 * The commands about alerts: list and acknowledge them, print the secret of their webhook, and send a message to try
 * where they go. Running servers find and close alerts; the commands only read and mark them.
 */

import { systemClock } from '../../../core/runtime/index.js';
import {
  type Alert,
  channelsOf,
  describeAlert,
  OPERATOR_ALERTS,
  openAlertSender,
  titleOf,
} from '../../alerts/index.js';
import { openOrClose } from '../../close-list.js';
import { isoTime, sanitizeForTerminal } from '../../format/index.js';
import { loadWebhookSecrets, type Settings } from '../../settings/index.js';
import { WebhookSecrets } from '../../webhooks/index.js';
import { byOperator, limitOf, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure } from '../mistakes.js';
import { type Outcome, renderRows } from '../output.js';
import type { acknowledgeAlert, listAlerts } from './gateway-commands.js';

const HEAD = ['ID', 'STATE', 'SINCE', 'ENDED', 'TIMES', 'WHAT'];

/** Open and acknowledged ones, or all of the last 90 days, the latest first. */
export async function listAlertsCommand(
  settings: Settings,
  { all, limit }: OptionsOf<typeof listAlerts>,
): Promise<Outcome<'Alerts'>> {
  const page = { limit: limitOf(limit), ...(!all && { state: 'active' as const }) };
  const found = await withState(settings, ({ alerts }) => alerts.list(page));
  const rows = found.map((alert) => {
    const { id, state, openedAt, endedAt, times } = alert;
    return [
      id,
      state,
      isoTime(openedAt),
      isoTime(endedAt) ?? '-',
      String(times),
      sanitizeForTerminal(titleOf(alert, 'en')),
    ];
  });
  return { json: found.map(describeAlert), text: renderRows(HEAD, rows) || 'There are no alerts.' };
}

/** @throws CommandFailure if there is none with this id. */
export async function acknowledgeAlertCommand(
  settings: Settings,
  id: string,
  { note }: OptionsOf<typeof acknowledgeAlert>,
): Promise<Outcome<'Alert'>> {
  const alert = await withState(settings, ({ alerts }) => alerts.acknowledge(id, byOperator(note)));
  if (!alert) throw new CommandFailure(`There is no alert ${sanitizeForTerminal(id)}; see "alerts list".`);
  return { json: describeAlert(alert), text: `Alert ${alert.id} is ${alert.state}.` };
}

export async function alertSecretCommand(settings: Settings): Promise<Outcome> {
  const secret = await withState(settings, async ({ webhooks }) =>
    new WebhookSecrets(await loadWebhookSecrets(settings), webhooks).newest(OPERATOR_ALERTS),
  );
  return { text: secret };
}

/** Sends one message to every place that is set. Exits with 1 if one did not accept it. */
export async function testAlertsCommand(settings: Settings): Promise<Outcome<'AlertTests'>> {
  const channels = channelsOf(settings);
  if (channels.length === 0) throw new CommandFailure('Neither ALERT_WEBHOOK_URL nor SMTP_URL is set.', 2);
  const siteUrl = () => settings.siteUrl ?? settings.baseUrl;
  const results = await withState(settings, ({ webhooks }) =>
    openOrClose(async (opened) => {
      const send = await openAlertSender({ settings, webhooks, clock: systemClock, siteUrl, opened });
      const at = systemClock.now();
      const tried = channels.map(async (channel) => {
        const message = { id: `evt_test_${at}`, channel, event: 'opened' as const, at, alert: sample(at) };
        const failure = await send(message).then(
          () => undefined,
          (error: unknown) => (error instanceof Error ? error.message : String(error)),
        );
        return { channel, ok: failure === undefined, ...(failure !== undefined && { detail: failure }) };
      });
      const all = await Promise.all(tried);
      await opened.close();
      return all;
    }),
  );
  const rows = results.map(({ channel, ok, detail }) => [channel, ok ? 'accepted' : sanitizeForTerminal(detail ?? '')]);
  return {
    json: results,
    text: renderRows(['CHANNEL', 'RESULT'], rows),
    exitCode: results.every(({ ok }) => ok) ? 0 : 1,
  };
}

function sample(at: number): Alert {
  const detail = { failed: 1, passed: 0 };
  const about = { kind: 'probe_failed', subject: 'a test of this message', detail } as const;
  const times = { openedAt: at, seenAt: at, endedAt: null, acknowledgedAt: null, acknowledgedBy: null, times: 1 };
  return { id: 'alr_00000000', state: 'open', ...about, ...times };
}
