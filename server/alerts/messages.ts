/*
 * Messages of alerts: the event that a webhook receives, and the e-mail. Names in them are those that operators and
 * clients chose, so characters that would break a line or turn its direction are left out.
 */

import { isoTime, sanitizeForTerminal } from '../format/index.js';
import type { Alert, AlertEvent } from './tables.js';
import { ALERT_WORDS, type AlertLanguage, titleOf } from './texts.js';

export interface MessagePlace {
  /** Name of the service. */
  siteName: string;
  /** Address of the site, without a trailing slash; undefined without a site. */
  siteUrl: string | undefined;
  language: AlertLanguage;
}

/** An alert for programs: also of the admin API and of the `--json` output. */
export function describeAlert(alert: Alert) {
  const { id, kind, subject, state, openedAt, endedAt, seenAt, times, detail, acknowledgedAt, acknowledgedBy } = alert;
  return {
    id,
    kind,
    subject,
    state,
    title: titleOf(alert, 'en'),
    opened_at: isoTime(openedAt),
    seen_at: isoTime(seenAt),
    closed_at: isoTime(endedAt),
    times,
    acknowledged_at: isoTime(acknowledgedAt),
    acknowledged_by: acknowledgedBy,
    detail,
  };
}

/** Body of the webhook. */
export function webhookBody({ event, at, alert }: { event: AlertEvent; at: number; alert: Alert }): string {
  return JSON.stringify({ type: `alert.${event}`, timestamp: isoTime(at), data: describeAlert(alert) });
}

/** Subject and text of the e-mail. */
export function mailOf(
  { event, alert }: { event: AlertEvent; alert: Alert },
  { siteName, siteUrl, language }: MessagePlace,
): { subject: string; text: string } {
  const words = ALERT_WORDS[language];
  const title = sanitizeForTerminal(titleOf(alert, language));
  const { kind, openedAt, times } = alert;
  const isOver = event === 'closed';
  const lines = [
    `${title}.`,
    '',
    ...(isOver ? [] : [words.advice[kind], '']),
    `${words.since}: ${isoTime(openedAt)}`,
    ...(times > 1 ? [words.times(times)] : []),
    ...(siteUrl === undefined ? [] : [`${words.see}: ${siteUrl}/admin/alerts`]),
    ...(isOver ? [] : ['', words.footer]),
  ];
  return { subject: `[${siteName}] ${words.events[event]}: ${title}`, text: `${lines.join('\n')}\n` };
}
