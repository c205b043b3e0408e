/*
 * Parts that pages of the console share: facts, sections, names of persons who acted and of accounts, and what is left of
 * budgets. Names are those of users and may be anything: they have a text direction of their own.
 */

import type { UserRecord } from '../accounts/index.js';
import type { AdminServices } from '../admin/index.js';
import type { BudgetState } from '../budgets/index.js';
import { type ApiKeyRecord, isSiteAccount, keyState } from '../keys/index.js';
import {
  badge,
  bar,
  type Html,
  type HtmlValue,
  html,
  keyBadge,
  keyEnd,
  LOW_SHARE,
  type Locale,
  linkRow,
  linkTo,
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

/** Why a list has no rows, with the way back to all of them. @param reset Default: nothing limits it. */
export function emptyList(
  { title, words, reset }: { title: string; words: Html | string; reset?: string | undefined },
  { texts }: Locale,
): { title: string; words: Html | string } {
  if (reset === undefined) return { title, words };
  return { title, words: html`${words} <a href="${reset}">${texts.console.showAll}</a>` };
}

export interface SearchBar {
  /** Path of the page. */
  path: string;
  /** Of the field, for screen readers. */
  label: string;
  placeholder: string;
  value: string | undefined;
  /** Parts of the list. Default: it has none. */
  tabs?: { name: string; label: string; value: string | undefined; of: readonly ListTab[] };
  /** Address of the whole list. Default: nothing limits it. */
  reset?: string | undefined;
}

export interface ListTab {
  /** Undefined: all. */
  value: string | undefined;
  label: string;
  /** How many there are, written. Default: it is not said. */
  count?: string | undefined;
}

/** Above a list: its parts as links, and a field that searches it. */
export function searchBar({ path, label, placeholder, value, tabs, reset }: SearchBar, { texts }: Locale): Html {
  const { words, models } = texts;
  const links = tabs?.of.map((tab) => ({
    label: tab.label,
    count: tab.count,
    href: linkTo(path, { [tabs.name]: tab.value, q: value }),
    isCurrent: tabs.value === tab.value,
  }));
  return html`<section class="card filter-card" aria-label="${words.filters}">
<div class="row row-apart">${tabs && links && linkRow(tabs.label, links, 'long')}<form class="find" method="get" action="${path}" role="search">${tabs?.value !== undefined && html`<input type="hidden" name="${tabs.name}" value="${tabs.value}">`}<label class="visually-hidden" for="find">${label}</label><input class="input" id="find" name="q" type="search" value="${value}" maxlength="200" autocomplete="off" spellcheck="false" placeholder="${placeholder}"><button class="button button-quiet">${models.find}</button>${reset !== undefined && html`<a class="button button-quiet" href="${reset}">${words.reset}</a>`}</form></div>
</section>`;
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

const ACTOR = /^(operator|billing|user|bank):(?:key:)?(.+)$/;

/** The name of a person who acted, or in words who else it was. */
export function actorName(actor: string, people: People, { texts }: Locale): Html {
  const user = people.get(userOf(actor) ?? '');
  if (user) return html`<bdi title="${actor}">${user.name ?? user.email ?? user.id}</bdi>`;
  const t = texts.console.history.actors;
  if (actor === 'gateway') return html`<span title="${actor}">${t.gateway}</span>`;
  const [, kind, name = ''] = ACTOR.exec(actor) ?? [];
  if (kind === undefined) return html`<bdi class="small mono clip" title="${actor}">${actor}</bdi>`;
  const role = actor.includes(':key:') ? t.key : t[kind as 'operator'];
  // A bank of its own kind has no other name.
  return html`<span title="${actor}">${role}${name !== kind && html` <bdi>${name}</bdi>`}</span>`;
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

/** Leads a row to the page of its user; the address is below the name. */
export function userRowLink({ id, name, email }: Pick<UserRecord, 'id' | 'name' | 'email'>): Html {
  return html`<a class="row-link" href="/admin/users/${id}"><bdi>${name ?? email ?? id}</bdi></a>${name !== null && email !== null && html`<bdi class="detail small muted">${email}</bdi>`}`;
}

/** Its limits with what is left of each. */
function limitsOf(budget: BudgetState, locale: Locale) {
  const { texts, count, shortCount } = locale;
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
  return parts.flatMap(([name, is, limit, write]) =>
    is === undefined || limit === null
      ? []
      : {
          name: `${name} · ${t.resets[budget.resets]}`,
          share: limit === 0 ? 0 : is / limit,
          used: t.used(count(limit === 0 ? 100 : Math.floor((1 - is / limit) * 100))),
          words: t.leftOf(write(is), write(limit)),
          short: write === money ? t.of(money(is), money(limit)) : t.of(shortCount(is), shortCount(limit)),
        },
  );
}

/** What is left of a budget, with a bar of what is used. */
export function renderBudget(budget: BudgetState, locale: Locale): Html {
  return html`<ul class="stack-small">${limitsOf(budget, locale).map(
    ({ name, share, words, used }) =>
      html`<li class="stack-small"><span class="row row-apart small limit-head"><span>${name}</span><span class="figures">${words}${share <= LOW_SHARE && html` · <strong class="low">${used}</strong>`}</span></span>${bar(share)}</li>`,
  )}</ul>`;
}

/** Of several budgets that limit: the one of which the least is left. False without any. */
export function renderTightest(budgets: readonly BudgetState[], locale: Locale): Html | false {
  const limits = budgets.flatMap((budget) => limitsOf(budget, locale));
  const [least] = limits.toSorted((one, other) => one.share - other.share);
  return least !== undefined && html`${least.short}<span class="detail small muted beside">${least.name}</span>`;
}

/** The state of a key, as its owner sees it, and when it ends. */
export function keyStateBadge(key: ApiKeyRecord, now: number, locale: Locale): Html {
  const state = keyState(key, now);
  const end = keyEnd({ state, expiresAt: key.expiresAt }, locale);
  return html`${keyBadge(state, locale) || badge(locale.texts.console.keys.valid, 'good')}${end && html`<span class="detail small muted">${end}</span>`}`;
}

export function nameOfUser({ name, email, id }: Pick<UserRecord, 'id' | 'name' | 'email'>): string {
  return name ?? email ?? id;
}

/** The user of an action, with the address, since two people may have one name. */
export function aboutUser(user: Pick<UserRecord, 'id' | 'name' | 'email'>): Html {
  return html`<bdi>${nameOfUser(user)}</bdi>${user.name !== null && user.email !== null && html` · <bdi class="muted">${user.email}</bdi>`}`;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * Time that is left, in whole units of the span that is shown: three days are three at their beginning too.
 * @param ms Below 0 is none.
 */
export function nearestSpan(ms: number): number {
  const unit = ms < MINUTE_MS ? 1_000 : ms < HOUR_MS ? MINUTE_MS : ms < 48 * HOUR_MS ? HOUR_MS : 24 * HOUR_MS;
  return Math.max(0, Math.round(ms / unit) * unit);
}
