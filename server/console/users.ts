/*
 * Users in the console: search, and the page of one user with plan, keys, orders, history and actions. An action says
 * what it will do; a suspension and a plan can be taken back by the action beside it. There is no way to act as a user.
 */

import { GatewayError } from '../../core/runtime/index.js';
import {
  changeUser,
  endPlan,
  findUser,
  type ListedUser,
  listUsers,
  setBudgets,
  setPlan,
  showUser,
  stateOfUser,
  sumUsage,
  type WholeUser,
} from '../admin/index.js';
import type { BudgetState } from '../budgets/index.js';
import type { Route } from '../http/index.js';
import { type ApiKeyRecord, maskedKey } from '../keys/index.js';
import {
  badge,
  copyableId,
  dataTable,
  type Html,
  html,
  isolated,
  type Locale,
  linkTo,
  planName,
} from '../site/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  choiceOf,
  consoleForm,
  consolePage,
  pagesOf,
  rangeOf,
} from './console-route.js';
import {
  action,
  actionMenu,
  actions,
  BUDGETS_FORM,
  budgetField,
  budgetText,
  choiceField,
  chosen,
  presetField,
  readBudgets,
  textField,
} from './forms.js';
import { historySection } from './history.js';
import { ordersOfUser } from './money/index.js';
import {
  aboutUser,
  backTo,
  emptyList,
  facts,
  keyStateBadge,
  nameOfUser,
  renderBudget,
  searchBar,
  section,
  userRowLink,
} from './parts.js';
import { shownDays, usageOfDays } from './usage-part.js';

const PATH = '/admin/users';
const STATES = ['active', 'suspended'] as const;
const MAX_DAYS = 3_660;
/** Latest changes on the page of a user; the audit log has all. */
const HISTORY = 3;
/** Latest orders there; the page of orders has all. */
const ORDERS = 3;
const ID = { id: { description: 'Id of the user, or of the account.' } };

export function userPages(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => userPage(services, call);
  const change = (verb: 'suspend' | 'resume', summary: string, description: string) =>
    consoleForm(services, {
      path: `/users/:id/${verb}`,
      params: ID,
      summary,
      description,
      errors: ['user_not_found'],
      show,
      async run({ param, by }) {
        const { id } = await changeUser(services, verb, param('id'), by);
        return `/users/${id}?done=${verb}`;
      },
    });
  return [
    consolePage(services, {
      path: '/users',
      summary: 'Users in the console',
      description: 'Page of all users, with search by the beginning of an address, a word of a name or an id.',
      query: {
        q: 'Beginning of an address, an id, a name, or its second or last word.',
        state: '`active` or `suspended`.',
        after: 'Cursor.',
      },
      show: (call) => usersPage(services, call),
    }),
    consolePage(services, {
      path: '/users/:id',
      params: ID,
      summary: 'A user in the console',
      description: 'Page of a user: plan, keys, orders, history, and what an operator can do.',
      errors: ['user_not_found'],
      show,
    }),
    change(
      'suspend',
      'Suspend a user in the console',
      'Ends all sessions, stops the keys and cancels the jobs of the account.',
    ),
    change('resume', 'End a suspension in the console', 'Lets the keys work again; the user must sign in again.'),
    consoleForm(services, {
      path: '/users/:id/sign_out',
      params: ID,
      summary: 'Sign a user out in the console',
      description: 'Ends all sessions of a user; API keys keep working.',
      errors: ['user_not_found'],
      show,
      async run({ param, by }) {
        const { id: userId } = await findUser(services, param('id'));
        await services.state.sessions.endAllOf({ userId, ...by });
        return `/users/${userId}?done=sign_out`;
      },
    }),
    consoleForm(services, {
      path: '/users/:id/plan',
      params: ID,
      summary: 'Give a user a plan in the console',
      description: 'Gives the account a plan without an order, or extends it.',
      form: {
        plan: 'Id of the plan.',
        days: 'Days that it lasts, or `other`. Default: those of the plan.',
        days_other: 'With `other`: the days.',
      },
      errors: ['user_not_found', 'account_not_found', 'invalid_value'],
      show,
      async run({ param, field, by }) {
        const days = daysOf(chosen(field, 'days'));
        const given = { id: param('id'), planId: field('plan'), ...(days !== undefined && { days }), ...by };
        const { user } = await setPlan(services, given);
        return `/users/${user.id}?done=plan`;
      },
    }),
    consoleForm(services, {
      path: '/users/:id/plan/end',
      params: ID,
      summary: 'End the plan of a user in the console',
      description: 'Ends all plans of the account now, with their budgets.',
      errors: ['user_not_found', 'account_not_found'],
      show,
      async run({ param, by }) {
        const { user } = await endPlan(services, param('id'), by);
        return `/users/${user.id}?done=plan_end`;
      },
    }),
    budgetForm(services, show),
  ];
}

function budgetForm(services: ConsoleServices, show: (call: ConsoleCall) => Promise<ConsolePage>): Route {
  return consoleForm(services, {
    path: '/users/:id/budgets',
    params: ID,
    summary: 'Set account budgets in the console',
    description: 'Replaces the budgets that all keys of the account share, beside the plan.',
    form: BUDGETS_FORM,
    errors: ['user_not_found', 'invalid_value'],
    show,
    async run({ param, field, by }) {
      const { id, accountId: subject } = await findUser(services, param('id'));
      await setBudgets(services, { scope: 'account', subject, budgets: readBudgets(field), ...by });
      return `/users/${id}?done=budgets`;
    },
  });
}

/** @throws GatewayError `invalid_value`. */
function daysOf(text: string): number | undefined {
  if (text === '') return undefined;
  const days = Number(text);
  if (/^\d{1,4}$/.test(text) && days >= 1 && days <= MAX_DAYS) return days;
  throw new GatewayError('invalid_value', `days must be a whole number from 1 to ${MAX_DAYS}.`, { param: 'days' });
}

async function usersPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query } = call;
  const { texts, day } = locale;
  const t = texts.console.users;
  const [search, state] = [query('q'), choiceOf(query('state'), STATES)];
  const filter = { ...(search !== undefined && { search }), ...(state && { state }) };
  const { items, next } = await listUsers(services, filter, rangeOf(call));
  const filters = { q: search, state };
  const isFiltered = search !== undefined || state !== undefined;
  return {
    title: t.title,
    current: 'users',
    lead: t.lead,
    primary:
      services.identity.status().passkeys.state !== 'off' &&
      html`<a class="button button-small" href="/admin/invitations">${texts.console.invitations.invite}</a>`,
    content: html`${searchBar(
      {
        path: PATH,
        label: t.search,
        placeholder: t.search,
        value: search,
        reset: search === undefined || items.length === 0 ? undefined : PATH,
        tabs: {
          name: 'state',
          label: t.state,
          value: state,
          of: [undefined, ...STATES].map((value) => ({
            value,
            label: value === undefined ? texts.usage.all : t.states[value],
          })),
        },
      },
      locale,
    )}
<section class="card stack">
${dataTable<ListedUser>({
  label: t.title,
  isStacked: true,
  rows: items,
  empty: emptyList(
    {
      title: t.none,
      words: isFiltered ? t.noneFound(isolated(search ?? t.states[state ?? 'active'])) : t.noneYet,
      reset: isFiltered ? PATH : undefined,
    },
    locale,
  ),
  columns: [
    {
      head: t.user,
      cell: ({ user }) => userRowLink(user),
    },
    { head: t.state, inCard: 'end', cell: ({ user }) => stateBadge(user, locale) },
    {
      head: t.plan,
      inCard: 'plain',
      cell: ({ account }) =>
        account?.plan
          ? html`${planName({ catalogue: services.catalogue, locale }, account.plan.planId)}${account.plan.expiresAt && html`<span class="detail small muted">${t.until} ${day(account.plan.expiresAt)}</span>`}`
          : '–',
    },
    { head: t.created, inCard: 'none', cell: ({ user }) => day(user.createdAt) },
    { head: t.lastSignIn, cell: ({ user }) => day(user.lastSignInAt) },
  ],
})}
${pagesOf(call, { path: PATH, filters, ...(next && { next }) })}
</section>`,
  };
}

function stateBadge(user: ListedUser['user'], { texts }: Locale): Html {
  const state = stateOfUser(user);
  return badge(texts.console.users.states[state], state === 'active' ? 'good' : 'bad');
}

async function userPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, param } = call;
  const whole = await showUser(services, param('id'));
  const { user, account } = whole;
  const at = services.clock.now();
  const [days, budgets, balance] = await Promise.all([
    sumUsage(services, { by: 'day', accountId: user.accountId, ...shownDays(at) }),
    services.state.budgets.of({ scope: 'account', subject: user.accountId }),
    services.state.balances.find(user.accountId),
  ]);
  const { texts, day } = locale;
  const t = texts.console.users;
  const used = { at, currency: services.prices?.currency, of: { account: user.accountId } };
  const name = nameOfUser(user);
  return {
    title: name,
    current: 'users',
    scripts: ['chart.js'],
    back: backTo(PATH, t.title),
    primary: renderUserActions(whole, locale),
    content: html`<section class="card stack">
${facts([
  [t.state, stateBadge(user, locale)],
  [texts.console.invitations.role, texts.console.invitations.roles[user.role]],
  [t.address, user.email !== null && html`<bdi class="whole">${user.email}</bdi>`],
  [t.lastSignIn, day(user.lastSignInAt)],
])}
<details class="ids"><summary class="small">${t.ids}</summary>
${facts([
  [t.created, day(user.createdAt)],
  [t.id, copyableId(user.id, t.id, locale)],
  [t.account, copyableId(user.accountId, t.account, locale)],
  [t.signsInAt, html`<bdi class="small mono whole">${user.issuer}</bdi>`],
])}</details>
</section>
${section('usage', texts.console.model.usage, usageOfDays(days, used, locale), html`<span class="row small"><a href="${linkTo('/admin/requests', { account: user.accountId })}">${t.requests}</a><a href="${linkTo('/admin/jobs', { account: user.accountId })}">${t.jobs}</a></span>`)}
<div class="halves">${section('plan', t.plan, renderPlan(services, whole, locale), renderPlanActions(services, { user, hasPlan: !!account?.plan, call }))}
<div class="stack">${section(
      'budgets-of',
      t.budgets,
      budgets.length === 0
        ? html`<p class="small muted">${t.noBudgets}</p>`
        : html`${budgets.map((budget) => renderBudget(budget, locale))}`,
      renderBudgetAction(budgets, { user, call, currency: services.prices?.currency }),
    )}
${section('balance', t.balance, html`<p class="small"><a href="/admin/balances/${user.accountId}">${t.toBalance}</a></p>`, html`<strong class="figures">${balance ? locale.smallMoney(balance.amount, balance.currency) : t.noBalance}</strong>`)}</div></div>
${section('keys', t.keys, renderKeys(whole.keys, services.clock.now(), locale))}
${section('orders', t.orders, ordersOfUser(services, whole.orders.slice(0, ORDERS), locale), html`<a class="small" href="${linkTo('/admin/orders', { account: user.accountId })}">${t.allOrders}</a>`)}
${await historySection(services, whole.audit.slice(0, HISTORY), { locale, all: linkTo('/admin/audit', { subject: user.email ?? user.id }) })}`,
  };
}

function renderUserActions({ user }: WholeUser, locale: Locale): Html | false {
  const t = locale.texts.console.users;
  const path = `/users/${user.id}`;
  const about = aboutUser(user);
  const isSuspended = stateOfUser(user) === 'suspended';
  return actions([
    isSuspended
      ? action({ path: `${path}/resume`, label: t.resume, about, words: t.resumeWords, button: t.resumeNow }, locale)
      : action(
          {
            path: `${path}/suspend`,
            label: t.suspend,
            about,
            words: t.suspendWords,
            button: t.suspendNow,
            isBad: true,
          },
          locale,
        ),
    !isSuspended &&
      action(
        { path: `${path}/sign_out`, label: t.signOut, about, words: t.signOutWords, button: t.signOutNow, isBad: true },
        locale,
      ),
  ]);
}

function renderPlan({ catalogue }: ConsoleServices, { account, budget }: WholeUser, locale: Locale): Html {
  const { texts, day } = locale;
  const t = texts.console.users;
  if (!account?.plan) return html`<p class="muted">${t.noPlan}</p>`;
  const { planId, expiresAt, rpm } = account.plan;
  return html`${facts([
    [t.plan, html`<bdi title="${planId}">${planName({ catalogue, locale }, planId)}</bdi>`],
    [t.ends, expiresAt === null ? t.never : day(expiresAt)],
    [t.rpm, rpm === null ? t.unlimited : locale.count(rpm)],
  ])}${budget && renderBudget(budget, locale)}`;
}

function renderPlanActions(
  { catalogue }: ConsoleServices,
  { user, hasPlan, call }: Pick<WholeUser, 'user'> & { hasPlan: boolean; call: ConsoleCall },
): Html | false {
  const { locale, field, problem } = call;
  const { users: t, asPlan } = locale.texts.console;
  const about = aboutUser(user);
  const plans = [...catalogue.plans.map(({ id }) => id), catalogue.freeTier.id];
  const sent = field('plan');
  const choices = plans.map((value) => ({ value, label: planName({ catalogue, locale }, value) }));
  const days = chosen(field, 'days');
  const spans = [7, 30, 90, 365].map((count) => ({ value: String(count), label: locale.texts.words.days(count) }));
  const presets = [{ value: '', label: asPlan }, ...spans];
  const other = textField({
    name: 'days_other',
    label: t.days,
    type: 'number',
    value: presets.some(({ value }) => value === days) ? '' : days,
  });
  const fields = html`${choiceField({ name: 'plan', id: 'plan-id', label: t.plan, choices, value: sent })}${presetField({ name: 'days', label: t.lasts, value: days, presets, other }, locale)}`;
  const path = `/users/${user.id}/plan`;
  return actions([
    action(
      {
        path,
        label: t.setPlan,
        about,
        words: t.setPlanWords,
        button: t.setPlanNow,
        fields,
        isOpen: problem !== undefined && sent !== '',
      },
      locale,
      problem,
    ),
    hasPlan &&
      actionMenu(
        t.plan,
        [{ path: `${path}/end`, label: t.endPlan, about, words: t.endPlanWords, button: t.endPlanNow, isBad: true }],
        locale,
      ),
  ]);
}

/** Sets budgets of the account beside its plan. */
function renderBudgetAction(
  budgets: readonly BudgetState[],
  { user, call, currency }: Pick<WholeUser, 'user'> & { call: ConsoleCall; currency: string | undefined },
): Html {
  const { locale, field, fields, problem } = call;
  const { keys: t, users } = locale.texts.console;
  const isSent = problem !== undefined && fields.includes('budgets');
  const value = isSent ? readBudgets(field) : budgets.map(budgetText);
  const input = budgetField({ id: 'account-budget', label: t.budgets, value, currency }, locale);
  const change = { label: users.setBudgets, words: users.setBudgetsWords, button: users.setBudgetsNow };
  return action(
    { ...change, path: `/users/${user.id}/budgets`, about: aboutUser(user), fields: input, isOpen: isSent },
    locale,
    problem,
  );
}

function renderKeys(keys: readonly ApiKeyRecord[], now: number, locale: Locale): Html {
  const { texts, day } = locale;
  const t = texts.console;
  return dataTable<ApiKeyRecord>({
    label: t.users.keys,
    isStacked: true,
    rows: keys,
    empty: { title: t.users.noKeys, words: t.users.noKeysWords },
    columns: [
      {
        head: t.keys.name,
        cell: ({ id, name }) =>
          html`<a class="row-link" href="/admin/keys/${id}"><bdi>${name}</bdi></a><code class="detail small muted">${maskedKey(id)}</code>`,
      },
      { head: t.users.state, inCard: 'end', cell: (key) => keyStateBadge(key, now, locale) },
      { head: t.users.created, inCard: 'none', cell: ({ createdAt }) => day(createdAt) },
      {
        head: t.keys.lastUsed,
        isNumber: true,
        cell: ({ lastUsedAt }) => (lastUsedAt === null ? t.keys.unused : day(lastUsedAt)),
      },
    ],
  });
}
