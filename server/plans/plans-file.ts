/*
 * Reads `PLANS_FILE`, which contains differences to the built-in plans: plans to add or to change by their id, the free
 * tier, prices and support. An unknown field is refused, and so is a limit that the gateway does not enforce, because a
 * plan would be sold with it. Errors name the file and the field. `FREE_TIER_GRANTS` adds grants to the free tier; with
 * `audio` the audio models become part of it. The file is read once at the start, and the processes on one database
 * compare the result.
 */

import { field, optional, type Static, Type } from '../../core/contracts/index.js';
import { createValidator, readJsonFile } from '../../core/runtime/index.js';
import { BUDGET_FORM, parseBudget } from '../budgets/index.js';
import { isCurrency } from '../format/index.js';
import { KEY_GRANTS, type KeyGrant } from '../keys/index.js';
import {
  type Catalogue,
  DEFAULT_CATALOGUE,
  IMAGE_ONLY_PLAN,
  MODEL_NOTES,
  OPERATOR_PLAN,
  PLAIN_PLAN,
  type PlanBudget,
} from './catalogue.js';
import { PAY_AS_YOU_GO_SCHEMA, readPackages } from './pay-as-you-go.js';
import { Flag, Name, PLAN_FIELDS, type Plan, Rpm } from './plan-fields.js';

const strict = { additionalProperties: false } as const;
const Grants = Type.Array(Type.Union(KEY_GRANTS.map((grant) => Type.Literal(grant))));

const PriceSchema = Type.Object(
  {
    amount: field(
      Type.Integer({ minimum: 1, maximum: 1e15 }),
      'Price in the minor unit of the currency, e.g. cents.',
      1_900,
    ),
    currency: field(Type.String({ pattern: '^[A-Z]{3}$' }), 'Currency (ISO 4217).', 'EUR'),
  },
  strict,
);

const PlanSchema = Type.Object(
  {
    ...PLAN_FIELDS,
    price: optional(PriceSchema, 'Price of the whole duration. A plan without a price cannot be ordered.'),
    grants: optional(Grants, 'Grants besides those that follow from the other fields.', ['extract']),
    budget: optional(
      Type.String({ maxLength: 100 }),
      'Budget of money, tokens or requests for a day, a month or the lifetime of the plan. Not with `requestLimit` or `tokenLimit`.',
      '50 USD/month',
    ),
  },
  strict,
);

/** What an account without a plan gets. */
export const FREE_TIER_SCHEMA = Type.Object(
  {
    name: optional(Name, 'Name of the free tier.', 'Free'),
    requestLimit: optional(Type.Integer({ minimum: 0, maximum: 1e15 }), 'Model requests.', 50),
    rpm: optional(Rpm, 'Requests in 60 seconds for each family of routes.', 30),
    modelAccess: optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1 }),
      'Ids of the models that may be used.',
      ['m-5.5'],
    ),
    grants: optional(Grants, 'Grants besides `text`.', ['extract']),
  },
  strict,
);

const SupportSchema = Type.Object(
  {
    text: optional(Type.String({ minLength: 1, maxLength: 1_000 }), 'What support is for, for people.'),
    email: optional(
      Type.String({ pattern: '^[^\\s@<>"]+@[^\\s@<>"]+$', maxLength: 254 }),
      'E-mail address of support.',
      'support@example.com',
    ),
    url: optional(
      Type.String({ pattern: '^https?://[^\\s<>"]+$', maxLength: 1_000 }),
      'Address of a page of support.',
      'https://example.com/support',
    ),
  },
  strict,
);

/** The file that `PLANS_FILE` names. */
export const PLANS_FILE_SCHEMA = Type.Object(
  {
    plans: optional(Type.Array(PlanSchema), 'Plans to add or to change, by `id`. Fields that are left out stay.'),
    freeTier: optional(FREE_TIER_SCHEMA, 'Changes of the free tier.'),
    payAsYouGo: optional(PAY_AS_YOU_GO_SCHEMA, 'Prepaid balances: packages, and what may be paid with them.'),
    publicPriceTablesVisible: optional(Flag, 'Whether prices are shown to everyone. Default false.', false),
    support: optional(SupportSchema, 'Where customers ask for terms.'),
  },
  strict,
);
type PlansFile = Static<typeof PLANS_FILE_SCHEMA>;
type PlanChange = Static<typeof PlanSchema>;

const validator = createValidator(PLANS_FILE_SCHEMA);

/**
 * Fields of the plan record that are not enforced here, with the error for setting one: a plan would be sold with it.
 */
const NOT_ENFORCED = {
  imageLimit: 'imageDailyLimit limits images',
  imageMonthlyLimit: 'imageDailyLimit limits images',
  opusRequestLimit: 'requestLimit limits requests',
} as const;

/** An invalid plans file. The message names the file and the field. */
export class PlansFileError extends Error {
  override readonly name = 'PlansFileError';
}

/**
 * Reads the plans. An operator's file contains the differences: `plans` with their `id` and the fields to set, of known
 * or new plans (omitted fields are as in the plans of the service document), with a `price` in minor units and
 * additional `grants`; fields of `freeTier`; `publicPriceTablesVisible`; `support`.
 * @param file Default: no differences.
 * @param freeTierGrants Grants of the free tier besides those of the file. With `audio`, it has the audio models too.
 * @throws PlansFileError
 */
export async function readCatalogue(
  file: string | undefined,
  freeTierGrants: readonly KeyGrant[] = [],
): Promise<Catalogue> {
  const catalogue = file === undefined ? DEFAULT_CATALOGUE : await readPlansFile(file);
  return freeTierGrants.length === 0 ? catalogue : openFreeTier(catalogue, freeTierGrants);
}

function openFreeTier(catalogue: Catalogue, grants: readonly KeyGrant[]): Catalogue {
  const { freeTier, furtherGrants } = catalogue;
  const { id: planId, modelAccess } = freeTier;
  const others = furtherGrants.filter((further) => further.planId !== planId);
  const own = furtherGrants.find((further) => further.planId === planId)?.grants ?? [];
  const audio = grants.includes('audio') ? MODEL_NOTES.audio.map(({ model }) => model) : [];
  return {
    ...catalogue,
    freeTier: { ...freeTier, modelAccess: [...new Set([...modelAccess, ...audio])] },
    furtherGrants: [...others, { planId, grants: [...new Set([...own, ...grants])] }],
  };
}

async function readPlansFile(file: string): Promise<Catalogue> {
  const advice = 'Set PLANS_FILE to the file of plans.';
  const content = await readJsonFile(file, { validator, advice, failure: PlansFileError });
  const { plans = [], freeTier = {}, support, payAsYouGo = {}, publicPriceTablesVisible = false } = content;
  const { grants: freeGrants, ...freeFields } = freeTier;
  const { id: freeId } = DEFAULT_CATALOGUE.freeTier;
  const whole = readPlans(plans, file);
  const budgets = plans.flatMap(({ id, budget }, index) =>
    budgetOf(
      budget,
      whole.find((plan) => plan.id === id),
      `${file}: plans.${index}.budget`,
    ),
  );
  const planIds = [...whole.map(({ id }) => id), freeId, OPERATOR_PLAN.id];
  const topUps = readPackages(payAsYouGo, { where: file, planIds, Failure: PlansFileError });
  return {
    plans: whole,
    freeTier: { ...DEFAULT_CATALOGUE.freeTier, ...freeFields },
    prices: plans.flatMap(({ id: planId, price }) => (price ? [{ planId, ...price }] : [])),
    furtherGrants: [...plans, { id: freeId, grants: freeGrants }].flatMap(({ id: planId, grants }) =>
      grants ? [{ planId, grants }] : [],
    ),
    ...(budgets.length > 0 && { budgets }),
    ...(topUps.length > 0 && { topUps }),
    publicPriceTablesVisible,
    support: { ...DEFAULT_CATALOGUE.support, ...support },
  };
}

/** @throws PlansFileError */
function budgetOf(text: string | undefined, plan: Plan | undefined, field: string): PlanBudget[] {
  if (text === undefined || !plan) return [];
  const { id: planId, requestLimit, tokenLimit } = plan;
  const budget = parseBudget(text);
  if (!budget) throw new PlansFileError(`${field} must be ${BUDGET_FORM}; the period is day, month or lifetime (UTC).`);
  if (requestLimit === null && tokenLimit === null) return [{ planId, budget }];
  throw new PlansFileError(`${field} cannot be combined with requestLimit or tokenLimit. Set these to null.`);
}

function readPlans(given: NonNullable<PlansFile['plans']>, file: string): Plan[] {
  const plans = new Map(DEFAULT_CATALOGUE.plans.map((plan) => [plan.id, plan]));
  for (const [index, change] of given.entries()) {
    const { id } = change;
    if (id === DEFAULT_CATALOGUE.freeTier.id) {
      throw new PlansFileError(`${file}: plans.${index}.id is the id of the free tier; use the field freeTier for it.`);
    }
    if (id === OPERATOR_PLAN.id) {
      throw new PlansFileError(`${file}: plans.${index}.id is the id of the plan of operators; choose another one.`);
    }
    if (given.findIndex((plan) => plan.id === id) < index) {
      throw new PlansFileError(`${file}: plans.${index}.id ${id} is given twice.`);
    }
    if (change.price && !isCurrency(change.price.currency)) {
      throw new PlansFileError(`${file}: plans.${index}.price.currency must be an ISO 4217 code.`);
    }
    for (const [field, instead] of Object.entries(NOT_ENFORCED) as [keyof typeof NOT_ENFORCED, string][]) {
      if (typeof change[field] !== 'number') continue;
      throw new PlansFileError(`${file}: plans.${index}.${field} has no effect here; ${instead}.`);
    }
    const whole = changePlan(plans.get(id), change);
    if (whole.includedRpm > whole.maxRpm) {
      throw new PlansFileError(`${file}: plans.${index}.includedRpm is more than maxRpm (${whole.maxRpm}).`);
    }
    plans.set(id, whole);
  }
  return [...plans.values()];
}

function changePlan(
  known: Plan | undefined,
  { price: _price, grants: _grants, budget: _budget, ...fields }: PlanChange,
): Plan {
  return { ...PLAIN_PLAN, ...(fields.imageOnly && IMAGE_ONLY_PLAN), name: fields.id, ...known, ...fields };
}
