import type { PluginStatus } from 'mediagate';
import type { SignInStatus } from './account/identity.js';
import { describeEntries } from './plugin-table.js';
import type { Settings } from './settings.js';

const SAMPLE_LINK = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ';
/** What to try besides, where there is a model for it. */
const OTHERS = [
  {
    kind: 'image',
    route: '/v1/images/generations',
    body: { model: 'gen-img-2', prompt: 'A tug in the harbour of Ostend at dawn' },
  },
  {
    kind: 'text',
    route: '/v1/chat/completions',
    body: { model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }] },
  },
] as const;
const ROUTE_WIDTH = Math.max(...OTHERS.map(({ route }) => route.length));
const NEW_KEY = 'npm run -s mediagate -- keys create --name NAME --grant extract';

export interface Banner {
  address: string;
  /** Where the listener of metrics is; undefined where there is none. */
  metricsAddress?: string;
  settings: Settings;
  engine: 'sqlite' | 'postgres';
  plugins: readonly PluginStatus[];
  /** How people sign in; undefined where there are no accounts. */
  signIn?: SignInStatus;
  /** The key that was made just now; undefined where there were keys before. */
  newKey?: string;
}

/** What `npm start` says once it listens. */
export function renderBanner(banner: Banner): string {
  const { address, metricsAddress, settings, engine, plugins, signIn, newKey } = banner;
  const database = engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  return [
    '',
    `mediagate listens on ${address}`,
    '',
    `  data     ${settings.dataDir} (${database})`,
    ...(metricsAddress ? [`  metrics  ${metricsAddress}/metrics`] : []),
    ...describeEntries(plugins).map((line, index) => `  ${index === 0 ? 'plugins' : '       '}  ${line}`),
    ...(signIn ? [`  sign-in  ${describeSignIn(signIn)}`] : []),
    '',
    ...(newKey ? firstKey(address, newKey, plugins) : [`Keys exist already. For another one: ${NEW_KEY}`]),
    '',
    'Ctrl-C stops it.',
    '',
  ].join('\n');
}

function describeSignIn({ state, provider, standIn, reason }: SignInStatus): string {
  if (state === 'off') return `off: ${reason}`;
  return standIn ? `${provider}: for development, anyone can sign in as anyone` : `with ${provider}`;
}

function firstKey(address: string, key: string, plugins: readonly PluginStatus[]): string[] {
  const others = OTHERS.filter(({ kind }) => plugins.some((plugin) => isReady(plugin, kind)));
  return [
    'There was no API key yet, so here is one named "local". It is shown this once; try it:',
    '',
    `curl -s ${address}/v1/extract \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d '${JSON.stringify({ url: SAMPLE_LINK })}'`,
    ...(others.length > 0 ? ['', 'or with another route and body:', ''] : []),
    ...others.map(({ route, body }) => `  ${route.padEnd(ROUTE_WIDTH)}  -d '${JSON.stringify(body)}'`),
  ];
}

function isReady({ provides, state }: PluginStatus, kind: PluginStatus['provides'][number]): boolean {
  return state === 'ready' && provides.includes(kind);
}
