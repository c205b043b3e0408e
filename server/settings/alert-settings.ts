/*
 * Settings of alerts: where their messages go, in which language, and two thresholds. Without an address, alerts are in
 * the console alone.
 */

import { list, oneOf, type Setting, urlOf, wholeNumber } from './setting-values.js';

const ADDRESS = /^[^\s@<>",;:()]{1,64}@[^\s@<>",;:()]{1,253}$/;

export const ALERT_SETTINGS = [
  {
    name: 'ALERT_WEBHOOK_URL',
    unset: 'none',
    description:
      'Address that receives a webhook when an alert opens, closes, or is still open after a day. It may be a private address; `mediagate alerts secret` prints its signing secret. See docs/operate/alerts.md.',
    read: (text) => ({ alertWebhookUrl: urlOf(text, ['http:', 'https:']) }),
  },
  {
    name: 'ALERT_EMAIL_TO',
    unset: 'none',
    description: 'Addresses, separated by commas, that receive alerts by e-mail. `SMTP_URL` must be set as well.',
    read: (text) => ({ alertEmailTo: list(text).map(mailAddress) }),
  },
  {
    name: 'ALERT_EMAIL_FROM',
    unset: 'the first address of `ALERT_EMAIL_TO`',
    description: 'Address of the sender.',
    read: (text) => ({ alertEmailFrom: mailAddress(text) }),
  },
  {
    name: 'SMTP_URL',
    unset: 'none: no e-mail is sent',
    description:
      'Mail server, such as `smtp://user:password@mail.example.com:587`, or `smtps://` for TLS from the start. Without TLS nothing is sent, but on loopback and with `?tls=off`.',
    read: (text) => ({ smtpUrl: urlOf(text, ['smtp:', 'smtps:']) }),
  },
  {
    name: 'ALERT_LANGUAGE',
    default: 'en',
    description: 'Language of the e-mails: `en` or `vi`.',
    read: (text) => ({ alertLanguage: oneOf(text, ['en', 'vi'] as const) }),
  },
  {
    name: 'ALERT_ERROR_PERCENT',
    default: '20',
    description:
      'Percent of the requests of the last five minutes that must fail, by the gateway or its upstreams, for an alert. At least 20 requests are needed.',
    read: (text) => ({ alertErrorPercent: wholeNumber(text, 1, 100) }),
  },
  {
    name: 'ALERT_DISK_PERCENT',
    default: '10',
    description: 'Free percent of the disk of `DATA_DIR` below which there is an alert. `0`: never.',
    read: (text) => ({ alertDiskPercent: wholeNumber(text, 0, 99) }),
  },
] as const satisfies readonly Setting[];

function mailAddress(text: string): string {
  if (ADDRESS.test(text)) return text;
  throw new Error('an email address, such as ops@example.com');
}
