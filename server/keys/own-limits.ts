/*
 * Limits that the user of an account gives to one key, within those of the plan: grants, models and requests a minute.
 * They are stored beside the columns of the plan, as JSON, and each reader of the row gets what both allow. So a change
 * of the plan keeps them, and never widens a key beyond them. A limit that exceeds the plan when it is set is refused
 * with what the plan allows; one that exceeds it later has no effect.
 */

import { optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { isoTime } from '../format/index.js';
import { decodeBalance, withBalance } from './key-balance.js';
import type { ApiKeyRecord, ApiKeyRow, KeyGrant, KeyPlan } from './key-rows.js';

/** Absent limits are those of the plan. */
export interface OwnLimits {
  grants?: readonly KeyGrant[];
  /** Ids of models. */
  models?: readonly string[];
  /** Requests per minute and route family. */
  rpm?: number;
  /** Milliseconds since 1970. */
  expiresAt?: number;
}

/** What a user sets of a key. Null: as the plan. Absent limits stay as they are. */
export interface OwnLimitsChange {
  grants?: readonly KeyGrant[] | null;
  /** For each model all of its names, its id first: a plan may list any of them. */
  models?: readonly (readonly [string, ...string[]])[] | null;
  rpm?: number | null;
  expiresAt?: number | null;
}

type PlanLimits = Pick<KeyPlan, 'grants' | 'models' | 'rpm'>;

/** What a key may use of a plan. */
export function narrowPlan<Plan extends PlanLimits>(plan: Plan, own: OwnLimits | undefined): Plan & NarrowedPlan {
  if (!own) return plan;
  const { grants, models, rpm } = own;
  return {
    ...plan,
    ...(grants && { grants: plan.grants.filter((grant) => grants.includes(grant)) }),
    ...(models && { models, planModels: plan.models }),
    ...(rpm !== undefined && { rpm: Math.min(rpm, plan.rpm ?? rpm), planRpm: plan.rpm }),
  };
}

type NarrowedPlan = Pick<ApiKeyRecord, 'planModels' | 'planRpm'>;

/** @returns Undefined if all limits are those of the plan. */
export function decodeOwn({ ownLimits, accountId, expiresAt }: OwnColumns): OwnLimits | undefined {
  const ends = expiresAt !== null && accountId.startsWith('acct_');
  if (ownLimits === null && !ends) return undefined;
  return { ...(ownLimits !== null && (JSON.parse(ownLimits) as OwnLimits)), ...(ends && { expiresAt }) };
}

type OwnColumns = Pick<ApiKeyRow, 'ownLimits' | 'accountId' | 'expiresAt'>;

type PlanColumns = Pick<
  ApiKeyRow,
  'planId' | 'grants' | 'models' | 'rpm' | 'planExpiresAt' | 'followingPlans' | 'balance'
>;

/**
 * The columns of a key after a change of its own limits.
 * @throws GatewayError `invalid_value` with the field, if it exceeds the plan.
 */
export function changeOwn(
  row: PlanColumns & OwnColumns,
  change: OwnLimitsChange,
  now: number,
): Pick<ApiKeyRow, 'ownLimits' | 'expiresAt'> {
  const plan = planOf(row);
  const known: OwnLimits = row.ownLimits === null ? {} : (JSON.parse(row.ownLimits) as OwnLimits);
  const { grants = known.grants, rpm = known.rpm } = change;
  const models = change.models === undefined ? known.models : checkModels(change.models, plan.models, row.planId);
  if (change.grants) checkGrants(change.grants, plan.grants, row.planId);
  if (change.rpm !== undefined && change.rpm !== null && plan.rpm !== null && change.rpm > plan.rpm)
    throw beyond('rpm', `at most ${plan.rpm}, as the plan ${row.planId} allows`);
  if (change.expiresAt !== undefined) checkEnd(change.expiresAt, row, now);
  const own = { ...(grants && { grants }), ...(models && { models }), ...(typeof rpm === 'number' && { rpm }) };
  return {
    ownLimits: Object.keys(own).length === 0 ? null : JSON.stringify(own),
    expiresAt: change.expiresAt === undefined ? row.expiresAt : change.expiresAt,
  };
}

function planOf(row: PlanColumns): PlanLimits {
  const ofPlan = {
    grants: JSON.parse(row.grants) as KeyGrant[],
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    rpm: row.rpm,
  };
  return withBalance(ofPlan, decodeBalance(row));
}

/** What keys of an account may be granted, by its plan and its balance. */
export function grantsOfPlan(row: PlanColumns): readonly KeyGrant[] {
  return planOf(row).grants;
}

function checkGrants(wanted: readonly KeyGrant[], allowed: readonly KeyGrant[], planId: string | null): void {
  if (wanted.every((grant) => allowed.includes(grant))) return;
  throw beyond('grants', `among those of the plan ${planId}: ${allowed.join(', ')}`);
}

/** @returns The names by which the plan lists the models, or their ids. */
function checkModels(
  wanted: NonNullable<OwnLimitsChange['models']> | null,
  allowed: readonly string[] | null,
  planId: string | null,
): readonly string[] | null {
  if (wanted === null) return null;
  const listed = wanted.map((names) => (allowed ? names.find((name) => allowed.includes(name)) : names[0]));
  const known = listed.filter((name) => name !== undefined);
  if (known.length === listed.length) return [...new Set(known)];
  throw beyond('models', `among those of the plan ${planId}: ${allowed?.join(', ')}`);
}

/** A later plan of the account may follow the current one, so that its end is no limit. */
function checkEnd(
  end: number | null,
  { planId, planExpiresAt, followingPlans, balance }: PlanColumns,
  now: number,
): void {
  if (end === null) return;
  if (end <= now) throw beyond('expiresAt', 'in the future');
  if (planExpiresAt === null || followingPlans !== null || balance !== null || end <= planExpiresAt) return;
  throw beyond('expiresAt', `no later than the end of the plan ${planId}, ${isoTime(planExpiresAt)}`);
}

function beyond(param: keyof OwnLimits, accepted: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

/** The limits of a change in words, for the audit log: `own rpm 10`. */
export function describeOwn(row: OwnColumns, change: OwnLimitsChange): string[] {
  const { grants, models, rpm, expiresAt } = decodeOwn(row) ?? {};
  return [
    ...(change.grants === undefined ? [] : [`own grants ${grants?.join(',') ?? 'as the plan'}`]),
    ...(change.rpm === undefined ? [] : [`own rpm ${rpm ?? 'as the plan'}`]),
    ...(change.models === undefined ? [] : [`own models ${models?.join(',') ?? 'as the plan'}`]),
    ...(change.expiresAt === undefined ? [] : [`expires ${isoTime(expiresAt ?? null) ?? 'with the plan'}`]),
  ];
}

/** The own limits of a key for its user; null: as the plan. */
export function encodeOwn({ own = {} }: Pick<ApiKeyRecord, 'own'>) {
  const { grants = null, models = null, rpm = null, expiresAt = null } = own;
  return { grants, models, rpm, expiresAt: isoTime(expiresAt) };
}

/** The same in the `--json` output; absent limits are those of the plan. */
export function describeOwnLimits({ grants, models, rpm, expiresAt }: OwnLimits) {
  return {
    ...(grants && { grants }),
    ...(models && { models }),
    ...(rpm !== undefined && { rpm }),
    ...(expiresAt !== undefined && { expires_at: isoTime(expiresAt) }),
  };
}

/** Schema of {@link describeOwnLimits}. */
export const OwnLimitsShape = Type.Object({
  grants: optional(Type.Array(Type.String()), 'Groups of routes.'),
  models: optional(Type.Array(Type.String()), 'Ids of models.'),
  rpm: optional(Type.Integer(), 'Requests in 60 seconds.'),
  expires_at: optional(Type.String(), 'When it ends (RFC 3339).'),
});
