import { type Gateway, MAX_REFERENCES } from 'mediagate';
import { SIGN_IN_INSTRUCTION } from '../http/index.js';
import { NAMED_SIZES } from '../images/index.js';
import { type Catalogue, MODEL_NOTES } from '../plans/index.js';
import { encodePlans } from './account-plans.js';
import { type Endpoint, GATEWAY_ENDPOINTS, SITE_ENDPOINTS } from './endpoints.js';
import type { SignInStatus } from './identity.js';
import { KEY_VARIABLE, type SetupClient } from './setup-guide.js';

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
