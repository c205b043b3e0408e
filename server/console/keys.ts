/*
 * API keys of all accounts in the console: search, make a key of the operator's own, and the page of one key with its
 * budgets, usage of a week, history and actions. A new key is shown once, on the answer to its form, and never again. The
 * limits of a user's key are those of the plan, so its form has fewer fields. Rules and checks are those of the admin API.
 */

import {
  changeKey,
  type ListedKey,
  listKeys,
  makeKey,
  revokeKey,
  rotateKey,
  showKey,
  sumUsage,
  type WholeKey,
} from '../admin/index.js';
import { dayOf } from '../format/index.js';
import type { Route } from '../http/index.js';
import { type ApiKeyRecord, effectiveModels, isValidState, keyState, maskedKey } from '../keys/index.js';
import {
  badge,
  copyButton,
  dataTable,
  filterCard,
  type Html,
  type HtmlValue,
  html,
  type Locale,
  lastDay,
  linkTo,
  planName,
  spentOf,
} from '../site/index.js';
import type { UsageCounts } from '../usage/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  consoleForm,
  consolePage,
  pagesOf,
  rangeOf,
} from './console-route.js';
import { action, actions, choiceField } from './forms.js';
import { historySection } from './history.js';
import { hasOwnLimits, LIMITS, limitFields, limitsOf } from './key-forms.js';
import { chooseOwner, readOwner } from './owner-filter.js';
import {
  backTo,
  emptyList,
  facts,
  keyStateBadge,
  ownerLink,
  ownersOf,
  renderBudget,
  renderTightest,
  section,
} from './parts.js';
import { shownDays, usageOfDays } from './usage-part.js';

const PATH = '/admin/keys';
const ID = { id: { description: 'Id of the key: 8 characters.' } };
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** Those of the usage in the list. */
const DAYS = 30;
const OVERLAPS = [0, 1, 24, 168] as const;

export function keyPages(services: ConsoleServices): Route[] {
  return [
    consolePage(services, {
      path: '/keys',
      summary: 'Keys in the console',
      description: 'Page of the keys of all accounts, with search, and a form for keys of the operator.',
      query: {
        q: 'Id of a key, or the beginning of its name.',
        account: 'Address or name of a user, or id of an account.',
        group: 'A group.',
        after: 'Cursor.',
      },
      show: (call) => keysPage(services, call),
    }),
    consolePage(services, {
      path: '/keys/:id',
      params: ID,
      summary: 'A key in the console',
      description: 'Page of a key: limits, budgets, usage of today, history, and what an operator can do.',
      errors: ['key_not_found'],
      show: (call) => keyPage(services, call),
    }),
    consoleForm(services, {
      path: '/keys',
      summary: 'Create a key in the console',
      description: "Creates a key of the operator's own and shows it, only once.",
      form: { name: 'What it is for.', ...LIMITS },
      errors: ['invalid_value'],
      show: (call) => keysPage(services, call),
      async run(call) {
        const { name, grants, rpm, expires_at, budgets, group } = limitsOf(call);
        const made = await makeKey(services, { name, grants, rpm, expires_at, budgets, group }, call.by);
        return keyPage(services, call, { id: made.record.id, key: made.key });
      },
    }),
    ...changeForms(services),
  ];
}

function changeForms(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => keyPage(services, call);
  return [
    consoleForm(services, {
      path: '/keys/:id/change',
      params: ID,
      summary: 'Change a key in the console',
      description: "Changes name, limits, end, budgets and group. Limits of a user's key are those of the plan.",
      form: { name: 'What it is for.', ...LIMITS },
      errors: ['key_not_found', 'invalid_value'],
      show,
      async run(call) {
        const { record } = await showKey(services, call.param('id'), services.clock.now());
        const { name, expires_at, budgets, group, grants, rpm } = limitsOf(call);
        const own = hasOwnLimits(record) && { grants, rpm };
        await changeKey(services, record, { name, expires_at, budgets, group, ...own }, call.by);
        return `/keys/${record.id}?done=key_changed`;
      },
    }),
    consoleForm(services, {
      path: '/keys/:id/rotate',
      params: ID,
      summary: 'Rotate a key in the console',
      description: 'Replaces a key by one with the same properties, and shows it only once.',
      form: { hours: 'Hours for which the old key keeps working.' },
      errors: ['key_not_found', 'key_replaced', 'too_many_keys', 'account_suspended'],
      show,
      async run(call) {
        const hours = OVERLAPS.find((one) => String(one) === call.field('hours')) ?? 24;
        const { key, record } = await rotateKey(services, {
          id: call.param('id'),
          overlapMs: hours * HOUR_MS,
          ...call.by,
        });
        return keyPage(services, call, { id: record.id, key });
      },
    }),
    consoleForm(services, {
      path: '/keys/:id/revoke',
      params: ID,
      summary: 'Revoke a key in the console',
      description: 'Revokes a key for good, and cancels its queued and running jobs unless they are kept.',
      form: { jobs: '`cancel` or `keep`.' },
      errors: ['key_not_found'],
      show,
      async run({ param, field, by: { actor } }) {
        const id = await revokeKey(services, { id: param('id'), keepsJobs: field('jobs') === 'keep', actor });
        return `/keys/${id}?done=key_revoked`;
      },
    }),
  ];
}

async function keysPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query, problem } = call;
  const { texts, day } = locale;
  const { console: own } = texts;
  const t = own.keys;
  const [search, group] = [query('q'), query('group')];
  const account = await readOwner(services, query('account'));
  const { accountId } = account;
  const filter = {
    ...(search !== undefined && { search }),
    ...(accountId !== undefined && { accountId }),
    ...(group !== undefined && { group }),
  };
  const [{ items, next }, groups] = await Promise.all([
    account.several.length > 0 ? { items: [], next: undefined } : listKeys(services, filter, rangeOf(call)),
    services.state.budgets.groups(),
  ]);
  const now = services.clock.now();
  const ids = items.map(({ record }) => record.id);
  const [owners, sums] = await Promise.all([
    ownersOf(
      services,
      items.map(({ record }) => record.accountId),
    ),
    ids.length === 0 ? [] : sumUsage(services, { by: 'key', keyIds: ids, ...lastDays(now) }),
  ]);
  const used = new Map(sums.map(({ name, counts }) => [name, counts]));
  const currency = services.prices?.currency;
  const filters = { q: search, account: query('account'), group };
  const reset = linkTo(PATH, filters) === PATH ? undefined : PATH;
  const names = groups.map(({ name }) => name);
  return {
    title: own.pages.keys,
    current: 'keys',
    lead: t.lead,
    primary: action(
      {
        path: '/keys',
        label: t.create,
        words: t.createWords,
        button: t.createNow,
        fields: limitFields(services, call, names),
        hasNoReason: true,
        isPrimary: true,
        isOpen: problem !== undefined,
      },
      locale,
      problem,
    ),
    content: html`${filterCard(
      {
        path: PATH,
        label: own.pages.keys,
        reset: items.length === 0 && account.several.length === 0 ? undefined : reset,
        fields: [
          { kind: 'text', name: 'q', label: t.search, value: search, placeholder: 'AbCd1234' },
          { kind: 'text', name: 'account', label: own.users.user, value: account.text, placeholder: own.ownerHint },
          { kind: 'text', name: 'group', label: t.group, value: group, suggestions: names },
        ],
      },
      locale,
    )}
<section class="card stack key-cards">
${dataTable<ListedKey>({
  label: own.pages.keys,
  isStacked: true,
  rows: items,
  empty:
    chooseOwner(account, { path: PATH, query: filters, name: 'account' }, locale) ??
    emptyList({ title: t.none, words: t.noneWords, reset }, locale),
  columns: [
    {
      head: t.name,
      cell: ({ record }) =>
        html`<a class="row-link" href="${PATH}/${record.id}"><bdi>${record.name}</bdi></a>${record.grants.includes('admin') && html` ${badge(t.isAdmin, 'warn')}`}<code class="detail small muted">${maskedKey(record.id)}</code>`,
    },
    {
      head: own.users.state,
      inCard: 'end',
      cell: ({ record }) => html`${keyStateBadge(record, now, locale)}${renderLastDay(record, now, locale)}`,
    },
    { head: own.users.user, inCard: 'plain', cell: ({ record }) => ownerLink(record.accountId, owners) },
    {
      head: currency === undefined ? t.requests30 : t.spent30,
      cardHead: t.days30,
      isNumber: true,
      inCard: 'foot',
      cell: ({ record }) => renderUsed(used.get(record.id), currency, locale),
    },
    {
      head: t.budgetLeft,
      cardHead: t.leftAlone,
      isNumber: true,
      cell: ({ budget, budgets }) => renderTightest([...(budget ? [budget] : []), ...budgets], locale),
    },
    {
      head: t.lastUsed,
      isNumber: true,
      inCard: 'edge',
      cell: ({ record }) =>
        record.lastUsedAt === null
          ? t.unused
          : html`<span class="card-only muted">${t.usedAlone} </span>${day(record.lastUsedAt)}`,
    },
  ],
})}
${pagesOf(call, { path: PATH, filters, ...(next && { next }) })}
</section>`,
  };
}

/** The days that the list sums up. */
function lastDays(at: number): { from: string; to: string } {
  return { from: dayOf(at - (DAYS - 1) * DAY_MS), to: dayOf(at) };
}

/** In the card of a key, where its state has one line: the last day that it works. */
function renderLastDay(key: ApiKeyRecord, now: number, locale: Locale): Html | false {
  const state = keyState(key, now);
  if (state === 'revoked' || key.expiresAt === null) return false;
  const day = lastDay(key.expiresAt, locale);
  return html`<span class="card-only small muted">${state !== 'expired' && `${locale.texts.console.users.until} `}${day}</span>`;
}

/** What requests cost; without prices, or where none has one, how many there were. */
function renderUsed(counts: UsageCounts | undefined, currency: string | undefined, locale: Locale): HtmlValue {
  if (!counts || counts.requests === 0) return '–';
  const requests = locale.shortCount(counts.requests);
  if (currency === undefined) return requests;
  const spent = spentOf(counts, currency, locale);
  if (spent === undefined) return locale.texts.console.keys.requestsOf(requests);
  return html`${spent}<span class="detail small muted beside">${locale.texts.console.keys.requestsOf(requests)}</span>`;
}

async function keyPage(
  services: ConsoleServices,
  call: ConsoleCall,
  shown?: { id: string; key: string },
): Promise<ConsolePage> {
  const { locale, param } = call;
  const now = services.clock.now();
  const whole = await showKey(services, shown?.id ?? param('id'), now);
  const { record, audit } = whole;
  const [owners, groups, days] = await Promise.all([
    ownersOf(services, [record.accountId]),
    services.state.budgets.groups(),
    sumUsage(services, { by: 'day', keyId: record.id, ...shownDays(now) }),
  ]);
  const { texts, count, day } = locale;
  const { console: own, usage } = texts;
  const t = own.keys;
  const models = effectiveModels(record);
  const budgets = [
    ...(whole.budget ? [{ title: own.budgets.scopes.plan, budget: whole.budget }] : []),
    ...whole.budgets.map((budget) => ({
      title: `${own.budgets.scopes[budget.scope as 'key']}${budget.scope === 'group' ? ` ${budget.subject}` : ''}`,
      budget,
    })),
  ];
  const used = { at: now, currency: services.prices?.currency, of: { key: record.id } };
  const names = groups.map(({ name }) => name);
  return {
    title: record.name,
    current: 'keys',
    scripts: ['chart.js'],
    back: backTo(PATH, own.pages.keys),
    primary: renderActions(services, whole, call, names),
    content: html`${shown && renderNewKey(shown.key, locale)}
<section class="card stack">
${facts([
  [own.users.state, keyStateBadge(record, now, locale)],
  [usage.key, html`<code>${maskedKey(record.id)}</code>`],
  [own.users.user, ownerLink(record.accountId, owners)],
  [t.group, record.groupName !== undefined && html`<bdi>${record.groupName}</bdi>`],
  [
    own.users.plan,
    record.planId !== null && html`<bdi>${planName({ catalogue: services.catalogue, locale }, record.planId)}</bdi>`,
  ],
  [t.grants, grantsOf(record, locale)],
  [
    t.models,
    models === null
      ? usage.all
      : html`<bdi class="small">${models.slice(0, 5).join(', ')}${models.length > 5 && ` +${models.length - 5}`}</bdi>`,
  ],
  [t.rpm, record.rpm === null ? own.users.unlimited : count(record.rpm)],
  [t.expires, record.expiresAt === null ? own.users.never : lastDay(record.expiresAt, locale)],
  [own.users.created, day(record.createdAt)],
  [t.lastUsed, record.lastUsedAt === null ? t.unused : day(record.lastUsedAt)],
])}
</section>
${section('usage', own.model.usage, usageOfDays(days, used, locale), html`<a class="small" href="${linkTo('/admin/requests', { key: record.id })}">${t.requests}</a>`)}
${budgets.length > 0 && section('key-budgets', t.budgets, html`${budgets.map(({ title, budget }, index) => html`<div class="stack-small">${title !== budgets[index - 1]?.title && html`<strong class="small"><bdi>${title}</bdi></strong>`}${renderBudget(budget, locale)}</div>`)}`)}
${await historySection(services, audit, { locale })}`,
  };
}

function grantsOf({ grants }: ApiKeyRecord, { texts }: Locale): string {
  return grants.map((grant) => texts.console.keys.grantNames[grant]).join(', ');
}

function renderNewKey(key: string, locale: Locale): Html {
  const t = locale.texts.console.keys;
  return html`<section class="new-key stack" aria-labelledby="new-key" tabindex="-1" autofocus><h2 id="new-key">${t.newTitle}</h2><p>${t.newWords}</p>
<div class="row new-key-row"><code id="new-key-text">${key}</code>${copyButton('new-key-text', t.newTitle, locale)}</div></section>`;
}

function renderActions(
  services: ConsoleServices,
  whole: WholeKey,
  call: ConsoleCall,
  groups: readonly string[],
): Html | false {
  const { locale, fields, problem } = call;
  const { record } = whole;
  const t = locale.texts.console.keys;
  if (record.revokedAt !== null) return false;
  const path = `/keys/${record.id}`;
  const state = keyState(record, services.clock.now());
  const about = html`<bdi>${record.name}</bdi> <code class="muted">${maskedKey(record.id)}</code>`;
  const hours = choiceField({
    name: 'hours',
    label: t.overlap,
    value: '24',
    choices: OVERLAPS.map((value) => ({
      value: String(value),
      label: value === 0 ? t.atOnce : locale.texts.console.span(value * HOUR_MS),
    })),
  });
  const jobs = choiceField({
    name: 'jobs',
    label: t.jobs,
    choices: [
      { value: 'cancel', label: t.cancelJobs },
      { value: 'keep', label: t.keepJobs },
    ],
  });
  const isWrong = problem !== undefined && fields.includes('budgets');
  return actions([
    action(
      {
        path: `${path}/change`,
        label: t.change,
        about,
        words: hasOwnLimits(record) ? t.changeWords : t.changePlanWords,
        button: t.changeNow,
        fields: limitFields(services, call, groups, whole),
        isOpen: isWrong,
      },
      locale,
      problem,
    ),
    isValidState(state) &&
      state === 'active' &&
      action(
        { path: `${path}/rotate`, label: t.rotate, about, words: t.rotateWords, button: t.rotateNow, fields: hours },
        locale,
      ),
    action(
      {
        path: `${path}/revoke`,
        label: t.revoke,
        about,
        words: t.revokeWords,
        button: t.revokeNow,
        fields: jobs,
        hasNoReason: true,
        isBad: true,
      },
      locale,
    ),
  ]);
}
