/*
 * Groups of keys, and the budgets of groups and accounts, for operators. A list of budgets replaces all earlier ones of
 * its owner; one with the unit and period of an earlier one keeps its usage. Running servers follow within 2 seconds.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { BUDGET_FORM, type BudgetState, encodeSharedBudget, SharedBudget } from '../budgets/index.js';
import { isoTime } from '../format/index.js';
import { Count, type Route, Text } from '../http/index.js';
import { LOCAL_ACCOUNT } from '../keys/index.js';
import { unknownName } from '../names/index.js';
import { type AdminActor, adminRoute, NOTE, strict } from './admin-route.js';
import { readAmounts } from './key-inputs.js';
import { wholeList } from './lists.js';
import type { AdminServices, Stored } from './services.js';

const GROUP_NAME = /^(?!none$)[a-z0-9][a-z0-9_.-]{0,63}$/;
const NAME_FORM = '1 to 64 of a-z, 0-9, "_", "." and "-", beginning with a letter or digit, and not none';

/** A group with its budgets and the number of its keys. */
export interface ListedGroup {
  name: string;
  createdAt: number;
  /** Whether users with a key in it see its keys. */
  isShown: boolean;
  keys: number;
  budgets: readonly BudgetState[];
}

/** By name. */
export async function listGroups({ state }: Stored<'budgets' | 'keys'>): Promise<readonly ListedGroup[]> {
  const [groups, all, counts] = await Promise.all([
    state.budgets.groups(),
    state.budgets.all(),
    state.keys.countByGroup(),
  ]);
  const budgets = Map.groupBy(all, ({ scope, subject }) => (scope === 'group' ? subject : ''));
  return groups.map(({ membersSee, ...group }) => ({
    ...group,
    isShown: membersSee === 1,
    keys: counts.get(group.name) ?? 0,
    budgets: budgets.get(group.name) ?? [],
  }));
}

/** @throws GatewayError `invalid_value` if the group exists, or a budget is not accepted. */
export async function makeGroup(
  { state }: Stored<'budgets' | 'usage'>,
  { name, budgets, ...by }: { name: string; budgets: readonly string[] } & AdminActor,
): Promise<readonly BudgetState[]> {
  if (!GROUP_NAME.test(name)) throw new GatewayError('invalid_value', `name must be ${NAME_FORM}.`, { param: 'name' });
  const amounts = await readAmounts({ state }, budgets);
  return state.budgets.createGroup(name, amounts.length === 0 ? undefined : { budgets: amounts, ...by });
}

/** Replaces the budgets of a group or an account. @throws GatewayError `invalid_value` if there is none of that name. */
export async function setBudgets(
  services: Stored<'budgets' | 'usage'>,
  {
    scope,
    subject,
    budgets,
    ...by
  }: { scope: 'group' | 'account'; subject: string; budgets: readonly string[] } & AdminActor,
): Promise<readonly BudgetState[]> {
  if (scope === 'group') await requireGroup(services, subject);
  if (scope === 'account' && subject === LOCAL_ACCOUNT) {
    const message = `The account ${LOCAL_ACCOUNT} has no budget: its keys have budgets of their own, and groups.`;
    throw new GatewayError('invalid_value', message, { param: 'account' });
  }
  const amounts = await readAmounts(services, budgets);
  return services.state.budgets.change({ scope, subject, budgets: amounts, ...by });
}

/** Lets users with a key of a group see all its keys, or no longer. @throws GatewayError `invalid_value` if there is none. */
export async function showGroup(
  services: Stored<'budgets'>,
  change: { name: string; isShown: boolean } & AdminActor,
): Promise<void> {
  await requireGroup(services, change.name);
  await services.state.budgets.showGroup(change);
}

/** @throws GatewayError `invalid_value` if there is no such group, or it has keys that are not to be released. */
export async function deleteGroup(
  services: Stored<'budgets'>,
  { name, releaseKeys, ...by }: { name: string; releaseKeys: boolean } & AdminActor,
): Promise<void> {
  await requireGroup(services, name);
  await services.state.budgets.deleteGroup({ name, releaseKeys, ...by });
}

/** @throws GatewayError `invalid_value` with the closest name. */
async function requireGroup({ state: { budgets } }: Stored<'budgets'>, name: string): Promise<void> {
  const names = (await budgets.groups()).map((group) => group.name);
  if (!names.includes(name)) throw unknownName('name', name, names);
}

const encodeAll = (budgets: readonly BudgetState[], now: number) =>
  budgets.map((budget) => encodeSharedBudget(budget, now));

const name = Type.String({ pattern: GROUP_NAME.source, title: NAME_FORM });
const Amounts = Type.Array(Type.String({ maxLength: 60, title: BUDGET_FORM }), { maxItems: 20 });
const AllBudgets = Type.Object(
  { budgets: field(Amounts, 'All budgets from now on.', ['50 USD/month']), ...NOTE },
  strict,
);
const Budgets = field(Type.Array(SharedBudget), 'Its budgets.');
const GroupShape = Type.Object({
  name: field(Text, 'Name of the group.', 'research'),
  created_at: field(Text, 'When it was created (RFC 3339).'),
  keys: field(Count, 'Number of its keys, without revoked ones.'),
  members_see_keys: field(Type.Boolean(), 'Whether users with a key in it see all its keys, without secrets.'),
  budgets: Budgets,
});
const GROUP = { name: { description: 'Name of the group.', example: 'research' } };

export function groupRoutes(services: AdminServices): Route[] {
  const { clock } = services;
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/groups',
      summary: 'List groups of keys',
      description: 'Lists the groups with their budgets, by name.',
      answer: { description: 'The groups.', name: 'GroupList', schema: wholeList(GroupShape, 'By name.') },
      async run() {
        const data = (await listGroups(services)).map(({ createdAt, budgets, keys, isShown, ...group }) => ({
          ...group,
          members_see_keys: isShown,
          created_at: isoTime(createdAt),
          keys,
          budgets: encodeAll(budgets, clock.now()),
        }));
        return { object: 'list', data };
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/groups',
      summary: 'Create a group of keys',
      description: 'Creates a group, such as a team, whose keys share its budgets.',
      body: Type.Object(
        { name: field(name, 'Name of the group.', 'research'), budgets: optional(Amounts, 'Default: none.'), ...NOTE },
        strict,
      ),
      example: { name: 'research', budgets: ['500 USD/month'] },
      answer: {
        description: 'The group.',
        name: 'NewGroup',
        schema: Type.Object({ name: field(Text, 'Name of the group.'), budgets: Budgets }),
      },
      async run({ body: { name: group, budgets = [] }, by }) {
        const made = await makeGroup(services, { name: group, budgets, ...by });
        return { name: group, budgets: encodeAll(made, clock.now()) };
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/groups/:name/members',
      params: GROUP,
      summary: 'Show the keys of a group to its members',
      description:
        'Lets users with a key in the group see names, last use and budgets of all its keys, or no longer. Never secrets.',
      body: Type.Object({ see_keys: field(Type.Boolean(), 'Whether they see them.'), ...NOTE }, strict),
      example: { see_keys: true },
      answer: {
        description: 'What members see.',
        name: 'ShownGroup',
        schema: Type.Object({
          name: field(Text, 'Name of the group.'),
          members_see_keys: field(Type.Boolean(), 'Whether members see its keys now.'),
        }),
      },
      async run({ param, body: { see_keys: isShown }, by }) {
        await showGroup(services, { name: param('name'), isShown, ...by });
        return { name: param('name'), members_see_keys: isShown };
      },
    }),
    adminRoute(services, {
      method: 'DELETE',
      path: '/groups/:name',
      params: GROUP,
      summary: 'Delete a group of keys',
      description: 'Deletes a group and its budgets. A group with keys is deleted only with `release_keys=true`.',
      query: { release_keys: { schema: Type.Boolean(), description: 'Whether its keys leave it. Default false.' } },
      answer: {
        description: 'The name.',
        name: 'DeletedGroup',
        schema: Type.Object({
          name: field(Text, 'Name of the group.'),
          deleted: field(Type.Literal(true), 'Always true.'),
        }),
      },
      async run({ param, query: { release_keys: releaseKeys = false }, by }) {
        await deleteGroup(services, { name: param('name'), releaseKeys, ...by });
        return { name: param('name'), deleted: true };
      },
    }),
    ...budgetRoutes(services),
  ];
}

function budgetRoutes(services: AdminServices): Route[] {
  const { clock, state } = services;
  const Shared = Type.Object({
    id: field(Text, 'Id of the key, or name of the account or group.'),
    ...SharedBudget.properties,
  });
  const set = (scope: 'group' | 'account', param: 'name' | 'id') =>
    adminRoute(services, {
      method: 'POST',
      path: `/${scope}s/:${param}/budgets`,
      params:
        scope === 'group'
          ? GROUP
          : { id: { description: 'Name or id of the account.', example: 'acct_0123456789abcdef0123456789abcdef' } },
      summary: `Set the budgets of ${scope === 'group' ? 'a group' : 'an account'}`,
      description: 'Replaces all budgets. An empty list removes them.',
      body: AllBudgets,
      example: { budgets: ['50 USD/month'] },
      answer: { description: 'The budgets.', name: 'SetBudgets', schema: Type.Object({ budgets: Budgets }) },
      async run({ param: of, body: { budgets }, by }) {
        return {
          budgets: encodeAll(await setBudgets(services, { scope, subject: of(param), budgets, ...by }), clock.now()),
        };
      },
    });
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/budgets',
      summary: 'List budgets',
      description:
        'Lists the budgets of keys, accounts and groups with what is left; those of plans are at their users.',
      answer: { description: 'The budgets.', name: 'BudgetList', schema: wholeList(Shared, 'Oldest first.') },
      async run() {
        const data = (await state.budgets.all()).map((budget) => ({
          id: budget.subject,
          ...encodeSharedBudget(budget, clock.now()),
        }));
        return { object: 'list', data };
      },
    }),
    set('group', 'name'),
    set('account', 'id'),
  ];
}
