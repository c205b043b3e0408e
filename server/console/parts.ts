/*
 * Parts that pages of the console share: facts, actions with what they will do, the history of a subject, and names of
 * accounts. An action is closed until it is opened, states its effect in words, and asks for a reason, so that no single
 * click changes anything. Names are those of users and may be anything: they have a text direction of their own.
 */

import type { UserRecord } from '../accounts/index.js';
import type { AdminServices } from '../admin/index.js';
import type { AuditEntry } from '../audit/index.js';
import type { BudgetState } from '../budgets/index.js';
import { type ApiKeyRecord, isSiteAccount, keyState } from '../keys/index.js';
import {
  badge,
  bar,
  dataTable,
  type Html,
  type HtmlValue,
  html,
  keyBadge,
  keyEnd,
  type Locale,
} from '../site/index.js';
import { leftOf } from '../usage/index.js';

const MAX_NOTE = 500;

export interface ActionView {
  /** Path of its route, below `/admin`. */
  path: string;
  /** Unique in the page. Default: from the path. */
  id?: string;
  /** Label of what is closed, a few words. */
  label: string;
  /** What it will do. */
  words: Html | string;
  /** Label of the button, with a verb. */
  button: string;
  /** Whether it takes something from a user. Default false. */
  isBad?: boolean;
  /** Fields besides the reason. */
  fields?: HtmlValue;
  /** Whether it asks for no reason, since none is recorded. Default false. */
  hasNoReason?: boolean;
  /** Whether it is what one comes to the page for. Default false. */
  isPrimary?: boolean;
  /** Whether it is open at first, such as after a mistake. Default false. */
  isOpen?: boolean;
}

/** A form that changes something. */
export function action(view: ActionView, { texts }: Locale): Html {
  const { path, id: own = path.replace(/\W+/g, '-'), label, words, button, isBad, fields } = view;
  const { hasNoReason, isPrimary, isOpen } = view;
  const t = texts.console;
  const id = `note-${own}`;
  return html`<details class="action"${isOpen && html` open`}><summary class="button button-small${!isPrimary && html` button-quiet`}${isBad && html` takes`}">${label}</summary>
<form class="stack" method="post" action="/admin${path}">
<p class="small">${words}</p>
${fields}${!hasNoReason && html`<div class="field"><label for="${id}">${t.reason}</label><input class="input" id="${id}" name="note" maxlength="${MAX_NOTE}" autocomplete="off" placeholder="${t.reasonHint}"></div>`}
<div class="row"><button class="button${isBad && html` button-bad`}">${button}</button></div>
</form></details>`;
}

/** Actions beside each other; one that is open takes the whole width. */
export function actions(list: readonly (Html | false)[]): Html | false {
  return list.some((one) => one !== false) && html`<div class="actions">${list}</div>`;
}

export interface TextField {
  name: string;
  label: string;
  /** Unique in the page. Default: the name. */
  id?: string;
  value?: string;
  hint?: string;
  placeholder?: string;
  isRequired?: boolean;
  maxLength?: number;
  type?: 'text' | 'number' | 'password';
  suggestions?: readonly string[];
}

export function textField(field: TextField): Html {
  const {
    name,
    label,
    id = name,
    value = '',
    hint,
    placeholder,
    isRequired = false,
    maxLength = 200,
    type = 'text',
    suggestions = [],
  } = field;
  const list = suggestions.length > 0 && html` list="${id}-list"`;
  return html`<div class="field"><label for="${id}">${label}</label><input class="input" id="${id}" name="${name}" type="${type}" value="${value}" maxlength="${maxLength}" autocomplete="off" spellcheck="false"${isRequired && html` required`}${placeholder !== undefined && html` placeholder="${placeholder}"`}${hint !== undefined && html` aria-describedby="${id}-hint"`}${type === 'number' && html` min="0" step="1" inputmode="numeric"`}${list}>${suggestions.length > 0 && html`<datalist id="${id}-list">${suggestions.map((text) => html`<option value="${text}">`)}</datalist>`}${hint !== undefined && html`<span class="hint" id="${id}-hint">${hint}</span>`}</div>
`;
}

export interface ChoiceField {
  name: string;
  label: string;
  /** Unique in the page. Default: the name. */
  id?: string;
  value?: string;
  choices: readonly { value: string; label: string }[];
}

export function choiceField({ name, label, id = name, value, choices }: ChoiceField): Html {
  return html`<div class="field"><label for="${id}">${label}</label><select class="input" id="${id}" name="${name}">${choices.map(
    (choice) =>
      html`<option value="${choice.value}"${choice.value === value && html` selected`}>${choice.label}</option>`,
  )}</select></div>
`;
}

/** Names and values; those without a value are left out. */
export function facts(list: readonly (readonly [name: string, value: HtmlValue])[]): Html {
  const known = list.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== '');
  return html`<dl class="console-facts">${known.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
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
  return dataTable<AuditEntry>({
    label: t.title,
    isStacked: true,
    rows,
    // The whole log has many of a day.
    ...(withSubject && { groupOf: ({ at }: AuditEntry) => locale.longDay(at) }),
    empty: { title: t.none, words: t.noneWords },
    columns: [
      { head: t.time, cell: ({ at }) => (withSubject ? locale.clock(at) : locale.second(at)) },
      {
        head: t.action,
        inCard: 'line',
        cell: ({ action: name, from, to }) =>
          html`<span title="${name}">${t.actions[name]}</span>${to !== null && html`<br><span class="small muted">${from !== null && `${stateOf(from)} → `}${stateOf(to)}</span>`}`,
      },
      ...(withSubject ? [{ head: t.subject, cell: (entry: AuditEntry) => subjectLink(entry) }] : []),
      { head: t.actor, cell: ({ actor }) => actorName(actor, people) },
      { head: t.note, inCard: 'line', cell: ({ note }) => note && html`<bdi class="small">${note}</bdi>` },
    ],
  });
}

/** A subject of the audit log leads to its page, if it has one. */
function subjectLink({ subject, action: name }: AuditEntry): Html {
  const text = html`<bdi class="small mono clip" title="${subject}">${subject}</bdi>`;
  const path = name.startsWith('model.') ? `/admin/models/${encodeURIComponent(subject)}` : pathOf(subject);
  return path === undefined ? text : html`<a href="${path}">${text}</a>`;
}

function pathOf(subject: string): string | undefined {
  const part = encodeURIComponent(subject);
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
  const money = (amount: number) => `${locale.cost(amount * 1_000_000, 2)} ${currency ?? ''}`;
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

/** As budgets are written: `50 USD/month`. */
export function budgetText({ requestLimit, tokenLimit, costLimit, currency, resets }: BudgetState): string {
  const period = resets === 'never' ? 'lifetime' : resets;
  if (costLimit !== null) return `${costLimit / 1_000_000} ${currency}/${period}`;
  return tokenLimit !== null ? `${tokenLimit} tokens/${period}` : `${requestLimit} requests/${period}`;
}

/** The parts of a field that has several, separated by commas. */
export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
