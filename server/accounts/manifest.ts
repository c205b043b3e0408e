/*
 * The service's description of itself for programs: manifest, plans, session and the guide for setting up clients,
 * under `/api/agent`. Addresses are taken from the declared routes, so the manifest never names a route that does not
 * exist. Public answers may be cached; those about a user are private. Prices of plans are included only if the
 * operator publishes them. The guide is JSON, or Markdown for clients that accept it, and no answer contains a key.
 * Without a session the routes answer with where to sign in.
 */

import type { Gateway } from 'mediagate';
import { field, Type } from '../../core/contracts/index.js';
import { MAX_REFERENCES } from '../../core/images/index.js';
import { isoTime } from '../format/index.js';
import {
  AnyObject,
  Nullable,
  OneOf,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  SIGN_IN_INSTRUCTION,
  sendJson,
  sendTagged,
  Text,
} from '../http/index.js';
import { NAMED_SIZES } from '../images/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { isWritingModel } from '../models/index.js';
import { type Catalogue, FREE_TIER_SCHEMA, MODEL_NOTES, PLAN_FIELDS } from '../plans/index.js';
import { API_VERSION } from '../version.js';
import type { AccountRecord } from './account-plans.js';
import { type AccountAnswer, type AccountView, countValidKeys, encodeAccountPlan, encodeUser } from './account-view.js';
import { agentClients } from './agent-clients.js';
import { encodePayAsYouGo, type PayAsYouGoOffer, PayAsYouGoSchema } from './pay-as-you-go-view.js';
import {
  asItStands,
  encodeSetup,
  KEY_VARIABLE,
  modelsForSetup,
  readSetupClient,
  renderSetup,
  SETUP_CLIENTS,
  SessionSchema,
  type SetupAccount,
  type SetupClient,
  SetupClientSchema,
  type SetupModels,
  SupportSchema,
  setupClients,
} from './setup.js';
import {
  describeSignIn,
  type Identity,
  type OpenidAddresses,
  SIGN_IN_FIELDS,
  type SignInStatus,
} from './sign-in/identity.js';
import type { AccountServices, SignedIn } from './sign-in/sessions.js';
import type { UserRecord } from './tables.js';

/** The service's description of itself. */
export interface ManifestParts {
  /** Without trailing slashes. */
  baseUrl: string;
  siteUrl: string;
  signIn: SignInStatus;
  openid: OpenidAddresses | undefined;
  catalogue: Catalogue;
  payAsYouGo: PayAsYouGoOffer;
  models: ReturnType<Gateway['models']>;
  clients: readonly SetupClient[];
  endpoints: readonly Endpoint[];
}

export function encodeManifest({
  baseUrl,
  siteUrl,
  signIn,
  openid,
  catalogue,
  payAsYouGo,
  models,
  clients,
  endpoints,
}: ManifestParts) {
  const addressOf = ({ path }: Endpoint) => (/^\/(v1|health|mcp)(\/|$)/.test(path) ? baseUrl : siteUrl) + path;
  const { version, ...plans } = encodePlans(catalogue, payAsYouGo);
  return {
    name: 'mediagate',
    description:
      'A gateway to image generation, to models of text and sound, and to structured data behind public links. Accounts, plans and API keys are managed over JSON or in a browser.',
    version,
    baseUrl,
    siteUrl,
    auth: {
      ...describeSignIn(signIn, openid),
      available: signIn.state === 'ready',
      loginUrl: `${siteUrl}/signin`,
      unauthenticatedInstruction: SIGN_IN_INSTRUCTION,
      deviceFlow: {
        authorizationUrl: `${siteUrl}/api/agent/device`,
        tokenUrl: `${siteUrl}/api/agent/device/token`,
        verificationUrl: `${siteUrl}/device`,
      },
    },
    endpoints: Object.fromEntries(endpoints.map((endpoint) => [endpoint.name, addressOf(endpoint)])),
    methods: Object.fromEntries(endpoints.map(({ name, methods }) => [name, methods])),
    ...plans,
    models: encodeModels(models),
    clientSetup: {
      guideUrl: `${siteUrl}/api/agent/setup`,
      env: { name: KEY_VARIABLE },
      clients,
    },
    imageApi: {
      model: MODEL_NOTES.image.model,
      recommended: 'imageJobs',
      modes: { asynchronous: `${baseUrl}/v1/images/jobs`, synchronous: `${baseUrl}/v1/images/generations` },
      imagesPerRequest: 1,
      sizes: [...NAMED_SIZES, 'auto'],
      defaultSize: NAMED_SIZES[0],
      responseFormats: ['url', 'b64_json'],
      references: { max: MAX_REFERENCES, maxBytes: 10 * 1024 * 1024, resizedAbovePixels: 20_000_000 },
      pollSeconds: { min: 5, max: 10 },
      rateLimit: { windowSeconds: 60, overLimit: 'Status 429 with Retry-After; nothing is queued.' },
      idempotencyHeader: 'Idempotency-Key',
    },
    security: {
      keyHeader: 'Authorization: Bearer <API key>',
      linkDataKeyHeader: 'X-API-Key: <API key>',
      keyStorage: `API keys stay on servers, in an environment variable such as ${KEY_VARIABLE}: never in pages, chats, screenshots or repositories.`,
      keyShownOnce: true,
      publicEndpointsOnly: 'Only the addresses listed here are called; whatever else is behind them is private.',
      payments: 'Orders are made by people who are signed in. The amount always comes from the service.',
    },
  };
}

/** The ready models as the service document describes them. `GET /v1/models` lists those that a key may use. */
function encodeModels(all: ManifestParts['models']) {
  const models = all.filter(({ isAbsent }) => !isAbsent);
  const ready = new Set(models.map(({ id }) => id));
  const { chat, audio, image } = MODEL_NOTES;
  const { routes, reasoningEfforts, recommended } = chat;
  const further = models.filter((model) => isWritingModel(model) && !chat.models.some((known) => known === model.id));
  return {
    source: 'GET /v1/models',
    chat: {
      routes,
      reasoningEfforts,
      recommended,
      models: [...chat.models.filter((id) => ready.has(id)), ...new Set(further.map(({ id }) => id))],
    },
    audio: audio.filter(({ model }) => ready.has(model)),
    image: ready.has(image.model) ? image : null,
  };
}

const METHODS = ['GET', 'POST', 'DELETE'] as const satisfies readonly Route['method'][];

/** An endpoint in the manifest. */
export interface Endpoint {
  name: string;
  methods: readonly Route['method'][];
  /** Parts in braces are placeholders. */
  path: string;
}

/** Endpoints of the API in the manifest: the routes with a manifest name. */
export function endpointsOf(routes: readonly Route[]): Endpoint[] {
  const named = routes.filter(({ endpoint }) => endpoint !== undefined);
  const byName = Map.groupBy(named, ({ endpoint = '' }) => endpoint);
  return Array.from(byName, ([name, [route, ...others]]) => {
    const { path = '', parameter, method } = route ?? {};
    const methods = new Set([method, ...others.map((other) => other.method)]);
    return {
      name,
      methods: METHODS.filter((one) => methods.has(one)),
      path: path.replace(/:(\w+)/g, (_, own) => `{${parameter ?? own}}`),
    };
  });
}

export interface SessionParts extends SignedIn {
  account: AccountRecord;
  keys: readonly ApiKeyRecord[];
}

/** The signed-in user, with plan and keys. */
export function encodeSession({ user, session, account, keys }: SessionParts, answer: AccountAnswer) {
  return {
    authenticated: true,
    user: encodeUser(user),
    plan: account.plan && encodeAccountPlan(account.plan, answer),
    keys: { count: countValidKeys(keys, answer.now) },
    kind: session.kind,
    expiresAt: isoTime(session.expiresAt),
  };
}

export function encodeSignedOut(siteUrl: string) {
  return { authenticated: false, loginUrl: `${siteUrl}/signin`, instruction: SIGN_IN_INSTRUCTION };
}

/** The available plans. Prices are included only if the operator publishes them. */
export function encodePlans(
  { plans, freeTier, prices, publicPriceTablesVisible, support }: Catalogue,
  offer: PayAsYouGoOffer,
) {
  return {
    version: API_VERSION,
    publicPriceTablesVisible,
    // The name comes first, for people who read it.
    plans: plans.map(({ id, name, ...terms }) => ({ id, name, ...terms })),
    freeTier,
    payAsYouGo: encodePayAsYouGo(offer, publicPriceTablesVisible),
    prices: publicPriceTablesVisible ? prices : [],
    support,
  };
}

const CatalogueSchema = {
  publicPriceTablesVisible: field(Type.Boolean(), 'Whether prices are public.'),
  plans: field(Type.Array(Type.Object(PLAN_FIELDS)), 'The plans.'),
  freeTier: field(
    Type.Object({ id: field(Text, 'Id of the free tier.', 'free'), ...FREE_TIER_SCHEMA.properties }),
    'What an account without a plan gets.',
  ),
  payAsYouGo: field(PayAsYouGoSchema, 'Pay-as-you-go: prepaid balances of eligible accounts.'),
  prices: field(
    Type.Array(
      Type.Object({
        planId: field(Text, 'Id of the plan.'),
        amount: field(Type.Integer(), 'Price in the minor unit of the currency, e.g. cents.'),
        currency: field(Text, 'Currency (ISO 4217).', 'EUR'),
      }),
    ),
    'Prices of plans. Empty if they are not public.',
  ),
  support: field(SupportSchema, 'Where to ask for terms.'),
};
const CLIENTS = field(Type.Array(SetupClientSchema), 'Instructions for each client.');
const SetupSchema = Type.Object({
  version: field(Text, 'Version of the API, as a date.', API_VERSION),
  baseUrl: field(Text, 'Address of the API, without a trailing slash.'),
  env: field(
    Type.Object({
      name: field(Text, 'Name of the variable.', KEY_VARIABLE),
      description: field(Text, 'What the variable holds.'),
    }),
    'Environment variable of the API key.',
  ),
  steps: field(Type.Array(Text), 'What to do, in order.'),
  clients: CLIENTS,
  account: field(
    Nullable(
      Type.Object({
        planId: field(Nullable(Text), 'Id of the plan. Null without a plan.'),
        grants: field(Type.Array(Text), 'Groups of routes that the account may use.'),
        models: field(Nullable(Type.Array(Text)), 'Ids of the models that it may use. Null if all.'),
        keys: field(Type.Integer(), 'Number of valid keys.'),
      }),
    ),
    'The account of the signed-in user. Null if no user is signed in.',
  ),
});
const Routes = field(Type.Array(Text), 'Routes of the API that the model answers on.', ['/v1/audio/speech']);
const ReadyModels = Type.Object({
  source: field(Text, 'The request that lists the models of an API key.'),
  chat: field(
    Type.Object({
      routes: field(Type.Array(Text), 'Routes of the models.', ['/v1/chat/completions']),
      reasoningEfforts: field(Type.Array(Text), 'Accepted reasoning efforts.'),
      recommended: field(Type.Record(Type.String(), Text), 'Recommended model or effort, by purpose.'),
      models: field(Type.Array(Text), 'Ids of the models.'),
    }),
    'Text models.',
  ),
  audio: field(Type.Array(Type.Object({ model: field(Text, 'Id of the model.'), routes: Routes })), 'Audio models.'),
  image: field(
    Nullable(
      Type.Object({
        listed: field(Text, 'Name of the model in price lists.'),
        model: field(Text, 'Id of the model.'),
        routes: Routes,
      }),
    ),
    'The image model. Null if it is not ready.',
  ),
});
const ClientSetup = Type.Object({
  guideUrl: field(Text, 'Address of the guide.'),
  env: field(Type.Object({ name: field(Text, 'Name of the variable.', KEY_VARIABLE) }), 'Variable of the API key.'),
  clients: CLIENTS,
});
const ManifestSchema = Type.Object({
  name: field(Text, 'Name of the service.'),
  description: field(Text, 'What the service does.'),
  version: field(Text, 'Version of the API, as a date.', API_VERSION),
  baseUrl: field(Text, 'Address of the API, without a trailing slash.'),
  siteUrl: field(Text, 'Address of the account site, without a trailing slash.'),
  auth: field(Type.Object(SIGN_IN_FIELDS), 'How users sign in, and how programs start the device flow.'),
  endpoints: field(Type.Record(Type.String(), Text), 'Addresses of the API, by name.'),
  methods: field(Type.Record(Type.String(), Type.Array(Text)), 'HTTP methods of each address, by name.'),
  ...CatalogueSchema,
  models: field(ReadyModels, 'Models that are ready, by kind.'),
  clientSetup: field(ClientSetup, 'How clients are set up.'),
  imageApi: field(AnyObject, 'Rules of the image routes.'),
  security: field(AnyObject, 'Rules for API keys and payments.'),
});

const MARKDOWN = 'text/markdown';

interface AgentServices extends AccountServices {
  /** Every route, as it is declared. */
  routes: readonly Route[];
  identity: Identity;
  catalogue: Catalogue;
  payments: { readonly payAsYouGo: PayAsYouGoOffer };
  view: AccountView;
  /** Whether there is an endpoint for agents. */
  mcpEnabled: boolean;
  /** Whether agents can sign in there. */
  authorization: { isAvailable(): boolean; describeProvider(): OpenidAddresses | undefined };
}

const COMMON = { method: 'GET', grant: 'none', tag: 'Account' } as const;

const MANIFEST: RouteDeclaration = {
  ...COMMON,
  path: '/api/agent/manifest',
  endpoint: 'manifest',
  summary: 'Service manifest',
  description: 'Describes the service for programs: addresses, plans, models, client setup, rules.',
  answers: asItStands(ManifestSchema),
};

const PLANS: RouteDeclaration = {
  ...COMMON,
  path: '/api/agent/plans',
  endpoint: 'plans',
  summary: 'List plans',
  description: 'Returns the plans, the free tier, and where to ask for terms.',
  answers: asItStands(
    Type.Object({
      version: field(Text, 'Version of the API, as a date.', API_VERSION),
      ...CatalogueSchema,
    }),
  ),
};

const SESSION: RouteDeclaration = {
  ...COMMON,
  path: '/api/agent/session',
  endpoint: 'session',
  summary: 'Get the session',
  description: 'Returns the signed-in user, the plan and the number of keys; or how to sign in.',
  answers: asItStands(SessionSchema),
};

const SETUP: RouteDeclaration = {
  ...COMMON,
  path: '/api/agent/setup',
  endpoint: 'setup',
  summary: 'Client setup',
  description: 'Returns how clients are set up, as JSON or Markdown. `?client=` selects one of them.',
  query: { client: { schema: OneOf(...SETUP_CLIENTS), description: 'Only this client. Default: all.' } },
  answers: asItStands(SetupSchema),
};

/** What programs and pages read about the service and the signed-in user. Sign-in is optional. */
export function agentRoutes(services: AgentServices): Route[] {
  const { routes, identity, catalogue, payments, site, gateway, sessions, view, clock, baseUrl } = services;
  const { mcpEnabled, authorization } = services;

  const clientsFor = (models: SetupModels) => [
    ...setupClients({ baseUrl: baseUrl(), models }),
    ...(mcpEnabled ? agentClients(baseUrl(), authorization.isAvailable()) : []),
  ];

  function sendManifest(context: RequestContext): void {
    const clients = clientsFor(modelsForSetup(undefined));
    const addresses = { baseUrl: baseUrl(), siteUrl: site().url };
    const signIn = { signIn: identity.status(), openid: authorization.describeProvider() };
    const offered = { ...signIn, catalogue, payAsYouGo: payments.payAsYouGo };
    const [models, endpoints] = [gateway.models(), endpointsOf(routes)];
    sendJson(context, encodeManifest({ ...addresses, ...offered, models, clients, endpoints }), 'public');
  }

  async function sendSession(context: RequestContext): Promise<void> {
    const signedIn = await sessions.find(context);
    if (!signedIn) return sendJson(context, encodeSignedOut(site().url), 'private');
    const { user, session } = signedIn;
    const [account, keys] = await Promise.all([view.account(user), view.keys(user)]);
    sendJson(context, encodeSession({ user, session, account, keys }, { catalogue, now: clock.now() }), 'private');
  }

  async function sendSetup(context: RequestContext): Promise<void> {
    const wanted = readSetupClient(context.query.client);
    const signedIn = await sessions.find(context);
    const account = signedIn && (await setupAccountOf(signedIn.user));
    const models = modelsForSetup(account?.models);
    const clients = clientsFor(models).filter(({ id }) => wanted === undefined || id === wanted);
    const guide = { baseUrl: baseUrl(), siteUrl: site().url, clients, ...(account && { account }) };
    context.vary('Accept');
    if (context.accepts('json', MARKDOWN) !== MARKDOWN) return sendJson(context, encodeSetup(guide), 'private');
    sendTagged(context, renderSetup(guide), { type: `${MARKDOWN}; charset=utf-8`, keeping: 'private' });
  }

  async function setupAccountOf(user: UserRecord): Promise<SetupAccount> {
    const [{ plan }, keys] = await Promise.all([view.account(user), view.keys(user)]);
    const { freeTier } = catalogue;
    return {
      planId: plan?.planId ?? null,
      grants: plan?.grants ?? [],
      // An account without a plan gets the free tier with the first key.
      models: plan ? plan.models : freeTier.modelAccess,
      keys: countValidKeys(keys, clock.now()),
    };
  }

  return [
    { ...MANIFEST, handler: sendManifest },
    { ...PLANS, handler: (context) => sendJson(context, encodePlans(catalogue, payments.payAsYouGo), 'public') },
    { ...SESSION, handler: sendSession },
    { ...SETUP, handler: sendSetup },
  ];
}
