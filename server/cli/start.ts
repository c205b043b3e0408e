/*
 * Texts for the person who starts the gateway: the banner, the notices above it, example requests, and readable
 * messages for startup errors. Examples use what is really available, those that work offline first, and prefer models
 * that the operator named. A startup error that the settings can fix exits with 2; an unknown one is an internal error,
 * and its stack is printed.
 */

import path from 'node:path';
import type { Gateway } from 'mediagate';
import type { AudioOperation, PlatformInfo, PluginStatus } from '../../core/contracts/index.js';
import { PluginConfigError } from '../../core/plugins/index.js';
import { isGatewayError } from '../../core/runtime/index.js';
import type { SignInStatus } from '../accounts/index.js';
import { describeLinks, describeListening } from '../http/index.js';
import { isWritingModel } from '../models/index.js';
import { MODEL_NOTES, PlansFileError } from '../plans/index.js';
import { PricesError } from '../prices/index.js';
import {
  DOT_ENV_ADVICE,
  findMisspelt,
  hasDotEnv,
  type Settings,
  SettingsError,
  usedSettingsFile,
} from '../settings/index.js';
import { BrandError } from '../site/index.js';
import { describeEntries } from './gateway/plugins.js';

/** The grant suggested for a further key. */
const KINDS = [
  ['extractor', 'extract'],
  ['image', 'images'],
  ['text', 'text'],
  ['audio', 'audio'],
] as const;

export interface Banner {
  address: string;
  /** Address of the metrics listener; undefined if there is none. */
  metricsAddress?: string;
  settings: Settings;
  /** Processes that answer requests. */
  workers: number;
  engine: 'sqlite' | 'postgres';
  plugins: readonly PluginStatus[];
  /** Their names for people. */
  platforms: readonly Pick<PlatformInfo, 'key' | 'name'>[];
  /** Example requests. */
  samples: readonly SampleRequest[];
  /** Further notices, one paragraph each. */
  notices: readonly string[];
  /** Status of the sign-in; undefined without accounts. */
  signIn?: SignInStatus;
  /** A key that was made at this start; undefined if there were keys before. */
  newKey?: string;
}

/** The banner of `npm start` once it listens. */
export function renderBanner(banner: Banner): string {
  const { address, metricsAddress, settings, workers, engine, plugins, platforms, samples, notices, signIn, newKey } =
    banner;
  const database = engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  const file = usedSettingsFile();
  return [
    '',
    `mediagate listens on ${describeListening(settings, address)}`,
    '',
    `  data     ${settings.dataDir} (${database})`,
    ...(file ? [`  settings ${file.path} (${file.names.length})`] : []),
    ...(workers > 1 ? [`  workers  ${workers}`] : []),
    `  links    begin with ${describeLinks(settings, address)}`,
    ...(metricsAddress ? [`  metrics  ${metricsAddress}/metrics`] : []),
    ...describeEntries(plugins, platforms).map((line, index) => `  ${index === 0 ? 'plugins' : '       '}  ${line}`),
    ...(signIn
      ? [`  site     ${settings.siteUrl ?? settings.baseUrl ?? address}`, `  sign-in  ${describeSignIn(signIn)}`]
      : []),
    ...(settings.mcpEnabled ? [`  agents   ${settings.baseUrl ?? address}/mcp`] : []),
    '',
    ...notices.flatMap((notice) => [notice, '']),
    ...(newKey
      ? firstKey(settings.baseUrl ?? address, newKey, samples)
      : [`Keys exist already. For another one: ${furtherKey(plugins)}`]),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

function describeSignIn({ state, oidc, provider, standIn, reason, passkeys }: SignInStatus): string {
  if (state === 'off') return `off: ${reason} ${passkeys.reason}`;
  if (oidc === 'off') return `with passkeys of ${passkeys.host}`;
  return standIn ? `${provider}: for development, anyone can sign in as anyone` : `with ${provider}`;
}

function furtherKey(plugins: readonly PluginStatus[]): string {
  const found = KINDS.filter(([kind]) =>
    plugins.some(({ state, provides }) => state === 'ready' && provides.includes(kind)),
  );
  const grants = found.map(([, grant]) => grant).join(',');
  return `npm run -s mediagate -- keys create --name NAME${grants && ` --grant ${grants}`}`;
}

function firstKey(address: string, key: string, [first, ...others]: readonly SampleRequest[]): string[] {
  const intro = 'Created the API key "local". It is not shown again';
  if (!first) return [`${intro}:`, '', key];
  const width = Math.max(...others.map(({ route }) => route.length));
  return [
    `${intro}; try it:`,
    '',
    `curl -s ${address}${first.route} \\`,
    `  -H 'Authorization: Bearer ${key}'${first.body ? ' \\' : ''}`,
    ...(first.body ? ["  -H 'Content-Type: application/json' \\", `  -d '${JSON.stringify(first.body)}'`] : []),
    ...(others.length > 0 ? ['', 'or with another route and body:', ''] : []),
    ...others.map(({ route, body, needsNetwork }) => {
      const data = body ? `${route.padEnd(width)}  -d '${JSON.stringify(body)}'` : route;
      return `  ${data}${needsNetwork ? '  # needs the network' : ''}`;
    }),
  ];
}

/** A startup error with a message for the person at the terminal; `exitCode` 2 means "fix the settings". */
export interface StartFailure {
  message: string;
  exitCode: 1 | 2;
}

/** Undefined for an internal error: then the stack is printed. */
export function describeStartFailure(error: unknown, settings?: Settings): StartFailure | undefined {
  if (error instanceof SettingsError)
    return { message: `The settings are not usable:\n${indent(error.message)}`, exitCode: 2 };
  if (error instanceof PluginConfigError || error instanceof PlansFileError || error instanceof PricesError)
    return { message: error.message, exitCode: 2 };
  if (error instanceof BrandError) return { message: error.message, exitCode: 2 };
  if (isGatewayError(error)) return { message: error.message, exitCode: error.code === 'invalid_value' ? 2 : 1 };
  const { code, syscall, path: named } = (error instanceof Error ? error : {}) as NodeJS.ErrnoException;
  const file = named ?? settings?.dataDir;
  const { host, port, dataDir = path.resolve('data') } = settings ?? {};
  const advice = 'Set DATA_DIR to the data folder.';
  switch (code) {
    case 'EADDRINUSE':
      return failure(`Port ${port} of ${host} is used by another program. Set PORT to another port.`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return { message: `HOST ${host} is not an address of this machine.`, exitCode: 2 };
    case 'EACCES':
    case 'EPERM':
      return syscall === 'listen'
        ? failure(`Port ${port} needs more rights than this user has. Set PORT to 1024 or above.`)
        : failure(`${file} is not writable for this user. ${advice}`);
    case 'EROFS':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'ENOENT':
      return failure(`${file} cannot be used as or in the data folder (${code}). ${advice}`);
    case 'ENOSPC':
      return failure(`There is no space left on the disk of ${dataDir}.`);
    default:
      return undefined;
  }
}

function failure(message: string): StartFailure {
  return { message, exitCode: 1 };
}

function indent(text: string): string {
  return text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

/** A description of each kind of model, in display order. */
const AUDIO_WORK: readonly (readonly [AudioOperation, string])[] = [
  ['transcribe', 'transcription'],
  ['speak', 'speech'],
  ['changeVoice', 'voice changer'],
  ['generateSound', 'sound effects'],
];
const WORK_WIDTH = Math.max(...AUDIO_WORK.map(([, work]) => work.length));

export interface NoticeOptions {
  environment: NodeJS.ProcessEnv;
  gateway: Pick<Gateway, 'plugins' | 'audioProvider' | 'models'>;
  /** Whether `/v1/messages` is enabled. */
  messagesEnabled: boolean;
}

/** Notices for the person who starts the gateway; one line, with optional further lines below it. */
export function startNotices({ environment, gateway, messagesEnabled }: NoticeOptions): string[] {
  const plugins = gateway.plugins();
  const misspelt = findMisspelt(
    environment,
    plugins.flatMap(({ variables }) => variables.names),
  );
  return [
    ...misspelt,
    ...(hasDotEnv() ? [`The .env file in this folder is not read. ${DOT_ENV_ADVICE}`] : []),
    ...describeStandIns(gateway),
    ...(messagesEnabled ? [] : describeDisabledMessages(gateway)),
  ];
}

/** An operator who connects such a model usually has clients of its format. */
function describeDisabledMessages(gateway: NoticeOptions['gateway']): string[] {
  const ids = gateway.models().flatMap(({ id, routes = [] }) => (routes.includes('messages') ? [id] : []));
  if (ids.length === 0) return [];
  return [
    `Claude Code and other clients of Anthropic's format need MESSAGES_ENABLED=true: without it, /v1/messages answers 403 for ${ids.join(', ')}.`,
  ];
}

/** One line for each kind of work that only replacement plugins do, below an introductory line. */
function describeStandIns(gateway: NoticeOptions['gateway']): string[] {
  const work = new Map<string, PluginStatus[]>();
  for (const plugin of gateway.plugins().filter(({ state }) => state === 'ready'))
    for (const kind of workOf(plugin, gateway)) work.set(kind, [...(work.get(kind) ?? []), plugin]);
  const lines = [...work].flatMap(([kind, plugins]) => {
    const variables = new Set(plugins.flatMap((plugin) => plugin.variables.switchOff));
    const canBeReal = plugins.every(({ standIn }) => standIn) && variables.size > 0;
    return canBeReal ? [`  ${kind.padEnd(WORK_WIDTH)}  ${[...variables].join(' or ')}`] : [];
  });
  return lines.length > 0
    ? [['Mocks and offline engines answer until these settings connect real models:', ...lines].join('\n')]
    : [];
}

function workOf({ provides, serves }: PluginStatus, gateway: NoticeOptions['gateway']): string[] {
  return [
    ...(provides.includes('image') ? ['images'] : []),
    ...(provides.includes('text') ? ['text'] : []),
    ...(provides.includes('audio')
      ? AUDIO_WORK.flatMap(([operation, work]) =>
          serves.some((model) => gateway.audioProvider(model, operation)) ? [work] : [],
        )
      : []),
  ];
}

/** An example request. */
export interface SampleRequest {
  route: string;
  /** Undefined: a GET. */
  body?: object;
  /** Whether it needs the network. Default false: a mock answers for a model without an upstream. */
  needsNetwork?: boolean;
}

const BUILT_IN_CHATS: readonly string[] = MODEL_NOTES.chat.models;

/** One example request for each available capability; those that work offline first. */
export function samplesOf(gateway: Pick<Gateway, 'platforms' | 'models'>): SampleRequest[] {
  const modelOf = (kind: string) => gateway.models().find((model) => model.kind === kind)?.id;
  const image = modelOf('image');
  // The operator's own names first: a server of one's own rarely has the built-in ones.
  const texts = gateway.models().filter(isWritingModel);
  const text = (texts.find(({ id }) => !BUILT_IN_CHATS.includes(id)) ?? texts[0])?.id;
  return [
    ...(text === undefined
      ? []
      : [{ route: '/v1/chat/completions', body: { model: text, messages: [{ role: 'user', content: 'Ahoy!' }] } }]),
    ...(image === undefined
      ? []
      : [
          {
            route: '/v1/images/generations',
            body: { model: image, prompt: 'A tug in the harbour of Ostend at dawn' },
          },
        ]),
    ...sampleLink(gateway.platforms()),
  ];
}

/** The link that most methods are expected to extract. If no plugin names any, a request for the capabilities. */
function sampleLink(platforms: readonly PlatformInfo[]): SampleRequest[] {
  const [best] = platforms
    .flatMap(({ probeLinks, methods }) =>
      probeLinks.map(({ url, fills }) => ({
        url,
        ways: methods.filter(({ name, available }) => available && fills[name] !== undefined).length,
      })),
    )
    .sort((one, other) => other.ways - one.ways);
  if (best) return [{ route: '/v1/extract', body: { url: best.url }, needsNetwork: true }];
  return platforms.length > 0 ? [{ route: '/v1/capabilities' }] : [];
}
