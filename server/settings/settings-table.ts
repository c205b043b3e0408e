import path from 'node:path';
import { networkOfProxies } from '../http/index.js';
import { PAYMENT_FORMATS, readPaymentSecrets } from '../payments/index.js';
import {
  hostName,
  issuerAddress,
  list,
  oneOf,
  origin,
  secrets,
  urlOf,
  webAddress,
  wholeNumber,
} from './setting-values.js';
import type { LogLevel, Settings } from './settings.js';
import { TRACING_SETTINGS } from './tracing-settings.js';

/** One environment variable. */
export interface SettingDescription {
  name: string;
  /** The default, as text. */
  default: string;
  description: string;
}

export interface Setting extends SettingDescription {
  /** Parses the variable into its part of the settings. @throws Error that names the accepted form. */
  read(text: string): Partial<Settings>;
}

const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error', 'silent'];

/** Every environment variable of the gateway itself. The table of docs/reference/settings.md is generated from it. */
export const SETTINGS: readonly Setting[] = [
  {
    name: 'HOST',
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` for all.',
    read: (text) => ({ host: hostName(text) }),
  },
  {
    name: 'PORT',
    default: '8787',
    description: 'Port to listen on; `0` takes any free one.',
    read: (text) => ({ port: wholeNumber(text, 0, 65_535) }),
  },
  {
    name: 'BASE_URL',
    default: 'http://HOST:PORT, with 127.0.0.1 where HOST is all addresses',
    description: 'Public address of this gateway, for the links it hands out.',
    read: (text) => ({ baseUrl: webAddress(text) }),
  },
  {
    name: 'SITE_URL',
    default: 'the address of this gateway',
    description:
      'Public address of the account site: https, but on loopback. Where it is set, errors about keys name it.',
    read: (text) => ({ siteUrl: webAddress(text) }),
  },
  {
    name: 'SITE',
    default: 'on',
    description: '`off` leaves out the account site: nobody signs in.',
    read: (text) => ({ site: oneOf(text, ['on', 'off']) === 'on' }),
  },
  {
    name: 'OIDC_ISSUER',
    default: 'a development identity provider, on loopback alone',
    description: 'Issuer of the OpenID Connect provider that people sign in with, exactly as its tokens name it.',
    read: (text) => ({ oidcIssuer: issuerAddress(text) }),
  },
  {
    name: 'OIDC_CLIENT_ID',
    default: 'none',
    description: 'Client of this gateway there; its redirect address is `SITE_URL/signin/callback`.',
    read: (text) => ({ oidcClientId: text }),
  },
  {
    name: 'OIDC_CLIENT_SECRET',
    default: 'none: a public client',
    description: 'Secret of that client.',
    read: (text) => ({ oidcClientSecret: text }),
  },
  {
    name: 'DATA_DIR',
    default: './data',
    description: 'Folder of everything that is kept: database, files, secrets.',
    read: (text) => ({ dataDir: path.resolve(text) }),
  },
  {
    name: 'DATABASE_URL',
    default: 'SQLite in DATA_DIR',
    description: '`postgres://…` keeps the state in PostgreSQL, shared by several nodes.',
    read: (text) => ({ databaseUrl: urlOf(text, ['postgres:', 'postgresql:']) }),
  },
  {
    name: 'DATABASE_POOL',
    default: '10',
    description: 'Connections to PostgreSQL that this node opens at most, besides the one on which it listens.',
    read: (text) => ({ databasePool: wholeNumber(text, 2, 100) }),
  },
  {
    name: 'FILES_URL',
    default: 'DATA_DIR/files',
    description:
      '`s3://KEY:SECRET@host/bucket` keeps files in an S3-compatible store; docs/operate/deploy.md says more.',
    read: (text) => ({ filesUrl: urlOf(text, ['s3:']) }),
  },
  {
    name: 'CACHE_URL',
    default: 'the database',
    description: '`redis://…` or `rediss://…` keeps the cache there.',
    read: (text) => ({ cacheUrl: urlOf(text, ['redis:', 'rediss:']) }),
  },
  {
    name: 'PLUGINS_CONFIG',
    default: './plugins.config.json, else the one of the package',
    description: 'File that lists the plugins to load.',
    read: (text) => ({ pluginsConfig: path.resolve(text) }),
  },
  {
    name: 'EGRESS_PROXY_URL',
    default: 'none',
    description: 'HTTP forward proxy (`http://user:password@host:port`) that all plugin traffic leaves through.',
    read: (text) => ({ egressProxyUrl: urlOf(text, ['http:']) }),
  },
  {
    name: 'TRUSTED_ORIGINS',
    default: 'none',
    description:
      'Further origins, separated by commas, that plugins may reach although their addresses are private: links that users send may lead there too. An upstream or issuer that a setting names needs no entry.',
    read: (text) => ({ trustedOrigins: list(text).map(origin) }),
  },
  {
    name: 'TRUSTED_PROXIES',
    default: 'none',
    description:
      'Addresses and networks of the proxies before the gateway, separated by commas, as `10.0.0.0/8`. Of them `X-Forwarded-For` is believed: limits by address then count the client, not the proxy.',
    read: (text) => ({ trustedProxies: list(text).map(networkOfProxies) }),
  },
  {
    name: 'BROWSER',
    default: 'on',
    description:
      '`off` never starts a browser; ways that need one are skipped. The path of a program, as terminals set it for others, says nothing here.',
    read: (text) => (/[/\\]/.test(text) ? {} : { browser: oneOf(text, ['on', 'off']) === 'on' }),
  },
  {
    name: 'BROWSER_PATH',
    default: "the one among the packages of npm, else the system's",
    description: 'Chromium or Chrome executable.',
    read: (text) => ({ browserPath: path.resolve(text) }),
  },
  {
    name: 'BROWSER_MEMORY_MB',
    default: '1536',
    description:
      'Resident memory in MiB that the browser of one visit may take, all its processes together; a visit beyond it is ended. Two visits run at a time. Linux only.',
    read: (text) => ({ browserMemoryMb: wholeNumber(text, 512, 65_536) }),
  },
  {
    name: 'FFMPEG_PATH',
    default: 'searched for',
    description: 'ffmpeg executable. Searched for on PATH, then among the packages of npm.',
    read: (text) => ({ ffmpegPath: path.resolve(text) }),
  },
  {
    name: 'LOG_LEVEL',
    default: 'info',
    description: `How much is logged, to standard error: ${LOG_LEVELS.map((level) => `\`${level}\``).join(', ')}.`,
    read: (text) => ({ logLevel: oneOf(text, LOG_LEVELS) }),
  },
  {
    name: 'KEY_PEPPER',
    default: 'made once, kept in DATA_DIR/secrets',
    description:
      'Secret mixed into stored key hashes, 32 characters or more; several, newest first, separated by commas.',
    read: (text) => ({ keyPeppers: secrets(text) }),
  },
  {
    name: 'LINK_SECRET',
    default: 'made once, kept in DATA_DIR/secrets',
    description: 'Secret that signs MP3 links, 32 characters or more; several, newest first, separated by commas.',
    read: (text) => ({ linkSecrets: secrets(text) }),
  },
  {
    name: 'EXTRACT_CACHE_SECONDS',
    default: '600',
    description: 'How long an extraction is answered from the cache.',
    read: (text) => ({ extractCacheSeconds: wholeNumber(text, 0, 86_400) }),
  },
  {
    name: 'EXTRACT_WORKERS',
    default: '4',
    description: 'Background extractions that run at the same time in this process; `0` leaves them to other nodes.',
    read: (text) => ({ extractWorkers: wholeNumber(text, 0, 256) }),
  },
  {
    name: 'EXTRACT_MAX_ACTIVE',
    default: '1000',
    description: 'Background extractions that may be queued or running, over all nodes; more are refused (503).',
    read: (text) => ({ extractMaxActive: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'AUDIO_LINK_HOURS',
    default: '24',
    description: 'How long an MP3 link is honoured.',
    read: (text) => ({ audioLinkHours: wholeNumber(text, 1, 720) }),
  },
  {
    name: 'IMAGE_WORKERS',
    default: '4',
    description: 'Images that are made at the same time in this process; `0` leaves them to other nodes.',
    read: (text) => ({ imageWorkers: wholeNumber(text, 0, 1_000) }),
  },
  {
    name: 'IMAGE_MAX_PER_KEY',
    default: 'as many as there are workers',
    description: 'Images of one API key that are made at the same time, over all nodes; further ones stay queued.',
    read: (text) => ({ imageMaxPerKey: wholeNumber(text, 1, 1_000) }),
  },
  {
    name: 'IMAGE_MAX_ACTIVE',
    default: '1000',
    description: 'Image jobs that may be queued or running, over all nodes; more are refused (503).',
    read: (text) => ({ imageMaxActive: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'IMAGE_DAILY_LIMIT',
    default: 'none',
    description:
      'Images that an account may ask for on one day (UTC) where its plan says nothing; more are refused (429). Those that fail do not count.',
    read: (text) => ({ imageDailyLimit: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'ACCOUNT_IMAGE_DAILY_LIMIT',
    default: 'IMAGE_DAILY_LIMIT, otherwise 100',
    description: 'The same for accounts of the site: images of one day where the plan names no limit.',
    read: (text) => ({ accountImageDailyLimit: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'ACCOUNT_QUEUE_PERCENT',
    default: '10',
    description:
      'Percent of `IMAGE_MAX_ACTIVE`, and of `EXTRACT_MAX_ACTIVE`, that open jobs of one account of the site may take; more are refused (429 `too_many_open_jobs`).',
    read: (text) => ({ accountQueuePercent: wholeNumber(text, 1, 100) }),
  },
  {
    name: 'IMAGE_ANY_SIZE',
    default: 'on',
    description: '`off` accepts only the four named sizes and `auto`.',
    read: (text) => ({ anyImageSize: oneOf(text, ['on', 'off']) === 'on' }),
  },
  {
    name: 'IMAGE_FILE_TTL',
    default: '168',
    description: 'Hours that the file of a finished image is served.',
    read: (text) => ({ imageFileHours: wholeNumber(text, 1, 8_760) }),
  },
  {
    name: 'IMAGE_RESTART_POLICY',
    default: 'requeue',
    description:
      'What becomes of an image whose process ended: `requeue` makes it once more, which its vendor may bill twice; `fail` gives it up.',
    read: (text) => ({ imageRestartPolicy: oneOf(text, ['requeue', 'fail'] as const) }),
  },
  {
    name: 'IMAGE_WEBHOOKS',
    default: 'off',
    description: '`on` lets an image job name a `webhook_url` that is told of its end; `off` ignores the member.',
    read: (text) => ({ imageWebhooks: oneOf(text, ['on', 'off']) === 'on' }),
  },
  {
    name: 'IMAGE_WEBHOOK_ORIGINS',
    default: 'none',
    description:
      'Origins, separated by commas, that webhooks may go to although their addresses are private, also without TLS.',
    read: (text) => ({ imageWebhookOrigins: list(text).map(origin) }),
  },
  {
    name: 'IMAGE_WEBHOOK_SECRET',
    default: 'made once, kept in DATA_DIR/secrets',
    description:
      'Secret that the signing secrets of accounts are derived from, 32 characters or more; several, newest first, separated by commas.',
    read: (text) => ({ imageWebhookSecrets: secrets(text) }),
  },
  {
    name: 'AUDIO_MAX_BYTES',
    default: '26214400',
    description: 'Bytes of one sound that is sent to be heard or changed; larger ones are refused (413).',
    read: (text) => ({ audioMaxBytes: wholeNumber(text, 1_000, 500_000_000) }),
  },
  {
    name: 'MESSAGES_ENABLED',
    default: 'false',
    description:
      "`true` opens `/v1/messages` and `/v1/messages/count_tokens`: the text models in Anthropic's format. Otherwise they answer 403.",
    read: (text) => ({ messagesEnabled: ['true', 'on'].includes(oneOf(text, ['true', 'false', 'on', 'off'])) }),
  },
  {
    name: 'PLANS_FILE',
    default: 'none',
    description: 'JSON file that changes the built-in plans, adds further ones, and sets prices and support.',
    read: (text) => ({ plansFile: path.resolve(text) }),
  },
  {
    name: 'FREE_TIER_PERIOD',
    default: 'lifetime',
    description:
      'After which the requests of keys of the free tier count anew: `lifetime` (never), `month` or `day` (UTC).',
    read: (text) => ({ freeTierPeriod: oneOf(text, ['lifetime', 'month', 'day'] as const) }),
  },
  {
    name: 'PAYMENT_FORMAT',
    default: 'vietqr',
    description: 'What banking apps read: `vietqr` for đồng in Vietnam, `epc` for euros within SEPA.',
    read: (text) => ({ paymentFormat: oneOf(text, PAYMENT_FORMATS) }),
  },
  {
    name: 'PAYMENT_BANK_NAME',
    default: 'none: no payments are taken',
    description: 'Bank of the account that money goes to, as people know it.',
    read: (text) => ({ paymentBankName: text }),
  },
  {
    name: 'PAYMENT_BANK_BIN',
    default: 'none',
    description: 'Six digits of that bank for `vietqr`; its BIC for `epc`, where one is wanted.',
    read: (text) => ({ paymentBankBin: text }),
  },
  {
    name: 'PAYMENT_ACCOUNT',
    default: 'none: no payments are taken',
    description: 'Number of that account for `vietqr`, IBAN for `epc`.',
    read: (text) => ({ paymentAccount: text }),
  },
  {
    name: 'PAYMENT_ACCOUNT_NAME',
    default: 'none: no payments are taken',
    description: 'Whose account it is, as the bank writes it.',
    read: (text) => ({ paymentAccountName: text }),
  },
  {
    name: 'PAYMENT_WEBHOOK_SECRET',
    default: 'none: operators confirm',
    description:
      'Who may tell of transfers, and the secret shared with each, 32 characters or more: `generic:SECRET,payos:SECRET,sepay:SECRET`, or some of them.',
    read: (text) => ({ paymentSecrets: readPaymentSecrets(text) }),
  },
  {
    name: 'MAX_CONNECTIONS',
    default: '10000',
    description: 'Client connections open at the same time; more are closed at once.',
    read: (text) => ({ maxConnections: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'MAX_CONNECTIONS_PER_ADDRESS',
    default: '1000',
    description:
      'Open connections of one client address, or of one IPv6 /64. One more closes the oldest idle connection of that address, or is closed itself. Addresses in `TRUSTED_PROXIES` are not counted.',
    read: (text) => ({ maxConnectionsPerAddress: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'REFUSED_BODIES_PER_MINUTE',
    default: '60',
    description:
      'Requests with a body above 64 KiB that one account, or one key without an account, may have refused (4xx) in a minute. More of them are answered 429 before their body is read.',
    read: (text) => ({ refusedBodiesPerMinute: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'METRICS_PORT',
    default: 'none',
    description: 'Port of a listener of its own that serves `/metrics` for Prometheus; `0` takes any free one.',
    read: (text) => ({ metricsPort: wholeNumber(text, 0, 65_535) }),
  },
  {
    name: 'METRICS_HOST',
    default: '127.0.0.1',
    description: 'Address of that listener.',
    read: (text) => ({ metricsHost: hostName(text) }),
  },
  {
    name: 'METRICS_PUBLIC',
    default: 'off',
    description: '`on` serves `/metrics` on the public listener as well, to whoever asks.',
    read: (text) => ({ metricsPublic: oneOf(text, ['on', 'off']) === 'on' }),
  },
  ...TRACING_SETTINGS,
  {
    name: 'DRAIN_SECONDS',
    default: '0',
    description:
      'How long new requests are still taken after SIGTERM, while `/health/ready` is 503: longer than a balancer needs to see that.',
    read: (text) => ({ drainSeconds: wholeNumber(text, 0, 300) }),
  },
  {
    name: 'SHUTDOWN_SECONDS',
    default: '25',
    description: 'How long requests in flight and pictures in the making may then take to finish.',
    read: (text) => ({ shutdownSeconds: wholeNumber(text, 0, 600) }),
  },
];
