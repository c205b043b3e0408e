import type Koa from 'koa';
import { type Gateway, type Logger, systemClock, type Tracer } from 'mediagate';
import { createIdentity, type SignInStatus } from './accounts/index.js';
import type { CloseList } from './close-list.js';
import type { RequestState } from './http/index.js';
import { createSiteAddress } from './http/index.js';
import { createAnswerDesk } from './idempotency/index.js';
import { createKeyRecord, GRANTS, openKeyTable, type Pepper } from './keys/index.js';
import type { Health, Metrics } from './observability/index.js';
import { createPaymentDesk, startPaymentSweep } from './payments/index.js';
import { readCatalogue } from './plans/index.js';
import type { Settings } from './settings/index.js';
import { loadPeppers } from './settings/index.js';
import type { State } from './state.js';
import { createUsageDesk } from './usage/index.js';
import type { WebhookOutcome } from './webhooks/index.js';
import { openWebhooks } from './webhooks/index.js';

const FIRST_KEY_RPM = 30;

export interface FrontOptions {
  settings: Settings;
  state: State;
  gateway: Gateway;
  logger: Logger;
  /** Default: there are no traces. */
  tracer?: Tracer;
  /** Where the figures go. Default: nobody counts. */
  metrics?: Metrics;
  /** Whether a key is made where there is none. */
  firstRun: boolean;
  /** Public address of this gateway, without a trailing slash. */
  baseUrl(): string;
  /** Takes what is to be closed with the process. */
  opened: CloseList;
}

/** What clients meet: keys, accounts, and every route. */
export interface Front {
  /** Undefined where there are no accounts. */
  signIn?(): SignInStatus;
  /** The key that was made just now. */
  newKey?: string;
  /** Milliseconds since keys were last read. */
  keysAgeMs(): number;
  createApp(health: Health): Promise<Koa<RequestState>>;
}

/** @throws PlansFileError, and what reading keys throws. */
export async function openFront(options: FrontOptions): Promise<Front> {
  const { settings, state, gateway, logger, tracer, metrics, firstRun, baseUrl, opened } = options;
  const clock = systemClock;
  const [catalogue, peppers] = await Promise.all([readCatalogue(settings.plansFile), loadPeppers(settings)]);
  const newKey = firstRun ? await makeFirstKey(state, peppers[0]) : undefined;
  const keys = await openKeyTable({ keys: state.keys, peppers, clock, logger });
  opened.add(() => keys.close());
  const site = createSiteAddress(() => settings.siteUrl ?? baseUrl());
  const identity = settings.site ? createIdentity({ gateway, settings, site }) : undefined;
  opened.add(() => identity?.close());
  const { windows, budgets, admissions, usage: ledger, orders } = state;
  const usage = createUsageDesk({ admissions: metrics?.watchAdmissions(admissions) ?? admissions, clock });
  opened.add(() => usage.close());
  const { freeTierPeriod, paymentReceiver: receiver, paymentSecrets } = settings;
  const payments = createPaymentDesk({ orders, catalogue, freeTierPeriod, receiver });
  const plans = { catalogue, freeTierPeriod, pepper: peppers[0], payments, paymentSecrets };
  const account = identity && { state, identity, ...plans, site };
  if (account) {
    const sweep = startPaymentSweep({ orders, clock, logger });
    opened.add(() => sweep.close());
  }
  const { webhooks: events } = state;
  const tried = metrics && ((outcome: WebhookOutcome) => metrics.webhookTried(outcome));
  const webhooks = await openWebhooks({ settings, webhooks: events, gateway, clock, logger, baseUrl, tried, opened });
  if (webhooks) metrics?.watch({ webhooks: events });
  const counting = { windows, usage, budgets, ledger };
  const {
    anyImageSize,
    imageDailyLimit,
    audioMaxBytes,
    messagesEnabled,
    siteUrl,
    trustedProxies,
    refusedBodiesPerMinute,
    metricsPublic: publicMetrics,
  } = settings;
  const limits = { anyImageSize, imageDailyLimit, audioMaxBytes, messagesEnabled, refusedBodiesPerMinute };
  const links = { baseUrl, siteUrl, metrics, publicMetrics, trustedProxies };
  return {
    ...(identity && { signIn: () => identity.status() }),
    ...(newKey !== undefined && { newKey }),
    keysAgeMs: () => keys.ageMs(),
    async createApp(health) {
      const { createApp } = await import('./app.js');
      const { drain } = health;
      const graceMs = (settings.drainSeconds + settings.shutdownSeconds) * 1000;
      const { keptAnswers, files } = state;
      const answers = createAnswerDesk({ answers: keptAnswers, files, clock, logger, drain, graceMs });
      // Before the usage desk, which takes down what is left of them.
      opened.add(() => answers.close());
      return createApp({
        gateway,
        ...counting,
        answers,
        keys,
        health,
        logger,
        clock,
        account,
        webhooks,
        tracer,
        ...links,
        ...limits,
      });
    },
  };
}

async function makeFirstKey(state: State, pepper: Pepper): Promise<string | undefined> {
  if ((await state.keys.list()).length > 0) return undefined;
  const wanted = { name: 'local', grants: GRANTS, rpm: FIRST_KEY_RPM, expiresAt: null };
  const { key, record } = createKeyRecord(wanted, pepper, systemClock.now());
  await state.keys.insert(record);
  return key;
}
