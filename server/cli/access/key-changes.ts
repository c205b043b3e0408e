/*
 * The commands that change, rotate and show one key. Only the given properties change, and running servers follow
 * within 2 seconds. The limits of a key that belongs to a plan are checked against that plan, and an update adds no
 * grants beyond it. Rotation makes a new key with the properties of the old one, which stays valid for an overlap of 24
 * hours by default. A key may be named by its id or by the key itself.
 */

import { systemClock } from '../../../core/runtime/index.js';
import { MAX_OVERLAP_HOURS } from '../../accounts/index.js';
import {
  changedGrants,
  checkName,
  describeKey,
  describeWholeKey,
  inspectKey,
  parseBudgets,
  showKey,
  stateOfKey,
  type WholeKey,
} from '../../admin/index.js';
import { type BudgetAmount, renderBudget } from '../../budgets/index.js';
import { isoTime, sanitizeForTerminal } from '../../format/index.js';
import {
  type ApiKeyRecord,
  createKey,
  describeLimits,
  effectiveModels,
  hashKey,
  isSiteAccount,
  type KeyChange,
} from '../../keys/index.js';
import { type PlanKey, planKey, readCatalogue } from '../../plans/index.js';
import { loadPeppers, type Settings } from '../../settings/index.js';
import { byOperator, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake, mistakeOf } from '../mistakes.js';
import { joinParts, type Outcome, renderAudit, renderFacts } from '../output.js';
import type { rotateKey, updateKey } from './access-commands.js';
import {
  asMistake,
  byRule,
  checkBudgets,
  checkModels,
  expiryOf,
  findKey,
  grantNames,
  modelsOf,
  priorityOf,
  readKeyId,
  renderAllLeft,
  rpmOf,
} from './keys.js';
import { renderCounts } from './usage.js';

const HOUR_MS = 60 * 60 * 1000;

type UpdateKeyOptions = OptionsOf<typeof updateKey>;

/** Changes the properties of a key; servers follow within 2 seconds. @param named See {@link readKeyId}. */
export async function updateKeyCommand(
  settings: Settings,
  named: string,
  options: UpdateKeyOptions,
): Promise<Outcome<'Key'>> {
  const id = readKeyId(named);
  const { name, grant, rpm, models, budget: given, group, priority, expires } = options;
  const properties = [name, grant, rpm, models, priority, expires];
  if ([...properties, given, group].every((option) => option === undefined))
    throw new CommandMistake(
      'Give what changes: --name, --grant, --rpm, --models, --budget, --group, --priority or --expires.',
    );
  const amounts = given && changedBudgets(given);
  const change: KeyChange = {
    ...(name !== undefined && { name: byRule(() => checkName(name)) }),
    ...(priority !== undefined && { priority: priorityOf(priority) }),
    ...(expires !== undefined && { expiresAt: expires === 'never' ? null : expiryOf(expires) }),
  };
  const by = byOperator(options.note);
  const updated = await withState(settings, async (state) => {
    const found = await findKey(state, id);
    if (amounts) await checkBudgets(state, amounts);
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
    return inspectKey(state, await findKey(state, id));
  });
  const changed = [
    ...renderChange(updated.record, change),
    ...(group === undefined ? [] : [`group ${group}`]),
    ...(amounts ? [`budget ${amounts.map(renderBudget).join(', ') || 'none'}`] : []),
  ].join('; ');
  const text = `Key ${id} is changed: ${changed}. Running servers follow within 2 seconds.`;
  return { json: describeKey(updated, systemClock.now()), text };
}

/** @throws CommandMistake */
export function changedBudgets(given: readonly string[]): BudgetAmount[] {
  return given.length === 1 && given[0] === 'none' ? [] : byRule(() => parseBudgets(given));
}

/**
 * Makes a key with the properties of another one, which ends after the overlap, and prints it, which happens only once.
 * @param named See {@link readKeyId}.
 */
export async function rotateKeyCommand(
  settings: Settings,
  named: string,
  options: OptionsOf<typeof rotateKey>,
): Promise<Outcome<'RotatedKey'>> {
  const id = readKeyId(named);
  const overlapMs = overlapOf(options.overlapHours);
  const audit = byOperator(options.note);
  const [pepper] = await loadPeppers(settings);
  const text = createKey();
  const successor = { id: text.id, hash: hashKey(text.key, pepper), pepperVersion: pepper.version };
  const { record, replaced } = await withState(settings, async (state) => {
    const { accountId } = await findKey(state, id);
    const made = await state.keys.rotate({ accountId, id, successor, overlapMs, audit });
    return { record: made, replaced: await findKey(state, id) };
  });
  const { name, accountId, planId, grants, models, rpm } = record;
  const ends = isoTime(replaced.expiresAt);
  const expires = isoTime(record.expiresAt);
  const properties = { name, account: accountId, plan: planId, grants, models, rpm, expires_at: expires };
  const until = overlapMs === 0 ? 'which no longer works' : `which works until ${ends}`;
  return {
    json: { id: text.id, key: text.key, ...properties, replaces: id, replaced_key_expires_at: ends },
    text: text.key,
    remarks: [
      `Key ${text.id} (${name}) replaces ${id}, ${until}. It is not shown again.`,
      ...(expires === null ? [] : [`It expires at ${expires}, as the old key did.`]),
    ],
  };
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
    ...(grant && { grants: byRule(() => changedGrants(grantNames(grant), record, ofPlan)) }),
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

/** What its user allows of the plan. */
function renderOwn({ own }: ApiKeyRecord): string | undefined {
  if (!own) return undefined;
  const { grants, models, rpm, expiresAt } = own;
  const parts = [
    ...(grants ? [`grants ${grants.join(',')}`] : []),
    ...(models ? [`models ${models.join(',')}`] : []),
    ...(rpm === undefined ? [] : [`rpm ${rpm}`]),
    ...(expiresAt === undefined ? [] : [`expires ${isoTime(expiresAt)}`]),
  ];
  return sanitizeForTerminal(parts.join('; '));
}

/** One key: properties, plan, budget, usage of today (UTC) and history. @param named See {@link readKeyId}. */
export async function showKeyCommand(settings: Settings, named: string): Promise<Outcome<'KeyDetails'>> {
  const id = readKeyId(named);
  const shown = await withState(settings, async (state): Promise<WholeKey> => {
    await findKey(state, id);
    return showKey({ state }, id, systemClock.now());
  });
  return { json: describeWholeKey(shown, systemClock.now()), text: render(shown) };
}

function render({ record, budget, budgets, today, currency, audit }: WholeKey): string {
  const { rpm, imageDailyLimit } = record;
  const models = effectiveModels(record);
  const facts = renderFacts([
    ['key', record.id],
    ['name', sanitizeForTerminal(record.name)],
    ['account', record.accountId],
    ['state', stateOfKey(record, systemClock.now())],
    ['grants', record.grants.join(',')],
    ['models', models === null ? 'all' : sanitizeForTerminal(models.join(','))],
    ['rpm', rpm === null ? 'unlimited' : String(rpm)],
    ['plan', record.planId ?? '-'],
    ['own limits', renderOwn(record)],
    ['group', record.groupName],
    ['priority', record.priority],
    ['left', sanitizeForTerminal(renderAllLeft({ budget, budgets }))],
    ['images', imageDailyLimit === null ? 'the setting of the gateway' : `${imageDailyLimit} a day`],
    ['today', renderCounts(today, currency)],
    ['created', isoTime(record.createdAt)],
    ['expires', isoTime(record.expiresAt) ?? 'never'],
    ['last used', isoTime(record.lastUsedAt) ?? 'never'],
    ['replaced by', record.replacedBy],
    ['suspended', isoTime(record.suspendedAt)],
    ['revoked', isoTime(record.revokedAt)],
  ]);
  return joinParts(facts, renderAudit(audit, 'CHANGE'));
}
