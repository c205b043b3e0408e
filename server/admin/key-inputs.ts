/*
 * Makes and changes keys of operators: reads their bodies, and looks up models, plans and groups. A user's key has the
 * limits of its plan, so they are not changed here. An unknown name is answered with the closest one.
 */

import { JOB_PRIORITIES, type JobPriority, optional, type Static, Type } from '../../core/contracts/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import { BUDGET_FORM, type BudgetAmount } from '../budgets/index.js';
import { parseIsoTime } from '../format/index.js';
import { Nullable, OneOf } from '../http/index.js';
import {
  type ApiKeyRecord,
  createKeyRecord,
  isSiteAccount,
  type KeyChange,
  type KeyGrant,
  LOCAL_ACCOUNT,
  NO_PLAN,
  OPERATOR_KEY_GRANTS,
  soonerOf,
} from '../keys/index.js';
import { unknownName } from '../names/index.js';
import { type PlanKey, planKey } from '../plans/index.js';
import { type AdminActor, NOTE, strict } from './admin-route.js';
import { changedGrants, checkCurrency, checkName, limitRpm, MAX_RPM, newGrants, parseBudgets } from './key-rules.js';
import type { Of, Stored } from './services.js';

const ACCOUNT = '^[a-z0-9][a-z0-9_.-]{0,63}$';

const Grants = Type.Array(Type.Unsafe<KeyGrant>(OneOf(...OPERATOR_KEY_GRANTS)), { minItems: 1, maxItems: 10 });
const Models = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { minItems: 1, maxItems: 200 });
const Rpm = Type.Integer({ minimum: 0, maximum: MAX_RPM });
const KeyBudgetList = Type.Array(Type.String({ maxLength: 60, title: BUDGET_FORM }), { maxItems: 20 });
const Moment = Type.String({ maxLength: 40, title: 'a time such as 2030-12-31T12:00:00Z' });
const Name = Type.String({ minLength: 1, maxLength: 100 });

const LIMITS = {
  grants: optional(Grants, 'Groups of routes and permissions. `admin` opens the admin API.'),
  models: optional(Nullable(Models), 'Ids of the models that it may use; null is all.'),
  rpm: optional(Nullable(Rpm), 'Requests per minute and route family; null is unlimited.'),
  expires_at: optional(Nullable(Moment), 'When it ends (RFC 3339); null is never.'),
  budgets: optional(KeyBudgetList, 'All of its own budgets. An empty list removes them.', ['50 USD/month']),
  group: optional(Nullable(Type.String({ maxLength: 64 })), 'Its group; null takes it out.'),
  priority: optional(
    Type.Unsafe<JobPriority>(OneOf(...JOB_PRIORITIES)),
    'Order of its jobs among those of its account.',
  ),
};

/** Body of a new key. */
export const NewKeyBody = Type.Object(
  {
    name: optional(Name, 'What the key is for. Default `key`.'),
    account: optional(
      Type.String({ pattern: ACCOUNT, title: 'a name of 1 to 64 of a-z, 0-9, "_", "." and "-"' }),
      'Account that owns it; its keys share jobs and limits. Default: none.',
    ),
    plan: optional(Type.String({ maxLength: 64 }), 'Id of a plan, whose limits it has. Default: none.'),
    ...LIMITS,
  },
  strict,
);

/** Body of a change; absent fields stay as they are. */
export const KeyChangeBody = Type.Object({ name: optional(Name, 'What the key is for.'), ...LIMITS, ...NOTE }, strict);

type KeyServices = Stored<'budgets' | 'usage'> &
  Of<'gateway' | 'catalogue' | 'freeTierPeriod' | 'pepper' | 'clock' | 'keys'>;

/** Makes a key of the operator's own. @throws GatewayError `invalid_value` with the field. */
export async function makeKey(
  services: KeyServices,
  body: Static<typeof NewKeyBody>,
  { actor }: AdminActor,
): Promise<{ key: string; record: ApiKeyRecord; expiresAt: number | null }> {
  const { state, pepper, clock, keys } = services;
  const { account: accountId = LOCAL_ACCOUNT, group, priority, budgets = [] } = body;
  if (isSiteAccount(accountId) || (body.account !== undefined && accountId === LOCAL_ACCOUNT)) {
    throw invalid('account', 'a name that is no account of a user');
  }
  const ofPlan = body.plan === undefined ? undefined : planOf(services, body.plan, accountId);
  const grants = newGrants(body.grants, ofPlan);
  const models = modelsOf(services, body.models, ofPlan);
  const wanted = {
    name: checkName(body.name ?? 'key'),
    accountId,
    grants,
    rpm: limitRpm(body.rpm, ofPlan),
    expiresAt: body.expires_at == null ? null : readEnd(body.expires_at, clock.now()),
    plan: { ...(ofPlan?.plan ?? NO_PLAN), models },
  };
  const amounts = await readAmounts(services, budgets);
  const made = createKeyRecord(wanted, pepper, clock.now());
  const planExpiresAt = ofPlan?.expiresAt ?? null;
  const record = await state.budgets
    .createKey({
      record: { ...made.record, ...(group != null && { groupName: group }), ...(priority && { priority }) },
      planExpiresAt,
      budgets: amounts,
      ...(ofPlan?.budget && { planBudget: ofPlan.budget }),
      actor,
    })
    .catch(withGroups(services, group));
  await keys.refresh();
  return { key: made.key, record, expiresAt: soonerOf(record.expiresAt, planExpiresAt) };
}

/** Changes what is given of a key. @throws GatewayError `invalid_value`, `missing_required_parameter`. */
export async function changeKey(
  services: KeyServices,
  record: ApiKeyRecord,
  body: Static<typeof KeyChangeBody>,
  by: AdminActor,
): Promise<ApiKeyRecord> {
  const { state, clock, keys } = services;
  const { name, grants, models, rpm, expires_at: end, budgets, group, priority } = body;
  if (Object.keys(body).length === 0) {
    const names = Object.keys(KeyChangeBody.properties).join(', ');
    throw new GatewayError('missing_required_parameter', `Send what changes: ${names}.`);
  }
  const limits = grants === undefined && models === undefined && rpm === undefined;
  const ofPlan = limits ? undefined : planOfKey(services, record);
  const change: KeyChange = {
    ...(name !== undefined && { name: checkName(name) }),
    ...(grants && { grants: changedGrants(grants, record, ofPlan) }),
    ...(models !== undefined && { models: modelsOf(services, models, ofPlan) }),
    ...(rpm !== undefined && { rpm: limitRpm(rpm, ofPlan) }),
    ...(priority && { priority }),
    ...(end !== undefined && { expiresAt: end === null ? null : readEnd(end, clock.now()) }),
  };
  const changed = await state.budgets
    .changeKey({
      id: record.id,
      ...(Object.keys(change).length > 0 && { properties: change }),
      ...(group !== undefined && { groupName: group }),
      ...(budgets && { budgets: await readAmounts(services, budgets) }),
      ...by,
    })
    .catch(withGroups(services, group));
  await keys.refresh();
  return changed;
}

function planOf({ catalogue, freeTierPeriod, clock }: KeyServices, id: string, accountId: string): PlanKey {
  const found = planKey(id, { catalogue, freeTierPeriod, accountId, now: clock.now() });
  if (found) return found;
  throw unknownName('plan', id, [...catalogue.plans.map((plan) => plan.id), catalogue.freeTier.id]);
}

/** The plan whose limits a key has. @throws GatewayError `invalid_value` for a user's key, or a plan that is gone. */
function planOfKey(services: KeyServices, record: ApiKeyRecord): PlanKey | undefined {
  const { planId, accountId, createdAt } = record;
  if (isSiteAccount(accountId)) {
    const message = `This key belongs to the account ${accountId} of a user, whose plan has its grants, models and rpm.`;
    throw new GatewayError('invalid_value', message, { param: 'id' });
  }
  if (planId === null) return undefined;
  const { catalogue, freeTierPeriod } = services;
  const found = planKey(planId, { catalogue, freeTierPeriod, accountId, now: createdAt });
  if (found) return found;
  const message = `The plan ${planId} of this key is not in the list of plans, so only name, end and budgets can change.`;
  throw new GatewayError('invalid_value', message, { param: 'id' });
}

/** A mistyped model would make a key that is refused everywhere. */
function modelsOf(
  { gateway }: Of<'gateway'>,
  given: readonly string[] | null | undefined,
  ofPlan: PlanKey | undefined,
): readonly string[] | null {
  const ofItsPlan = ofPlan?.plan.models ?? null;
  if (given == null) return ofItsPlan;
  const known = ofItsPlan ?? gateway.models().map(({ id }) => id);
  const unknown = given.find((id) => !known.includes(id));
  if (unknown !== undefined) throw unknownName('models', unknown, known);
  return [...new Set(given)];
}

function readEnd(text: string, now: number): number {
  const at = parseIsoTime(text);
  if (at !== undefined && at > now) return at;
  throw invalid('expires_at', 'a time in the future such as 2030-12-31T12:00:00Z');
}

/** @throws GatewayError `invalid_value`. */
export async function readAmounts({ state }: Stored<'usage'>, texts: readonly string[]): Promise<BudgetAmount[]> {
  const amounts = parseBudgets(texts);
  await checkCurrency(state, amounts);
  return amounts;
}

/** Names the groups that exist in the error about one that does not. */
function withGroups({ state: { budgets } }: Stored<'budgets'>, group: string | null | undefined) {
  return async (error: unknown): Promise<never> => {
    if (!isGatewayError(error) || error.param !== 'group' || group == null) throw error;
    throw unknownName(
      'group',
      group,
      (await budgets.groups()).map(({ name }) => name),
    );
  };
}

function invalid(param: string, accepted: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}
