/*
 * The plans on offer: their fields by the service document, the free tier, prices, budgets and support, with the plans
 * that apply if the operator configures none. A plan without a price cannot be ordered. The plan of operators is
 * separate: it belongs to the first user of a local gateway and cannot be ordered. The models of the service document
 * are described here too, for the manifest and for the order of the list of models; whether they are ready is up to the
 * plugins.
 */

import type { BudgetAmount } from '../budgets/index.js';
import type { KeyGrant } from '../keys/index.js';
import type { TopUpPackage } from './pay-as-you-go.js';
import type { Plan } from './plan-fields.js';

/** The default plan of an account. */
export const FREE_PLAN_ID = 'free';

/** The plan of the operator of a fresh local gateway; see `OPERATOR_TERMS`. It cannot be ordered. */
export const OPERATOR_PLAN = { id: 'operator', name: 'Operator' } as const;

export interface FreeTier {
  id: typeof FREE_PLAN_ID;
  name: string;
  /** Accepted model requests. */
  requestLimit: number;
  /** Per minute and route family. */
  rpm: number;
  /** Ids of the allowed models. */
  modelAccess: readonly string[];
}

/** What a plan costs. */
export interface PlanPrice {
  planId: string;
  /** In minor units of the currency; above 0. */
  amount: number;
  /** ISO 4217. */
  currency: string;
}

/** Grants of a plan, or of the free tier, besides those that follow from its fields. */
export interface PlanGrants {
  planId: string;
  grants: readonly KeyGrant[];
}

/** Budget of a plan besides its fields, such as one of money or for a month. */
export interface PlanBudget {
  planId: string;
  budget: BudgetAmount;
}

/** Contact for individual terms and other questions. */
export interface Support {
  text: string;
  email: string | null;
  url: string | null;
}

export interface Catalogue {
  plans: readonly Plan[];
  freeTier: FreeTier;
  /** At most one per plan; a plan without one cannot be ordered. */
  prices: readonly PlanPrice[];
  /** One for each plan at most. */
  furtherGrants: readonly PlanGrants[];
  /** One for each plan at most. Default: none. */
  budgets?: readonly PlanBudget[];
  /** By which eligible accounts top up their prepaid balance. Default: none. */
  topUps?: readonly TopUpPackage[];
  /** Whether the public list of plans includes prices. */
  publicPriceTablesVisible: boolean;
  support: Support;
}

/** Default values of a plan. */
export const PLAIN_PLAN: Omit<Plan, 'id' | 'name'> = {
  durationDays: 0,
  requestLimit: null,
  tokenLimit: null,
  dailyTokenLimit: null,
  imageLimit: null,
  imageMonthlyLimit: null,
  opusRequestLimit: null,
  imageLimitText: null,
  imageDailyLimit: null,
  maxImagesPerRequest: null,
  allModels: true,
  includesAudio: true,
  includesImage: false,
  imageOnly: false,
  note: null,
  includedRpm: 30,
  maxRpm: 30,
};

/** Defaults that differ for an image-only plan. */
export const IMAGE_ONLY_PLAN: Partial<Plan> = {
  durationDays: 30,
  allModels: false,
  includesAudio: false,
  includesImage: true,
};

/** Used if an operator configures no plans. */
export const DEFAULT_CATALOGUE: Catalogue = {
  plans: [
    { ...PLAIN_PLAN, id: 'token_30m', name: '30M tokens', tokenLimit: 30_000_000 },
    { ...PLAIN_PLAN, id: 'token_100m', name: '100M tokens', tokenLimit: 100_000_000 },
    { ...PLAIN_PLAN, id: 'token_300m', name: '300M tokens', tokenLimit: 300_000_000 },
  ],
  freeTier: { id: FREE_PLAN_ID, name: 'Free', requestLimit: 50, rpm: 30, modelAccess: ['m-5.5'] },
  prices: [],
  furtherGrants: [],
  publicPriceTablesVisible: false,
  support: { text: 'Ask the operator of this service for terms and prices.', email: null, url: null },
};

/** Descriptions of the service document's models, besides what their plugins state. */
export const MODEL_NOTES = {
  chat: {
    routes: ['/v1/chat/completions', '/v1/responses'],
    reasoningEfforts: ['low', 'medium', 'high', 'xhigh'],
    recommended: { first: 'm-5.5', coding: 'm-5.4-mini', longWorkEffort: 'high' },
    models: [
      'm-5.5',
      'm-5.4',
      'm-5.4-mini',
      'm-5.3-code',
      'm-5.2-code',
      'm-5.2',
      'm-5.1-code-max',
      'm-5.1-code-mini',
      'm-5-code',
      'm-5-code-mini',
      'm-5.3-code-spark',
      'code-auto-review',
    ],
  },
  audio: [
    { model: 'stt-large-v3', routes: ['/v1/audio/transcriptions', '/v1/audio/translations'] },
    { model: 'stt-large-v3-turbo', routes: ['/v1/audio/transcriptions'] },
    { model: 'tts_multilingual_v2', routes: ['/v1/audio/speech'] },
    { model: 'tts_v3', routes: ['/v1/audio/speech'] },
    { model: 'tts_flash_v2_5', routes: ['/v1/audio/speech'] },
    { model: 'tts_turbo_v2_5', routes: ['/v1/audio/speech'] },
    { model: 'tts_multilingual_sts_v2', routes: ['/v1/audio/voice-changer'] },
    { model: 'tts_text_to_sound_v2', routes: ['/v1/audio/sound-effects'] },
  ],
  image: { listed: 'gen-image-2', model: 'gen-img-2', routes: ['/v1/images/jobs', '/v1/images/generations'] },
} as const;
