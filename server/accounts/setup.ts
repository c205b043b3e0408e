/*
 * Instructions that set up clients (environment, curl, the OpenAI SDKs, Codex) with files and shell commands, as JSON
 * and as Markdown. The commands name models that the account's plan allows, and read the key from `MEDIAGATE_API_KEY`;
 * no example contains a key. The steps depend on whether the user is signed in and has a valid key. Texts that come
 * from settings are quoted for the shell. The file also has the response schemas that account and payment routes share.
 */

import { field, optional, type Static, type TSchema, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { shellWord } from '../format/index.js';
import { Nullable, OneOf, type RouteAnswer, Text, Time, Url } from '../http/index.js';
import { MODEL_NOTES } from '../plans/index.js';
import { API_VERSION } from '../version.js';

/** Environment variable of the API key on the client's side: no example contains a key. */
export const KEY_VARIABLE = 'MEDIAGATE_API_KEY';

const NODE_SDK = 'openai';

export const SETUP_CLIENTS = [
  'env',
  'curl',
  'openai-node',
  'openai-python',
  'codex',
  'mcp-claude-code',
  'mcp-codex',
  'mcp-vscode',
  'mcp-inspector',
] as const;
export type SetupClientId = (typeof SETUP_CLIENTS)[number];

export const SetupClientSchema = Type.Object({
  id: field(OneOf(...SETUP_CLIENTS), 'Id of the client.'),
  title: field(Text, 'Name of the client.'),
  summary: field(Text, 'How the client is set up, in a sentence.'),
  signsIn: optional(Type.Literal(true), 'The client signs in by itself, and needs no API key. Absent otherwise.'),
  wire_api: optional(Text, "The route that it uses, in the client's own words."),
  add: optional(Text, 'A shell command that does what the files do. Absent if there is none.'),
  files: field(
    Type.Array(
      Type.Object({
        path: field(Text, 'Path of the file.'),
        language: field(Text, 'Language of the file.'),
        content: field(Text, 'Content of the file.'),
      }),
    ),
    'Files to write.',
  ),
  commands: field(Type.Array(Text), 'Commands for a POSIX shell, in order.'),
});

/** Setup instructions of one client. Paths are relative to the project, or in the home folder. */
export interface SetupClient extends Omit<Static<typeof SetupClientSchema>, 'id'> {
  id: SetupClientId;
}

export interface SetupModels {
  /** Commands for a first request. */
  first: string;
  /** For coding agents. */
  coding: string;
}

export interface SetupOptions {
  /** Address of the gateway, without a trailing slash. */
  baseUrl: string;
  models: SetupModels;
}

/** The recommended models that the plan allows. Without a plan: one that every plan allows. */
export function modelsForSetup(allowed: readonly string[] | null | undefined): SetupModels {
  const { first, coding } = MODEL_NOTES.chat.recommended;
  if (allowed === undefined) return { first, coding: first };
  const isAllowed = (model: string) => allowed === null || allowed.includes(model);
  const usable = isAllowed(first) ? first : (allowed?.[0] ?? first);
  return { first: usable, coding: isAllowed(coding) ? coding : usable };
}

/** Instructions for each client of the API. Those for agents are in `agent-clients.ts`. */
export function setupClients({ baseUrl, models }: SetupOptions): readonly SetupClient[] {
  const api = `${baseUrl}/v1`;
  return [env(api), curl(api, models), node(api, models), python(api, models), codex(api, models)];
}

function env(api: string): SetupClient {
  return {
    id: 'env',
    title: 'Environment variable',
    summary: `Keep the key in ${KEY_VARIABLE}, out of code, pages and repositories. Clients of OpenAI's API read the other two.`,
    files: [],
    commands: [
      `export ${KEY_VARIABLE}='<your API key>'`,
      `export OPENAI_BASE_URL=${shellWord(api)}`,
      `export OPENAI_API_KEY="$${KEY_VARIABLE}"`,
    ],
  };
}

function curl(api: string, { first }: SetupModels): SetupClient {
  const post = (path: string, body: object) =>
    [
      `curl ${shellWord(api + path)}`,
      `-H "Authorization: Bearer $${KEY_VARIABLE}"`,
      `-H 'Content-Type: application/json'`,
      `-d ${shellWord(JSON.stringify(body))}`,
    ].join(' \\\n  ');
  return {
    id: 'curl',
    title: 'curl',
    summary:
      'Models that the plan allows, a first answer, an image as a job, the data behind a link. The last two need the grants `images` and `extract`.',
    files: [],
    commands: [
      `curl ${shellWord(`${api}/models`)} \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}"`,
      post('/responses', { model: first, input: 'Say hello.' }),
      post('/images/jobs', { model: MODEL_NOTES.image.model, prompt: 'A lighthouse at dusk' }),
      post('/extract', { url: 'https://www.youtube.com/watch?v=dQw4w9WgXcQ' }),
    ],
  };
}

function node(api: string, { first }: SetupModels): SetupClient {
  return {
    id: 'openai-node',
    title: 'OpenAI SDK for Node.js',
    summary: 'The unmodified SDK with a different base URL. For servers: a key never goes into a page.',
    files: [
      {
        path: 'first-request.mjs',
        language: 'javascript',
        content: `import OpenAI from ${JSON.stringify(NODE_SDK)};

const client = new OpenAI({
  apiKey: process.env.${KEY_VARIABLE},
  baseURL: ${JSON.stringify(api)},
});

const response = await client.responses.create({ model: ${JSON.stringify(first)}, input: "Say hello." });
console.log(response.output_text);
`,
      },
    ],
    commands: [`npm install ${NODE_SDK}`, 'node first-request.mjs'],
  };
}

function python(api: string, { first }: SetupModels): SetupClient {
  return {
    id: 'openai-python',
    title: 'OpenAI SDK for Python',
    summary: 'The unmodified SDK with a different base URL.',
    files: [
      {
        path: 'first_request.py',
        language: 'python',
        content: `import os

from openai import OpenAI

client = OpenAI(
    api_key=os.environ["${KEY_VARIABLE}"],
    base_url=${JSON.stringify(api)},
)

response = client.responses.create(model=${JSON.stringify(first)}, input="Say hello.")
print(response.output_text)
`,
      },
    ],
    commands: ['pip install openai', 'python first_request.py'],
  };
}

function codex(api: string, { coding }: SetupModels): SetupClient {
  return {
    id: 'codex',
    title: 'Codex',
    summary: 'Adds mediagate as a provider in Codex, which takes the key from the environment.',
    wire_api: 'responses',
    files: [
      {
        path: '~/.codex/config.toml',
        language: 'toml',
        content: `model = ${JSON.stringify(coding)}
model_provider = "mediagate"
model_reasoning_effort = "${MODEL_NOTES.chat.recommended.longWorkEffort}"

[model_providers.mediagate]
name = "mediagate"
base_url = ${JSON.stringify(api)}
env_key = "${KEY_VARIABLE}"
wire_api = "responses"
`,
      },
    ],
    commands: ['codex'],
  };
}

/** The account of the signed-in user in the guide. Never contains a key. */
export interface SetupAccount {
  planId: string | null;
  grants: readonly string[];
  /** Ids; null is all. */
  models: readonly string[] | null;
  /** Number of valid keys. */
  keys: number;
}

export interface SetupGuide {
  baseUrl: string;
  siteUrl: string;
  clients: readonly SetupClient[];
  /** Undefined without a session. */
  account?: SetupAccount;
}

/**
 * The client that a request asks about; undefined for all.
 * @throws GatewayError `invalid_value`.
 */
export function readSetupClient(value: string | string[] | undefined): SetupClientId | undefined {
  if (value === undefined) return undefined;
  const found = SETUP_CLIENTS.find((id) => id === value);
  if (found) return found;
  throw new GatewayError('invalid_value', `client must be one of ${SETUP_CLIENTS.join(', ')}.`, { param: 'client' });
}

export function encodeSetup(guide: SetupGuide) {
  const { baseUrl, clients, account } = guide;
  return {
    version: API_VERSION,
    baseUrl,
    env: { name: KEY_VARIABLE, description: 'Holds the API key. It is shown once, where it is made.' },
    steps: stepsOf(guide),
    clients,
    account: account ?? null,
  };
}

/** The same as text, for people and agents. */
export function renderSetup(guide: SetupGuide): string {
  const { baseUrl, clients } = guide;
  const sections = clients.map(({ title, summary, add, files, commands }) => {
    const parts = [
      `## ${title}`,
      summary,
      ...(add === undefined ? [] : [fenced('sh', add), 'Or, in place of this command:']),
      ...files.map(({ path, language, content }) => `\`${path}\`\n\n${fenced(language, content)}`),
      fenced('sh', commands.join('\n')),
    ];
    return parts.join('\n\n');
  });
  const steps = stepsOf(guide).map((step, index) => `${index + 1}. ${step}`);
  const address = `Address of the API: \`${baseUrl}/v1\`. The key is read from \`${KEY_VARIABLE}\`.`;
  return `${['# Setting up a client', address, steps.join('\n'), ...sections].join('\n\n')}\n`;
}

function stepsOf({ siteUrl, clients, account }: SetupGuide): string[] {
  const agents = clients.filter(({ signsIn }) => signsIn);
  if (clients.length > 0 && agents.length === clients.length) {
    return [
      'Set the client up as below. It needs no API key: it opens a page of the gateway, where its user signs in and chooses what it may do.',
      'Send a first request.',
    ];
  }
  const without = agents.map(({ title }) => title).join(', ');
  const exception = without === '' ? '' : ` ${without} sign in by themselves and need no key.`;
  return [
    ...(account ? [] : [`Sign in at ${siteUrl}/signin, or start the device flow at POST ${siteUrl}/api/agent/device.`]),
    ...(account && account.keys > 0
      ? []
      : [`Make an API key: POST ${siteUrl}/api/user answers with it once.${exception}`]),
    `Put the key into the environment variable ${KEY_VARIABLE}; never into code, pages, chats or repositories.`,
    'Set the client up as below, and send a first request.',
  ];
}

function fenced(language: string, content: string): string {
  return `\`\`\`${language}\n${content.trimEnd()}\n\`\`\``;
}

/* Response schemas of account and payment routes, for the API reference. */

export const KeySchema = Type.Object({
  id: field(Text, 'Id of the key: 8 characters.'),
  name: field(Text, 'Name of the key.'),
  maskedKey: field(Text, 'The key with its secret part hidden.'),
  state: field(
    OneOf('active', 'rotated', 'suspended', 'expired', 'revoked'),
    'State of the key. A `rotated` key works until `expiresAt`.',
  ),
  planId: field(Nullable(Text), 'Id of its plan. Null without a plan.'),
  grants: field(Type.Array(Text), 'Groups of routes that it may use.', ['text', 'images']),
  models: field(Nullable(Type.Array(Text)), 'Ids of the models that it may use. Null if all.'),
  rpm: field(Nullable(Type.Integer()), 'Requests in 60 seconds for each family of routes. Null if unlimited.'),
  own: field(
    Type.Object({
      grants: field(Nullable(Type.Array(Text)), 'Groups of routes. Null: those of the plan.'),
      models: field(Nullable(Type.Array(Text)), 'Ids of models. Null: those of the plan.'),
      rpm: field(Nullable(Type.Integer()), 'Requests in 60 seconds. Null: those of the plan.'),
      expiresAt: field(Nullable(Time), 'When the key ends (RFC 3339). Null: with the plan.'),
    }),
    'What the user allows of the plan. The other fields say what is left of both.',
  ),
  imageDailyLimit: field(Nullable(Type.Integer()), "Images of a day (UTC). Null: the gateway's setting applies."),
  createdAt: field(Time, 'When the key was created (RFC 3339).'),
  expiresAt: field(Nullable(Time), 'When the key expires (RFC 3339). Null if never.'),
  revokedAt: field(Nullable(Time), 'When the key was revoked (RFC 3339). Null if it was not.'),
  replacedBy: field(Nullable(Text), 'Id of the key that replaced it. Null if none did.'),
  lastUsedAt: field(Nullable(Time), 'About when the key was last used (RFC 3339). Null if never.'),
  budgets: field(
    Type.Array(
      Type.Object({
        of: field(OneOf('key', 'account'), 'What shares the budget.'),
        name: Type.Optional(field(Text, 'Id of the account.')),
        unit: field(OneOf('money', 'tokens', 'requests'), 'What it limits.'),
        currency: field(Nullable(Text), 'Currency of money (ISO 4217). Null for tokens and requests.', 'USD'),
        limit: field(Type.Number(), 'Allowed in a period.', 1000),
        used: field(Type.Number(), 'Used in this period.'),
        reserved: field(Type.Number(), 'Reserved for running requests.'),
        left: field(Type.Number(), 'Remaining in this period.'),
        resets: field(OneOf('never', 'month', 'day'), 'When the usage is reset (UTC).'),
        resetsAt: field(Nullable(Time), 'When the next period begins (RFC 3339). Null if never.'),
      }),
    ),
    'Budgets of the key beside that of the plan.',
  ),
});

export const AccountPlanSchema = Type.Object({
  id: field(Text, 'Id of the plan.', 'token_30m'),
  name: field(Text, 'Name of the plan.'),
  state: field(OneOf('active', 'ended'), 'Whether the plan is valid now.'),
  grants: field(Type.Array(Text), 'Groups of routes that it includes.'),
  models: field(Nullable(Type.Array(Text)), 'Ids of the models that it includes. Null if all.'),
  rpm: field(Nullable(Type.Integer()), 'Requests in 60 seconds for each family of routes. Null if unlimited.'),
  imageDailyLimit: field(Nullable(Type.Integer()), "Images of a day (UTC). Null: the gateway's setting applies."),
  grantedAt: field(Time, 'When the account got the plan (RFC 3339).'),
  expiresAt: field(Nullable(Time), 'When the plan ends (RFC 3339). Null if never.'),
});

export const UserSchema = Type.Object({
  id: field(Text, 'Id of the user.'),
  email: field(Nullable(Text), 'E-mail address. Null if the identity provider states none.'),
  name: field(Nullable(Text), 'Name. Null if the identity provider states none.'),
});

export const SessionSchema = Type.Object({
  authenticated: field(Type.Boolean(), 'Whether a user is signed in.'),
  loginUrl: optional(Url, 'Address of the sign-in. Only if no user is signed in.'),
  instruction: optional(Text, 'What a program should tell its user. Only if no user is signed in.'),
  user: optional(UserSchema, 'The signed-in user.'),
  plan: optional(Nullable(AccountPlanSchema), 'The plan of the account. Null if it has none yet.'),
  keys: optional(
    Type.Object({ count: field(Type.Integer(), 'Number of valid keys.') }),
    'The API keys of the account.',
  ),
  kind: optional(Text, 'Kind of the session: of a browser, or of a program.'),
  expiresAt: optional(Time, 'When the session ends (RFC 3339).'),
});

export const SupportSchema = Type.Object({
  text: field(Text, 'What support is for.'),
  email: field(Nullable(Text), 'E-mail address. Null if there is none.'),
  url: field(Nullable(Text), 'Address of a page. Null if there is none.'),
});

/** The answers of a route with a single response. */
export function asItStands(schema: TSchema): Record<number, RouteAnswer> {
  return { 200: { description: 'The current state.', schema } };
}
