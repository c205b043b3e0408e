/*
 * Changes properties of a key in a transaction that locks its row, and writes an audit row with the old and the new
 * values, but not the name. A revoked key cannot change, and a key cannot end later than its plan.
 */

import {
  type Database,
  type DatabaseClock,
  type Engine,
  isStorable,
  storable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import { isoTime } from '../format/index.js';
import { type ApiKeyRecord, type ApiKeyRow, toKeyRecord } from './api-keys.js';
import { keyAt } from './keys.js';

/** What an operator changes of a key. Absent fields stay as they are. */
export type KeyChange = Partial<Pick<ApiKeyRecord, 'name' | 'grants' | 'rpm' | 'models' | 'expiresAt' | 'priority'>>;

export interface KeyUpdate {
  id: string;
  change: KeyChange;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
}

export interface KeyUpdates {
  /**
   * Changes a key and writes the audit row `key.updated`. Every node has it with its next refresh. A key without an end
   * of its own (`expiresAt: null`) still ends with its plan.
   * @throws GatewayError `key_not_found`; `invalid_value` if it was revoked, or if its new end is later than that of its
   *   plan.
   */
  update(update: KeyUpdate): Promise<ApiKeyRecord>;
  /** Does it within a transaction. */
  apply(transaction: Transaction<Tables>, update: KeyUpdate): Promise<ApiKeyRecord>;
}

export function createKeyUpdates({ engine, transaction: run }: Database, times: DatabaseClock): KeyUpdates {
  async function apply(
    transaction: Transaction<Tables>,
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

  return { apply, update: (update) => run((transaction) => apply(transaction, update)) };
}

/** Locks a key until the end of the transaction. */
export async function lockKey(
  transaction: Transaction<Tables>,
  engine: Engine,
  id: string,
): Promise<ApiKeyRow | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = transaction.selectFrom('api_keys').selectAll().where('id', '=', id);
  return (engine === 'postgres' ? rows.forUpdate() : rows).executeTakeFirst();
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
