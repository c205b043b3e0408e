/*
 * Parts that pages of the console share: facts, ids with a button that copies them, the history of a subject, names of
 * accounts, and what is left of budgets. Names are those of users and may be anything: they have a text direction of
 * their own.
 */

import type { UserRecord } from '../accounts/index.js';
import type { AdminServices } from '../admin/index.js';
import type { AuditEntry } from '../audit/index.js';
import type { BudgetState } from '../budgets/index.js';
import { type ApiKeyRecord, isSiteAccount, keyState } from '../keys/index.js';
import {
  badge,
  bar,
  copyableId,
  dataTable,
  type Html,
  type HtmlValue,
  html,
  keyBadge,
  keyEnd,
  type Locale,
} from '../site/index.js';
import { leftOf } from '../usage/index.js';

/** Names and values; those without a value are left out. */
export function facts(list: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  const known = list.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '');
  return html`<dl class="console-facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}

/** From a page to the list that it is part of. */
export function backTo(path: string, list: string): Html {
  return html`<a href="${path}">← ${list}</a>`;
}

/** A part of a page with a heading. @param id Unique in the page. */
export function section(id: string, title: string, content: HtmlValue, more?: HtmlValue): Html {
  return html`<section class="card stack"><div class="row row-apart"><h2 id="${id}">${title}</h2>${more}</div>
${content}
</section>`;
}

/** Users who act in a page, by id. */
export type People = ReadonlyMap<string, UserRecord>;

/** The users among actors of the audit log, such as `operator:user_…`, in one query. */
export async function peopleOf(
  { state: { users } }: Pick<AdminServices, 'state'>,
  actors: readonly (string | null)[],
): Promise<People> {
  const ids = new Set(actors.map((actor) => userOf(actor ?? '')).filter((id) => id !== undefined));
  return new Map((await users.ofIds([...ids])).map((user) => [user.id, user]));
}

function userOf(actor: string): string | undefined {
  return /^(?:\w+:)?(user_\w+)$/.exec(actor)?.[1];
}

/** The name of a person who acted, or the actor as the audit log has it. */
export function actorName(actor: string, people: People): Html {
  const user = people.get(userOf(actor) ?? '');
  if (!user) return html`<bdi class="small mono clip" title="${actor}">${actor}</bdi>`;
  return html`<bdi title="${actor}">${user.name ?? user.email ?? user.id}</bdi>`;
}

/** Who did what, latest first. */
export async function history(
  services: Pick<AdminServices, 'state'>,
  rows: readonly AuditEntry[],
  locale: Locale,
  withSubject = false,
): Promise<Html> {
  const people = await peopleOf(
    services,
    rows.map(({ actor }) => actor),
  );
  const { words, console: own } = locale.texts;
  const t = own.history;
  const states: Readonly<Record<string, string>> = {
    'as configured': own.model.asConfigured,
    ...own.alerts.states,
    ...words.jobStates,
    ...words.orderStates,
  };
  const stateOf = (name: string) => (Object.hasOwn(states, name) ? states[name] : name);
  const changeOf = ({ from, to }: AuditEntry) =>
    to !== null &&
    html`<span class="detail small muted">${from !== null && `${stateOf(from)} → `}${stateOf(to)}</span>`;
  return dataTable<AuditEntry>({
    label: t.title,
    isStacked: true,
    rows,
    // The whole log has many of a day.
    ...(withSubject && { groupOf: ({ at }: AuditEntry) => locale.longDay(at) }),
    empty: { title: t.none, words: t.noneWords },
    columns: [
      {
        head: t.action,
        cell: (entry) =>
          html`<span class="entry" title="${entry.action}">${t.actions[entry.action]}</span>${changeOf(entry)}${entry.note !== null && entry.note !== '' && html`<span class="detail small said"><span class="visually-hidden">${t.note}: </span><bdi>${entry.note}</bdi></span>`}`,
      },
      ...(withSubject
        ? [
            {
              head: t.subject,
              inCard: 'plain' as const,
              cell: ({ subject, action }: AuditEntry) =>
                copyableId(subject, t.subject, locale, pathOf(subject, action)),
            },
          ]
        : []),
      { head: t.actor, inCard: 'plain', cell: ({ actor }) => actorName(actor, people) },
      {
        head: t.time,
        isNumber: true,
        inCard: 'end',
        cell: ({ at }) => (withSubject ? locale.clock(at) : locale.second(at)),
      },
    ],
  });
}

/** A subject of the audit log leads to its page, if it has one. */
function pathOf(subject: string, action: string): string | undefined {
  const part = encodeURIComponent(subject);
  if (action.startsWith('model.')) return `/admin/models/${part}`;
  if (/^(?:user|acct)_\w+$/.test(subject)) return `/admin/users/${part}`;
  if (/^MG[0-9A-Z]{8}$/.test(subject)) return `/admin/orders/${part}`;
  if (/^[a-z]+job_\w+$|^batch_\w+$/.test(subject)) return `/admin/jobs/${part}`;
  if (/^[A-Za-z0-9_-]{8}$/.test(subject)) return `/admin/keys/${part}`;
  return undefined;
}

/** Users of the accounts of a page, by account. */
export type Owners = ReadonlyMap<string, UserRecord>;

/** Accounts of operators' keys have no user. */
export async function ownersOf(
  { state: { users } }: Pick<AdminServices, 'state'>,
  accounts: readonly string[],
): Promise<Owners> {
  const ids = [...new Set(accounts)].filter(isSiteAccount);
  return new Map((await users.ofAccounts(ids)).map((user) => [user.accountId, user]));
}

/** The owner of an account, or the name of the account. @param isLinked Whether it leads to the page of the user. */
export function ownerLink(accountId: string, owners: Owners, isLinked = true): Html {
  const user = owners.get(accountId);
  if (!user) return html`<bdi class="small mono">${accountId}</bdi>`;
  const name = html`<bdi>${user.name ?? user.email ?? user.id}</bdi>`;
  return isLinked ? html`<a href="/admin/users/${user.id}">${name}</a>` : name;
}

/** What is left of a budget, with its bar. */
export function renderBudget(budget: BudgetState, locale: Locale): Html {
  const { texts, count } = locale;
  const t = texts.console.budgets;
  const left = leftOf(budget);
  const { requestLimit, tokenLimit, dailyTokenLimit, costLimit, currency } = budget;
  const money = (amount: number) => locale.smallMoney(amount * 1_000_000, currency ?? 'XXX', 2);
  const parts = [
    [t.requests, left.requests, requestLimit, count],
    [t.tokens, left.tokens, tokenLimit, count],
    [t.tokensToday, left.tokensToday, dailyTokenLimit, count],
    [t.money, left.cost, costLimit === null ? null : costLimit / 1_000_000, money],
  ] as const;
  return html`<ul class="stack-small">${parts.map(
    ([name, is, limit, write]) =>
      is !== undefined &&
      limit !== null &&
      html`<li class="stack-small"><span class="row row-apart small"><span>${name} · ${t.resets[budget.resets]}</span><span class="figures">${t.leftOf(write(is), write(limit))}</span></span>${bar(limit === 0 ? 0 : is / limit)}</li>`,
  )}</ul>`;
}

/** The state of a key, as its owner sees it, and when it ends. */
export function keyStateBadge(key: ApiKeyRecord, now: number, locale: Locale): Html {
  const state = keyState(key, now);
  const end = keyEnd({ state, expiresAt: key.expiresAt }, locale);
  return html`${keyBadge(state, locale) || badge(locale.texts.console.keys.valid, 'good')}${end && html`<span class="detail small muted">${end}</span>`}`;
}
