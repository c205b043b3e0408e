/*
 * The commands that create, list and revoke keys, and the readers of options that key commands share. A new key is
 * printed once and never again. Ids of models are checked against the plugins file, as a mistyped one would make a key
 * that is refused everywhere; models of providers that are not ready here count as known, since their variables may be
 * set in another shell. Values that are not given come from the plan, if there is one.
 */

import { JOB_PRIORITIES, type JobPriority } from '../../../core/contracts/index.js';
import { readPluginConfig, servesOf } from '../../../core/plugins/index.js';
import { isGatewayError, systemClock } from '../../../core/runtime/index.js';
import {
  checkCurrency,
  checkName,
  describeKey,
  encodeSharing,
  inspectKey,
  type ListedKey,
  limitRpm,
  newGrants,
  parseBudgets,
  stateOfKey,
} from '../../admin/index.js';
import { type BudgetAmount, renderSharedLeft } from '../../budgets/index.js';
import { isoTime, isVisible, parseIsoTime, renderTable, sanitizeForTerminal } from '../../format/index.js';
import {
  type ApiKeyRecord,
  createKeyRecord,
  type KeyGrant,
  LOCAL_ACCOUNT,
  NO_PLAN,
  namedKeyId,
  OPERATOR_KEY_GRANTS,
  soonerOf,
} from '../../keys/index.js';
import { suggestName } from '../../names/index.js';
import { pluginsFileOf } from '../../open-gateway.js';
import { type PlanKey, planKey, readCatalogue } from '../../plans/index.js';
import { loadPeppers, type Settings } from '../../settings/index.js';
import type { Records } from '../../state.js';
import { renderLeft } from '../../usage/index.js';
import { byOperator, withGateway, withNewState, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake, mistakeOf } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { createKey, listKeys, revokeKey } from './access-commands.js';
import { planIds } from './plans.js';

const MAX_MODEL_ID = 200;

const HEAD = ['ID', 'NAME', 'ACCOUNT', 'PLAN', 'GRANTS', 'RPM', 'LEFT', 'STATE', 'CREATED', 'EXPIRES', 'LAST USED'];

/** Makes a key and prints it, which happens only once. */
export async function createKeyCommand(
  settings: Settings,
  options: OptionsOf<typeof createKey>,
): Promise<Outcome<'NewKey'>> {
  const accountId = accountOf(options.account);
  const ofPlan = options.plan === undefined ? undefined : await planOf(settings, options.plan, accountId);
  const modelIds = modelsOf(options.models, ofPlan);
  if (!ofPlan?.plan.models && !options.allowUnknownModels) await checkModels(settings, modelIds);
  const wanted = {
    name: byRule(() => checkName(options.name)),
    accountId,
    grants: byRule(() => newGrants(options.grant && grantNames(options.grant), ofPlan)),
    rpm: rpmOf(options.rpm, ofPlan),
    expiresAt: expiryOf(options.expires),
    plan: { ...(ofPlan?.plan ?? NO_PLAN), models: modelIds },
  };
  const priority = options.priority === undefined ? undefined : priorityOf(options.priority);
  const amounts = byRule(() => parseBudgets(options.budget ?? []));
  const [pepper] = await loadPeppers(settings);
  const planEnd = ofPlan?.expiresAt ?? null;
  const made = createKeyRecord(wanted, pepper, systemClock.now());
  const { record, budgets } = await withNewState(settings, async (state) => {
    await checkBudgets(state, amounts);
    const { group: groupName } = options;
    const creation = {
      record: { ...made.record, ...(groupName !== undefined && { groupName }), ...(priority && { priority }) },
      planExpiresAt: planEnd,
      budgets: amounts,
      ...(ofPlan?.budget && { planBudget: ofPlan.budget }),
      ...byOperator(),
    };
    const created = await state.budgets.createKey(creation).catch(asMistake(state, groupName));
    return { record: created, budgets: await state.budgets.ofKey(created) };
  });
  const { id, name, grants, rpm, planId, models } = record;
  const expiresAt = soonerOf(record.expiresAt, planEnd);
  return {
    json: {
      id,
      key: made.key,
      name,
      // Only if one was named: the output for scripts stays unchanged.
      ...(options.account !== undefined && { account: accountId }),
      plan: planId,
      grants,
      models,
      rpm,
      expires_at: isoTime(expiresAt),
      ...(planEnd !== null && { plan_expires_at: isoTime(planEnd) }),
      ...encodeSharing({ record, budgets }, systemClock.now()),
      ...(priority && { priority }),
    },
    text: made.key,
    remarks: [
      `Key ${id} (${name}) may use: ${grants.join(', ')}${models ? ` (${models.join(', ')})` : ''}. It is not shown again.`,
      ...(budgets.length > 0 ? [`Its budget: ${budgets.map(renderSharedLeft).join('; ')}.`] : []),
      ...(planEnd !== null && expiresAt === planEnd
        ? [`It expires at ${isoTime(planEnd)}, with its plan ${planId}.`]
        : []),
    ],
  };
}

/** All keys without their secrets; those of pages only with `--internal`. */
export async function listKeysCommand(
  settings: Settings,
  { internal = false }: OptionsOf<typeof listKeys>,
): Promise<Outcome<'Keys'>> {
  const listed = await withState(settings, async (state) => {
    const all: ListedKey[] = [];
    for (const record of await state.keys.list()) {
      if (internal || !record.isInternal) all.push(await inspectKey(state, record));
    }
    return all;
  });
  const none = 'There are no keys. "mediagate keys create" creates one.';
  return {
    json: listed.map((key) => describeKey(key, systemClock.now())),
    text: listed.length === 0 ? none : renderTable(HEAD, listed.map(row)),
  };
}

/** @throws CommandFailure */
export async function findKey({ keys }: Pick<Records, 'keys'>, id: string): Promise<ApiKeyRecord> {
  const record = await keys.find(id);
  if (record) return record;
  throw new CommandFailure(`There is no key with the id ${id}; "mediagate keys list" shows them.`);
}

/** Revokes a key; servers follow within seconds. @param named See {@link readKeyId}. */
export async function revokeKeyCommand(
  settings: Settings,
  named: string,
  { keepJobs = false }: OptionsOf<typeof revokeKey>,
): Promise<Outcome<'RevokedKey'>> {
  const id = readKeyId(named);
  const revoked = await withState(settings, async (state) => {
    if (await state.keys.revoke(id, systemClock.now(), undefined, keepJobs, byOperator().actor)) return true;
    if (!(await state.keys.find(id))) throw new CommandFailure(`There is no key with the id ${id}.`);
    return false;
  });
  const text = revoked ? `Key ${id} is revoked.` : `Key ${id} was revoked before.`;
  return { json: { id, revoked: true }, text };
}

/** Names of user accounts are reserved. */
function accountOf(name: string | undefined): string {
  if (name === undefined) return LOCAL_ACCOUNT;
  if (/^[a-z0-9][a-z0-9_.-]{0,63}$/.test(name) && name !== LOCAL_ACCOUNT && !name.startsWith('acct_')) return name;
  throw new CommandMistake(
    `--account must have 1 to 64 of a-z, 0-9, "_", "." and "-", begin with a letter or digit, not with acct_, and not be ${LOCAL_ACCOUNT}.`,
  );
}

async function planOf(settings: Settings, id: string, accountId: string): Promise<PlanKey> {
  const catalogue = await readCatalogue(settings.plansFile, settings.freeTierGrants);
  const { freeTierPeriod } = settings;
  const found = planKey(id, { catalogue, freeTierPeriod, accountId, now: systemClock.now() });
  if (found) return found;
  throw new CommandMistake(`--plan ${id} is unknown.${suggestName(id, planIds(catalogue))}`);
}

export function grantNames(given: readonly string[]): KeyGrant[] {
  const names = listed(given);
  const unknown = names.find((name) => !OPERATOR_KEY_GRANTS.some((grant) => grant === name));
  if (unknown !== undefined)
    throw new CommandMistake(`--grant ${unknown || '""'} is unknown.${suggestName(unknown, OPERATOR_KEY_GRANTS)}`);
  return OPERATOR_KEY_GRANTS.filter((grant) => names.includes(grant));
}

/**
 * A mistyped model would make a key that is refused everywhere. Models of providers that are not ready here count as
 * known, since the variables of the gateway may be set in another shell.
 * @throws CommandMistake
 */
export async function checkModels(settings: Settings, ids: readonly string[] | null): Promise<void> {
  if (ids === null || ids.length === 0) return;
  const entries = await readPluginConfig(pluginsFileOf(settings).file, process.env);
  const stated = entries.flatMap((entry) => [...servesOf(entry), ...(entry.aliases ?? []).map(({ name }) => name)]);
  if (ids.every((id) => stated.includes(id))) return;
  const served = await withGateway(settings, async (gateway) => gateway.models().map(({ id }) => id), { quiet: true });
  const known = [...new Set([...served, ...stated])];
  const unknown = ids.find((id) => !known.includes(id));
  if (unknown === undefined) return;
  const name = sanitizeForTerminal(unknown);
  const advice = '--allow-unknown-models takes it, for a model that comes later.';
  throw new CommandMistake(`--models ${name} is unknown.${suggestName(unknown, known)} ${advice}`);
}

/** Ids of models; null, or all of the plan, for `all`. {@link checkModels} looks them up. */
export function modelsOf(given: readonly string[] | undefined, ofPlan: PlanKey | undefined): readonly string[] | null {
  const ofItsPlan = ofPlan?.plan.models ?? null;
  if (given === undefined || (given.length === 1 && given[0] === 'all')) return ofItsPlan;
  const ids = [...new Set(listed(given))];
  if (ids.some((id) => id.length > MAX_MODEL_ID || !isVisible(id)))
    throw new CommandMistake(`--models must be ids of models, separated by commas, or all.`);
  const beyond = ids.find((id) => ofItsPlan !== null && !ofItsPlan.includes(id));
  if (beyond === undefined) return ids;
  throw new CommandMistake(`--models ${beyond} exceeds the plan of the key. It has: ${ofItsPlan?.join(',')}.`);
}

function listed(given: readonly string[]): string[] {
  return given.flatMap((list) => list.split(',').map((name) => name.trim()));
}

/** @throws CommandMistake */
export function rpmOf(text: string | undefined, ofPlan: PlanKey | undefined): number | null {
  const given =
    text === undefined ? undefined : text === 'unlimited' ? null : /^\d{1,7}$/.test(text) ? Number(text) : -1;
  return byRule(() => limitRpm(given, ofPlan));
}

/** @throws CommandMistake */
export function priorityOf(text: string): JobPriority {
  const found = JOB_PRIORITIES.find((priority) => priority === text);
  if (found) return found;
  throw new CommandMistake(`--priority must be ${JOB_PRIORITIES.join(', ')}.`);
}

/** Options of commands that set what the fields of the admin API set. */
const KEY_OPTIONS = { name: '--name', grants: '--grant', rpm: '--rpm', budgets: '--budget', group: '--group' };

/** What a rule for keys returns. @throws CommandMistake in place of its error, with the option. */
export function byRule<Value>(rule: () => Value): Value {
  try {
    return rule();
  } catch (error) {
    throw asKeyMistake(error);
  }
}

/** The error of a rule for keys, with the option in place of the field; any other error as it is. */
function asKeyMistake(error: unknown): unknown {
  const isOfRule = isGatewayError(error) && error.param !== undefined && error.param in KEY_OPTIONS;
  return isOfRule ? mistakeOf(error, KEY_OPTIONS) : error;
}

/** @throws CommandMistake if the budgets are in another currency than the prices. */
export async function checkBudgets(state: Pick<Records, 'usage'>, amounts: readonly BudgetAmount[]): Promise<void> {
  await checkCurrency(state, amounts).catch((error) => {
    throw asKeyMistake(error);
  });
}

/** Converts the error of a group that does not exist: it names the option, and the groups that exist. */
export function asMistake({ budgets }: Pick<Records, 'budgets'>, groupName = '') {
  return async (error: unknown): Promise<never> => {
    if (!isGatewayError(error) || error.param !== 'group') throw error;
    const { message } = mistakeOf(error, { group: '--group' });
    const names = (await budgets.groups()).map(({ name }) => name);
    throw new CommandMistake(`${message}${suggestName(groupName, names)}`);
  };
}

export function expiryOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const time = parseIsoTime(text);
  if (time === undefined)
    throw new CommandMistake('--expires must be a date such as 2030-12-31 or 2030-12-31T12:00:00Z.');
  if (time <= systemClock.now()) throw new CommandMistake('--expires is in the past.');
  return time;
}

/** What is left of all budgets of a key. */
export function renderAllLeft({ budget, budgets }: Pick<ListedKey, 'budget' | 'budgets'>): string {
  const further = budgets.map(renderSharedLeft);
  return (budget || further.length === 0 ? [renderLeft(budget, systemClock.now()), ...further] : further).join('; ');
}

function row({ record, budget, budgets }: ListedKey): string[] {
  const { id, name, accountId, planId, grants, rpm, createdAt, expiresAt, lastUsedAt } = record;
  return [
    id,
    name,
    accountId,
    planId ?? '-',
    grants.join(','),
    rpm === null ? 'unlimited' : String(rpm),
    sanitizeForTerminal(renderAllLeft({ budget, budgets })),
    stateOfKey(record, systemClock.now()),
    isoTime(createdAt),
    isoTime(expiresAt) ?? 'never',
    isoTime(lastUsedAt) ?? 'never',
  ];
}

/**
 * The public id of the named key. People paste the key itself in place of its id, which is accepted; the text is never
 * quoted, since it may be a mistyped key.
 * @throws CommandMistake
 */
export function readKeyId(named: string): string {
  const id = namedKeyId(named);
  if (id !== undefined) return id;
  throw new CommandMistake('Give the id of a key (8 letters and digits, see "mediagate keys list") or the key itself.');
}
