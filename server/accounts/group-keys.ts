/*
 * What members of a group of keys see of it: a user whose account has a valid key in the group sees the names, ids, last
 * use and budgets of all its keys, if an operator allows it for the group. Secrets are stored nowhere; owners, addresses
 * and usage of others are not shown. It ends with the user's last key in the group.
 */

import { field, Type } from '../../core/contracts/index.js';
import { type BudgetState, type Budgets, encodeSharedBudget, SharedBudget } from '../budgets/index.js';
import { isoTime } from '../format/index.js';
import { Nullable, OneOf, type Route, sendJson, Text } from '../http/index.js';
import { type ApiKeyRecord, type ApiKeys, isValidKey, keyState, maskedKey } from '../keys/index.js';
import type { AccountServices } from './sign-in/sessions.js';

/** More keys of the groups of an account are not shown. */
const MAX_KEYS = 200;

export interface GroupKeySources {
  accountKeys: Pick<ApiKeys, 'listOf' | 'ofGroups'>;
  budgets: Pick<Budgets, 'groups' | 'list'>;
}

/** A key of a group as its members see it. */
export interface GroupKey {
  record: ApiKeyRecord;
  /** Its own, without those of its owner and of the group. */
  budgets: readonly BudgetState[];
  isOwn: boolean;
}

export interface SharedGroup {
  name: string;
  /** Of the group. */
  budgets: readonly BudgetState[];
  /** Newest first. */
  keys: readonly GroupKey[];
}

/** The groups whose keys a member may see, by name. @param now Milliseconds since 1970. */
export async function readSharedGroups(
  { accountKeys, budgets }: GroupKeySources,
  accountId: string,
  now: number,
): Promise<readonly SharedGroup[]> {
  const own = (await accountKeys.listOf(accountId)).filter((record) => isValidKey(record, now));
  const ofOwn = new Set(own.flatMap(({ groupName }) => groupName ?? []));
  if (ofOwn.size === 0) return [];
  const shown = (await budgets.groups()).filter(({ name, membersSee }) => membersSee === 1 && ofOwn.has(name));
  const names = shown.map(({ name }) => name);
  const records = await accountKeys.ofGroups(names, MAX_KEYS);
  const all = await budgets.list(records.flatMap(({ furtherBudgets = [] }) => furtherBudgets));
  return names.map((name) => ({
    name,
    budgets: all.filter(({ scope, subject }) => scope === 'group' && subject === name),
    keys: records
      .filter(({ groupName }) => groupName === name)
      .map((record) => ({
        record,
        budgets: all.filter(({ id, scope }) => scope === 'key' && record.furtherBudgets?.includes(id)),
        isOwn: record.accountId === accountId,
      })),
  }));
}

const KeyBudgets = Type.Array(SharedBudget);
const Group = Type.Object({
  name: field(Text, 'Name of the group.', 'research'),
  budgets: field(KeyBudgets, 'What all its keys share.'),
  keys: field(
    Type.Array(
      Type.Object({
        id: field(Text, 'Id of the key.', 'AbCd1234'),
        masked: field(Text, 'The key without its secret.', 'sk-mg-AbCd1234-…'),
        name: field(Text, 'Name of the key.', 'nightly import'),
        own: field(Type.Boolean(), 'Whether it belongs to your account.'),
        state: field(OneOf('active', 'rotated', 'suspended', 'expired', 'revoked'), 'State of the key.'),
        createdAt: field(Text, 'When it was created (RFC 3339).'),
        lastUsedAt: field(Nullable(Text), 'When it was used last (RFC 3339). Null if never.'),
        budgets: field(KeyBudgets, 'Its own budgets.'),
      }),
    ),
    'Its keys that are not revoked, newest first; at most 200.',
  ),
});

export function groupKeyRoutes({ sessions, polls, clock, ...sources }: AccountServices & GroupKeySources): Route[] {
  return [
    {
      grant: 'session',
      tag: 'Account',
      method: 'GET',
      path: '/api/user/groups',
      endpoint: 'userGroups',
      summary: 'List keys of your groups',
      description:
        'Lists the keys of the groups that your keys belong to, where an operator allows it. Secrets are never answered.',
      answers: {
        200: {
          description: 'The groups.',
          schema: Type.Object({ groups: field(Type.Array(Group), 'By name. Empty if none may be seen.') }),
        },
      },
      async handler(context) {
        const { user } = await sessions.require(context);
        polls.admit(user.id);
        const now = clock.now();
        const groups = await readSharedGroups(sources, user.accountId, now);
        sendJson(context, { groups: groups.map((group) => encodeGroup(group, now)) }, 'private');
      },
    },
  ];
}

function encodeGroup({ name, budgets, keys }: SharedGroup, now: number) {
  const encode = (all: readonly BudgetState[]) => all.map((budget) => encodeSharedBudget(budget, now));
  return {
    name,
    budgets: encode(budgets),
    keys: keys.map(({ record, budgets: own, isOwn }) => ({
      id: record.id,
      masked: maskedKey(record.id),
      name: record.name,
      own: isOwn,
      state: keyState(record, now),
      createdAt: isoTime(record.createdAt),
      lastUsedAt: isoTime(record.lastUsedAt),
      budgets: encode(own),
    })),
  };
}
