/*
 * The table of all environment variables of the gateway itself: name, default, description and reader. Adding a row
 * here adds the setting to the parser, to `--help`, to the search for misspelt names and to docs/reference/settings.md,
 * which is generated from it. The texts are for operators and state limits and consequences; a reader returns the part
 * of the settings that it sets, or throws the accepted form. It also reads the default, so that `Settings` follows from
 * this table alone: a setting with a default is always there, any other one only if its variable is set.
 */

import path from 'node:path';
import { networkOfProxies } from '../http/index.js';
import { ALERT_SETTINGS } from './alert-settings.js';
import { LINK_SETTINGS } from './link-settings.js';
import { PLAN_SETTINGS } from './plan-settings.js';
import {
  corsOrigins,
  hostName,
  issuerAddress,
  list,
  oneOf,
  origin,
  type Setting,
  secrets,
  signInApps,
  urlOf,
  webAddress,
  wholeNumber,
} from './setting-values.js';
import { SITE_SETTINGS } from './site-settings.js';
import { TRACING_SETTINGS } from './tracing-settings.js';

const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** Every environment variable of the gateway itself. The table of docs/reference/settings.md is generated from it. */
export const SETTINGS = [
  {
    name: 'HOST',
    default: '127.0.0.1',
    description: 'Address to listen on; `0.0.0.0` for all.',
    read: (text) => ({ host: hostName(text) }),
  },
  {
    name: 'PORT',
    default: '8787',
    description: 'Port to listen on. `0`: any free port.',
    read: (text) => ({ port: wholeNumber(text, 0, 65_535) }),
  },
  {
    name: 'WORKERS',
    default: 'auto',
    description:
      'Processes that answer requests on this machine, such as `1`. `auto`: one for each core, at most four, and at most one for each 512 MB of memory. See docs/operate/workers.md.',
    read: (text) => ({ workers: text === 'auto' ? ('auto' as const) : wholeNumber(text, 1, 64) }),
  },
  {
    name: 'BASE_URL',
    unset: 'http://HOST:PORT, with 127.0.0.1 where HOST is all addresses',
    description: 'Public address of this gateway, used in links.',
    read: (text) => ({ baseUrl: webAddress(text) }),
  },
  {
    name: 'SITE_URL',
    unset: 'the address of this gateway',
    description:
      'Public address of the account site; https unless it is a loopback address. Passkeys are bound to its host name. Errors about keys name it if it is set.',
    read: (text) => ({ siteUrl: webAddress(text) }),
  },
  {
    name: 'SITE',
    default: 'on',
    description: '`off` disables the account site and sign-in.',
    read: (text) => ({ site: oneOf(text, ['on', 'off']) === 'on' }),
  },
  {
    name: 'OIDC_ISSUER',
    unset: 'passkeys; on loopback a development identity provider',
    description:
      'Issuer of the OpenID Connect provider for sign-in, exactly as in its tokens. Without one, people sign in by invitation and passkey. See docs/accounts/sign-in.md.',
    read: (text) => ({ oidcIssuer: issuerAddress(text) }),
  },
  {
    name: 'OIDC_CLIENT_ID',
    unset: 'none',
    description: 'Client id of this gateway at the provider. Its redirect address is `SITE_URL/signin/callback`.',
    read: (text) => ({ oidcClientId: text }),
  },
  {
    name: 'OIDC_CLIENT_SECRET',
    unset: 'none: a public client',
    description: 'Client secret at the provider.',
    read: (text) => ({ oidcClientSecret: text }),
  },
  {
    name: 'SIGN_IN_APPS',
    unset: 'none',
    description:
      'Applications of yours that sign people in with the accounts of this gateway, as `name=address` separated by commas, such as `grafana=https://grafana.example.com/login/generic_oauth`. See docs/accounts/sign-in.md.',
    read: (text) => ({ signInApps: signInApps(text) }),
  },
  {
    name: 'DATA_DIR',
    default: './data',
    description: 'Folder for all data: database, files, secrets.',
    read: (text) => ({ dataDir: path.resolve(text) }),
  },
  {
    name: 'DATABASE_URL',
    unset: 'SQLite in DATA_DIR',
    description: '`postgres://…` stores the state in PostgreSQL, which several nodes can share.',
    read: (text) => ({ databaseUrl: urlOf(text, ['postgres:', 'postgresql:']) }),
  },
  {
    name: 'DATABASE_POOL',
    default: '10',
    description: 'Maximum connections of this node to PostgreSQL, besides the one on which it listens.',
    read: (text) => ({ databasePool: wholeNumber(text, 2, 100) }),
  },
  {
    name: 'FILES_URL',
    unset: 'DATA_DIR/files',
    description: '`s3://KEY:SECRET@host/bucket` stores files in an S3-compatible store. See docs/operate/deploy.md.',
    read: (text) => ({ filesUrl: urlOf(text, ['s3:']) }),
  },
  {
    name: 'CACHE_URL',
    unset: 'the database',
    description: '`redis://…` or `rediss://…` stores the cache in Redis.',
    read: (text) => ({ cacheUrl: urlOf(text, ['redis:', 'rediss:']) }),
  },
  {
    name: 'PLUGINS_CONFIG',
    unset: './plugins.config.json, else the one of the package',
    description: 'File that lists the plugins to load.',
    read: (text) => ({ pluginsConfig: path.resolve(text) }),
  },
  {
    name: 'EGRESS_PROXY_URL',
    unset: 'none',
    description: 'HTTP forward proxy (`http://user:password@host:port`) for all plugin traffic.',
    read: (text) => ({ egressProxyUrl: urlOf(text, ['http:']) }),
  },
  {
    name: 'TRUSTED_ORIGINS',
    default: '',
    unset: 'none',
    description:
      'Private origins, separated by commas, that plugins may reach. Links from users can lead there too. Upstreams and issuers in settings need no entry here.',
    read: (text) => ({ trustedOrigins: list(text).map(origin) }),
  },
  {
    name: 'CORS_ORIGINS',
    default: '',
    unset: 'none',
    description:
      'Origins of web pages, separated by commas, whose scripts may call `/v1` from a browser with an API key; `*` allows every origin. Cookies are never accepted from them.',
    read: (text) => ({ corsOrigins: corsOrigins(text) }),
  },
  {
    name: 'TRUSTED_PROXIES',
    default: '',
    unset: 'none',
    description:
      'Proxies whose `X-Forwarded-For` header is trusted: addresses and networks such as `10.0.0.0/8`, separated by commas. Limits by address then count the client, not the proxy.',
    read: (text) => ({ trustedProxies: list(text).map(networkOfProxies) }),
  },
  {
    name: 'BROWSER',
    default: 'on',
    description:
      '`off` never starts a browser; methods that need one are skipped. A path, which terminals set for other programs, is ignored.',
    read: (text) => ({ browser: /[/\\]/.test(text) || oneOf(text, ['on', 'off']) === 'on' }),
  },
  {
    name: 'BROWSER_PATH',
    unset: 'the one in the npm packages, otherwise the one of the system',
    description: 'Chromium or Chrome executable.',
    read: (text) => ({ browserPath: path.resolve(text) }),
  },
  {
    name: 'BROWSER_MEMORY_MB',
    default: '1536',
    description:
      'Memory limit in MiB for the browser of one visit, all its processes together. A visit above it is ended. Two visits run at a time. Linux only.',
    read: (text) => ({ browserMemoryMb: wholeNumber(text, 512, 65_536) }),
  },
  {
    name: 'FFMPEG_PATH',
    unset: 'searched for',
    description: 'ffmpeg executable. Default: the one on PATH, otherwise the one in the npm packages.',
    read: (text) => ({ ffmpegPath: path.resolve(text) }),
  },
  {
    name: 'LOG_LEVEL',
    default: 'info',
    description: `Log level; logs go to standard error: ${LOG_LEVELS.map((level) => `\`${level}\``).join(', ')}.`,
    read: (text) => ({ logLevel: oneOf(text, LOG_LEVELS) }),
  },
  {
    name: 'LOG_FORMAT',
    unset: '`text` if standard error is a terminal, otherwise `json`',
    description: 'Form of log lines: `json` for programs, `text` for people.',
    read: (text) => ({ logFormat: oneOf(text, ['json', 'text'] as const) }),
  },
  {
    name: 'KEY_PEPPER',
    default: '',
    unset: 'generated once, stored in DATA_DIR/secrets',
    description:
      'Secret mixed into stored key hashes: 32 characters or more. Several are separated by commas, newest first.',
    read: (text) => ({ keyPeppers: secrets(text) }),
  },
  {
    name: 'LINK_SECRET',
    default: '',
    unset: 'generated once, stored in DATA_DIR/secrets',
    description: 'Secret that signs MP3 links: 32 characters or more. Several are separated by commas, newest first.',
    read: (text) => ({ linkSecrets: secrets(text) }),
  },
  ...LINK_SETTINGS,
  {
    name: 'IMAGE_WORKERS',
    default: '4',
    description: 'Images that are generated at the same time in this process. `0`: only other nodes generate them.',
    read: (text) => ({ imageWorkers: wholeNumber(text, 0, 1_000) }),
  },
  {
    name: 'IMAGE_MAX_PER_KEY',
    unset: 'the number of workers',
    description: 'Images of one API key that are generated at the same time, over all nodes. More stay queued.',
    read: (text) => ({ imageMaxPerKey: wholeNumber(text, 1, 1_000) }),
  },
  {
    name: 'IMAGE_MAX_ACTIVE',
    default: '1000',
    description: 'Maximum image jobs, queued and running, over all nodes. More are refused (503).',
    read: (text) => ({ imageMaxActive: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'IMAGE_DAILY_LIMIT',
    unset: 'none',
    description:
      'Images per account and day (UTC) if its plan has no limit. More are refused (429). Failed images do not count.',
    read: (text) => ({ imageDailyLimit: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'ACCOUNT_IMAGE_DAILY_LIMIT',
    unset: 'IMAGE_DAILY_LIMIT, otherwise 100',
    description: 'The same for accounts of the site.',
    read: (text) => ({ accountImageDailyLimit: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'ACCOUNT_QUEUE_PERCENT',
    default: '10',
    description:
      'Percent of `IMAGE_MAX_ACTIVE`, of `EXTRACT_MAX_ACTIVE` and of `EXTRACT_MAX_BATCHES` that one account of the site can use with open jobs. More are refused (429 `too_many_open_jobs`).',
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
    description: 'Hours that an image file stays available.',
    read: (text) => ({ imageFileHours: wholeNumber(text, 1, 8_760) }),
  },
  {
    name: 'IMAGE_RESTART_POLICY',
    default: 'requeue',
    description:
      'What happens to a running image when its process dies: `requeue` generates it again, which the vendor may bill twice; `fail` fails the job.',
    read: (text) => ({ imageRestartPolicy: oneOf(text, ['requeue', 'fail'] as const) }),
  },
  {
    name: 'IMAGE_WEBHOOKS',
    default: 'off',
    description:
      '`on`: a job can have a `webhook_url`, which receives a webhook when the job ends. `off`: the field is ignored.',
    read: (text) => ({ imageWebhooks: oneOf(text, ['on', 'off']) === 'on' }),
  },
  {
    name: 'IMAGE_WEBHOOK_ORIGINS',
    default: '',
    unset: 'none',
    description: 'Private origins, separated by commas, that webhooks may be sent to, also without TLS.',
    read: (text) => ({ imageWebhookOrigins: list(text).map(origin) }),
  },
  {
    name: 'IMAGE_WEBHOOK_SECRET',
    default: '',
    unset: 'generated once, stored in DATA_DIR/secrets',
    description:
      'Secret from which the webhook secrets of accounts are derived: 32 characters or more. Several are separated by commas, newest first.',
    read: (text) => ({ imageWebhookSecrets: secrets(text) }),
  },
  {
    name: 'BUDGET_WEBHOOK_URL',
    unset: 'none: no alerts',
    description:
      'Address that receives a webhook when 80 % and when 100 % of a budget is used. It may be a private address; `mediagate budgets secret` prints its signing secret.',
    read: (text) => ({ budgetWebhookUrl: urlOf(text, ['http:', 'https:']) }),
  },
  ...ALERT_SETTINGS,
  {
    name: 'AUDIO_MAX_BYTES',
    default: '26214400',
    description: 'Maximum bytes of an uploaded audio file. Larger ones are refused (413).',
    read: (text) => ({ audioMaxBytes: wholeNumber(text, 1_000, 500_000_000) }),
  },
  {
    name: 'TRANSCRIPT_MODEL',
    unset: 'the first model that transcribes and is no mock',
    description: 'Model that recognises the speech of links without subtitles, for `include_transcript`.',
    read: (text) => ({ transcriptModel: text }),
  },
  {
    name: 'TRANSCRIPT_MAX_MINUTES',
    default: '45',
    description:
      'Longest audio of a link that is recognised. A model gets at most AUDIO_MAX_BYTES, which is 54 minutes by default.',
    read: (text) => ({ transcriptMaxMinutes: wholeNumber(text, 1, 180) }),
  },
  {
    name: 'TRANSCRIPT_WAIT_SECONDS',
    default: '60',
    description:
      'Longest time that an answer waits for speech recognition. The work goes on, and the next request gets its result.',
    read: (text) => ({ transcriptWaitSeconds: wholeNumber(text, 1, 280) }),
  },
  {
    name: 'TEXT_MAX_BYTES',
    default: '33554432',
    description:
      'Maximum bytes of a body on text routes, at most 67108864. Larger ones are refused (413). Eight bodies above 1 MiB are in memory at the same time.',
    read: (text) => ({ textMaxBytes: wholeNumber(text, 65_536, 67_108_864) }),
  },
  {
    name: 'MESSAGES_ENABLED',
    default: 'false',
    description:
      "`true` enables `/v1/messages` and `/v1/messages/count_tokens`, the text models in Anthropic's format. Otherwise these routes answer 403.",
    read: (text) => ({ messagesEnabled: ['true', 'on'].includes(oneOf(text, ['true', 'false', 'on', 'off'])) }),
  },
  {
    name: 'MCP_ENABLED',
    default: 'true',
    description: '`false` removes `/mcp`, the endpoint of agents (Model Context Protocol).',
    read: (text) => ({ mcpEnabled: ['true', 'on'].includes(oneOf(text, ['true', 'false', 'on', 'off'])) }),
  },
  {
    name: 'MCP_SIGN_IN',
    default: 'true',
    description:
      '`false` accepts API keys alone at `/mcp`. Otherwise agents also sign in by its address (OAuth), if the site has a sign-in and an https address.',
    read: (text) => ({ mcpSignIn: ['true', 'on'].includes(oneOf(text, ['true', 'false', 'on', 'off'])) }),
  },
  {
    name: 'MODEL_ALIASES',
    default: 'true',
    description:
      '`false` leaves names such as `m-5.5` out of `GET /v1/models` where they are aliases of a connected model. They still answer.',
    read: (text) => ({ modelAliases: ['true', 'on'].includes(oneOf(text, ['true', 'false', 'on', 'off'])) }),
  },
  {
    name: 'ABORT_CHARGE',
    default: 'used',
    description:
      'What a model request costs that ends early: `used`, its input and the output so far; `reserved`, all that was reserved, for vendors that bill on after a hang-up.',
    read: (text) => ({ abortCharge: oneOf(text, ['used', 'reserved'] as const) }),
  },
  {
    name: 'REQUEST_LOG_DAYS',
    default: '30',
    description:
      'Days for which single requests are kept: time, route, model, status, duration, tokens, cost and request id. The daily totals stay.',
    read: (text) => ({ requestLogDays: wholeNumber(text, 1, 366) }),
  },
  {
    name: 'REQUEST_LOG_ROWS',
    default: '100000',
    description: 'Single requests that are kept of each key. The oldest beyond are deleted every 10 minutes.',
    read: (text) => ({ requestLogRows: wholeNumber(text, 1_000, 10_000_000) }),
  },
  ...SITE_SETTINGS,
  ...PLAN_SETTINGS,
  {
    name: 'MAX_CONNECTIONS',
    default: '10000',
    description: 'Maximum open client connections. More are closed at once.',
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
      'Refused requests (4xx) with a body above 64 KiB per minute and account, or per key without an account. After that such requests get 429 before their body is read.',
    read: (text) => ({ refusedBodiesPerMinute: wholeNumber(text, 1, 1_000_000) }),
  },
  {
    name: 'METRICS_PORT',
    unset: 'none',
    description: 'Port of a separate listener for `/metrics` (Prometheus). `0`: any free port.',
    read: (text) => ({ metricsPort: wholeNumber(text, 0, 65_535) }),
  },
  {
    name: 'METRICS_HOST',
    default: '127.0.0.1',
    description: 'Address of the metrics listener.',
    read: (text) => ({ metricsHost: hostName(text) }),
  },
  {
    name: 'METRICS_PUBLIC',
    default: 'off',
    description: '`on` also serves `/metrics` on the public listener, without a key.',
    read: (text) => ({ metricsPublic: oneOf(text, ['on', 'off']) === 'on' }),
  },
  ...TRACING_SETTINGS,
  {
    name: 'DRAIN_SECONDS',
    default: '0',
    description:
      'How long new requests are still accepted after SIGTERM while `/health/ready` answers 503. Longer than a load balancer needs to notice.',
    read: (text) => ({ drainSeconds: wholeNumber(text, 0, 300) }),
  },
  {
    name: 'SHUTDOWN_SECONDS',
    default: '25',
    description: 'How long running requests and images may then take to finish.',
    read: (text) => ({ shutdownSeconds: wholeNumber(text, 0, 600) }),
  },
] as const satisfies readonly Setting[];
