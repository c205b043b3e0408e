/*
 * Prepaid balances in the console: the list of accounts that have one or may top up, and the forms of this list and of
 * the page of one balance. The whole statement is a CSV file. Users with the role `billing` see it too.
 */

import { Readable } from 'node:stream';
import type { BalanceSum } from '../../accounts/index.js';
import {
  adjustBalance,
  allowTopUps,
  findUser,
  type ListedBalance,
  listBalances,
  resumeBalance,
} from '../../admin/index.js';
import type { Route } from '../../http/index.js';
import { dataTable, type Html, html, type Locale } from '../../site/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  consoleFile,
  consoleForm,
  consolePage,
  pagesOf,
  rangeOf,
} from '../console-route.js';
import { action, textField } from '../forms.js';
import { chooseOwner, readOwner } from '../owner-filter.js';
import { emptyList, ownersOf, searchBar } from '../parts.js';
import { balancePage, mayTopUp, moneyOf, PATH, stateBadge } from './balance.js';

const ID = { id: { description: 'Id of the account, or of its user.' } };
const ERRORS = ['user_not_found', 'account_not_found', 'invalid_value'] as const;

export function balancePages(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => balancePage(services, call);
  const allow = (verb: 'allow' | 'refuse', summary: string, description: string) =>
    consoleForm(services, {
      path: `/balances/:id/${verb}`,
      params: ID,
      forBilling: true,
      summary,
      description,
      errors: ERRORS,
      show,
      async run({ param, by }) {
        const { accountId } = await allowTopUps(services, { id: param('id'), isAllowed: verb === 'allow', ...by });
        return `/balances/${accountId}?done=balance_${verb}`;
      },
    });
  return [
    consolePage(services, {
      path: '/balances',
      forBilling: true,
      summary: 'Balances in the console',
      description: 'Page of the prepaid balances, by user.',
      query: { q: 'Address or name of a user, or id of an account.', after: 'Cursor.' },
      show: (call) => balancesPage(services, call),
    }),
    consolePage(services, {
      path: '/balances/:id',
      params: ID,
      forBilling: true,
      summary: 'A balance in the console',
      description: 'Page of a prepaid balance: movements, top-ups, and what an operator can do.',
      query: { before: 'Number of a movement: those before it.' },
      errors: ERRORS,
      show,
    }),
    consoleFile(services, {
      path: '/balances/:id/statement.csv',
      params: ID,
      forBilling: true,
      summary: 'Statement of a balance in the console',
      description: 'All movements of a prepaid balance, oldest first, as CSV.',
      errors: ERRORS,
      name: 'balance.csv',
      async read({ param }) {
        const { accountId } = await findUser(services, param('id'));
        return Readable.from(services.state.ledger.csv(accountId));
      },
    }),
    consoleForm(services, {
      path: '/balances',
      forBilling: true,
      summary: 'Let a user top up in the console',
      description: 'Lets the account of a user top up its balance.',
      form: { user: 'Address or id of the user, or id of the account.' },
      errors: ERRORS,
      show: (call) => balancesPage(services, call),
      async run({ field, by }) {
        const { accountId } = await allowTopUps(services, { id: field('user'), isAllowed: true, ...by });
        return `/balances/${accountId}?done=balance_allow`;
      },
    }),
    allow('allow', 'Let an account top up in the console', 'Lets the account top up its balance.'),
    allow('refuse', 'End top-ups in the console', 'Lets the account top up no longer; what is left can be used.'),
    ...changeForms(services, show),
  ];
}

function changeForms(services: ConsoleServices, show: (call: ConsoleCall) => Promise<ConsolePage>): Route[] {
  return [
    consoleForm(services, {
      path: '/balances/:id/adjust',
      params: ID,
      forBilling: true,
      summary: 'Adjust a balance in the console',
      description: 'Adds money without an order, or takes it away: at most what is free.',
      form: {
        amount: 'Such as `5`, or with its currency `5 EUR` or `-5 EUR`.',
        direction: '`take` for money that is taken away. Default: it is added.',
        currency: 'Of an amount without one.',
      },
      errors: ERRORS,
      show,
      async run({ param, field, by }) {
        const { user } = await adjustBalance(services, { id: param('id'), amount: amountIn(field), ...by });
        return `/balances/${user.accountId}?done=balance_adjust`;
      },
    }),
    consoleForm(services, {
      path: '/balances/:id/resume',
      params: ID,
      forBilling: true,
      summary: 'Resume a balance in the console',
      description: 'Lets a balance pay again after usage beyond a reservation.',
      errors: ERRORS,
      show,
      async run({ param, by }) {
        const { user, changed } = await resumeBalance(services, { id: param('id'), ...by });
        return `/balances/${user.accountId}?done=${changed ? 'balance_resume' : 'nothing'}`;
      },
    }),
  ];
}

function amountIn(field: ConsoleCall['field']): string {
  if (field('currency') === '') return field('amount');
  return `${field('direction') === 'take' ? '-' : ''}${field('amount')} ${field('currency')}`;
}

async function balancesPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query } = call;
  const { texts } = locale;
  const t = texts.console.balances;
  const search = query('q');
  const account = await readOwner(services, search);
  const { accountId } = account;
  const { items, next } =
    account.several.length > 0
      ? { items: [] }
      : await listBalances(services, rangeOf(call), accountId !== undefined ? { accountId } : {});
  const [owners, sums] = await Promise.all([
    ownersOf(
      services,
      items.map(({ accountId }) => accountId),
    ),
    search === undefined && items.length > 0 ? services.state.balances.sums() : undefined,
  ]);
  return {
    title: locale.texts.console.pages.balances,
    current: 'balances',
    lead: html`${t.lead} <a href="/docs/accounts/payments">${t.how}</a>`,
    primary: !mayTopUp(services, null) && renderAllow(call),
    content: html`${sums?.map((sum) => renderSum(sum, locale))}${searchBar(
      {
        path: PATH,
        label: t.user,
        placeholder: texts.console.ownerHint,
        value: account.text,
        reset: search === undefined || (items.length === 0 && account.several.length === 0) ? undefined : PATH,
      },
      locale,
    )}
<section class="card stack">
${dataTable<ListedBalance>({
  label: t.title,
  isStacked: true,
  rows: items,
  empty:
    chooseOwner(account, { path: PATH, query: {}, name: 'q' }, locale) ??
    (search === undefined
      ? { title: t.none, words: t.noneWords }
      : emptyList({ title: t.none, words: t.noneFound, reset: PATH }, locale)),
  columns: [
    {
      head: t.account,
      cell: ({ accountId }) =>
        html`<a class="row-link" href="${PATH}/${accountId}">${nameOf(accountId, owners)}</a>${emailOf(accountId, owners)}`,
    },
    {
      head: t.state,
      inCard: 'edge',
      cell: ({ balance, topsUp }) => {
        // Most balances are in use and may be topped up: what is said besides is what differs.
        const tops = mayTopUp(services, topsUp) ? !balance && t.topsUp : t.topsUpNot;
        return html`${balance && stateBadge(balance, locale)}${tops && html`<span class="detail small muted">${tops}</span>`}`;
      },
    },
    {
      head: t.amount,
      isNumber: true,
      inCard: 'end',
      cell: ({ balance }) => (balance ? moneyOf(balance, balance.amount, locale) : '–'),
    },
    {
      head: t.reserved,
      cardHead: t.reserved,
      isNumber: true,
      inCard: 'foot',
      cell: ({ balance }) => (balance ? moneyOf(balance, balance.reserved, locale) : '–'),
    },
  ],
})}
${pagesOf(call, { path: PATH, filters: { q: search }, ...(next && { next }) })}
</section>`,
  };
}

/** What users paid in advance, and how much of it running requests hold. */
function renderSum(sum: BalanceSum, locale: Locale): Html {
  const t = locale.texts.console.balances;
  const figures = [
    [t.inAll, moneyOf(sum, sum.amount, locale)],
    [t.reserved, moneyOf(sum, sum.reserved, locale)],
    [t.count, locale.count(sum.balances)],
    [t.onHold, sum.held > 0 && locale.count(sum.held)],
  ] as const;
  return html`<section class="card" aria-label="${t.inAll}"><dl class="totals">${figures.map(([name, value]) => value !== false && html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></section>
`;
}

/** By the address, since an account that may not top up is not in the list. */
function renderAllow({ locale, field, problem }: ConsoleCall): Html {
  const t = locale.texts.console.balances;
  const user = textField({
    name: 'user',
    label: t.user,
    hint: t.userHint,
    placeholder: 'ann@example.com',
    isRequired: true,
    value: field('user'),
  });
  return action(
    {
      path: '/balances',
      label: t.allow,
      words: t.allowWords,
      button: t.allowNow,
      fields: user,
      isPrimary: true,
      isOpen: problem !== undefined,
    },
    locale,
    problem,
  );
}

function nameOf(accountId: string, owners: Awaited<ReturnType<typeof ownersOf>>): Html {
  const user = owners.get(accountId);
  return html`<bdi>${user?.name ?? user?.email ?? accountId}</bdi>`;
}

/** Two people may have one name. */
function emailOf(accountId: string, owners: Awaited<ReturnType<typeof ownersOf>>): Html | false {
  const { name = null, email = null } = owners.get(accountId) ?? {};
  return name !== null && email !== null && html`<bdi class="detail small muted">${email}</bdi>`;
}
