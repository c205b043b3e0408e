/*
 * API keys of all accounts for operators: list, details, create, change, rotate and revoke. The checks of new limits are
 * in key-inputs.ts, the rules and audit rows in server/keys and server/budgets. A new key is answered once and never
 * again. The key that makes a request may rotate and revoke itself, which ends its access.
 */

import { optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { MAX_OVERLAP_HOURS } from '../accounts/index.js';
import type { AuditEntry } from '../audit/index.js';
import { type BudgetState, encodeSharedBudget } from '../budgets/index.js';
import { dayOf, isoTime } from '../format/index.js';
import { OneOf, type Route, Text } from '../http/index.js';
import {
  type ApiKeyRecord,
  createKey,
  describeOwnLimits,
  effectiveModels,
  hashKey,
  isValidState,
  keyState,
  namedKeyId,
} from '../keys/index.js';
import { addUp, encodeBudget, encodeCounts, leftOf, type UsageCounts } from '../usage/index.js';
import { type AdminActor, adminRoute, NOTE, strict } from './admin-route.js';
import { encodeAuditEntry } from './audit.js';
import { changeKey, KeyChangeBody, makeKey, NewKeyBody } from './key-inputs.js';
import { encodePage, LIST_QUERY, type ListPage, type ListRange, listSchema, rangeOf, readPage } from './lists.js';
import type { AdminServices, Of, Stored } from './services.js';
import { Key, KeyDetails, NewKey, RevokedKey, RotatedKey } from './shapes.js';

const HOUR_MS = 60 * 60 * 1000;
/** Number of latest audit rows in details. */
const MAX_ROWS = 20;

/** A key with its budgets. */
export interface ListedKey {
  record: ApiKeyRecord;
  /** That of its plan. */
  budget: BudgetState | undefined;
  /** Its own budgets, and those of its account and group. */
  budgets: readonly BudgetState[];
}

export interface KeyFilter {
  accountId?: string;
  group?: string;
  /** The id of a key, or the beginning of its name in any letters. */
  search?: string;
}

/** Newest first, without those that pages of the site use. */
export async function listKeys(
  { state }: Stored<'keys' | 'budgets'>,
  filter: KeyFilter,
  range: ListRange,
): Promise<ListPage<ListedKey>> {
  const read = (part: ListRange) => state.keys.page({ ...filter, ...part });
  const { items, next } = await readPage(range, read, ({ createdAt: at, id }) => ({ at, id }));
  const listed = await Promise.all(items.map((record) => inspectKey(state, record)));
  return { items: listed, ...(next && { next }) };
}

export async function inspectKey({ budgets }: Stored<'budgets'>['state'], record: ApiKeyRecord): Promise<ListedKey> {
  const budget = record.budgetId === null ? undefined : await budgets.find(record.budgetId);
  return { record, budget, budgets: await budgets.ofKey(record) };
}

export interface WholeKey extends ListedKey {
  today: UsageCounts;
  /** Of the costs. Undefined: there never were prices. */
  currency: string | undefined;
  audit: readonly AuditEntry[];
}

/** @param id Of the key, in any form. @throws GatewayError `key_not_found`. */
export async function showKey(
  services: Stored<'keys' | 'budgets' | 'usage' | 'audit'>,
  id: string,
  now: number,
): Promise<WholeKey> {
  const { state } = services;
  const record = await findKey(services, id);
  const day = dayOf(now);
  const [listed, totals, currency, audit] = await Promise.all([
    inspectKey(state, record),
    state.usage.totals({ keyId: record.id, from: day, to: day }),
    state.usage.currency(),
    state.audit.list({ subject: record.id, limit: MAX_ROWS }),
  ]);
  return { ...listed, today: addUp(totals), currency, audit };
}

/** @throws GatewayError `key_not_found`. */
export async function findKey({ state: { keys } }: Stored<'keys'>, named: string): Promise<ApiKeyRecord> {
  const id = namedKeyId(named);
  const record = id === undefined ? undefined : await keys.find(id);
  if (record) return record;
  throw new GatewayError('key_not_found', 'There is no key with this id.', { param: 'id' });
}

export interface RotatedKeyResult {
  /** The new key, which is returned only here. */
  key: string;
  record: ApiKeyRecord;
  replaced: ApiKeyRecord;
}

/** Makes a key with the properties of another one, which ends after the overlap. @throws GatewayError as `ApiKeys.rotate`. */
export async function rotateKey(
  services: Stored<'keys'> & Of<'pepper' | 'keys'>,
  { id: named, overlapMs, ...audit }: { id: string; overlapMs: number } & AdminActor,
): Promise<RotatedKeyResult> {
  const { state, pepper, keys } = services;
  const { id, accountId } = await findKey(services, named);
  const text = createKey();
  const successor = { id: text.id, hash: hashKey(text.key, pepper), pepperVersion: pepper.version };
  const record = await state.keys.rotate({ accountId, id, successor, overlapMs, audit });
  await keys.refresh();
  return { key: text.key, record, replaced: await findKey(services, id) };
}

/** Revokes a key for good. No effect if it was revoked before. @throws GatewayError `key_not_found`. */
export async function revokeKey(
  services: Stored<'keys'> & Of<'keys' | 'clock'>,
  { id: named, keepsJobs, actor }: { id: string; keepsJobs: boolean } & Pick<AdminActor, 'actor'>,
): Promise<string> {
  const { id } = await findKey(services, named);
  await services.state.keys.revoke(id, services.clock.now(), undefined, keepsJobs, actor);
  await services.keys.refresh();
  return id;
}

/** The state of a key, in one word: `valid`, or why it is not. */
export function stateOfKey(record: ApiKeyRecord, now: number): string {
  const state = keyState(record, now);
  return isValidState(state) ? 'valid' : state;
}

/** Group and further budgets; absent without any. */
export function encodeSharing({ record: { groupName }, budgets }: Pick<ListedKey, 'record' | 'budgets'>, now: number) {
  return {
    ...(groupName !== undefined && { group: groupName }),
    ...(budgets.length > 0 && { budgets: budgets.map((budget) => encodeSharedBudget(budget, now)) }),
  };
}

/** A key for the API and the `--json` output. */
export function describeKey({ record, budget, budgets }: ListedKey, now: number) {
  const { id, name, accountId, planId, grants, rpm, createdAt, expiresAt, revokedAt, lastUsedAt } = record;
  const models = effectiveModels(record);
  return {
    id,
    name,
    account: accountId,
    plan: planId,
    grants,
    models,
    rpm,
    // Only if its user limited it: the output for scripts stays unchanged.
    ...(record.own && { own: describeOwnLimits(record.own) }),
    left: budget ? leftOf(budget) : null,
    state: stateOfKey(record, now),
    created_at: isoTime(createdAt),
    expires_at: isoTime(expiresAt),
    revoked_at: isoTime(revokedAt),
    last_used_at: isoTime(lastUsedAt),
    ...encodeSharing({ record, budgets }, now),
    ...(record.priority && { priority: record.priority }),
    ...(record.isInternal && { internal: true }),
  };
}

export function describeWholeKey({ record, budget, budgets, today, currency, audit }: WholeKey, now: number) {
  return {
    ...describeKey({ record, budget, budgets }, now),
    image_daily_limit: record.imageDailyLimit,
    suspended_at: isoTime(record.suspendedAt),
    replaced_by: record.replacedBy,
    budget: budget ? { id: budget.id, ...encodeBudget(budget) } : null,
    usage_today: describeCounts(today, currency),
    audit: audit.map(encodeAuditEntry),
  };
}

/** Counts with their currency. @param currency Undefined: there never were prices. */
export function describeCounts(counts: UsageCounts, currency: string | undefined) {
  return { ...encodeCounts(counts, currency !== undefined), ...(currency !== undefined && { currency }) };
}

/** A new key, with the text that is shown once. */
export function describeNewKey(
  {
    key,
    record,
    budgets,
    expiresAt,
  }: { key: string; expiresAt: number | null } & Pick<ListedKey, 'record' | 'budgets'>,
  now: number,
) {
  const { id, name, accountId, planId, grants, models, rpm, priority } = record;
  return {
    id,
    key,
    name,
    account: accountId,
    plan: planId,
    grants,
    models,
    rpm,
    expires_at: isoTime(expiresAt),
    ...encodeSharing({ record, budgets }, now),
    ...(priority && { priority }),
  };
}

export function describeRotation({ key, record, replaced }: RotatedKeyResult) {
  const { id, name, accountId, planId, grants, models, rpm, expiresAt } = record;
  return {
    id,
    key,
    name,
    account: accountId,
    plan: planId,
    grants,
    models,
    rpm,
    expires_at: isoTime(expiresAt),
    replaces: replaced.id,
    replaced_key_expires_at: isoTime(replaced.expiresAt),
  };
}

const KEY_ID = { id: { description: 'Id of the key: 8 characters.', example: 'AbCd1234' } };
const Rotation = Type.Object(
  {
    overlap_hours: optional(
      Type.Number({ minimum: 0, maximum: MAX_OVERLAP_HOURS }),
      'Hours for which the old key keeps working. Default 24.',
    ),
    ...NOTE,
  },
  strict,
);
const Revocation = Type.Object(
  { jobs: optional(OneOf('cancel', 'keep'), 'What happens to its queued and running jobs. Default `cancel`.') },
  strict,
);

export function keyRoutes(services: AdminServices): Route[] {
  const { state, clock } = services;
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/keys',
      summary: 'List API keys',
      description: 'Lists the keys of all accounts, newest first, without their secrets.',
      query: {
        q: { schema: Text, description: 'Id of a key, or the beginning of its name.' },
        account: { schema: Text, description: 'Only keys of this account.' },
        group: { schema: Text, description: 'Only keys of this group.' },
        ...LIST_QUERY,
      },
      answer: { description: 'The keys.', name: 'KeyList', schema: listSchema(Key, 'Keys') },
      async run({ query: { q: search, account: accountId, group, limit, after } }) {
        const filter = {
          ...(search !== undefined && { search }),
          ...(accountId !== undefined && { accountId }),
          ...(group !== undefined && { group }),
        };
        const now = clock.now();
        const page = await listKeys(services, filter, rangeOf({ limit, after }));
        return encodePage(page, (key) => describeKey(key, now));
      },
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/keys/:id',
      params: KEY_ID,
      summary: 'Get an API key',
      description: 'Returns a key with its budgets, the usage of today (UTC) and its history.',
      answer: { description: 'The key.', name: 'KeyDetails', schema: KeyDetails },
      errors: ['key_not_found'],
      run: async ({ param }) => describeWholeKey(await showKey(services, param('id'), clock.now()), clock.now()),
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/keys',
      summary: 'Create an API key',
      description: "Creates a key of the operator's own and shows it, only once. Users make their keys themselves.",
      body: NewKeyBody,
      example: { name: 'research', grants: ['text', 'images'], budgets: ['50 USD/month'] },
      answer: { description: 'The key. It is shown only once.', name: 'NewKey', schema: NewKey },
      async run({ body, by }) {
        const made = await makeKey(services, body, by);
        return describeNewKey({ ...made, budgets: await state.budgets.ofKey(made.record) }, clock.now());
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/keys/:id',
      params: KEY_ID,
      summary: 'Change an API key',
      description: "Changes what is sent and nothing else. Limits of a user's key are those of the plan.",
      body: KeyChangeBody,
      example: { rpm: 300, budgets: ['2M tokens/day'] },
      answer: { description: 'The key.', name: 'AdminKey', schema: Key },
      errors: ['key_not_found'],
      async run({ param, body, by }) {
        const record = await changeKey(services, await findKey(services, param('id')), body, by);
        return describeKey(await inspectKey(state, record), clock.now());
      },
    }),
    ...endingRoutes(services),
  ];
}

function endingRoutes(services: AdminServices): Route[] {
  return [
    adminRoute(services, {
      method: 'POST',
      path: '/keys/:id/rotate',
      params: KEY_ID,
      summary: 'Rotate an API key',
      description: 'Replaces a key by one with the same properties, and shows it only once.',
      body: Rotation,
      answer: { description: 'The new key.', name: 'RotatedKey', schema: RotatedKey },
      errors: ['key_not_found', 'key_replaced', 'too_many_keys', 'account_suspended'],
      async run({ param, body: { overlap_hours: hours = 24 }, by }) {
        const overlapMs = Math.round(hours * HOUR_MS);
        return describeRotation(await rotateKey(services, { id: param('id'), overlapMs, ...by }));
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/keys/:id/revoke',
      params: KEY_ID,
      summary: 'Revoke an API key',
      description: 'Revokes a key for good, and cancels its queued and running jobs unless they are kept.',
      body: Revocation,
      answer: { description: 'The id.', name: 'RevokedKey', schema: RevokedKey },
      errors: ['key_not_found'],
      async run({ param, body: { jobs }, by: { actor } }) {
        const id = await revokeKey(services, { id: param('id'), keepsJobs: jobs === 'keep', actor });
        return { id, revoked: true };
      },
    }),
  ];
}
