/*
 * Changes properties of a key in a transaction that locks its row, and writes an audit row with the old and the new
 * values, but not the name. A revoked key cannot change, and a key cannot end later than its plan. A user changes the
 * own limits of a key, never the columns of its plan, and only of a key that is in use: an expired or replaced one would
 * become a further valid key.
 */

import { type DatabaseClock, type Engine, storable, type Tables, type Transaction } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import { isoTime } from '../format/index.js';
import { type ApiKeyRecord, type ApiKeyRow, accountAt, isValidRow, keyAt, lockKey, toKeyRecord } from './key-rows.js';
import { changeOwn, describeOwn, type OwnLimitsChange } from './own-limits.js';

/** What an operator changes of a key. Absent fields stay as they are. */
export type KeyChange = Partial<Pick<ApiKeyRecord, 'name' | 'grants' | 'rpm' | 'models' | 'expiresAt' | 'priority'>> & {
  /** What its user limits it to within the plan. */
  own?: OwnLimitsChange;
};

export interface KeyUpdate {
  id: string;
  /** The account whose valid key it must be. Default: it may be any key. */
  accountId?: string | undefined;
  change: KeyChange;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
}

/**
 * Changes a key within a transaction, and writes the audit row `key.updated`.
 * @throws GatewayError `key_not_found`; `key_replaced`; `invalid_value` if it was revoked, would end later than its
 *   plan, or have own limits that exceed it.
 */
export async function updateKey(
  transaction: Transaction<Tables>,
  { engine, times }: { engine: Engine; times: DatabaseClock },
  { id, accountId, change, actor, note }: KeyUpdate,
): Promise<ApiKeyRecord> {
  const row = await lockKey(transaction, engine, id);
  const now = await times.read(transaction);
  if (accountId !== undefined) checkOwned(row, accountId, now);
  if (!row) throw new GatewayError('key_not_found', `There is no key with the id ${storable(id, 100)}.`);
  if (row.revokedAt !== null)
    throw new GatewayError('invalid_value', `Key ${id} is revoked and cannot be changed.`, { param: 'id' });
  checkEnd(row, change);
  const { grants, models, own, ...columns } = change;
  const written = {
    ...columns,
    ...(own && changeOwn(accountAt(row, now), own, now)),
    ...(grants && { grants: JSON.stringify(grants) }),
    ...(models !== undefined && { models: models && JSON.stringify(models) }),
    changedAt: now,
  };
  await transaction.updateTable('api_keys').set(written).where('id', '=', id).execute();
  const to = { ...row, ...written };
  const states = { from: describeChange(row, change), to: describeChange(to, change) };
  await writeAudit(transaction, { subject: id, at: now, actor, action: 'key.updated', ...states, note });
  return keyAt(toKeyRecord(to), now);
}

/** @throws GatewayError `key_not_found`, `key_replaced`. */
function checkOwned(row: ApiKeyRow | undefined, accountId: string, now: number): void {
  if (row?.accountId !== accountId || row.internal !== null || !isValidRow(row, now))
    throw new GatewayError('key_not_found', 'This account has no valid key with this id.');
  if (row.replacedBy === null) return;
  throw new GatewayError('key_replaced', `This key was replaced by ${row.replacedBy}. Change that one.`);
}

/** A later plan of the account may follow the current one, so that its end is no limit. */
function checkEnd(
  { planId, planExpiresAt, followingPlans, balance }: ApiKeyRow,
  { expiresAt = null }: KeyChange,
): void {
  if (expiresAt === null || planExpiresAt === null || followingPlans !== null || expiresAt <= planExpiresAt) return;
  // A balance continues after the plan.
  if (balance !== null) return;
  const message = `must not be later than the end of the plan ${planId}, ${isoTime(planExpiresAt)}.`;
  throw new GatewayError('invalid_value', `expires_at ${message}`, { param: 'expires_at' });
}

const MAX_STATE = 500;

/** The changed properties, for the audit log. A name may be personal data, so it is not written. */
function describeChange(row: ApiKeyRow, change: KeyChange): string {
  const record = toKeyRecord(row);
  const parts = [
    ...(change.name === undefined ? [] : ['name']),
    ...describeLimits(record, change),
    ...(change.own ? describeOwn(row, change.own) : []),
    ...(change.expiresAt === undefined ? [] : [`expires ${isoTime(record.expiresAt) ?? 'never'}`]),
  ];
  return storable(parts.join('; '), MAX_STATE);
}

/** The changed limits of a key, in words: `rpm 300`. */
export function describeLimits(
  { grants, rpm, models, priority = 'normal' }: ApiKeyRecord,
  change: KeyChange,
): string[] {
  return [
    ...(change.grants === undefined ? [] : [`grants ${grants.join(',')}`]),
    ...(change.rpm === undefined ? [] : [`rpm ${rpm ?? 'unlimited'}`]),
    ...(change.priority === undefined ? [] : [`priority ${priority}`]),
    ...(change.models === undefined ? [] : [`models ${models?.join(',') ?? 'all'}`]),
  ];
}
