/*
 * The commands that change, rotate and show one key. Only the given properties change, and running servers follow
 * within 2 seconds. The limits of a key that belongs to a plan are checked against that plan, and an update adds no
 * grants beyond it. Rotation makes a new key with the properties of the old one, which stays valid for an overlap of 24
 * hours by default. A key may be named by its id or by the key itself.
 */

import { systemClock } from '../../core/runtime/index.js';
import { MAX_OVERLAP_HOURS } from '../accounts/index.js';
import type { AuditEntry } from '../audit/index.js';
import { type BudgetAmount, renderBudget } from '../budgets/index.js';
import { dayOf, isoTime, isSiteAccount, renderTable, sanitizeForTerminal } from '../format/index.js';
import { type ApiKeyRecord, createKey, describeLimits, hashKey, type KeyChange } from '../keys/index.js';
import { type PlanKey, planKey, readCatalogue } from '../plans/index.js';
import { loadPeppers, type Settings } from '../settings/index.js';
import { addUp, encodeBudget, type UsageCounts } from '../usage/index.js';
import { CommandFailure, CommandMistake, mistakeOf, print, printJson, withState } from './command.js';
import {
  asMistake,
  budgetAmounts,
  checkCurrency,
  checkModels,
  describeKey,
  expiryOf,
  findKey,
  grantNames,
  type Listed,
  modelsOf,
  nameOf,
  priorityOf,
  readKeyId,
  renderAllLeft,
  rpmOf,
  stateOf,
} from './keys.js';
import { describeCounts, renderCounts } from './usage.js';
import { noteOf, operatorActor } from './users.js';

const HOUR_MS = 60 * 60 * 1000;

export interface UpdateKeyOptions {
  name?: string;
  /** Each one or several, comma-separated; together they replace the grants of the key. */
  grant?: readonly string[];
  rpm?: string;
  /** As `grant`; `all` removes the restriction. */
  models?: readonly string[];
  /** Takes models that nothing serves yet. */
  allowUnknownModels?: boolean;
  /** Amounts for a period, which replace the own budgets of the key; `none` removes them. */
  budget?: readonly string[];
  /** A group that exists, or `none`. */
  group?: string;
  /** `low`, `normal` or `high`. */
  priority?: string;
  /** A date, or `never`. */
  expires?: string;
  note?: string;
  json?: boolean;
}

/** Changes the properties of a key; servers follow within 2 seconds. @param named See {@link readKeyId}. */
export async function updateKeyCommand(settings: Settings, named: string, options: UpdateKeyOptions): Promise<number> {
  const id = readKeyId(named);
  const { name, grant, rpm, models, budget: given, group, priority, expires } = options;
  const properties = [name, grant, rpm, models, priority, expires];
  if ([...properties, given, group].every((option) => option === undefined))
    throw new CommandMistake(
      'Give what changes: --name, --grant, --rpm, --models, --budget, --group, --priority or --expires.',
    );
  const amounts = given && changedBudgets(given);
  const change: KeyChange = {
    ...(name !== undefined && { name: nameOf(name) }),
    ...(priority !== undefined && { priority: priorityOf(priority) }),
    ...(expires !== undefined && { expiresAt: expires === 'never' ? null : expiryOf(expires) }),
  };
  const by = { actor: operatorActor(), ...noteOf(options.note) };
  const { record, budget, budgets } = await withState(settings, async (state) => {
    const found = await findKey(state, id);
    if (amounts) await checkCurrency(state, amounts);
    if (grant ?? rpm ?? models) Object.assign(change, await limitsOf(settings, found, options));
    const changed = {
      ...(properties.some((option) => option !== undefined) && { properties: change }),
      ...(group !== undefined && { groupName: group === 'none' ? null : group }),
      ...(amounts && { budgets: amounts }),
    };
    await state.budgets.changeKey({ id, ...changed, ...by }).catch((error) => {
      if (error?.param === 'expires_at') throw mistakeOf(error, { expires_at: '--expires' });
      return asMistake(state, group)(error);
    });
    const updated = await findKey(state, id);
    const ofPlan = updated.budgetId === null ? undefined : await state.budgets.find(updated.budgetId);
    return { record: updated, budget: ofPlan, budgets: await state.budgets.ofKey(updated) };
  });
  if (options.json) printJson(describeKey({ record, budget, budgets }));
  else {
    const changed = [
      ...renderChange(record, change),
      ...(group === undefined ? [] : [`group ${group}`]),
      ...(amounts ? [`budget ${amounts.map(renderBudget).join(', ') || 'none'}`] : []),
    ].join('; ');
    print(`Key ${id} is changed: ${changed}. Running servers follow within 2 seconds.\n`);
  }
  return 0;
}

/** @throws CommandMistake */
export function changedBudgets(given: readonly string[]): BudgetAmount[] {
  return given.length === 1 && given[0] === 'none' ? [] : budgetAmounts(given);
}

export interface RotateKeyOptions {
  /** Default 24. */
  overlapHours?: string;
  note?: string;
  json?: boolean;
}

/**
 * Makes a key with the properties of another one, which ends after the overlap, and prints it, which happens only once.
 * @param named See {@link readKeyId}.
 */
export async function rotateKeyCommand(settings: Settings, named: string, options: RotateKeyOptions): Promise<number> {
  const id = readKeyId(named);
  const overlapMs = overlapOf(options.overlapHours);
  const audit = { actor: operatorActor(), ...noteOf(options.note) };
  const [pepper] = await loadPeppers(settings);
  const text = createKey();
  const successor = { id: text.id, hash: hashKey(text.key, pepper), pepperVersion: pepper.version };
  const { record, replaced } = await withState(settings, async (state) => {
    const { accountId } = await findKey(state, id);
    const made = await state.keys.rotate({ accountId, id, successor, overlapMs, audit });
    return { record: made, replaced: await findKey(state, id) };
  });
  const { key } = text;
  const { name, accountId, planId, grants, models, rpm } = record;
  const ends = isoTime(replaced.expiresAt);
  const expires = isoTime(record.expiresAt);
  if (options.json) {
    const properties = { name, account: accountId, plan: planId, grants, models, rpm, expires_at: expires };
    printJson({ id: text.id, key, ...properties, replaces: id, replaced_key_expires_at: ends });
  } else {
    print(`${key}\n`);
    const until = overlapMs === 0 ? 'which no longer works' : `which works until ${ends}`;
    process.stderr.write(`Key ${text.id} (${name}) replaces ${id}, ${until}. It is not shown again.\n`);
    if (expires !== null) process.stderr.write(`It expires at ${expires}, as the old key did.\n`);
  }
  return 0;
}

function overlapOf(text = '24'): number {
  const hours = /^\d{1,3}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (hours >= 0 && hours <= MAX_OVERLAP_HOURS) return Math.round(hours * HOUR_MS);
  throw new CommandMistake(`--overlap-hours must be a number from 0 to ${MAX_OVERLAP_HOURS}.`);
}

/** The limits of a key of a plan are checked against the plan, and those of a user's key are the plan's. */
async function limitsOf(
  settings: Settings,
  record: ApiKeyRecord,
  { grant, rpm, models, allowUnknownModels = false }: UpdateKeyOptions,
): Promise<KeyChange> {
  const { id, accountId } = record;
  if (isSiteAccount(accountId)) {
    throw new CommandFailure(
      `Key ${id} belongs to the user account ${accountId}, whose plan has its grants, models and rate limit. "mediagate plans grant" changes the plan.`,
    );
  }
  const ofPlan = await planOfKey(settings, record);
  const modelIds = models && modelsOf(models, ofPlan);
  if (modelIds && !ofPlan?.plan.models && !allowUnknownModels) await checkModels(settings, modelIds);
  return {
    ...(grant && { grants: changedGrants(grant, record, ofPlan) }),
    ...(rpm !== undefined && { rpm: rpmOf(rpm, ofPlan) }),
    ...(modelIds !== undefined && { models: modelIds }),
  };
}

async function planOfKey(settings: Settings, record: ApiKeyRecord): Promise<PlanKey | undefined> {
  const { planId, accountId, createdAt } = record;
  if (planId === null) return undefined;
  const catalogue = await readCatalogue(settings.plansFile, settings.freeTierGrants);
  const { freeTierPeriod } = settings;
  const found = planKey(planId, { catalogue, freeTierPeriod, accountId, now: createdAt });
  if (found) return found;
  throw new CommandFailure(
    `The plan ${planId} of key ${record.id} is not in the list of plans, so only its name and expiry can change.`,
  );
}

/** Grants beyond those of the plan were given when the key was made; an update adds none. */
function changedGrants(given: readonly string[], { grants }: ApiKeyRecord, ofPlan: PlanKey | undefined) {
  const wanted = grantNames(given);
  const allowed = ofPlan && [...ofPlan.grants, ...grants];
  const beyond = wanted.find((grant) => allowed && !allowed.includes(grant));
  if (beyond === undefined) return wanted;
  throw new CommandMistake(`--grant ${beyond} exceeds the plan of the key. It has: ${ofPlan?.grants.join(',')}.`);
}

function renderChange(record: ApiKeyRecord, change: KeyChange): string[] {
  const { name, expiresAt, planId } = record;
  const end = isoTime(expiresAt) ?? 'never';
  return [
    ...(change.name === undefined ? [] : [`name ${name}`]),
    ...describeLimits(record, change),
    ...(change.expiresAt === undefined
      ? []
      : [change.expiresAt === expiresAt ? `expires ${end}` : `expires ${end}, with its plan ${planId}`]),
  ];
}

/** Number of latest audit rows. */
const MAX_ROWS = 20;

interface Shown extends Listed {
  today: UsageCounts;
  /** Of the costs. Undefined: there never were prices. */
  currency: string | undefined;
  audit: readonly AuditEntry[];
}

/** Prints one key: properties, plan, budget, usage of today (UTC) and history. @param named See {@link readKeyId}. */
export async function showKeyCommand(settings: Settings, named: string, { json }: { json?: boolean }): Promise<number> {
  const id = readKeyId(named);
  const day = dayOf(systemClock.now());
  const shown = await withState(settings, async (state): Promise<Shown> => {
    const record = await findKey(state, id);
    const { budgetId } = record;
    const [budget, budgets, totals, currency, audit] = await Promise.all([
      budgetId === null ? undefined : state.budgets.find(budgetId),
      state.budgets.ofKey(record),
      state.usage.totals({ keyId: id, from: day, to: day }),
      state.usage.currency(),
      state.audit.list({ subject: id, limit: MAX_ROWS }),
    ]);
    return { record, budget, budgets, today: addUp(totals), currency, audit };
  });
  if (json) printJson(describe(shown));
  else print(render(shown));
  return 0;
}

function describe({ record, budget, budgets, today, currency, audit }: Shown) {
  return {
    ...describeKey({ record, budget, budgets }),
    image_daily_limit: record.imageDailyLimit,
    suspended_at: isoTime(record.suspendedAt),
    replaced_by: record.replacedBy,
    budget: budget ? { id: budget.id, ...encodeBudget(budget) } : null,
    usage_today: describeCounts(today, currency),
    audit: audit.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry })),
  };
}

function render({ record, budget, budgets, today, currency, audit }: Shown): string {
  const { rpm, models, imageDailyLimit, replacedBy, revokedAt, suspendedAt } = record;
  const facts = [
    ['key', record.id],
    ['name', sanitizeForTerminal(record.name)],
    ['account', record.accountId],
    ['state', stateOf(record)],
    ['grants', record.grants.join(',')],
    ['models', models === null ? 'all' : sanitizeForTerminal(models.join(','))],
    ['rpm', rpm === null ? 'unlimited' : String(rpm)],
    ['plan', record.planId ?? '-'],
    ...(record.groupName === undefined ? [] : [['group', record.groupName]]),
    ...(record.priority === undefined ? [] : [['priority', record.priority]]),
    ['left', sanitizeForTerminal(renderAllLeft({ budget, budgets }))],
    ['images', imageDailyLimit === null ? 'the setting of the gateway' : `${imageDailyLimit} a day`],
    ['today', renderCounts(today, currency)],
    ['created', isoTime(record.createdAt)],
    ['expires', isoTime(record.expiresAt) ?? 'never'],
    ['last used', isoTime(record.lastUsedAt) ?? 'never'],
    ...(replacedBy === null ? [] : [['replaced by', replacedBy]]),
    ...(suspendedAt === null ? [] : [['suspended', isoTime(suspendedAt)]]),
    ...(revokedAt === null ? [] : [['revoked', isoTime(revokedAt)]]),
  ].map(([name = '', value = '']) => `${name.padEnd(13)}${value}\n`);
  return [facts.join(''), auditTable(audit)].filter((part) => part !== '').join('\n');
}

function auditTable(audit: readonly AuditEntry[]): string {
  if (audit.length === 0) return '';
  const rows = audit.map(({ at, actor, action, from, to, note }) => {
    const states = [from, to].filter((state) => state !== null).map(sanitizeForTerminal);
    return [isoTime(at), sanitizeForTerminal(actor), action, states.join(' → '), sanitizeForTerminal(note ?? '')];
  });
  return `${renderTable(['AT', 'WHO', 'WHAT', 'CHANGE', 'NOTE'], rows)}\n`;
}
