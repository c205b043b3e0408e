import { systemClock } from 'mediagate';
import type { AccountPlan, AccountRecord, UserRecord } from '../accounts/index.js';
import type { AuditEntry } from '../audit/index.js';
import { isoTime, renderMoney, renderTable, shown } from '../format/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { keyState } from '../keys/index.js';
import type { OrderRecord } from '../payments/index.js';
import type { Settings } from '../settings/index.js';
import type { BudgetState } from '../usage/index.js';
import { leftOf, renderLeft } from '../usage/index.js';
import { withState } from './command-state.js';
import { print, printJson } from './output.js';
import { describeUser, findUser, hasEnded, stateOf } from './users.js';

/** Latest orders and audit rows. */
const SHOWN = 20;

interface Shown {
  user: UserRecord;
  account: AccountRecord | undefined;
  budget: BudgetState | undefined;
  keys: readonly ApiKeyRecord[];
  orders: readonly OrderRecord[];
  audit: readonly AuditEntry[];
}

/** Prints one user: plan, what is left of it, keys, orders, and what was done. */
export async function showUserCommand(settings: Settings, id: string, { json }: { json?: boolean }): Promise<number> {
  const details = await withState(settings, async (state): Promise<Shown> => {
    const user = await findUser(state, id);
    const { accountId } = user;
    const account = await state.accounts.find(accountId);
    const budgetId = account?.plan?.budgetId ?? null;
    const [budget, keys, orders, ofUser, ofAccount] = await Promise.all([
      budgetId === null ? undefined : state.budgets.find(budgetId),
      state.keys.listOf(accountId),
      state.orders.list({ accountId, limit: SHOWN }),
      state.audit.list({ subject: user.id, limit: SHOWN }),
      state.audit.list({ subject: accountId, limit: SHOWN }),
    ]);
    const audit = [...ofUser, ...ofAccount].sort((one, other) => other.at - one.at).slice(0, SHOWN);
    return { user, account, budget, keys, orders, audit };
  });
  if (json) printJson(describeWhole(details));
  else print(renderWhole(details));
  return 0;
}

function describeWhole({ user, account, budget, keys, orders, audit }: Shown) {
  const now = systemClock.now();
  return {
    ...describeUser(user, account),
    left: budget ? leftOf(budget) : null,
    keys: keys.map((record) => ({
      id: record.id,
      name: record.name,
      state: keyState(record, now),
      created_at: isoTime(record.createdAt),
      expires_at: isoTime(record.expiresAt),
      last_used_at: isoTime(record.lastUsedAt),
    })),
    orders: orders.map(({ code, planId, state, amount, currency, paidAmount, createdAt }) => ({
      code,
      plan: planId,
      state,
      amount,
      currency,
      paid_amount: paidAmount,
      created_at: isoTime(createdAt),
    })),
    audit: audit.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry })),
  };
}

function renderWhole({ user, account, budget, keys, orders, audit }: Shown): string {
  const now = systemClock.now();
  const plan = account?.plan;
  const facts = [
    ['user', user.id],
    ['account', user.accountId],
    ['identity', `${shown(user.subject)} at ${shown(user.issuer)}`],
    ['email', shown(user.email ?? '-')],
    ['name', shown(user.name ?? '-')],
    ['state', stateOf(user)],
    ['plan', plan ? renderPlan(plan, now) : '-'],
    ['left', plan && !hasEnded(plan, now) ? renderLeft(budget, now) : '-'],
  ].map(([name = '', value = '']) => `${name.padEnd(10)}${value}\n`);
  const tables = [
    tableOf(
      ['KEY', 'NAME', 'STATE', 'CREATED', 'LAST USED'],
      keys.map((record) => {
        const { id, name, createdAt, lastUsedAt } = record;
        return [id, name, keyState(record, now), isoTime(createdAt), isoTime(lastUsedAt) ?? 'never'];
      }),
    ),
    tableOf(
      ['ORDER', 'PLAN', 'STATE', 'AMOUNT', 'CREATED'],
      orders.map(({ code, planId, state, amount, currency, createdAt }) => [
        code,
        planId,
        state,
        renderMoney(amount, currency),
        isoTime(createdAt),
      ]),
    ),
    tableOf(
      ['AT', 'WHO', 'WHAT', 'NOTE'],
      audit.map(({ at, actor, action, to, note }) => {
        const what = to === null ? action : `${action} (${to})`;
        return [isoTime(at), shown(actor), what, shown(note ?? '')];
      }),
    ),
  ];
  return [facts.join(''), ...tables].filter((part) => part !== '').join('\n');
}

function renderPlan(plan: AccountPlan, now: number): string {
  const { planId, expiresAt } = plan;
  if (expiresAt === null) return planId;
  return `${planId}${hasEnded(plan, now) ? ', ended' : ' to'} ${isoTime(expiresAt)}`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : `${renderTable(head, rows)}\n`;
}
