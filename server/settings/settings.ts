/*
 * Reads the environment into `Settings`, with defaults for everything that is not set. An empty variable counts as not
 * set. All problems are collected and thrown as one error with a line for each, so an operator corrects them in one
 * pass; values are never quoted, since some are secret. Settings that depend on each other, such as those of the
 * identity provider and of the receiving bank account, are checked together at the end. Nothing is read from files, and
 * the environment is read once.
 */

import { type PaymentReceiver, readReceiver } from '../payments/index.js';
import {
  type GivenSettings,
  type PresetSettings,
  type Setting,
  type SettingDescription,
  webAddress,
} from './setting-values.js';
import { SETTINGS } from './settings-table.js';

type Row = (typeof SETTINGS)[number];

/** The environment, checked. The table of settings describes each member. */
export interface Settings extends GivenSettings<Exclude<Row, { default: string }>>, PresetSettings<Row> {
  /** The receiving account, from the payment settings. Default: payments are disabled. */
  paymentReceiver?: PaymentReceiver;
}

const ROWS: readonly Setting[] = SETTINGS;

/** For docs/reference/settings.md and `--help`: every variable of the gateway itself, without values. */
export const SETTING_DESCRIPTIONS: readonly SettingDescription[] = ROWS.map(
  ({ name, description, default: preset = '', unset = preset }) => ({ name, description, default: unset }),
);

/** Invalid settings; the message has one line for each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * Checks the value of one setting of the gateway, or of the packaged plugins file: of the latter, addresses alone.
 * @returns The problem in a sentence, without the value; undefined if there is none.
 */
export function checkSetting(name: string, text: string): string | undefined {
  const row = ROWS.find((one) => one.name === name);
  try {
    if (row) row.read(text);
    else if (name.endsWith('_URL')) webAddress(text);
  } catch (error) {
    return `${name} must be ${error instanceof Error ? error.message : String(error)}.`;
  }
  return undefined;
}

/**
 * Reads the environment. An empty variable counts as not set.
 * @throws SettingsError with all errors. Values are not quoted: some are secret.
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const settings = {} as Settings;
  const problems: string[] = [];
  for (const { name, default: preset, read } of ROWS) {
    const text = environment[name]?.trim() || preset;
    if (text === undefined) continue;
    try {
      Object.assign(settings, read(text));
    } catch (error) {
      problems.push(`${name} must be ${error instanceof Error ? error.message : String(error)}.`);
    }
  }
  if (settings.oidcIssuer && !settings.oidcClientId) problems.push('OIDC_CLIENT_ID must be set where OIDC_ISSUER is.');
  const { smtpUrl, alertEmailTo } = settings;
  if ((smtpUrl === undefined) !== (alertEmailTo === undefined)) {
    problems.push('SMTP_URL and ALERT_EMAIL_TO must be set together.');
  }
  const { receiver, problems: ofReceiver } = readReceiver(settings);
  if (receiver) settings.paymentReceiver = receiver;
  problems.push(...ofReceiver);
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
  return settings;
}
