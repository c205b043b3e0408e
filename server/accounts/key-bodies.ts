/*
 * The bodies of requests that make, change, rotate and revoke keys of a user. Types are strict, unknown fields are
 * refused, and an error names the field and what it accepts. Whether a limit is within the plan is checked later, in
 * the transaction that writes it; models, dates and currencies are checked here. In a change null means as the plan; in
 * other bodies it counts as not sent.
 */

import type { Gateway } from 'mediagate';
import { optional, Type } from '../../core/contracts/index.js';
import { createValidator, GatewayError, type Validator } from '../../core/runtime/index.js';
import { BUDGET_FORM, type BudgetAmount, parseBudget, renderBudget } from '../budgets/index.js';
import { isVisible, parseIsoTime } from '../format/index.js';
import { Nullable, OneOf } from '../http/index.js';
import { KEY_GRANTS, type KeyGrant, type OwnLimitsChange } from '../keys/index.js';
import type { Prices } from '../prices/index.js';

type Body = Readonly<Record<string, unknown>>;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MAX_NAME = 100;
const DEFAULT_NAME = 'default';
const DEFAULT_OVERLAP_HOURS = 24;
/** Of a rotated key: a week. */
export const MAX_OVERLAP_HOURS = 168;
const MAX_RPM = 1_000_000;
const MAX_MODELS = 50;
const MAX_BUDGETS = 3;
const MAX_DAYS = 3_650;

export const MAX_KEY_BODY_BYTES = 16_384;

const strict = { additionalProperties: false } as const;

const Name = Type.String({ maxLength: MAX_NAME });
const Grants = Type.Array(Type.Unsafe<KeyGrant>(OneOf(...KEY_GRANTS)), { minItems: 1, maxItems: KEY_GRANTS.length });
const Models = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: MAX_MODELS });
const Rpm = Type.Integer({ minimum: 1, maximum: MAX_RPM });
const Moment = Type.String({ maxLength: 40 });
const Days = Type.Integer({ minimum: 1, maximum: MAX_DAYS });
const KeyBudgets = Type.Array(Type.String({ maxLength: 60 }), { maxItems: MAX_BUDGETS });

const WORDS = {
  grants: 'Groups of routes, among those of the plan.',
  models: 'Ids of models, among those of the plan.',
  rpm: 'Requests in 60 seconds for each family of routes, at most those of the plan. They also count for the account.',
  expiresAt: 'When the key ends (RFC 3339), no later than the plan.',
  expiresInDays: 'The same in days from now. Give one of both.',
  budgets: `Its own budgets, at most ${MAX_BUDGETS}: ${BUDGET_FORM}. Money needs prices.`,
} as const;

/** Body of `POST /api/user` and `POST /api/user/keys`. */
export const KeyBodySchema = Type.Object(
  {
    name: optional(Name, `Name of the key. Default "${DEFAULT_NAME}".`),
    grants: optional(Grants, `${WORDS.grants} Default: all of the plan.`),
    models: optional(Models, `${WORDS.models} Default: all of the plan.`),
    rpm: optional(Rpm, `${WORDS.rpm} Default: those of the plan.`),
    expiresAt: optional(Moment, `${WORDS.expiresAt} Default: it ends with the plan.`),
    expiresInDays: optional(Days, WORDS.expiresInDays),
    budgets: optional(KeyBudgets, `${WORDS.budgets} Default: none.`),
  },
  strict,
);

/** Body of `POST /api/user/keys/{id}`. */
export const KeyChangeSchema = Type.Object(
  {
    name: optional(Name, 'Name of the key.'),
    grants: optional(Nullable(Grants), `${WORDS.grants} Null: all of the plan.`),
    models: optional(Nullable(Models), `${WORDS.models} Null: all of the plan.`),
    rpm: optional(Nullable(Rpm), `${WORDS.rpm} Null: those of the plan.`),
    expiresAt: optional(Nullable(Moment), `${WORDS.expiresAt} Null: it ends with the plan.`),
    expiresInDays: optional(Days, WORDS.expiresInDays),
    budgets: optional(
      KeyBudgets,
      `${WORDS.budgets} One with the unit and period of an earlier one keeps its usage. An empty list removes them.`,
    ),
  },
  strict,
);

/** Body of `POST /api/user/rotate`. */
export const RotationBodySchema = Type.Object(
  {
    keyId: optional(
      Type.String({ pattern: '^[0-9A-Za-z]{8}$' }),
      'Id of the key to replace; needed if the account has several. Default: its only one.',
    ),
    overlapHours: optional(
      Type.Number({ minimum: 0, maximum: MAX_OVERLAP_HOURS }),
      `Hours for which the old key keeps working, at most ${MAX_OVERLAP_HOURS}. Default ${DEFAULT_OVERLAP_HOURS}.`,
    ),
  },
  strict,
);

/** Body of `POST /api/user/keys/{id}/revoke`. */
export const RevocationBodySchema = Type.Object(
  {
    jobs: optional(
      OneOf('cancel', 'keep'),
      'Whether queued and running jobs of the key are cancelled, or kept for the account. Default `cancel`.',
    ),
  },
  strict,
);

const keyBody = createValidator(KeyBodySchema);
const changeBody = createValidator(KeyChangeSchema);
const rotationBody = createValidator(RotationBodySchema);
const revocationBody = createValidator(RevocationBodySchema);

const ACCEPTED: Readonly<Record<string, string>> = {
  name: `a string of 1 to ${MAX_NAME} visible characters`,
  grants: `a list of ${KEY_GRANTS.join(', ')}`,
  models: `a list of 1 to ${MAX_MODELS} ids of models`,
  rpm: `a whole number from 1 to ${MAX_RPM}`,
  expiresAt: 'a time such as 2030-12-31T12:00:00Z',
  expiresInDays: `a whole number from 1 to ${MAX_DAYS}, without expiresAt`,
  budgets: `a list of at most ${MAX_BUDGETS} budgets, each ${BUDGET_FORM}`,
  keyId: 'a key id of 8 characters',
  overlapHours: `a number from 0 to ${MAX_OVERLAP_HOURS}`,
  jobs: '"cancel" or "keep"',
};

/** What limits are checked against, besides the plan. */
export interface KeyBodyOptions {
  gateway: Pick<Gateway, 'models' | 'resolveModel'>;
  /** Default: there are no prices, and no budget of money. */
  prices?: Pick<Prices, 'currency'> | undefined;
  /** Milliseconds since 1970. */
  now: number;
}

export interface DecodedKey {
  name: string;
  own: OwnLimitsChange;
  /** As {@link parseBudget} reads them. */
  budgets: readonly string[];
}

/** A new key. @throws GatewayError `invalid_value`, `unsupported_parameter` with `param`. */
export function decodeKeyBody(body: Body, options: KeyBodyOptions): DecodedKey {
  const { name = DEFAULT_NAME, ...limits } = check(keyBody, withoutNulls(body));
  const { own, budgets = [] } = decodeLimits(limits, options);
  return { name: checkName(name), own, budgets: budgets.map(renderBudget) };
}

export interface DecodedChange {
  properties?: { name?: string; own?: OwnLimitsChange };
  budgets?: readonly BudgetAmount[];
}

/** What changes of a key; null is as the plan. @throws GatewayError as {@link decodeKeyBody}. */
export function decodeKeyChange(body: Body, options: KeyBodyOptions): DecodedChange {
  const { name, ...limits } = check(changeBody, body);
  const { own, budgets } = decodeLimits(limits, options);
  const properties = {
    ...(name !== undefined && { name: checkName(name) }),
    ...(Object.keys(own).length > 0 && { own }),
  };
  const isEmpty = Object.keys(properties).length === 0;
  if (isEmpty && !budgets) {
    const names = Object.keys(KeyChangeSchema.properties).join(', ');
    throw new GatewayError('missing_required_parameter', `Give what changes: ${names}.`);
  }
  return { ...(!isEmpty && { properties }), ...(budgets && { budgets }) };
}

interface GivenLimits {
  grants?: readonly KeyGrant[] | null;
  models?: readonly string[] | null;
  rpm?: number | null;
  expiresAt?: string | null;
  expiresInDays?: number;
  budgets?: readonly string[];
}

function decodeLimits(
  { grants, models, rpm, expiresAt, expiresInDays, budgets }: GivenLimits,
  { gateway, prices, now }: KeyBodyOptions,
): { own: OwnLimitsChange; budgets?: readonly BudgetAmount[] } {
  if (expiresInDays !== undefined && expiresAt !== undefined) throw unaccepted('expiresInDays');
  const end = expiresInDays === undefined ? expiresAt : now + expiresInDays * DAY_MS;
  const own = {
    ...(grants !== undefined && { grants: grants && KEY_GRANTS.filter((grant) => grants.includes(grant)) }),
    ...(models !== undefined && { models: models === null ? null : models.map((name) => namesOf(name, gateway)) }),
    ...(rpm !== undefined && { rpm }),
    ...(end !== undefined && { expiresAt: typeof end === 'string' ? readTime(end) : end }),
  };
  return { own, ...(budgets && { budgets: readBudgets(budgets, prices?.currency) }) };
}

/** All names of a model, its id first. A mistyped one would make a key that is refused everywhere. */
function namesOf(name: string, gateway: KeyBodyOptions['gateway']): readonly [string, ...string[]] {
  const known = gateway.models().map(({ id }) => id);
  if (!known.includes(name)) {
    const message = `There is no model ${name.slice(0, 100)}. GET /v1/models lists the models of a key.`;
    throw new GatewayError('invalid_value', message, { param: 'models' });
  }
  const id = gateway.resolveModel(name);
  return [id, ...known.filter((each) => each !== id && gateway.resolveModel(each) === id)];
}

function readTime(text: string): number {
  const time = parseIsoTime(text);
  if (time === undefined) throw unaccepted('expiresAt');
  return time;
}

/** Requests under a budget in a currency without prices would all be refused. */
function readBudgets(texts: readonly string[], currency: string | undefined): readonly BudgetAmount[] {
  const amounts = texts.map((text) => parseBudget(text) ?? fail('budgets'));
  const inMoney = amounts.find((amount) => amount.unit === 'money' && amount.currency !== currency);
  if (inMoney) {
    const accepted =
      currency === undefined
        ? 'of tokens or requests: this gateway has no prices'
        : `in ${currency}, as the prices are`;
    throw new GatewayError('invalid_value', `budgets must be ${accepted}.`, { param: 'budgets' });
  }
  const kinds = amounts.map(({ unit, resets }) => `${unit} ${resets}`);
  if (new Set(kinds).size === kinds.length) return amounts;
  const message = 'budgets must name each unit and period once.';
  throw new GatewayError('invalid_value', message, { param: 'budgets' });
}

export interface DecodedRotation {
  id?: string;
  overlapMs: number;
}

/** The key to be replaced. @throws GatewayError as {@link decodeKeyBody} does. */
export function decodeRotationBody(body: Body): DecodedRotation {
  const { keyId, overlapHours = DEFAULT_OVERLAP_HOURS } = check(rotationBody, withoutNulls(body));
  return { ...(keyId !== undefined && { id: keyId }), overlapMs: Math.round(overlapHours * HOUR_MS) };
}

/** Whether the jobs of the key are kept. @throws GatewayError as {@link decodeKeyBody} does. */
export function decodeRevocationBody(body: Body): boolean {
  return check(revocationBody, withoutNulls(body)).jobs === 'keep';
}

/** Names are displayed in terminals and tables. */
function checkName(given: string): string {
  const name = given.trim();
  return isVisible(name) ? name : fail('name');
}

function withoutNulls(body: Body): Body {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}

function check<Checked>(validator: Validator<Checked>, body: Body): Checked {
  const checked = validator.check(body);
  if (checked.ok) return checked.value;
  const [issue] = checked.issues;
  if (issue?.keyword !== 'additionalProperties') return fail(issue?.path.split(/[.[/]/)[0] ?? '');
  const param = String(issue.params.additionalProperty).slice(0, 100);
  throw new GatewayError('unsupported_parameter', 'The body has an unknown field.', { param });
}

function fail(param: string): never {
  throw unaccepted(param);
}

function unaccepted(param: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${ACCEPTED[param]}.`, { param });
}
