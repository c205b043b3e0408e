/*
 * Reads the environment into `Settings`, with defaults for everything that is not set. An empty variable counts as not
 * set. All problems are collected and thrown as one error with a line for each, so an operator corrects them in one
 * pass; values are never quoted, since some are secret. Settings that depend on each other, such as those of the
 * identity provider and of the receiving bank account, are checked together at the end. Nothing is read from files, and
 * the environment is read once.
 */

import path from 'node:path';
import type { KeyGrant } from '../keys/index.js';
import { type PaymentReceiver, type PaymentSecrets, type ReceiverSettings, readReceiver } from '../payments/index.js';
import type { FreeTierPeriod } from '../plans/index.js';
import type { SettingDescription } from './setting-values.js';
import { SETTINGS } from './settings-table.js';
import type { TracingSettings } from './tracing-settings.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** The environment, checked. */
export interface Settings extends ReceiverSettings, TracingSettings {
  host: string;
  /** 0 uses any free port. */
  port: number;
  /** Processes that answer requests; `auto` depends on the machine. */
  workers: number | 'auto';
  /** Without a trailing slash. Default: from host and port once the server listens. */
  baseUrl?: string;
  siteUrl?: string;
  /** Whether accounts and sign-in are enabled. */
  site: boolean;
  /** Exactly the `iss` of the tokens of the provider. */
  oidcIssuer?: string;
  oidcClientId?: string;
  /** Default: none, and the client is a public one. */
  oidcClientSecret?: string;
  /** Absolute. */
  dataDir: string;
  databaseUrl?: string;
  databasePool: number;
  filesUrl?: string;
  cacheUrl?: string;
  /** Default: plugins.config.json of the working folder, otherwise the one of the package. */
  pluginsConfig?: string;
  egressProxyUrl?: string;
  trustedOrigins: readonly string[];
  /** Origins of pages that may call the API; `*` is every origin. */
  corsOrigins: readonly string[];
  /** Addresses and networks. */
  trustedProxies: readonly string[];
  browser: boolean;
  browserPath?: string;
  browserMemoryMb: number;
  ffmpegPath?: string;
  logLevel: LogLevel;
  /** Default: text if standard error is a terminal, otherwise json. */
  logFormat?: 'json' | 'text';
  /** Newest first; empty: one is stored in the data folder. */
  keyPeppers: readonly string[];
  /** Newest first; empty: one is stored in the data folder. */
  linkSecrets: readonly string[];
  extractCacheSeconds: number;
  /** Maximum concurrent background jobs in this process. */
  extractWorkers: number;
  /** Maximum number of queued and running background jobs, over all processes. */
  extractMaxActive: number;
  audioLinkHours: number;
  /** Whether other image sizes than the named ones are accepted. */
  anyImageSize: boolean;
  /** Maximum concurrent images in this process. */
  imageWorkers: number;
  /** Maximum concurrent images of one key, over all processes. */
  imageMaxPerKey?: number;
  /** Maximum number of queued and running image jobs, over all processes. */
  imageMaxActive: number;
  /** Default: none. */
  imageDailyLimit?: number;
  accountImageDailyLimit?: number;
  /** Percent of a queue that open jobs of a site account may take. */
  accountQueuePercent: number;
  imageFileHours: number;
  imageRestartPolicy: 'requeue' | 'fail';
  /** Whether webhooks are enabled. */
  imageWebhooks: boolean;
  /** Private origins that webhooks may be sent to. */
  imageWebhookOrigins: readonly string[];
  /** Newest first; empty: one is stored in the data folder. */
  imageWebhookSecrets: readonly string[];
  /** Address that receives alerts of budgets. Default: none are sent. */
  budgetWebhookUrl?: string;
  /** Maximum bytes of an uploaded audio file. */
  audioMaxBytes: number;
  /** Maximum bytes of a body on text routes. */
  textMaxBytes: number;
  /** Whether the routes of Anthropic's format are enabled. */
  messagesEnabled: boolean;
  /** Whether `GET /v1/models` lists the aliases of connected models. */
  modelAliases: boolean;
  abortCharge: 'used' | 'reserved';
  /** Default: the built-in plans. */
  plansFile?: string;
  /** Default: only the prices of the plugins file, if any. */
  pricesFile?: string;
  /** ISO 4217. Default: the currency of the prices file, otherwise USD. */
  pricesCurrency?: string;
  freeTierPeriod: FreeTierPeriod;
  /** Grants of the free tier besides `text`. */
  freeTierGrants: readonly KeyGrant[];
  /** The receiving account, from the payment settings. Default: payments are disabled. */
  paymentReceiver?: PaymentReceiver;
  paymentSecrets: PaymentSecrets;
  maxConnections: number;
  maxConnectionsPerAddress: number;
  refusedBodiesPerMinute: number;
  metricsHost: string;
  /** 0 uses any free port. Default: no separate listener for metrics. */
  metricsPort?: number;
  metricsPublic: boolean;
  /** How long new requests are still accepted after the termination signal. */
  drainSeconds: number;
  shutdownSeconds: number;
}

/** For docs/reference/settings.md and `--help`: every variable of the gateway itself, without values. */
export const SETTING_DESCRIPTIONS: readonly SettingDescription[] = SETTINGS;

/** Invalid settings; the message has one line for each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * Reads the environment. An empty variable counts as not set.
 * @throws SettingsError with all errors. Values are not quoted: some are secret.
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const settings: Settings = {
    host: '127.0.0.1',
    port: 8787,
    workers: 'auto',
    site: true,
    dataDir: path.resolve('data'),
    databasePool: 10,
    trustedOrigins: [],
    corsOrigins: [],
    trustedProxies: [],
    browser: true,
    browserMemoryMb: 1_536,
    logLevel: 'info',
    keyPeppers: [],
    linkSecrets: [],
    extractCacheSeconds: 600,
    extractWorkers: 4,
    extractMaxActive: 1_000,
    audioLinkHours: 24,
    anyImageSize: true,
    imageWorkers: 4,
    imageMaxActive: 1_000,
    accountQueuePercent: 10,
    imageFileHours: 168,
    imageRestartPolicy: 'requeue',
    imageWebhooks: false,
    imageWebhookOrigins: [],
    imageWebhookSecrets: [],
    audioMaxBytes: 26_214_400,
    textMaxBytes: 33_554_432,
    messagesEnabled: false,
    modelAliases: true,
    abortCharge: 'used',
    freeTierPeriod: 'lifetime',
    freeTierGrants: [],
    paymentFormat: 'vietqr',
    paymentSecrets: {},
    maxConnections: 10_000,
    maxConnectionsPerAddress: 1_000,
    refusedBodiesPerMinute: 60,
    metricsHost: '127.0.0.1',
    metricsPublic: false,
    drainSeconds: 0,
    shutdownSeconds: 25,
  };
  const problems: string[] = [];
  for (const { name, read } of SETTINGS) {
    const text = environment[name]?.trim();
    if (!text) continue;
    try {
      Object.assign(settings, read(text));
    } catch (error) {
      problems.push(`${name} must be ${error instanceof Error ? error.message : String(error)}.`);
    }
  }
  if (settings.oidcIssuer && !settings.oidcClientId) problems.push('OIDC_CLIENT_ID must be set where OIDC_ISSUER is.');
  const { receiver, problems: ofReceiver } = readReceiver(settings);
  if (receiver) settings.paymentReceiver = receiver;
  problems.push(...ofReceiver);
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
  return settings;
}
