import type Router from '@koa/router';
import { type Clock, type Gateway, MAX_REFERENCES } from 'mediagate';
import { isoTime } from '../format/index.js';
import {
  type RequestContext,
  type RequestState,
  SIGN_IN_INSTRUCTION,
  type SiteAddress,
  sendJson,
  sendTagged,
} from '../http/index.js';
import { NAMED_SIZES } from '../images/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { type Catalogue, MODEL_NOTES } from '../plans/index.js';
import { API_VERSION } from '../version.js';
import type { AccountRecord } from './accounts.js';
import type { Identity, SignInStatus } from './oidc.js';
import type { SignedIn } from './session-store.js';
import type { SessionDesk } from './sessions.js';
import {
  encodeSetup,
  KEY_VARIABLE,
  modelsForSetup,
  readSetupClient,
  renderSetup,
  type SetupAccount,
  type SetupClient,
  setupClients,
} from './setup.js';
import type { AccountView } from './user.js';
import { type AccountAnswer, countGoodKeys, encodeAccountPlan, encodeUser } from './user.js';
import type { UserRecord } from './users.js';

/** What the service says of itself. */
export interface ManifestParts {
  /** Without trailing slashes. */
  baseUrl: string;
  siteUrl: string;
  signIn: SignInStatus;
  catalogue: Catalogue;
  models: ReturnType<Gateway['models']>;
  clients: readonly SetupClient[];
}

export function encodeManifest({ baseUrl, siteUrl, signIn, catalogue, models, clients }: ManifestParts) {
  const { version, ...plans } = encodePlans(catalogue);
  return {
    name: 'mediagate',
    description:
      'A gateway to image generation, to models of text and sound, and to structured data behind public links. Accounts, plans and API keys are managed over JSON or in a browser.',
    version,
    baseUrl,
    siteUrl,
    auth: {
      provider: signIn.provider ?? null,
      protocol: 'OpenID Connect',
      available: signIn.state === 'ready',
      loginUrl: `${siteUrl}/signin`,
      unauthenticatedInstruction: SIGN_IN_INSTRUCTION,
      passwordPolicy:
        'The service never sees a password of the identity provider, and no program may ask for it: people sign in on the pages of the provider alone.',
      deviceFlow: {
        authorizationUrl: `${siteUrl}/api/agent/device`,
        tokenUrl: `${siteUrl}/api/agent/device/token`,
        verificationUrl: `${siteUrl}/device`,
      },
    },
    endpoints: { ...addresses(baseUrl, GATEWAY_ENDPOINTS), ...addresses(siteUrl, SITE_ENDPOINTS) },
    methods: methodsOf([...GATEWAY_ENDPOINTS, ...SITE_ENDPOINTS]),
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

function addresses(origin: string, endpoints: readonly Endpoint[]): Record<string, string> {
  return Object.fromEntries(endpoints.map(({ name, path }) => [name, origin + path]));
}

function methodsOf(endpoints: readonly Endpoint[]): Record<string, Endpoint['methods']> {
  return Object.fromEntries(endpoints.map(({ name, methods }) => [name, methods]));
}

/** What the service document says of models, of those that are ready. Which of them a key may use, `GET /v1/models` says. */
function encodeModels(models: ManifestParts['models']) {
  const ready = new Set(models.map(({ id }) => id));
  const { chat, audio, image } = MODEL_NOTES;
  const { routes, reasoningEfforts, recommended } = chat;
  const further = models.filter(({ id, kind }) => kind === 'text' && !chat.models.some((known) => known === id));
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

/** One address of the service, as the manifest names it. */
export interface Endpoint {
  name: string;
  methods: readonly ('GET' | 'POST' | 'DELETE')[];
  /** Parts in braces stand for what they name. */
  path: string;
}

/** Of the gateway, at its own address. */
export const GATEWAY_ENDPOINTS: readonly Endpoint[] = [
  { name: 'health', methods: ['GET'], path: '/health' },
  { name: 'healthLive', methods: ['GET'], path: '/health/live' },
  { name: 'healthReady', methods: ['GET'], path: '/health/ready' },
  { name: 'imageJobs', methods: ['POST'], path: '/v1/images/jobs' },
  { name: 'imageJob', methods: ['GET', 'DELETE'], path: '/v1/images/jobs/{job_id}' },
  { name: 'imageJobEvents', methods: ['GET'], path: '/v1/images/jobs/{job_id}/events' },
  { name: 'imageJobCancel', methods: ['POST'], path: '/v1/images/jobs/{job_id}/cancel' },
  { name: 'imageGenerations', methods: ['POST'], path: '/v1/images/generations' },
  { name: 'webhookSecret', methods: ['GET'], path: '/v1/webhooks/secret' },
  { name: 'webhookSecretRotation', methods: ['POST'], path: '/v1/webhooks/secret/rotate' },
  { name: 'imageFile', methods: ['GET'], path: '/v1/images/files/{filename}' },
  { name: 'capabilities', methods: ['GET'], path: '/v1/capabilities' },
  { name: 'extract', methods: ['POST'], path: '/v1/extract' },
  { name: 'extractJob', methods: ['GET', 'DELETE'], path: '/v1/extract/jobs/{job_id}' },
  { name: 'extractBatch', methods: ['POST'], path: '/v1/extract/batch' },
  { name: 'extractAudio', methods: ['GET'], path: '/v1/extract/audio/{name}.mp3' },
  { name: 'responses', methods: ['POST'], path: '/v1/responses' },
  { name: 'responsesCompact', methods: ['POST'], path: '/v1/responses/compact' },
  { name: 'responsesInputTokens', methods: ['POST'], path: '/v1/responses/input_tokens' },
  { name: 'response', methods: ['GET', 'DELETE'], path: '/v1/responses/{response_id}' },
  { name: 'responseCancel', methods: ['POST'], path: '/v1/responses/{response_id}/cancel' },
  { name: 'responseInputItems', methods: ['GET'], path: '/v1/responses/{response_id}/input_items' },
  { name: 'chatCompletions', methods: ['POST'], path: '/v1/chat/completions' },
  { name: 'models', methods: ['GET'], path: '/v1/models' },
  { name: 'model', methods: ['GET'], path: '/v1/models/{model}' },
  { name: 'messages', methods: ['POST'], path: '/v1/messages' },
  { name: 'messagesCountTokens', methods: ['POST'], path: '/v1/messages/count_tokens' },
  { name: 'audioTranscriptions', methods: ['POST'], path: '/v1/audio/transcriptions' },
  { name: 'audioTranslations', methods: ['POST'], path: '/v1/audio/translations' },
  { name: 'audioSpeech', methods: ['POST'], path: '/v1/audio/speech' },
  { name: 'audioVoiceChanger', methods: ['POST'], path: '/v1/audio/voice-changer' },
  { name: 'audioSoundEffects', methods: ['POST'], path: '/v1/audio/sound-effects' },
  { name: 'usage', methods: ['GET'], path: '/v1/usage' },
];

/** Of the account site, at its address. */
export const SITE_ENDPOINTS: readonly Endpoint[] = [
  { name: 'manifest', methods: ['GET'], path: '/api/agent/manifest' },
  { name: 'plans', methods: ['GET'], path: '/api/agent/plans' },
  { name: 'session', methods: ['GET', 'POST', 'DELETE'], path: '/api/agent/session' },
  { name: 'sessions', methods: ['DELETE'], path: '/api/agent/sessions' },
  { name: 'setup', methods: ['GET'], path: '/api/agent/setup' },
  { name: 'deviceAuthorization', methods: ['POST'], path: '/api/agent/device' },
  { name: 'deviceToken', methods: ['POST'], path: '/api/agent/device/token' },
  { name: 'user', methods: ['GET', 'POST', 'DELETE'], path: '/api/user' },
  { name: 'userKeys', methods: ['POST'], path: '/api/user/keys' },
  { name: 'userKeyRotate', methods: ['POST'], path: '/api/user/rotate' },
  { name: 'userKeyRevoke', methods: ['POST'], path: '/api/user/keys/{key_id}/revoke' },
  { name: 'payment', methods: ['GET', 'POST'], path: '/api/agent/payment' },
  { name: 'paymentOrder', methods: ['GET'], path: '/api/agent/payment/{code}' },
  { name: 'paymentCancel', methods: ['POST'], path: '/api/agent/payment/{code}/cancel' },
  { name: 'paymentQrSvg', methods: ['GET'], path: '/api/agent/payment/{code}/qr.svg' },
  { name: 'paymentQrPng', methods: ['GET'], path: '/api/agent/payment/{code}/qr.png' },
  { name: 'paymentStatus', methods: ['GET'], path: '/api/payment/gateway' },
  { name: 'login', methods: ['GET'], path: '/signin' },
  { name: 'deviceVerification', methods: ['GET'], path: '/device' },
];

export interface SessionParts extends SignedIn {
  account: AccountRecord;
  keys: readonly ApiKeyRecord[];
}

/** Who is signed in, and whether they have a plan and keys. */
export function encodeSession({ user, session, account, keys }: SessionParts, answer: AccountAnswer) {
  return {
    authenticated: true,
    user: encodeUser(user),
    plan: account.plan && encodeAccountPlan(account.plan, answer),
    keys: { count: countGoodKeys(keys, answer.now) },
    kind: session.kind,
    expiresAt: isoTime(session.expiresAt),
  };
}

export function encodeSignedOut(siteUrl: string) {
  return { authenticated: false, loginUrl: `${siteUrl}/signin`, instruction: SIGN_IN_INSTRUCTION };
}

/** What plans there are. Prices are told only where the operator wants them told. */
export function encodePlans({ plans, freeTier, prices, publicPriceTablesVisible, support }: Catalogue) {
  return {
    version: API_VERSION,
    publicPriceTablesVisible,
    // What it is called comes first, for people who read it.
    plans: plans.map(({ id, name, ...terms }) => ({ id, name, ...terms })),
    freeTier,
    payAsYouGo: { eligible: false, packages: [], ratesPerMillionTokens: [] },
    prices: publicPriceTablesVisible ? prices : [],
    support,
  };
}

const MARKDOWN = 'text/markdown';

export interface AgentRoutes {
  gateway: Gateway;
  identity: Identity;
  sessions: SessionDesk;
  view: AccountView;
  catalogue: Catalogue;
  clock: Clock;
  baseUrl(): string;
  site(): SiteAddress;
}

/** What programs and pages read of the service and of who is signed in. Nobody has to be. */
export function addAgentRoutes(router: Router<RequestState>, options: AgentRoutes): void {
  const { gateway, identity, sessions, view, catalogue, clock, baseUrl, site } = options;

  router.get('/api/agent/manifest', (context: RequestContext) => {
    const clients = setupClients({ baseUrl: baseUrl(), models: modelsForSetup(undefined) });
    const addresses = { baseUrl: baseUrl(), siteUrl: site().url };
    const signIn = identity.status();
    const manifest = encodeManifest({ ...addresses, signIn, catalogue, models: gateway.models(), clients });
    sendJson(context, manifest, 'public');
  });

  router.get('/api/agent/plans', (context: RequestContext) => sendJson(context, encodePlans(catalogue), 'public'));

  router.get('/api/agent/session', async (context: RequestContext) => {
    const signedIn = await sessions.find(context);
    if (!signedIn) return sendJson(context, encodeSignedOut(site().url), 'private');
    const { user, session } = signedIn;
    const [account, keys] = await Promise.all([view.account(user), view.keys(user)]);
    sendJson(context, encodeSession({ user, session, account, keys }, { catalogue, now: clock.now() }), 'private');
  });

  router.get('/api/agent/setup', async (context: RequestContext) => {
    const wanted = readSetupClient(context.query.client);
    const signedIn = await sessions.find(context);
    const account = signedIn && (await setupAccountOf(signedIn.user));
    const models = modelsForSetup(account?.models);
    const clients = setupClients({ baseUrl: baseUrl(), models }).filter(
      ({ id }) => wanted === undefined || id === wanted,
    );
    const guide = { baseUrl: baseUrl(), siteUrl: site().url, clients, ...(account && { account }) };
    context.vary('Accept');
    if (context.accepts('json', MARKDOWN) !== MARKDOWN) return sendJson(context, encodeSetup(guide), 'private');
    sendTagged(context, renderSetup(guide), { type: `${MARKDOWN}; charset=utf-8`, keeping: 'private' });
  });

  async function setupAccountOf(user: UserRecord): Promise<SetupAccount> {
    const [{ plan }, keys] = await Promise.all([view.account(user), view.keys(user)]);
    const { freeTier } = catalogue;
    return {
      planId: plan?.planId ?? null,
      grants: plan?.grants ?? [],
      // Whoever has no plan gets the free tier with the first key.
      models: plan ? plan.models : freeTier.modelAccess,
      keys: countGoodKeys(keys, clock.now()),
    };
  }
}
