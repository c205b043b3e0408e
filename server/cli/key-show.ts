import { systemClock } from '../../core/runtime/index.js';
import type { AuditEntry } from '../audit/index.js';
import { dayOf, isoTime, renderTable, sanitizeForTerminal } from '../format/index.js';
import { keyState } from '../keys/index.js';
import type { Settings } from '../settings/index.js';
import { addUp, encodeBudget, encodeCounts, renderLeft, type UsageCounts } from '../usage/index.js';
import { print, printJson, withState } from './command.js';
import { describeKey, findKey, type Listed, readKeyId } from './keys.js';
import { renderCounts } from './usage.js';

/** Number of latest audit rows. */
const MAX_ROWS = 20;

interface Shown extends Listed {
  today: UsageCounts;
  audit: readonly AuditEntry[];
}

/** Prints one key: properties, plan, budget, usage of today (UTC) and history. @param named See {@link readKeyId}. */
export async function showKeyCommand(settings: Settings, named: string, { json }: { json?: boolean }): Promise<number> {
  const id = readKeyId(named);
  const day = dayOf(systemClock.now());
  const shown = await withState(settings, async (state): Promise<Shown> => {
    const record = await findKey(state, id);
    const { budgetId } = record;
    const [budget, totals, audit] = await Promise.all([
      budgetId === null ? undefined : state.budgets.find(budgetId),
      state.usage.totals({ keyId: id, from: day, to: day }),
      state.audit.list({ subject: id, limit: MAX_ROWS }),
    ]);
    return { record, budget, today: addUp(totals), audit };
  });
  if (json) printJson(describe(shown));
  else print(render(shown));
  return 0;
}

function describe({ record, budget, today, audit }: Shown) {
  return {
    ...describeKey({ record, budget }),
    image_daily_limit: record.imageDailyLimit,
    suspended_at: isoTime(record.suspendedAt),
    replaced_by: record.replacedBy,
    budget: budget ? { id: budget.id, ...encodeBudget(budget) } : null,
    usage_today: encodeCounts(today),
    audit: audit.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry })),
  };
}

function render({ record, budget, today, audit }: Shown): string {
  const now = systemClock.now();
  const { rpm, models, imageDailyLimit, replacedBy, revokedAt, suspendedAt } = record;
  const facts = [
    ['key', record.id],
    ['name', sanitizeForTerminal(record.name)],
    ['account', record.accountId],
    ['state', keyState(record, now)],
    ['grants', record.grants.join(',')],
    ['models', models === null ? 'all' : sanitizeForTerminal(models.join(','))],
    ['rpm', rpm === null ? 'unlimited' : String(rpm)],
    ['plan', record.planId ?? '-'],
    ['left', renderLeft(budget, now)],
    ['images', imageDailyLimit === null ? 'the setting of the gateway' : `${imageDailyLimit} a day`],
    ['today', renderCounts(today)],
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
