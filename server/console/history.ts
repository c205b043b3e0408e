/*
 * The history of a subject, and the audit log: who did what, latest first. Codes of the log are written in words: roles,
 * states, plans, kinds of incidents, budgets and times. Of a change with several parts only those that differ are shown.
 * A subject is shown by the name of its person, and leads to its page. The stored text is a title.
 */

import type { AdminServices } from '../admin/index.js';
import type { AuditEntry } from '../audit/index.js';
import { isOrderCode } from '../payments/index.js';
import { copyableId, dataTable, type Html, html, type Locale, planName } from '../site/index.js';
import { actorName, emptyList, type People, peopleOf, section } from './parts.js';

type Services = Pick<AdminServices, 'state' | 'catalogue'>;

/** Who did what, latest first. @param whole For the whole log: subjects, and titles with the days. */
export async function history(
  services: Services,
  rows: readonly AuditEntry[],
  locale: Locale,
  whole?: { reset: string | undefined },
): Promise<Html> {
  const withSubject = whole !== undefined;
  const [people, owners, titles] = await Promise.all([
    peopleOf(
      services,
      rows.flatMap(({ actor, subject }) => [actor, subject]),
    ),
    withSubject ? ownersIn(services, rows) : new Map<string, string>(),
    withSubject ? titlesIn(services, rows) : new Map<string, string>(),
  ]);
  const t = locale.texts.console.history;
  const reader = stateReader(services, locale);
  return dataTable<AuditEntry>({
    label: t.title,
    isStacked: true,
    rows,
    // The whole log has many of a day.
    ...(withSubject && { groupOf: ({ at }: AuditEntry) => locale.longDay(at) }),
    empty: emptyList(
      { title: t.none, words: whole?.reset === undefined ? t.noneWords : t.noneFound, reset: whole?.reset },
      locale,
    ),
    columns: [
      {
        head: t.action,
        cell: (entry) =>
          html`<span class="entry" title="${entry.action}">${t.actions[entry.action]}</span>${detailOf(entry, reader, locale)}`,
      },
      ...(withSubject
        ? [
            {
              head: t.subject,
              inCard: 'plain' as const,
              cell: (entry: AuditEntry) =>
                renderSubject(entry, { people, names: new Map([...owners, ...titles]), locale }),
            },
          ]
        : []),
      { head: t.actor, cardHead: t.by, cell: ({ actor }) => actorName(actor, people, locale) },
      {
        head: t.time,
        isNumber: true,
        inCard: 'end',
        cell: ({ at }) => (withSubject ? locale.clock(at) : locale.second(at)),
      },
    ],
  });
}

/** A part of a page; without rows it is left out. @param all Where the whole log of the subject is. */
export async function historySection(
  services: Services,
  rows: readonly AuditEntry[],
  { locale, all }: { locale: Locale; all?: string | undefined },
): Promise<Html | false> {
  if (rows.length === 0) return false;
  const t = locale.texts.console.history;
  const more = all !== undefined && html`<a class="small" href="${all}">${t.all}</a>`;
  return section('history', t.title, await history(services, rows, locale), more);
}

/** Names of the users of accounts. */
async function ownersIn(
  { state: { users } }: Services,
  rows: readonly AuditEntry[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(rows.map(({ subject }) => subject).filter((subject) => /^acct_\w+$/.test(subject)));
  const found = await users.ofAccounts([...ids]);
  return new Map(found.map(({ accountId, name, email, id }) => [accountId, name ?? email ?? id]));
}

/** Titles of incidents, and names in open invitations. */
async function titlesIn(
  { state: { incidents, invitations } }: Services,
  rows: readonly AuditEntry[],
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(rows.map(({ subject }) => subject))];
  const [found, open] = await Promise.all([
    incidents.titlesOf(ids.filter((id) => INCIDENT.test(id))),
    ids.some((id) => INVITATION.test(id)) ? invitations.list() : [],
  ]);
  return new Map([...found, ...open.flatMap(({ id, name }) => (name === null ? [] : [[id, name] as const]))]);
}

function renderSubject(
  { subject, action }: AuditEntry,
  { people, names, locale }: { people: People; names: ReadonlyMap<string, string>; locale: Locale },
): Html {
  const user = people.get(subject);
  const name = user ? (user.name ?? user.email ?? user.id) : names.get(subject);
  const path = pathOf(subject, action);
  if (name !== undefined && path !== undefined) {
    return html`<a href="${path}" title="${subject}"><bdi>${name}</bdi></a>`;
  }
  const [kind, of] = subject.split(':');
  if (kind === 'group' && of !== undefined && path !== undefined) return html`<a href="${path}"><bdi>${of}</bdi></a>`;
  return copyableId(subject, locale.texts.console.history.subject, locale, path);
}

const INVITATION = /^inv_\w+$/;
const INCIDENT = /^inc_\w+$/;

/** A subject of the audit log leads to its page, if it has one. */
function pathOf(subject: string, action: string): string | undefined {
  const part = encodeURIComponent(subject);
  if (action.startsWith('model.')) return `/admin/models/${part}`;
  if (/^(?:user|acct)_\w+$/.test(subject)) return `/admin/users/${part}`;
  if (isOrderCode(subject)) return `/admin/orders/${part}`;
  if (/^[a-z]+job_\w+$|^batch_\w+$/.test(subject)) return `/admin/jobs/${part}`;
  if (/^group:./.test(subject)) return `/admin/groups?q=${encodeURIComponent(subject.slice('group:'.length))}`;
  if (INVITATION.test(subject)) return '/admin/invitations';
  if (INCIDENT.test(subject)) return '/admin/incidents';
  if (/^[A-Za-z0-9_-]{8}$/.test(subject)) return `/admin/keys/${part}`;
  return undefined;
}

/** A part of a change of a key, such as `own grants images,extract` or `rpm 30`, with its name as on its page. */
const KEY_PART = /^(?:own )?(grants|rpm|models|priority|expires) (.+)$/;

/** The group of a key. */
const GROUP_PART = /^group (.+)$/;

function keyPart(part: string, locale: Locale): string {
  const { keys: t, users, asPlan } = locale.texts.console;
  const [, field, value = ''] = KEY_PART.exec(part) ?? [];
  if (field === undefined) return t.name;
  const names = { grants: t.grants, rpm: t.rpm, models: t.models, priority: t.priority, expires: t.ends };
  const words: Readonly<Record<string, string>> = {
    'as the plan': asPlan,
    'with the plan': t.withPlan,
    unlimited: users.unlimited,
    all: locale.texts.usage.all,
    never: users.never,
  };
  const grants: Readonly<Record<string, string>> = t.grantNames;
  const listed = value.split(',').map((one) => (field === 'grants' ? (grants[one] ?? one) : one));
  const time = field === 'expires' ? Date.parse(value) : Number.NaN;
  const is = words[value] ?? (Number.isNaN(time) ? listed.join(', ') : locale.dayText(time));
  return `${names[field as keyof typeof names]}: ${is}`;
}

/** An amount such as `500 EUR` in the form of the language. */
function moneyOf(text: string, { smallMoney }: Locale): string {
  const [amount = '', currency = ''] = text.split(' ');
  return smallMoney(Number(amount.replaceAll(',', '')) * 1_000_000, currency);
}

/** What arrived, was added to a balance, or taken from it. */
function movedMoney({ amount, currency, action }: AuditEntry, locale: Locale): readonly string[] {
  if (amount === null || currency === null) return [];
  const sign = amount.startsWith('-') ? '−' : action.startsWith('balance.') ? '+' : '';
  return [`${sign}${moneyOf(`${amount.replace('-', '')} ${currency}`, locale)}`];
}

type ReadState = (state: string, action: string) => string;

/** Codes of a log in words. Texts of people are none of them, and stay as they are. */
function stateReader({ catalogue }: Services, locale: Locale): ReadState {
  const { words, console: own, status } = locale.texts;
  const states: Readonly<Record<string, string>> = {
    'as configured': own.model.asConfigured,
    'no budget': own.noBudget,
    ...own.alerts.states,
    ...words.jobStates,
    ...words.orderStates,
  };
  const named: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    user: own.invitations.roles,
    invitation: own.invitations.roles,
    incident: { ...status.incidentKinds, ...status.incidentStates },
  };
  const { never: lifetime, ...periods } = own.budgets.resets;
  const resets: Readonly<Record<string, string>> = { ...periods, lifetime };
  return (state, action) => {
    const kind = action.split('.')[0] ?? '';
    if (kind === 'plan') return planName({ catalogue, locale }, state);
    const group = kind === 'key' ? GROUP_PART.exec(state)?.[1] : undefined;
    if (group !== undefined) return `${own.keys.group}: ${group === 'none' ? own.noBudget : group}`;
    if (kind === 'key' && (state === 'name' || KEY_PART.test(state))) return keyPart(state, locale);
    const known = named[kind] ?? states;
    if (Object.hasOwn(known, state)) return known[state] as string;
    return state
      .replace(/(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z/g, '$1 $2 UTC')
      .replace(/(?<![\w.,-])(\d[\d,]{0,18}) (tokens|requests)\b/g, (_, digits: string, unit: 'tokens' | 'requests') => {
        return `${locale.count(Number(digits.replaceAll(',', '')))} ${locale.texts.keys.form.units[unit]}`;
      })
      .replace(/(?<![\w.,-])\d[\d,]{0,18}(?:\.\d{1,6})? [A-Z]{3}\b/g, (money) => moneyOf(money, locale))
      .replace(/(?<=\S)\/(day|month|lifetime)\b/g, (_, period: string) => ` ${resets[period]}`);
  };
}

/** What changed and why, in one running text. */
function detailOf(entry: AuditEntry, read: ReadState, locale: Locale): Html | false {
  const { note: reason } = locale.texts.console.history;
  const changes = [...changesOf(entry, read), ...movedMoney(entry, locale)];
  const note =
    entry.note !== null &&
    entry.note !== '' &&
    html`<span class="said"><span class="visually-hidden">${reason}: </span><bdi>${entry.note}</bdi></span>`;
  if (changes.length === 0 && note === false) return false;
  return html`<span class="detail small muted">${changes.map((change, index) => html`${index > 0 && ' · '}<span>${change}</span>`)}${changes.length > 0 && note && ' · '}${note}</span>`;
}

/** What it was and what it is. Parts that are the same are left out; a part of a key is named once. */
function changesOf({ from, to, action }: AuditEntry, read: ReadState): readonly string[] {
  if (to === null) return [];
  const [before, after] = [(from ?? '').split('; '), to.split('; ')];
  if (from === null) return after.map((part) => read(part, action));
  const isList = after.length > 1 && before.length === after.length;
  const changes = isList
    ? after.flatMap((part, index) => (part === before[index] ? [] : [[before[index] ?? '', part] as const]))
    : [[from, to] as const];
  return changes.map(([old, now]) => {
    const is = read(now, action);
    const was = read(old, action);
    const name = /^[^:]+: /.exec(is)?.[0] ?? '';
    return name !== '' && was.startsWith(name) ? `${was} → ${is.slice(name.length)}` : `${was} → ${is}`;
  });
}
