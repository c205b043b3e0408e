import path from 'node:path';
import { type PaymentReceiver, type PaymentSecrets, type ReceiverSettings, readReceiver } from '../payments/index.js';
import type { FreeTierPeriod } from '../plans/index.js';
import { SETTINGS, type SettingDescription } from './settings-table.js';
import type { TracingSettings } from './tracing-settings.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** The environment, checked. */
export interface Settings extends ReceiverSettings, TracingSettings {
  host: string;
  /** 0 takes any free port. */
  port: number;
  /** Without a trailing slash. Default: made from host and port once the server listens. */
  baseUrl?: string;
  siteUrl?: string;
  /** Whether there are accounts at all: people who sign in. */
  site: boolean;
  /** As its tokens name it. */
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
  /** Default: plugins.config.json of the working folder, else the one that comes with the package. */
  pluginsConfig?: string;
  egressProxyUrl?: string;
  trustedOrigins: readonly string[];
  /** Addresses and networks. */
  trustedProxies: readonly string[];
  browser: boolean;
  browserPath?: string;
  browserMemoryMb: number;
  ffmpegPath?: string;
  logLevel: LogLevel;
  /** Newest first; empty: one is kept in the data folder. */
  keyPeppers: readonly string[];
  /** Newest first; empty: one is kept in the data folder. */
  linkSecrets: readonly string[];
  extractCacheSeconds: number;
  /** Background jobs that this process runs at the same time. */
  extractWorkers: number;
  /** Background jobs that may be queued or running, over all processes. */
  extractMaxActive: number;
  audioLinkHours: number;
  /** Whether image sizes beside the named ones are accepted. */
  anyImageSize: boolean;
  /** Images that this process makes at the same time. */
  imageWorkers: number;
  /** Images of one key that are made at the same time, over all processes. */
  imageMaxPerKey?: number;
  /** Image jobs that may be queued or running, over all processes. */
  imageMaxActive: number;
  /** Default: none. */
  imageDailyLimit?: number;
  imageFileHours: number;
  imageRestartPolicy: 'requeue' | 'fail';
  /** Whether clients may have the ends of their jobs told. */
  imageWebhooks: boolean;
  /** Private origins that this may go to. */
  imageWebhookOrigins: readonly string[];
  /** Newest first; empty: one is kept in the data folder. */
  imageWebhookSecrets: readonly string[];
  /** Bytes of one sound that is sent. */
  audioMaxBytes: number;
  /** Whether the routes of Anthropic's format do anything. */
  messagesEnabled: boolean;
  /** Default: the built-in plans. */
  plansFile?: string;
  freeTierPeriod: FreeTierPeriod;
  /** Where money goes; made of the settings of payments. Default: none is taken. */
  paymentReceiver?: PaymentReceiver;
  paymentSecrets: PaymentSecrets;
  maxConnections: number;
  maxConnectionsPerAddress: number;
  refusedBodiesPerMinute: number;
  metricsHost: string;
  /** 0 takes any free port. Default: there is no listener for them. */
  metricsPort?: number;
  metricsPublic: boolean;
  /** New requests are still taken for so long after the signal to end. */
  drainSeconds: number;
  shutdownSeconds: number;
}

/** For README and `--help`: every variable of the gateway itself, without values. */
export const SETTING_DESCRIPTIONS: readonly SettingDescription[] = SETTINGS;

/** Settings that cannot be used; the message has one line for each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * Reads the environment. An empty variable counts as not set.
 * @throws SettingsError with everything that is wrong. Values are not repeated: some are secret.
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const settings: Settings = {
    host: '127.0.0.1',
    port: 8787,
    site: true,
    dataDir: path.resolve('data'),
    databasePool: 10,
    trustedOrigins: [],
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
    imageFileHours: 168,
    imageRestartPolicy: 'requeue',
    imageWebhooks: false,
    imageWebhookOrigins: [],
    imageWebhookSecrets: [],
    audioMaxBytes: 26_214_400,
    messagesEnabled: false,
    freeTierPeriod: 'lifetime',
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
