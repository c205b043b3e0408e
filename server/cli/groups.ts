/*
 * The commands of key groups, and of the budgets of accounts. Given amounts replace all earlier ones, and `none`
 * removes them; running servers follow within 2 seconds. A budget in a currency without prices is refused, since it
 * would refuse every request. A group with keys is deleted only if asked to release them. The shared account of local
 * keys has no budget: its keys are limited by their own budgets and by groups.
 */

import { isGatewayError, systemClock } from '../../core/runtime/index.js';
import { type BudgetState, encodeSharedBudget, renderBudget, renderSharedLeft } from '../budgets/index.js';
import { dayOf, isoTime, renderTable, sanitizeForTerminal } from '../format/index.js';
import { type ApiKeyRecord, LOCAL_ACCOUNT } from '../keys/index.js';
import { loadWebhookSecrets, type Settings } from '../settings/index.js';
import type { Records } from '../state.js';
import { addUp, type UsageCounts } from '../usage/index.js';
import { ALERT_SIGNER, createWebhookSecrets } from '../webhooks/index.js';
import { CommandFailure, CommandMistake, print, printJson, suggestName, withNewState, withState } from './command.js';
import { changedBudgets } from './key-changes.js';
import { checkCurrency } from './keys.js';
import { describeCounts, renderCounts } from './usage.js';
import { noteOf, operatorActor } from './users.js';

const NAME = /^[a-z0-9][a-z0-9_.-]{0,63}$/;

export interface BudgetOptions {
  /** Amounts for a period, which replace the earlier ones; `none` removes them. */
  budget?: readonly string[];
  note?: string;
  json?: boolean;
}

/** Makes a group of keys, such as a team. */
export async function createGroupCommand(settings: Settings, name: string, options: BudgetOptions): Promise<number> {
  checkName(name);
  const amounts = changedBudgets(options.budget ?? ['none']);
  const by = { actor: operatorActor(), ...noteOf(options.note) };
  const budgets = await withNewState(settings, async (state) => {
    await checkCurrency(state, amounts);
    try {
      return await state.budgets.createGroup(name, amounts.length === 0 ? undefined : { budgets: amounts, ...by });
    } catch (error) {
      throw isGatewayError(error) && error.param === 'name' ? new CommandMistake(error.message) : error;
    }
  });
  if (options.json) printJson({ name, budgets: encodeAll(budgets) });
  else {
    const text = amounts.length === 0 ? 'without a budget' : `with the budget ${amounts.map(renderBudget).join(', ')}`;
    print(`Group ${name} is created ${text}. "mediagate keys create --group ${name}" makes a key of it.\n`);
  }
  return 0;
}

/** Replaces the budgets of a group. */
export async function updateGroupCommand(settings: Settings, name: string, options: BudgetOptions): Promise<number> {
  if (options.budget === undefined) throw new CommandMistake('Give what changes: --budget.');
  await withState(settings, (state) => findGroup(state, name));
  return changeBudgets(settings, { scope: 'group', subject: name }, options);
}

/** Replaces the budgets of an account. Keys without an account have quotas and budgets of their own. */
export async function setBudgetCommand(settings: Settings, account: string, options: BudgetOptions): Promise<number> {
  if (options.budget === undefined) throw new CommandMistake('Give the budget: --budget "50 USD/month", or none.');
  if (account === LOCAL_ACCOUNT || !/^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/.test(account)) {
    throw new CommandMistake(
      `Give the name that "keys create --account" had, or the id of a user's account. The account ${LOCAL_ACCOUNT} has no budget: "keys update --budget" and groups limit its keys.`,
    );
  }
  return changeBudgets(settings, { scope: 'account', subject: account }, options);
}

export interface DeleteGroupOptions {
  /** Its keys stay, without the group and its budgets. Default: a group with keys is not deleted. */
  releaseKeys?: boolean;
  note?: string;
  json?: boolean;
}

/** Deletes a group. Its revoked keys leave it. */
export async function deleteGroupCommand(
  settings: Settings,
  name: string,
  { releaseKeys = false, note, json }: DeleteGroupOptions,
): Promise<number> {
  await withState(settings, async (state) => {
    await findGroup(state, name);
    const change = { name, releaseKeys, actor: operatorActor(), ...noteOf(note) };
    await state.budgets.deleteGroup(change).catch((error) => {
      if (!isGatewayError(error) || error.param !== 'name') throw error;
      const advice = '"keys update ID --group none" takes one out; --release-keys takes all out, with their limit.';
      throw new CommandFailure(`${error.message} ${advice}`);
    });
  });
  if (json) printJson({ name, deleted: true });
  else print(`Group ${name} is deleted. Running servers follow within 2 seconds.\n`);
  return 0;
}

async function changeBudgets(
  settings: Settings,
  owner: { scope: 'account' | 'group'; subject: string },
  { budget = [], note, json }: BudgetOptions,
): Promise<number> {
  const amounts = changedBudgets(budget);
  const by = { actor: operatorActor(), ...noteOf(note) };
  const budgets = await withState(settings, async (state) => {
    await checkCurrency(state, amounts);
    return state.budgets.change({ ...owner, budgets: amounts, ...by }).catch(async (error) => {
      if (!isGatewayError(error) || error.param !== 'account') throw error;
      const ids = new Set((await state.keys.list()).map(({ accountId }) => accountId));
      ids.delete(LOCAL_ACCOUNT);
      throw new CommandMistake(`${error.message}${suggestName(owner.subject, [...ids])}`);
    });
  });
  if (json) printJson({ [owner.scope]: owner.subject, budgets: encodeAll(budgets) });
  else {
    const text = amounts.map(renderBudget).join(', ') || 'none';
    const name = owner.scope === 'group' ? 'Group' : 'Account';
    print(`${name} ${owner.subject} is changed: budget ${text}. Running servers follow within 2 seconds.\n`);
  }
  return 0;
}

interface Group {
  name: string;
  createdAt: number;
  keys: readonly ApiKeyRecord[];
  budgets: readonly BudgetState[];
}

/** Prints the groups with their budgets. */
export async function listGroupsCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const groups = await withState(settings, async (state): Promise<Group[]> => {
    const keys = Map.groupBy(await state.keys.list(), ({ groupName }) => groupName);
    const budgets = Map.groupBy(await state.budgets.all(), ({ scope, subject }) => (scope === 'group' ? subject : ''));
    return (await state.budgets.groups()).map((group) => ({
      ...group,
      keys: keys.get(group.name) ?? [],
      budgets: budgets.get(group.name) ?? [],
    }));
  });
  if (json) printJson(groups.map(describe));
  else if (groups.length === 0) print('There are no groups. "mediagate groups create NAME" creates one.\n');
  else {
    const rows = groups.map(({ name, keys, budgets, createdAt }) => [
      name,
      String(keys.length),
      budgets.map(renderSharedLeft).join('; ') || 'unlimited',
      isoTime(createdAt),
    ]);
    print(`${renderTable(['GROUP', 'KEYS', 'LEFT', 'CREATED'], rows)}\n`);
  }
  return 0;
}

/** Prints a group, its keys, and what each used in this month (UTC). */
export async function showGroupCommand(
  settings: Settings,
  name: string,
  { json }: { json?: boolean },
): Promise<number> {
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
  if (json) {
    const keys = group.keys.map((key) => ({
      id: key.id,
      name: key.name,
      usage_this_month: describeCounts(usageOf(key), currency),
    }));
    printJson({ ...describe(group), keys });
  } else {
    const left = group.budgets.map(renderSharedLeft).join('; ') || 'unlimited';
    print(`group    ${name}\nleft     ${left}\ncreated  ${isoTime(group.createdAt)}\n`);
    const rows = group.keys.map((key) => [key.id, sanitizeForTerminal(key.name), renderCounts(usageOf(key), currency)]);
    if (rows.length > 0) print(`\n${renderTable(['KEY', 'NAME', 'THIS MONTH'], rows)}\n`);
  }
  return 0;
}

/** Prints the budgets of keys, accounts and groups. */
export async function listBudgetsCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const { budgets, names } = await withState(settings, async (state) => ({
    budgets: await state.budgets.all(),
    names: new Map((await state.keys.list()).map(({ id, name }) => [id, name])),
  }));
  const keyName = ({ scope, subject }: BudgetState) => (scope === 'key' ? names.get(subject) : undefined);
  if (json) {
    const now = systemClock.now();
    printJson(
      budgets.map((budget) => {
        const name = keyName(budget);
        return {
          id: budget.subject,
          ...(name !== undefined && { key_name: name }),
          ...encodeSharedBudget(budget, now),
        };
      }),
    );
  } else if (budgets.length === 0) print('There are no budgets of keys, accounts or groups.\n');
  else {
    const rows = budgets.map((budget) => [
      budget.scope,
      sanitizeForTerminal(budget.subject),
      // A group and an account are their own name.
      sanitizeForTerminal(keyName(budget) ?? budget.subject),
      renderSharedLeft({ ...budget, scope: 'key' }),
    ]);
    print(`${renderTable(['OF', 'ID', 'NAME', 'LEFT'], rows)}\n`);
  }
  return 0;
}

/** Prints the secret that alerts of budgets are signed with. */
export async function budgetSecretCommand(settings: Settings): Promise<number> {
  const own = await loadWebhookSecrets(settings);
  const secret = await withNewState(settings, ({ webhooks }) =>
    createWebhookSecrets(own, webhooks).newest(ALERT_SIGNER),
  );
  print(`${secret}\n`);
  return 0;
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
