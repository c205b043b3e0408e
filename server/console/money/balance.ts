/*
 * The page of one prepaid balance: movements, top-ups and what can be done: let it top up, add or take money, end a hold.
 * A top-up is given back by the refund of its order, which is a reversal in the ledger.
 */

import type { BalanceState } from '../../accounts/index.js';
import { showBalance, type WholeBalance } from '../../admin/index.js';
import type { StatementLine } from '../../ledger/index.js';
import { isOrderCode, type OrderRecord } from '../../payments/index.js';
import { badge, copyableId, dataTable, type Html, html, type Locale, linkTo, orderBadge } from '../../site/index.js';
import type { ConsoleCall, ConsolePage, ConsoleServices } from '../console-route.js';
import { action, actions, choiceField, textField } from '../forms.js';
import { actorName, backTo, facts, type People, peopleOf, section } from '../parts.js';

export const PATH = '/admin/balances';

/** With all digits: amounts may be parts of a cent. */
export function moneyOf({ currency }: Pick<BalanceState, 'currency'>, micros: number, { smallMoney }: Locale): string {
  return smallMoney(micros, currency);
}

export function stateBadge({ heldAt }: BalanceState, locale: Locale): Html {
  const t = locale.texts.console.balances;
  return heldAt === null ? badge(t.pays, 'good') : badge(t.onHold, 'bad');
}

export async function balancePage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, param, query, isBilling } = call;
  const before = Number(query('before') ?? Number.NaN);
  const whole = await showBalance(services, param('id'), before > 0 ? before : undefined);
  const { user, balance, topsUp } = whole;
  const t = locale.texts.console.balances;
  const people = await peopleOf(
    services,
    whole.lines.map(({ note }) => note),
  );
  return {
    title: t.titleOf(user.name ?? user.email ?? user.id),
    current: 'balances',
    back: backTo(PATH, locale.texts.console.pages.balances),
    primary: renderActions(whole, mayTopUp(services, topsUp), call),
    content: html`<section class="card stack">
${balance && renderTotals(balance, locale)}
${facts([
  [
    t.user,
    isBilling
      ? html`<bdi class="whole">${user.email ?? user.name ?? user.id}</bdi>`
      : html`<a href="/admin/users/${user.id}"><bdi class="whole">${user.email ?? user.name ?? user.id}</bdi></a>`,
  ],
  [t.state, balance && stateBadge(balance, locale)],
  [t.topsUp, topsUp === null ? t.asSetting : topsUp ? t.yes : t.no],
  [t.since, balance?.heldAt && locale.minute(balance.heldAt)],
  [t.account, copyableId(user.accountId, t.account, locale)],
])}
${!balance && html`<p class="muted">${t.noBalance}</p>`}
</section>
${section('movements', t.movements, renderLines(whole, people, locale), balance && html`<a class="small" href="${PATH}/${user.accountId}/statement.csv" download>${t.csv}</a>`)}
${section('top-ups', t.topUps, renderTopUps(whole.topUps, locale), html`<a class="small" href="${linkTo('/admin/orders', { account: user.accountId })}">${locale.texts.console.users.allOrders}</a>`)}`,
  };
}

/** What there is, and how much of it running requests hold. */
function renderTotals(balance: BalanceState, locale: Locale): Html {
  const t = locale.texts.console.balances;
  const { amount, reserved, free } = balance;
  const figures = [
    [t.amount, amount],
    [t.free, free],
    [t.reserved, reserved],
  ] as const;
  return html`<dl class="totals">${figures.map(([name, micros]) => html`<div><dt>${name}</dt><dd>${moneyOf(balance, micros, locale)}</dd></div>`)}</dl>`;
}

/** By the choice of an operator; without one by the setting. */
export function mayTopUp({ settings }: ConsoleServices, topsUp: boolean | null): boolean {
  return topsUp ?? settings().find(({ name }) => name === 'PREPAID_BALANCE')?.value === 'all';
}

function renderActions({ user, balance }: WholeBalance, topsUp: boolean, call: ConsoleCall): Html | false {
  const { locale, field, fields, problem } = call;
  const t = locale.texts.console.balances;
  const path = `/balances/${user.accountId}`;
  const isSent = problem !== undefined && fields.includes('amount');
  const about = html`<bdi>${user.name ?? user.email ?? user.id}</bdi>${balance && html` <span class="muted">${moneyOf(balance, balance.amount, locale)}</span>`}`;
  const amount = balance && [
    choiceField({
      name: 'direction',
      label: t.direction,
      value: isSent ? field('direction') : 'add',
      choices: [
        { value: 'add', label: t.add },
        { value: 'take', label: t.take },
      ],
    }),
    textField({
      name: 'amount',
      label: t.howMuch,
      type: 'decimal',
      isRequired: true,
      maxLength: 40,
      unit: balance.currency,
      suggestions: ['5', '10', '20', '50', '100'],
      value: isSent ? field('amount') : '',
    }),
  ];
  return actions([
    balance !== undefined &&
      action(
        {
          path: `${path}/adjust`,
          label: t.adjust,
          about,
          words: t.adjustWords,
          button: t.adjustNow,
          fields: html`<input type="hidden" name="currency" value="${balance.currency}"><div class="form-row">${amount}</div>`,
          isOpen: isSent,
        },
        locale,
        problem,
      ),
    balance !== undefined &&
      balance.heldAt !== null &&
      action({ path: `${path}/resume`, label: t.resume, about, words: t.resumeWords, button: t.resumeNow }, locale),
    !topsUp &&
      action({ path: `${path}/allow`, label: t.allow, about, words: t.allowWords, button: t.allowNow }, locale),
    topsUp &&
      action(
        { path: `${path}/refuse`, label: t.refuse, about, words: t.refuseWords, button: t.refuseNow, isBad: true },
        locale,
      ),
  ]);
}

/** With a sign: what came is +, what went is −. */
function movementOf(line: StatementLine, locale: Locale): string {
  const sign = line.amount > 0 ? '+' : line.amount < 0 ? '−' : '';
  return `${sign}${moneyOf(line, Math.abs(line.amount), locale)}`;
}

function renderLines({ user, balance, lines }: WholeBalance, people: People, locale: Locale): Html {
  const { texts, second } = locale;
  const t = texts.console.balances;
  const kinds: Readonly<Record<string, string>> = texts.balance.kinds;
  const last = lines.at(-1);
  return html`${dataTable<StatementLine>({
    label: t.movements,
    isStacked: true,
    rows: lines,
    empty: { title: t.noMovements, words: t.noMovementsWords },
    columns: [
      {
        head: texts.balance.kind,
        cell: ({ kind, note, reference }) =>
          html`<span class="entry">${kinds[kind] ?? kind}</span><span class="detail small muted">${kind === 'adjustment' ? html`${t.by} ${actorName(note, people, locale)}` : html`<bdi class="clip" title="${note}">${note}</bdi>`}${reference !== '' && html` · ${isOrderCode(reference) ? html`<a href="/admin/orders/${reference}"><code>${reference}</code></a>` : html`<bdi class="said">${reference}</bdi>`}`}</span>`,
      },
      { head: texts.balance.amount, isNumber: true, inCard: 'end', cell: (line) => movementOf(line, locale) },
      { head: texts.balance.left, isNumber: true, cell: (line) => moneyOf(line, line.left, locale) },
      { head: t.time, isNumber: true, inCard: 'plain', cell: ({ at }) => second(at) },
    ],
  })}${balance && last && last.number > 1 && html`<p class="small"><a href="${linkTo(`${PATH}/${user.accountId}`, { before: String(last.number) })}" rel="next">${t.older}</a></p>`}`;
}

/** A refund is made on the page of the order, which says what it takes back. */
function renderTopUps(orders: readonly OrderRecord[], locale: Locale): Html {
  const { texts, day, money } = locale;
  const t = texts.console.balances;
  return dataTable<OrderRecord>({
    label: t.topUps,
    isStacked: true,
    rows: orders,
    empty: { title: t.noTopUps, words: t.noTopUpsWords },
    columns: [
      {
        head: texts.orders.code,
        cell: ({ code }) => html`<a class="row-link" href="/admin/orders/${code}"><code>${code}</code></a>`,
      },
      { head: texts.orders.state, inCard: 'end', cell: ({ state }) => orderBadge(state, locale) },
      { head: texts.orders.amount, isNumber: true, cell: ({ amount, currency }) => money(amount, currency) },
      { head: texts.orders.date, cell: ({ createdAt }) => day(createdAt) },
      {
        head: t.refundLink,
        isActions: true,
        cell: ({ code, state }) =>
          state === 'paid' &&
          html`<a class="button button-quiet button-small" href="/admin/orders/${code}">${t.refundLink}…</a>`,
      },
    ],
  });
}
