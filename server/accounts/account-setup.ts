import { GatewayError } from 'mediagate';
import { API_VERSION } from '../version.js';
import { KEY_VARIABLE, SETUP_CLIENTS, type SetupClient, type SetupClientId } from './setup-guide.js';

/** What the guide says of the account of whoever is signed in. Never a key. */
export interface SetupAccount {
  planId: string | null;
  grants: readonly string[];
  /** Ids; null is all. */
  models: readonly string[] | null;
  /** Keys that can be used. */
  keys: number;
}

export interface SetupGuide {
  baseUrl: string;
  siteUrl: string;
  clients: readonly SetupClient[];
  /** Undefined where nobody is signed in. */
  account?: SetupAccount;
}

/**
 * Which client a request asks about; undefined for all of them.
 * @throws GatewayError `invalid_value`.
 */
export function readSetupClient(value: string | string[] | undefined): SetupClientId | undefined {
  if (value === undefined) return undefined;
  const found = SETUP_CLIENTS.find((id) => id === value);
  if (found) return found;
  throw new GatewayError('invalid_value', `client must be one of ${SETUP_CLIENTS.join(', ')}.`, { param: 'client' });
}

export function encodeSetup({ baseUrl, siteUrl, clients, account }: SetupGuide) {
  return {
    version: API_VERSION,
    baseUrl,
    env: { name: KEY_VARIABLE, description: 'Holds the API key. It is shown once, where it is made.' },
    steps: stepsOf(siteUrl, account),
    clients,
    account: account ?? null,
  };
}

/** The same to be read, by people and by agents. */
export function renderSetup(guide: SetupGuide): string {
  const { baseUrl, siteUrl, clients, account } = guide;
  const sections = clients.map(({ title, summary, files, commands }) => {
    const parts = [
      `## ${title}`,
      summary,
      ...files.map(({ path, language, content }) => `\`${path}\`\n\n${fenced(language, content)}`),
      fenced('sh', commands.join('\n')),
    ];
    return parts.join('\n\n');
  });
  const steps = stepsOf(siteUrl, account).map((step, index) => `${index + 1}. ${step}`);
  const address = `Address of the API: \`${baseUrl}/v1\`. The key is read from \`${KEY_VARIABLE}\`.`;
  return `${['# Setting up a client', address, steps.join('\n'), ...sections].join('\n\n')}\n`;
}

function stepsOf(siteUrl: string, account: SetupAccount | undefined): string[] {
  return [
    ...(account ? [] : [`Sign in at ${siteUrl}/signin, or start the device flow at POST ${siteUrl}/api/agent/device.`]),
    ...(account && account.keys > 0 ? [] : [`Make an API key: POST ${siteUrl}/api/user answers with it once.`]),
    `Put the key into the environment variable ${KEY_VARIABLE}; never into code, pages, chats or repositories.`,
    'Set the client up as below, and send a first request.',
  ];
}

function fenced(language: string, content: string): string {
  return `\`\`\`${language}\n${content.trimEnd()}\n\`\`\``;
}
