/*
 * The prepaid balance on the page of orders: what is left, packages to top up by, the latest movements and the whole
 * statement as a file. Accounts that have no balance and may not top up see none of it.
 */

import type { BalanceState } from '../../accounts/index.js';
import type { StatementLine } from '../../ledger/index.js';
import type { TopUpPackage } from '../../plans/index.js';
import type { Locale } from '../language/index.js';
import { type Html, html, scriptedButton } from '../page.js';
import { dataTable } from './table.js';

export interface BalanceView {
  balance: BalanceState | undefined;
  topUps: readonly TopUpPackage[];
  /** Newest first. */
  lines: readonly StatementLine[];
}

export function balancePart({ balance, topUps, lines }: BalanceView, locale: Locale): Html | false {
  if (!balance && topUps.length === 0) return false;
  const t = locale.texts.balance;
  return html`<section class="card stack" aria-labelledby="balance">
<div class="row row-apart"><h2 id="balance">${t.title}</h2>${balance && html`<span class="figures">${moneyOf(balance.amount, balance.currency, locale)}</span>`}</div>
${balance ? renderState(balance, locale) : html`<p>${t.none}</p>`}
${topUps.length > 0 && html`<div class="row">${topUps.map((topUp, index) => topUpForm(topUp, index, locale))}</div>`}
${balance && renderStatement(balance, lines, locale)}
</section>`;
}

function renderState({ reserved, currency, heldAt }: BalanceState, locale: Locale): Html {
  const t = locale.texts.balance;
  const isReserved =
    reserved > 0 && html`<p class="small muted">${t.reserved(moneyOf(reserved, currency, locale))}</p>`;
  return html`<p>${t.lead}</p>${isReserved}${heldAt !== null && html`<p class="notice notice-warn">${t.onHold}</p>`}`;
}

function topUpForm({ name, price, terms }: TopUpPackage, index: number, locale: Locale): Html {
  const { texts, money } = locale;
  const problem = `problem-top-up-${index}`;
  const amount = money(price.amount, price.currency);
  return html`<form class="plan-form" data-api="POST /api/agent/payment" data-then="/pay/{payment.code}" data-problem="${problem}">
<input type="hidden" name="planId" value="${terms.planId}">
<p class="problem" role="alert" id="${problem}"></p>
${scriptedButton(html`${texts.balance.topUp} <bdi>${name}</bdi>${name !== amount && html` · ${amount}`}`)}
<p class="needs-no-script small muted">${texts.plans.needsScripts}</p>
</form>`;
}

function renderStatement({ currency }: BalanceState, lines: readonly StatementLine[], locale: Locale): Html {
  const { texts, day } = locale;
  const t = texts.balance;
  const kinds: Readonly<Record<string, string>> = t.kinds;
  return html`${dataTable<StatementLine>({
    label: t.statement,
    isStacked: true,
    rows: lines,
    columns: [
      { head: t.date, cell: ({ at }) => day(at) },
      { head: t.kind, cell: ({ kind }) => kinds[kind] ?? kind },
      { head: t.about, inCard: 'line', cell: ({ note }) => html`<bdi>${note}</bdi>` },
      { head: t.amount, isNumber: true, inCard: 'end', cell: ({ amount }) => moneyOf(amount, currency, locale) },
      { head: t.left, isNumber: true, cell: ({ left }) => moneyOf(left, currency, locale) },
    ],
    empty: { title: t.empty, words: t.emptyWords },
  })}
<p class="small"><a href="/api/agent/balance/statement.csv" download>${t.download}</a></p>`;
}

/** With all digits: amounts may be parts of a cent. */
function moneyOf(micros: number, currency: string, { smallMoney }: Locale): string {
  return smallMoney(micros, currency);
}
