import type { PluginStatus } from 'mediagate';
import type { SignInStatus } from '../accounts/index.js';
import { describeLinks, describeListening } from '../http/index.js';
import type { Settings } from '../settings/index.js';
import type { SampleRequest } from './first-requests.js';
import { describeEntries } from './plugin-table.js';

/** The grant that a further key is shown to be made with, by what there is. */
const KINDS = [
  ['extractor', 'extract'],
  ['image', 'images'],
  ['text', 'text'],
  ['audio', 'audio'],
] as const;

export interface Banner {
  address: string;
  /** Where the listener of metrics is; undefined where there is none. */
  metricsAddress?: string;
  settings: Settings;
  engine: 'sqlite' | 'postgres';
  plugins: readonly PluginStatus[];
  /** Requests to try it with. */
  samples: readonly SampleRequest[];
  /** What else should be known, a paragraph each. */
  notices: readonly string[];
  /** How people sign in; undefined where there are no accounts. */
  signIn?: SignInStatus;
  /** The key that was made just now; undefined where there were keys before. */
  newKey?: string;
}

/** What `npm start` says once it listens. */
export function renderBanner(banner: Banner): string {
  const { address, metricsAddress, settings, engine, plugins, samples, notices, signIn, newKey } = banner;
  const database = engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  return [
    '',
    `mediagate listens on ${describeListening(settings, address)}`,
    '',
    `  data     ${settings.dataDir} (${database})`,
    `  links    begin with ${describeLinks(settings, address)}`,
    ...(metricsAddress ? [`  metrics  ${metricsAddress}/metrics`] : []),
    ...describeEntries(plugins).map((line, index) => `  ${index === 0 ? 'plugins' : '       '}  ${line}`),
    ...(signIn ? [`  site     ${settings.siteUrl ?? address}`, `  sign-in  ${describeSignIn(signIn)}`] : []),
    '',
    ...notices.flatMap((notice) => [notice, '']),
    ...(newKey ? firstKey(address, newKey, samples) : [`Keys exist already. For another one: ${furtherKey(plugins)}`]),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

function describeSignIn({ state, provider, standIn, reason }: SignInStatus): string {
  if (state === 'off') return `off: ${reason}`;
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
  const intro = 'There was no API key yet, so here is one named "local". It is shown this once';
  if (!first) return [`${intro}:`, '', key];
  const width = Math.max(...others.map(({ route }) => route.length));
  return [
    `${intro}; try it:`,
    '',
    `curl -s ${address}${first.route} \\`,
    `  -H 'Authorization: Bearer ${key}'${first.body ? ' \\' : ''}`,
    ...(first.body ? ["  -H 'Content-Type: application/json' \\", `  -d '${JSON.stringify(first.body)}'`] : []),
    ...(others.length > 0 ? ['', 'or with another route and body:', ''] : []),
    ...others.map(({ route, body }) => `  ${route.padEnd(width)}  -d '${JSON.stringify(body)}'`),
  ];
}
