/*
 * The commands of key groups, and of the budgets of accounts. Given amounts replace all earlier ones, and `none`
 * removes them; running servers follow within 2 seconds. A budget in a currency without prices is refused, since it
 * would refuse every request. A group with keys is deleted only if asked to release them. The shared account of local
 * keys has no budget: its keys are limited by their own budgets and by groups.
 */

import { isGatewayError, systemClock } from '../../../core/runtime/index.js';
import { describeCounts } from '../../admin/index.js';
import { type BudgetState, encodeSharedBudget, renderBudget, renderSharedLeft } from '../../budgets/index.js';
import { dayOf, isoTime, sanitizeForTerminal } from '../../format/index.js';
import { type ApiKeyRecord, LOCAL_ACCOUNT } from '../../keys/index.js';
import { suggestName } from '../../names/index.js';
import { loadWebhookSecrets, type Settings } from '../../settings/index.js';
import type { Records } from '../../state.js';
import { addUp, type UsageCounts } from '../../usage/index.js';
import { ALERT_SIGNER, WebhookSecrets } from '../../webhooks/index.js';
import { byOperator, withNewState, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import { joinParts, type Outcome, renderFacts, renderRows } from '../output.js';
import type { createGroup, deleteGroup } from './access-commands.js';
import { changedBudgets } from './key-changes.js';
import { checkBudgets } from './keys.js';
import { renderCounts } from './usage.js';

const NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

type BudgetOptions = OptionsOf<typeof createGroup>;

/** Makes a group of keys, such as a team. */
export async function createGroupCommand(
  settings: Settings,
  name: string,
  options: BudgetOptions,
): Promise<Outcome<'NewGroup'>> {
  checkName(name);
  const amounts = changedBudgets(options.budget ?? ['none']);
  const by = byOperator(options.note);
  const budgets = await withNewState(settings, async (state) => {
    await checkBudgets(state, amounts);
    try {
      return await state.budgets.createGroup(name, amounts.length === 0 ? undefined : { budgets: amounts, ...by });
    } catch (error) {
      throw isGatewayError(error) && error.param === 'name' ? new CommandMistake(error.message) : error;
    }
  });
  const what = amounts.length === 0 ? 'without a budget' : `with the budget ${amounts.map(renderBudget).join(', ')}`;
  const text = `Group ${name} is created ${what}. "mediagate keys create --group ${name}" makes a key of it.`;
  return { json: { name, budgets: encodeAll(budgets) }, text };
}

/** Replaces the budgets of a group. */
export async function updateGroupCommand(
  settings: Settings,
  name: string,
  options: BudgetOptions,
): Promise<Outcome<'ChangedBudgets'>> {
  if (options.budget === undefined) throw new CommandMistake('Give what changes: --budget.');
  await withState(settings, (state) => findGroup(state, name));
  return changeBudgets(settings, { scope: 'group', subject: name }, options);
}

/** Replaces the budgets of an account. Keys without an account have quotas and budgets of their own. */
export async function setBudgetCommand(
  settings: Settings,
  account: string,
  options: BudgetOptions,
): Promise<Outcome<'ChangedBudgets'>> {
  if (options.budget === undefined) throw new CommandMistake('Give the budget: --budget "50 USD/month", or none.');
  if (account === LOCAL_ACCOUNT || !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(account)) {
    throw new CommandMistake(
      `Give the name that "keys create --account" had, or the id of a user's account. The account ${LOCAL_ACCOUNT} has no budget: "keys update --budget" and groups limit its keys.`,
    );
  }
  return changeBudgets(settings, { scope: 'account', subject: account }, options);
}

/** Deletes a group. Its revoked keys leave it. */
export async function deleteGroupCommand(
  settings: Settings,
  name: string,
  { releaseKeys = false, note }: OptionsOf<typeof deleteGroup>,
): Promise<Outcome<'DeletedGroup'>> {
  await withState(settings, async (state) => {
    await findGroup(state, name);
    await state.budgets.deleteGroup({ name, releaseKeys, ...byOperator(note) }).catch((error) => {
      if (!isGatewayError(error) || error.param !== 'name') throw error;
      const advice = '"keys update ID --group none" takes one out; --release-keys takes all out, with their limit.';
      throw new CommandFailure(`${error.message} ${advice}`);
    });
  });
  const text = `Group ${name} is deleted. Running servers follow within 2 seconds.`;
  return { json: { name, deleted: true }, text };
}

async function changeBudgets(
  settings: Settings,
  owner: { scope: 'account' | 'group'; subject: string },
  { budget = [], note }: BudgetOptions,
): Promise<Outcome<'ChangedBudgets'>> {
  const amounts = changedBudgets(budget);
  const by = byOperator(note);
  const budgets = await withState(settings, async (state) => {
    await checkBudgets(state, amounts);
    return state.budgets.change({ ...owner, budgets: amounts, ...by }).catch(async (error) => {
      if (!isGatewayError(error) || error.param !== 'account') throw error;
      const ids = new Set((await state.keys.list()).map(({ accountId }) => accountId));
      ids.delete(LOCAL_ACCOUNT);
      throw new CommandMistake(`${error.message}${suggestName(owner.subject, [...ids])}`);
    });
  });
  const change = `budget ${amounts.map(renderBudget).join(', ') || 'none'}`;
  const name = owner.scope === 'group' ? 'Group' : 'Account';
  const text = `${name} ${owner.subject} is changed: ${change}. Running servers follow within 2 seconds.`;
  return { json: { [owner.scope]: owner.subject, budgets: encodeAll(budgets) }, text };
}

interface Group {
  name: string;
  createdAt: number;
  keys: readonly ApiKeyRecord[];
  budgets: readonly BudgetState[];
}

/** The groups with their budgets. */
export async function listGroupsCommand(settings: Settings): Promise<Outcome<'Groups'>> {
  const groups = await withState(settings, async (state): Promise<Group[]> => {
    const keys = Map.groupBy(await state.keys.list(), ({ groupName }) => groupName);
    const budgets = Map.groupBy(await state.budgets.all(), ({ scope, subject }) => (scope === 'group' ? subject : ''));
    return (await state.budgets.groups()).map((group) => ({
      ...group,
      keys: keys.get(group.name) ?? [],
      budgets: budgets.get(group.name) ?? [],
    }));
  });
  const rows = groups.map((group) => [group.name, String(group.keys.length), leftOf(group), isoTime(group.createdAt)]);
  const none = 'There are no groups. "mediagate groups create NAME" creates one.';
  return { json: groups.map(describe), text: renderRows(['GROUP', 'KEYS', 'LEFT', 'CREATED'], rows) || none };
}

/** A group, its keys, and what each used in this month (UTC). */
export async function showGroupCommand(settings: Settings, name: string): Promise<Outcome<'GroupDetails'>> {
  const to = dayOf(systemClock.now());
  const { group, usage, currency } = await withState(settings, async (state) => {
    const found = await findGroup(state, name);
    const keys = (await state.keys.list()).filter(({ groupName }) => groupName === name);
    const budgets = await state.budgets.of({ scope: 'group', subject: name });
    const used = new Map<string, UsageCounts>();
    for (const { id } of keys) {
      used.set(id, addUp(await state.usage.totals({ keyId: id, from: `${to.slice(0, 8)}01`, to })));
    }
    return { group: { ...found, keys, budgets }, usage: used, currency: await state.usage.currency() };
  });
  const usageOf = ({ id }: ApiKeyRecord) => usage.get(id) ?? addUp([]);
  const keys = group.keys.map((key) => ({
    id: key.id,
    name: key.name,
    usage_this_month: describeCounts(usageOf(key), currency),
  }));
  const facts = renderFacts([
    ['group', name],
    ['left', leftOf(group)],
    ['created', isoTime(group.createdAt)],
  ]);
  const rows = group.keys.map((key) => [key.id, sanitizeForTerminal(key.name), renderCounts(usageOf(key), currency)]);
  return {
    json: { ...describe(group), keys },
    text: joinParts(facts, renderRows(['KEY', 'NAME', 'THIS MONTH'], rows)),
  };
}

/** The budgets of keys, accounts and groups. */
export async function listBudgetsCommand(settings: Settings): Promise<Outcome<'Budgets'>> {
  const { budgets, names } = await withState(settings, async (state) => ({
    budgets: await state.budgets.all(),
    names: new Map((await state.keys.list()).map(({ id, name }) => [id, name])),
  }));
  const keyName = ({ scope, subject }: BudgetState) => (scope === 'key' ? names.get(subject) : undefined);
  const now = systemClock.now();
  const rows = budgets.map((budget) => [
    budget.scope,
    sanitizeForTerminal(budget.subject),
    // A group and an account are their own name.
    sanitizeForTerminal(keyName(budget) ?? budget.subject),
    renderSharedLeft({ ...budget, scope: 'key' }),
  ]);
  return {
    json: budgets.map((budget) => {
      const name = keyName(budget);
      return {
        id: budget.subject,
        ...(name !== undefined && { key_name: name }),
        ...encodeSharedBudget(budget, now),
      };
    }),
    text: renderRows(['OF', 'ID', 'NAME', 'LEFT'], rows) || 'There are no budgets of keys, accounts or groups.',
  };
}

/** The secret that alerts of budgets are signed with. */
export async function budgetSecretCommand(settings: Settings): Promise<Outcome> {
  const own = await loadWebhookSecrets(settings);
  const text = await withNewState(settings, ({ webhooks }) => new WebhookSecrets(own, webhooks).newest(ALERT_SIGNER));
  return { text };
}

function leftOf({ budgets }: Group): string {
  return budgets.map(renderSharedLeft).join('; ') || 'unlimited';
}

async function findGroup({ budgets }: Pick<Records, 'budgets'>, name: string) {
  const group = (await budgets.groups()).find((each) => each.name === name);
  if (group) return group;
  const names = (await budgets.groups()).map((each) => each.name);
  const message = `There is no group ${sanitizeForTerminal(name)}; "mediagate groups list" shows them.`;
  throw new CommandFailure(`${message}${suggestName(name, names)}`);
}

function checkName(name: string): void {
  if (NAME.test(name) && name !== 'none') return;
  throw new CommandMistake(
    'The name of a group must have 1 to 64 of a-z, 0-9, "_", "." and "-", begin with a letter or digit, and not be none.',
  );
}

function describe({ name, createdAt, keys, budgets }: Group) {
  return { name, created_at: isoTime(createdAt), keys: keys.length, budgets: encodeAll(budgets) };
}

function encodeAll(budgets: readonly BudgetState[]) {
  const now = systemClock.now();
  return budgets.map((budget) => encodeSharedBudget(budget, now));
}
