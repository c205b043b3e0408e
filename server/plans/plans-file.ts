import { readFile } from 'node:fs/promises';
import { type Static, Type } from '../../core/contracts/index.js';
import { createValidator } from '../../core/runtime/index.js';
import { isCurrency } from '../format/index.js';
import { KEY_GRANTS } from '../keys/index.js';
import { type Catalogue, DEFAULT_CATALOGUE, IMAGE_ONLY_PLAN, PLAIN_PLAN, type Plan } from './catalogue.js';

const strict = { additionalProperties: false } as const;
const Limit = Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 1e15 }), Type.Null()]));
const Rpm = Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 }));
const Text = Type.Optional(Type.Union([Type.String({ maxLength: 1_000 }), Type.Null()]));
const Flag = Type.Optional(Type.Boolean());
const Name = Type.Optional(Type.String({ minLength: 1, maxLength: 100 }));

const Grants = Type.Optional(Type.Array(Type.Union(KEY_GRANTS.map((grant) => Type.Literal(grant)))));
const Price = Type.Object(
  { amount: Type.Integer({ minimum: 1, maximum: 1e15 }), currency: Type.String({ pattern: '^[A-Z]{3}$' }) },
  strict,
);

const PlanSchema = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9_.-]{0,63}$' }),
    name: Name,
    durationDays: Type.Optional(Type.Integer({ minimum: 0, maximum: 36_500 })),
    requestLimit: Limit,
    tokenLimit: Limit,
    dailyTokenLimit: Limit,
    imageLimit: Limit,
    imageMonthlyLimit: Limit,
    opusRequestLimit: Limit,
    imageLimitText: Text,
    imageDailyLimit: Limit,
    maxImagesPerRequest: Limit,
    allModels: Flag,
    includesAudio: Flag,
    includesImage: Flag,
    imageOnly: Flag,
    note: Text,
    includedRpm: Rpm,
    maxRpm: Rpm,
    price: Type.Optional(Price),
    grants: Grants,
  },
  strict,
);

const FreeTierSchema = Type.Object(
  {
    name: Name,
    requestLimit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1e15 })),
    rpm: Rpm,
    modelAccess: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1 })),
    grants: Grants,
  },
  strict,
);

const SupportSchema = Type.Object(
  {
    text: Type.Optional(Type.String({ minLength: 1, maxLength: 1_000 })),
    email: Type.Optional(Type.String({ pattern: '^[^\\s@<>"]+@[^\\s@<>"]+$', maxLength: 254 })),
    url: Type.Optional(Type.String({ pattern: '^https?://[^\\s<>"]+$', maxLength: 1_000 })),
  },
  strict,
);

const FileSchema = Type.Object(
  {
    plans: Type.Optional(Type.Array(PlanSchema)),
    freeTier: Type.Optional(FreeTierSchema),
    publicPriceTablesVisible: Flag,
    support: Type.Optional(SupportSchema),
  },
  strict,
);
type PlansFile = Static<typeof FileSchema>;
type PlanChange = Static<typeof PlanSchema>;

const validator = createValidator(FileSchema);

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
 * @throws PlansFileError
 */
export async function readCatalogue(file: string | undefined): Promise<Catalogue> {
  if (file === undefined) return DEFAULT_CATALOGUE;
  const checked = validator.check(await readJson(file));
  if (!checked.ok) {
    const issue = checked.issues[0];
    throw new PlansFileError(`${file}: ${issue?.path || 'the file'} ${issue?.message ?? 'is not valid'}.`);
  }
  const { plans = [], freeTier = {}, support, publicPriceTablesVisible = false } = checked.value;
  const { grants: freeGrants, ...freeFields } = freeTier;
  const { id: freeId } = DEFAULT_CATALOGUE.freeTier;
  return {
    plans: readPlans(plans, file),
    freeTier: { ...DEFAULT_CATALOGUE.freeTier, ...freeFields },
    prices: plans.flatMap(({ id: planId, price }) => (price ? [{ planId, ...price }] : [])),
    furtherGrants: [...plans, { id: freeId, grants: freeGrants }].flatMap(({ id: planId, grants }) =>
      grants ? [{ planId, grants }] : [],
    ),
    publicPriceTablesVisible,
    support: { ...DEFAULT_CATALOGUE.support, ...support },
  };
}

function readPlans(given: NonNullable<PlansFile['plans']>, file: string): Plan[] {
  const plans = new Map(DEFAULT_CATALOGUE.plans.map((plan) => [plan.id, plan]));
  for (const [index, change] of given.entries()) {
    const { id } = change;
    if (id === DEFAULT_CATALOGUE.freeTier.id) {
      throw new PlansFileError(`${file}: plans.${index}.id is the id of the free tier; use the field freeTier for it.`);
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

function changePlan(known: Plan | undefined, { price: _price, grants: _grants, ...fields }: PlanChange): Plan {
  return { ...PLAIN_PLAN, ...(fields.imageOnly && IMAGE_ONLY_PLAN), name: fields.id, ...known, ...fields };
}

async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new PlansFileError(`${file} cannot be read. Set PLANS_FILE to the file of plans.`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PlansFileError(`${file} is not JSON: ${cause instanceof Error ? cause.message : cause}.`, { cause });
  }
}
