import { readFile } from 'node:fs/promises';
import { createValidator, Type } from 'mediagate';
import { type Catalogue, DEFAULT_CATALOGUE, PLAIN_PLAN } from './catalogue.js';

const strict = { additionalProperties: false } as const;
const Limit = Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: 1e15 }), Type.Null()]));
const Rpm = Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 }));
const Text = Type.Optional(Type.Union([Type.String({ maxLength: 1_000 }), Type.Null()]));
const Flag = Type.Optional(Type.Boolean());
const Name = Type.Optional(Type.String({ minLength: 1, maxLength: 100 }));

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
  },
  strict,
);

const FreeTierSchema = Type.Object(
  {
    name: Name,
    requestLimit: Type.Optional(Type.Integer({ minimum: 0, maximum: 1e15 })),
    rpm: Rpm,
    modelAccess: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1 })),
  },
  strict,
);

const validator = createValidator(
  Type.Object({ plans: Type.Optional(Type.Array(PlanSchema)), freeTier: Type.Optional(FreeTierSchema) }, strict),
);

/** A file of plans that cannot be used. The message names the file and the member. */
export class PlansFileError extends Error {
  override readonly name = 'PlansFileError';
}

/**
 * The plans there are. A file of an operator's says what differs: `plans` with their `id` and the members to set, of known
 * plans or of further ones (members left out are as in the plans of the service document), and members of `freeTier`.
 * @param file Default: nothing differs.
 * @throws PlansFileError
 */
export async function readCatalogue(file: string | undefined): Promise<Catalogue> {
  if (file === undefined) return DEFAULT_CATALOGUE;
  const checked = validator.check(await readJson(file));
  if (!checked.ok) {
    const issue = checked.issues[0];
    throw new PlansFileError(`${file}: ${issue?.path || 'the file'} ${issue?.message ?? 'is not valid'}.`);
  }
  const plans = new Map(DEFAULT_CATALOGUE.plans.map((plan) => [plan.id, plan]));
  const given = checked.value.plans ?? [];
  for (const [index, plan] of given.entries()) {
    if (plan.id === DEFAULT_CATALOGUE.freeTier.id) {
      throw new PlansFileError(`${file}: plans.${index}.id is that of the free tier, which has a member of its own.`);
    }
    if (given.findIndex(({ id }) => id === plan.id) < index) {
      throw new PlansFileError(`${file}: plans.${index}.id ${plan.id} is there twice.`);
    }
    const whole = { ...PLAIN_PLAN, name: plan.id, ...plans.get(plan.id), ...plan };
    if (whole.includedRpm > whole.maxRpm) {
      throw new PlansFileError(`${file}: plans.${index}.includedRpm is more than maxRpm (${whole.maxRpm}).`);
    }
    plans.set(plan.id, whole);
  }
  return { plans: [...plans.values()], freeTier: { ...DEFAULT_CATALOGUE.freeTier, ...checked.value.freeTier } };
}

async function readJson(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (cause) {
    throw new PlansFileError(`${file} cannot be read. PLANS_FILE names the file of plans.`, { cause });
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new PlansFileError(`${file} is not JSON: ${cause instanceof Error ? cause.message : cause}.`, { cause });
  }
}
