/*
 * Routes and secrets of webhooks, and the check of their targets. The signing secret of an account is derived from the
 * gateway's secret and a number in the database, so the database alone reveals none. After a rotation, the old secret
 * signs as well for 24 hours. A target must be a public https address, or an origin that the operator trusts; its host
 * is resolved and checked again at each delivery. Webhooks have an HTTP client of their own, since clients must not
 * reach the private origins of plugins.
 */

import { createHmac } from 'node:crypto';
import { type Gateway, openHttpClient } from 'mediagate';
import { field, type TSchema, Type } from '../../core/contracts/index.js';
import { type AddressGuard, createAddressGuard } from '../../core/net/index.js';
import { type Clock, GatewayError, isGatewayError, type Logger } from '../../core/runtime/index.js';
import type { Batches } from '../batches/index.js';
import type { CloseList } from '../close-list.js';
import {
  defineRoute,
  JSON_TYPE,
  MAX_WEBHOOK_URL_LENGTH,
  OneOf,
  type RequestContext,
  type Route,
  type SentWebhook,
  type ServerContext,
  Time,
  WEBHOOK_URL,
} from '../http/index.js';
import { pollingKeyOf } from '../keys/index.js';
import { loadWebhookSecrets, type Settings } from '../settings/index.js';
import { startWebhookDelivery, TRY_MS, type WebhookOutcome } from './delivery.js';
import type { Webhooks } from './webhook-events.js';

const ROUTE = '/v1/webhooks/secret';

const WebhookSecret = Type.Object(
  { secret: field(Type.String({ pattern: '^whsec_' }), 'Signing secret: `whsec_` and the base64 of 32 bytes.') },
  { description: 'The secret that webhooks of the account are signed with.' },
);
const WebhookEvent = Type.Object(
  {
    type: field(OneOf('image.job.completed', 'image.job.failed', 'image.job.cancelled'), 'How the job ended.'),
    timestamp: field(Time, 'When the job ended (RFC 3339).'),
    data: field(
      Type.Unsafe({ $ref: '#/components/schemas/ImageJob' }),
      'The job, as polling returns it; images are links, never base64.',
    ),
  },
  { description: 'A job that has ended.' },
);
const ExtractionWebhookEvent = Type.Object(
  {
    type: field(
      OneOf('extraction.job.completed', 'extraction.job.failed', 'extraction.job.cancelled'),
      'How the job ended.',
    ),
    timestamp: field(Time, 'When the job ended (RFC 3339).'),
    data: field(Type.Unsafe({ $ref: '#/components/schemas/Extraction' }), 'The job, as polling returns it.'),
  },
  { description: 'A job of a link that has ended.' },
);

interface WebhookRouteServices extends Pick<ServerContext, 'polls'> {
  /** Default: webhooks are disabled. */
  webhooks?: WebhookService;
}

/** The secret of an account, which its receivers verify events with. */
export function webhookRoutes({ polls, webhooks }: WebhookRouteServices): Route[] {
  const secrets = webhooks?.secrets;
  const answer = (work: keyof Pick<WebhookSecrets, 'newest' | 'rotate'>) => async (context: RequestContext) => {
    if (!secrets)
      throw new GatewayError(
        'route_not_allowed',
        'Webhooks are disabled on this gateway. The operator enables them with IMAGE_WEBHOOKS.',
      );
    const { accountId } = pollingKeyOf(context, polls);
    const secret = await secrets[work](accountId);
    context.res.setHeader('Cache-Control', 'no-store');
    context.res.setHeader('Content-Type', JSON_TYPE);
    context.body = JSON.stringify({ secret });
  };

  const common = {
    grant: ['images', 'extract'],
    tag: 'Images',
    answers: { 200: { description: 'The newest secret.', name: 'WebhookSecret', schema: WebhookSecret } },
    errors: ['rate_limit_exceeded'],
  } as const;
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: ROUTE,
      endpoint: 'webhookSecret',
      summary: 'Get the webhook secret',
      description:
        'Returns the secret that webhooks of the account are signed with. 403 if the operator has not enabled webhooks.',
      handler: answer('newest'),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: `${ROUTE}/rotate`,
      endpoint: 'webhookSecretRotation',
      summary: 'Rotate the webhook secret',
      description: 'Creates another webhook secret. For 24 hours webhooks are signed with the old one as well.',
      handler: answer('rotate'),
    }),
  ];
}

const BatchWebhookEvent = Type.Object(
  {
    type: field(
      OneOf('extraction.batch.completed', 'extraction.batch.failed', 'extraction.batch.cancelled'),
      'How the batch ended.',
    ),
    timestamp: field(Time, 'When the batch ended (RFC 3339).'),
    data: field(Type.Unsafe({ $ref: '#/components/schemas/ExtractionBatch' }), 'The batch, as polling returns it.'),
  },
  { description: 'A background batch of links that has ended.' },
);

/**
 * The requests that the gateway sends if webhooks are enabled and a job has a `webhook_url`, for the OpenAPI document.
 */
export const SENT_WEBHOOKS: readonly SentWebhook[] = [
  describeWebhook('imageJobEnded', {
    tag: 'Images',
    summary: 'Image job ended',
    event: 'WebhookEvent',
    schema: WebhookEvent,
  }),
  describeWebhook('extractionJobEnded', {
    tag: 'Link data',
    summary: 'Extraction job ended',
    event: 'ExtractionWebhookEvent',
    schema: ExtractionWebhookEvent,
  }),
  describeWebhook('extractionBatchEnded', {
    tag: 'Link data',
    summary: 'Background batch ended',
    event: 'BatchWebhookEvent',
    schema: BatchWebhookEvent,
  }),
];

interface WebhookDescription {
  tag: Route['tag'];
  summary: string;
  /** Name of the schema. */
  event: string;
  schema: TSchema;
}

function describeWebhook(name: string, { tag, summary, event, schema }: WebhookDescription): SentWebhook {
  const operation = {
    tags: [tag],
    summary,
    operationId: name,
    description:
      'Sent at least once for each job with a `webhook_url`. A 2xx within 15 seconds confirms it and 410 stops it; after anything else it is sent again.',
    security: [{ webhookSecret: [] }],
    parameters: [
      { name: 'webhook-id', description: 'Id of the event, the same at each try.' },
      { name: 'webhook-timestamp', description: 'When this try was sent, in seconds since 1970.' },
    ].map((header) => ({ ...header, in: 'header', required: true, schema: { type: 'string' } })),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${event}` } } },
    },
    responses: { '2XX': { description: 'Received.' }, 410: { description: 'Stop sending this event.' } },
  };
  return { name, operation, schemas: { [event]: schema } };
}

/** What routes need of webhooks. */
export interface WebhookService {
  targets: WebhookTargets;
  secrets: WebhookSecrets;
}

export interface OpenWebhooksOptions {
  settings: Settings;
  webhooks: Webhooks;
  gateway: Pick<Gateway, 'images' | 'extractionJob'>;
  batches: Pick<Batches, 'find'>;
  clock: Clock;
  logger: Logger;
  baseUrl(): string;
  /** Default: no metrics. */
  tried?(outcome: WebhookOutcome): void;
  /** Whether this process sends the events, and not another worker of this machine. */
  delivers: boolean;
  /** Registers what must be closed with the process. */
  opened: CloseList;
}

/** Opens webhooks as configured; undefined if they are disabled. */
export async function openWebhooks(options: OpenWebhooksOptions): Promise<WebhookService | undefined> {
  const { settings, webhooks, gateway, batches, opened, delivers, ...rest } = options;
  const { imageWebhooks, imageWebhookOrigins: trustedOrigins, egressProxyUrl } = settings;
  if (!imageWebhooks) return undefined;
  const secrets = new WebhookSecrets(await loadWebhookSecrets(settings), webhooks);
  if (delivers) {
    // Its own HTTP client: clients must not reach the private origins of plugins.
    const http = await openHttpClient({ timeoutMs: TRY_MS, trustedOrigins, egressProxyUrl });
    opened.add(() => http.close());
    const { images, extractionJob } = gateway;
    const sources = { images, extractionJob, batches };
    const delivery = startWebhookDelivery({ webhooks, ...sources, secrets, client: http.client, ...rest });
    opened.add(() => delivery.close());
  }
  return { targets: new WebhookTargets(trustedOrigins), secrets };
}

/** Period in which events are signed with the previous secret as well. */
const OVERLAP_MS = 24 * 60 * 60 * 1000;
/** Prefix of a displayed secret; the rest is base64. */
const PREFIX = 'whsec_';

/**
 * The signing secrets of events, one per account, 32 bytes. They are derived on demand from the gateway's own secrets
 * and a number in the database: the database alone reveals none.
 */
export class WebhookSecrets {
  readonly #own: readonly [Uint8Array, ...Uint8Array[]];
  readonly #versions: Pick<Webhooks, 'secretVersion' | 'rotateSecret'>;

  constructor(own: readonly [Uint8Array, ...Uint8Array[]], versions: Pick<Webhooks, 'secretVersion' | 'rotateSecret'>) {
    this.#own = own;
    this.#versions = versions;
  }

  /** The current secret of an account, as displayed to its owner: `whsec_…`. */
  async newest(accountId: string): Promise<string> {
    return this.#show(accountId, (await this.#versions.secretVersion(accountId)).version);
  }

  /** Rotates the secret; the previous one also signs for 24 hours. */
  async rotate(accountId: string): Promise<string> {
    return this.#show(accountId, (await this.#versions.rotateSecret(accountId)).version);
  }

  /** The active secrets, the newest first. */
  async signing(accountId: string): Promise<readonly Uint8Array[]> {
    const { version, changedMsAgo } = await this.#versions.secretVersion(accountId);
    const overlaps = changedMsAgo !== undefined && changedMsAgo < OVERLAP_MS;
    const signing = overlaps ? [version, version - 1] : [version];
    return signing.flatMap((one) => this.#own.map((from) => this.#derive(from, accountId, one)));
  }

  #derive(from: Uint8Array, accountId: string, version: number) {
    return createHmac('sha256', from).update(`mediagate webhooks\n${version}\n${accountId}`).digest();
  }

  #show(accountId: string, version: number) {
    return PREFIX + this.#derive(this.#own[0], accountId, version).toString('base64');
  }
}

const PARAM = 'webhook_url';

/** Checks the targets of events. */
export class WebhookTargets {
  readonly #guard: AddressGuard;

  /** @param trustedOrigins Allowed private origins, also without TLS. */
  constructor(trustedOrigins: readonly string[] = []) {
    this.#guard = createAddressGuard({ trustedOrigins });
  }

  /**
   * Checks and normalizes a URL from a client. The address of its host is checked at each delivery.
   * @throws GatewayError `invalid_value` with `param`.
   */
  check(text: unknown): string {
    const isShort = typeof text === 'string' && text.length <= MAX_WEBHOOK_URL_LENGTH;
    const url = isShort ? URL.parse(text) : null;
    if (!url || (url.protocol !== 'https:' && !this.#guard.isTrusted(url))) throw refusal();
    try {
      this.#guard.checkUrl(url);
    } catch (error) {
      throw isGatewayError(error) ? refusal(error.message) : error;
    }
    // A fragment is only for scripts in a browser, so it is removed.
    url.hash = '';
    return url.href;
  }
}

function refusal(why?: string): GatewayError {
  const message = `${PARAM} must be ${WEBHOOK_URL}.${why === undefined ? '' : ` ${why}`}`;
  return new GatewayError('invalid_value', message, { param: PARAM });
}
