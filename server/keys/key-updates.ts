/*
 * Changes properties of a key in a transaction that locks its row, and writes an audit row with the old and the new
 * values, but not the name. A revoked key cannot change, and a key cannot end later than its plan.
 */

import { type DatabaseClock, type Engine, storable, type Tables, type Transaction } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import { isoTime } from '../format/index.js';
import { type ApiKeyRecord, type ApiKeyRow, keyAt, lockKey, toKeyRecord } from './key-rows.js';

/** What an operator changes of a key. Absent fields stay as they are. */
export type KeyChange = Partial<Pick<ApiKeyRecord, 'name' | 'grants' | 'rpm' | 'models' | 'expiresAt' | 'priority'>>;

export interface KeyUpdate {
  id: string;
  change: KeyChange;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
}

/**
 * Changes a key within a transaction, and writes the audit row `key.updated`.
 * @throws GatewayError `key_not_found`; `invalid_value` if it was revoked, or would end later than its plan.
 */
export async function updateKey(
  transaction: Transaction<Tables>,
  { engine, times }: { engine: Engine; times: DatabaseClock },
  { id, change, actor, note }: KeyUpdate,
): Promise<ApiKeyRecord> {
  const row = await lockKey(transaction, engine, id);
  if (!row) throw new GatewayError('key_not_found', `There is no key with the id ${storable(id, 100)}.`);
  if (row.revokedAt !== null)
    throw new GatewayError('invalid_value', `Key ${id} is revoked and cannot be changed.`, { param: 'id' });
  checkEnd(row, change);
  const now = await times.read(transaction);
  const { grants, models, ...columns } = change;
  const written = {
    ...columns,
    ...(grants && { grants: JSON.stringify(grants) }),
    ...(models !== undefined && { models: models && JSON.stringify(models) }),
    changedAt: now,
  };
  await transaction.updateTable('api_keys').set(written).where('id', '=', id).execute();
  const [from, to] = [toKeyRecord(row), toKeyRecord({ ...row, ...written })];
  const states = { from: describeChange(from, change), to: describeChange(to, change) };
  await writeAudit(transaction, { subject: id, at: now, actor, action: 'key.updated', ...states, note });
  return keyAt(to, now);
}

/** A later plan of the account may follow the current one, so that its end is no limit. */
function checkEnd({ planId, planExpiresAt, followingPlans }: ApiKeyRow, { expiresAt = null }: KeyChange): void {
  if (expiresAt === null || planExpiresAt === null || followingPlans !== null || expiresAt <= planExpiresAt) return;
  const message = `must not be later than the end of the plan ${planId}, ${isoTime(planExpiresAt)}.`;
  throw new GatewayError('invalid_value', `expires_at ${message}`, { param: 'expires_at' });
}

const MAX_STATE = 500;

/** The changed properties, for the audit log. A name may be personal data, so it is not written. */
function describeChange(record: ApiKeyRecord, change: KeyChange): string {
  const parts = [
    ...(change.name === undefined ? [] : ['name']),
    ...describeLimits(record, change),
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
