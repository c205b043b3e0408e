/*
 * Help about settings: the list in `serve --help`, the topics of the documentation, and hints about misspelt variables.
 * A variable counts as misspelt if it is close to a known name word by word, or has a prefix that only this program
 * uses. Variables of OpenTelemetry, Kubernetes and linked containers are never reported. Values are not quoted. A
 * `.env` file is not read, since it may belong to another program; the start says so and how to load it.
 */

import { statSync } from 'node:fs';
import path from 'node:path';
import { closestMatch } from '../../core/runtime/index.js';
import { PLUGIN_SETTING_DESCRIPTIONS, type SettingDescription } from './setting-values.js';
import { SETTING_DESCRIPTIONS } from './settings.js';

/** The environment variables in `serve --help`, below its options: two lines each, which fits a narrow terminal. */
export function settingsHelp(): string {
  const all = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS];
  const width = Math.max(...all.map(({ name }) => name.length));
  const list = (settings: readonly SettingDescription[]) =>
    settings
      .flatMap(({ name, description, default: fallback }) => [
        `  ${name.padEnd(width)}  ${description}`,
        `  ${' '.repeat(width)}  Default: ${fallback}.`,
      ])
      .join('\n')
      .replaceAll('`', '');
  return [
    '',
    'Settings (environment variables):',
    list(SETTING_DESCRIPTIONS),
    '',
    'Models and keys, used by the packaged plugins.config.json:',
    list(PLUGIN_SETTING_DESCRIPTIONS),
  ].join('\n');
}

/** Commander's error about an option, and the setting with that name, if there is one. */
export function pointToSetting(complaint: string): string {
  const [, option = ''] = /unknown option '--([a-z-]+)/.exec(complaint) ?? [];
  const setting = option.replaceAll('-', '_').toUpperCase();
  const isSetting = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS].some(({ name }) => name === setting);
  return isSetting ? `${complaint.trimEnd()}\n(${setting}=… in the environment sets it)\n` : complaint;
}

/** Prefixes that are rare in other programs' variables; `IMAGE_` alone is common in container builds. */
const OWN_PREFIXES = [
  'IMAGE_UPSTREAM_',
  'IMAGE_MAX_',
  'TEXT_UPSTREAM_',
  'TRANSCRIPTION_UPSTREAM_',
  'SPEECH_UPSTREAM_',
  'ELEVENLABS_',
  'VIDSITE_',
  'EXTRACT_',
  'AUDIO_LINK_',
  'PAYMENT_',
  'FREE_TIER_',
] as const;

/** OpenTelemetry has many more variables than are read here, some of them a letter or two apart. */
const FOREIGN = /^OTEL_/;
/** Variables that Kubernetes and linked containers set for a service, which may be named `payment`. */
const OF_A_SERVICE = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP|SCTP)(_|$)/;
const ADDRESS_OF_A_SERVICE = /^(tcp|udp|sctp):\/\//;

/** Nearly every word is close to a shorter name. */
const MIN_LETTERS = 6;

/**
 * One sentence for each variable that is no setting but looks like one. Values are not quoted: some are secret.
 * @param ofPlugins - Names that the entries of plugins.config.json read, which are known as well.
 */
export function findMisspelt(
  environment: Readonly<Record<string, string | undefined>>,
  ofPlugins: Iterable<string>,
): string[] {
  const settings = [...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS].map(({ name }) => name);
  const known = new Set([...settings, ...ofPlugins]);
  return Object.entries(environment)
    .filter(([name, value = '']) => value !== '' && !known.has(name) && !isForeign(name, value))
    .flatMap(([name]) => describeMisspelt(name, known));
}

function isForeign(name: string, value: string): boolean {
  if (!/^[A-Z][A-Z0-9_]*$/.test(name) || FOREIGN.test(name) || OF_A_SERVICE.test(name)) return true;
  return name.endsWith('_PORT') && ADDRESS_OF_A_SERVICE.test(value);
}

function describeMisspelt(name: string, known: ReadonlySet<string>): string[] {
  const match = closestMatch(name, known, (candidate) => mayBeMeant(name, candidate));
  if (match !== undefined) return [`${name} is not a setting. Did you mean ${match}?`];
  const prefix = OWN_PREFIXES.find((one) => name.startsWith(one));
  if (prefix === undefined) return [];
  const ours = [...known].filter((candidate) => candidate.startsWith(prefix));
  return [`${name} is not a setting. Settings that begin with ${prefix}: ${ours.join(', ')}.`];
}

/** Another word is no typo: `CACHE_TTL` is two letters from `CACHE_URL`. */
function mayBeMeant(name: string, candidate: string): boolean {
  if (candidate.length < MIN_LETTERS) return [...name].sort().join('') === [...candidate].sort().join('');
  const words = name.split('_');
  const wanted = candidate.split('_');
  return words.length !== wanted.length || words.every((word, index) => closestMatch(word, [wanted[index] ?? '']));
}

/** A file that many programs read, but this one does not: it may be meant for another program. */
export const DOT_ENV_ADVICE = 'To load it: set -a; . ./.env; set +a';

/** Whether the working folder contains a file that usually has settings. */
export function hasDotEnv(): boolean {
  return statSync(path.resolve('.env'), { throwIfNoEntry: false })?.isFile() ?? false;
}

/** Settings that belong together, for the documentation. */
export interface SettingTopic {
  title: string;
  names: readonly string[];
}

/** The settings that most installations set: what a first server for others needs. */
export const ESSENTIAL_SETTINGS: readonly string[] = [
  'HOST',
  'PORT',
  'BASE_URL',
  'SITE_URL',
  'TRUSTED_PROXIES',
  'DATA_DIR',
  'DATABASE_URL',
  'FILES_URL',
  'KEY_PEPPER',
  'PLUGINS_CONFIG',
  'TEXT_UPSTREAM_URL',
  'IMAGE_UPSTREAM_URL',
  'EGRESS_PROXY_URL',
  'OIDC_ISSUER',
  'OIDC_CLIENT_ID',
  'OIDC_CLIENT_SECRET',
  'PLANS_FILE',
  'IMAGE_DAILY_LIMIT',
  'LOG_LEVEL',
  'METRICS_PORT',
];

/** Every setting of the gateway itself, once. */
export const SETTING_TOPICS: readonly SettingTopic[] = [
  {
    title: 'Addresses and connections',
    names: [
      'HOST',
      'PORT',
      'WORKERS',
      'BASE_URL',
      'TRUSTED_PROXIES',
      'CORS_ORIGINS',
      'MAX_CONNECTIONS',
      'MAX_CONNECTIONS_PER_ADDRESS',
      'REFUSED_BODIES_PER_MINUTE',
      'DRAIN_SECONDS',
      'SHUTDOWN_SECONDS',
    ],
  },
  { title: 'Storage', names: ['DATA_DIR', 'DATABASE_URL', 'DATABASE_POOL', 'FILES_URL', 'CACHE_URL'] },
  { title: 'Secrets', names: ['KEY_PEPPER', 'LINK_SECRET'] },
  {
    title: 'Plugins and programs',
    names: [
      'PLUGINS_CONFIG',
      'EGRESS_PROXY_URL',
      'TRUSTED_ORIGINS',
      'BROWSER',
      'BROWSER_PATH',
      'BROWSER_MEMORY_MB',
      'FFMPEG_PATH',
    ],
  },
  {
    title: 'Link data',
    names: ['EXTRACT_CACHE_SECONDS', 'EXTRACT_WORKERS', 'EXTRACT_MAX_ACTIVE', 'AUDIO_LINK_HOURS'],
  },
  {
    title: 'Images',
    names: [
      'IMAGE_WORKERS',
      'IMAGE_MAX_PER_KEY',
      'IMAGE_MAX_ACTIVE',
      'IMAGE_ANY_SIZE',
      'IMAGE_FILE_TTL',
      'IMAGE_RESTART_POLICY',
    ],
  },
  {
    title: 'Webhooks',
    names: ['IMAGE_WEBHOOKS', 'IMAGE_WEBHOOK_ORIGINS', 'IMAGE_WEBHOOK_SECRET', 'BUDGET_WEBHOOK_URL'],
  },
  {
    title: 'Models',
    names: ['MESSAGES_ENABLED', 'MODEL_ALIASES', 'ABORT_CHARGE', 'TEXT_MAX_BYTES', 'AUDIO_MAX_BYTES'],
  },
  {
    title: 'Limits, plans, prices and the free tier',
    names: [
      'PLANS_FILE',
      'PRICES_FILE',
      'PRICES_CURRENCY',
      'FREE_TIER_PERIOD',
      'FREE_TIER_GRANTS',
      'IMAGE_DAILY_LIMIT',
      'ACCOUNT_IMAGE_DAILY_LIMIT',
      'ACCOUNT_QUEUE_PERCENT',
    ],
  },
  {
    title: 'Site and sign-in',
    names: ['SITE', 'SITE_URL', 'OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'],
  },
  {
    title: 'Payments',
    names: [
      'PAYMENT_FORMAT',
      'PAYMENT_BANK_NAME',
      'PAYMENT_BANK_BIN',
      'PAYMENT_ACCOUNT',
      'PAYMENT_ACCOUNT_NAME',
      'PAYMENT_WEBHOOK_SECRET',
    ],
  },
  { title: 'Logs and metrics', names: ['LOG_LEVEL', 'LOG_FORMAT', 'METRICS_PORT', 'METRICS_HOST', 'METRICS_PUBLIC'] },
  {
    title: 'Tracing',
    names: [
      'OTEL_EXPORTER_OTLP_ENDPOINT',
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      'OTEL_EXPORTER_OTLP_HEADERS',
      'OTEL_EXPORTER_OTLP_TRACES_HEADERS',
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL',
      'OTEL_EXPORTER_OTLP_TIMEOUT',
      'OTEL_EXPORTER_OTLP_TRACES_TIMEOUT',
      'OTEL_TRACES_EXPORTER',
      'OTEL_SDK_DISABLED',
      'OTEL_SERVICE_NAME',
      'OTEL_RESOURCE_ATTRIBUTES',
      'OTEL_TRACES_SAMPLER',
      'OTEL_TRACES_SAMPLER_ARG',
      'OTEL_BSP_SCHEDULE_DELAY',
      'OTEL_BSP_MAX_QUEUE_SIZE',
      'OTEL_BSP_MAX_EXPORT_BATCH_SIZE',
    ],
  },
];
