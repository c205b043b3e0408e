/*
 * The page of an account's keys: each in a row with its last use and usage of 30 days, its limits, where it has some, in a line with what is
 * used of its budgets, and the form to change it; a menu has what ends it, to rotate and to revoke. A key that was
 * replaced stands below the one that replaced it. A number of failures leads to those requests.
 * The form of a new one is behind a button, or there at once for the first. Reading works without scripts. Keys that are no longer valid stand below, without forms. While a new key is shown, the
 * forms are hidden: they speak of the keys before it.
 */

import type { SharedGroup } from '../../accounts/index.js';
import type { BudgetState } from '../../budgets/index.js';
import { type ApiKeyRecord, isValidState, type KeyGrant, maskedKey } from '../../keys/index.js';
import { accountPages, linkTo } from '../components/filters.js';
import { type LimitChoices, limitFields } from '../components/key-limits.js';
import {
  type ChangedKey,
  isolated,
  type KeyView,
  keyBadge,
  lastDay,
  MAX_KEY_NAME,
  renderChanged,
  renderKeyCreation,
  renderKeyHead,
  renderNewKey,
  SHOWN_DEAD,
} from '../components/keys.js';
import type { Locale } from '../language/index.js';
import { bar, Html, html, type Page, scriptedButton } from '../page.js';

/** A key with its limits and usage. */
export interface KeyDetails extends KeyView, Pick<ApiKeyRecord, 'own' | 'rpm' | 'planRpm' | 'replacedBy'> {
  grants: readonly KeyGrant[];
  /** Null: all. */
  models: readonly string[] | null;
  budgets: readonly BudgetState[];
  /** `spent` is money as text; undefined without prices. */
  used: { requests: number; failed: number; spent: string | undefined };
}

export interface KeysView {
  planName: string;
  /** Newest first. */
  keys: readonly KeyDetails[];
  choices: LimitChoices;
  /** Whose keys the user may see. */
  groups: readonly SharedGroup[];
  /** Days of the usage: `2026-06-15`. */
  range: { from: string; to: string; days: number };
  changed: ChangedKey | null;
}

const PATH = '/keys';
/** Number of models that are named. */
const SHOWN_MODELS = 3;
const OVERLAPS = [0, 24, 168] as const;
const DEFAULT_OVERLAP = 24;

export function keysPage(view: KeysView, locale: Locale): Omit<Page, 'viewer'> {
  const t = locale.texts.keys;
  const valid = belowSuccessors(view.keys.filter(({ state }) => isValidState(state)));
  const dead = view.keys.filter(({ state }) => !isValidState(state));
  return {
    title: t.title,
    current: '/dashboard',
    scripts: ['api-forms.js', 'keys.js', 'calendar.js'],
    styles: ['tables.css', 'keys.css'],
    content: html`<div class="frame key-page">
<div class="page-head"><h1>${t.title}</h1><p>${t.words(html`<strong>${view.planName}</strong>`)}</p>${accountPages(PATH, locale)}</div>
<div class="stack">
${renderChanged(view.changed, locale)}
<div class="key-top">
${valid.length === 0 && html`<h2 class="no-keys">${view.keys.length === 0 ? t.first : t.noneValid}</h2>`}
${renderNewKey(PATH, locale)}
${renderCreation(view, valid.length === 0, locale)}
${valid.length > 0 && html`<div class="key-heading"><h2>${t.yours}</h2><p class="small muted">${t.facts.range(view.range.days)}</p></div>`}
</div>
${valid.length > 0 && html`<div class="card key-list">${renderColumns(valid, locale)}<ul>${valid.map((key) => renderKey(key, view, locale))}</ul></div>`}
${renderDead(dead, locale)}
${view.groups.map((group) => renderGroup(group, locale))}
</div>
</div>`,
  };
}

/** A key that was replaced comes after the one that replaced it, where that is in the list. */
function belowSuccessors(keys: readonly KeyDetails[]): readonly KeyDetails[] {
  const isReplaced = ({ replacedBy }: KeyDetails) => keys.some(({ id }) => id === replacedBy);
  const replacedBy = (key: KeyDetails): KeyDetails[] => [
    key,
    ...keys.filter((other) => other.replacedBy === key.id).flatMap(replacedBy),
  ];
  return keys.filter((key) => !isReplaced(key)).flatMap(replacedBy);
}

/** Names of the columns of a wide window, once: each row has them for screen readers. */
function renderColumns(keys: readonly KeyDetails[], { texts: { keys: t } }: Locale): Html {
  const hasPrices = keys.some(({ used }) => used.spent !== undefined);
  const names = [t.form.name, t.facts.lastUsed, t.facts.used, ...(hasPrices ? [t.facts.spent] : [])];
  return html`<div class="key-columns" aria-hidden="true">${names.map((name) => html`<span>${name}</span>`)}</div>`;
}

/** The form of a new key: behind a button, and at once where no key is valid. */
function renderCreation({ choices }: KeysView, isFirst: boolean, locale: Locale): Html {
  const t = locale.texts.keys;
  const form = renderKeyCreation(locale, limitFields(choices, locale));
  if (isFirst) {
    return html`<section class="card stack no-keys" aria-label="${t.create}">${form}<p class="small muted key-next">${t.firstWords}</p></section>`;
  }
  return html`<details class="key-creation"><summary class="button"><span class="when-closed">${t.newOne}</span><span class="when-open">${t.close}</span></summary>
<h2>${t.newOne}</h2><section class="card stack" aria-label="${t.create}">${form}</section></details>`;
}

/** The keys of a group that the user belongs to. */
function renderGroup({ name, budgets, keys }: SharedGroup, locale: Locale): Html {
  const { texts, day } = locale;
  const t = texts.keys;
  return html`<section class="card stack" aria-labelledby="group-${name}"><h2 id="group-${name}">${t.group.title(html`<bdi>${name}</bdi>`)}</h2>
<p class="small muted">${t.group.words}</p>
${budgets.map((budget) => renderBudget(budget, locale))}
<ul class="rows">${keys.map(
    ({ record, budgets: own, isOwn }) =>
      html`<li><div class="stack-small"><span><strong><bdi>${record.name}</bdi></strong>${isOwn && html` <span class="small muted">${t.group.own}</span>`}</span>
<span class="small muted"><code>${maskedKey(record.id)}</code> · ${t.facts.lastUsed}: ${record.lastUsedAt === null ? t.facts.notYet : day(record.lastUsedAt)}</span>
${own.map((budget) => renderBudget(budget, locale))}</div></li>`,
  )}</ul></section>`;
}

function renderDead(dead: readonly KeyDetails[], locale: Locale): Html | false {
  if (dead.length === 0) return false;
  const rows = html`<ul class="rows">${dead.map((key) => html`<li class="key">${renderKeyHead(key, locale)}</li>`)}</ul>`;
  return html`<section class="card"><details${dead.length <= SHOWN_DEAD && html` open`}><summary>${locale.texts.keys.older(dead.length)}</summary>${rows}</details></section>`;
}

function renderKey(key: KeyDetails, view: KeysView, locale: Locale): Html {
  const { id, name, state, createdAt, replacedBy } = key;
  const { texts, day } = locale;
  const t = texts.keys;
  const isBelow = view.keys.some((other) => other.id === replacedBy && isValidState(other.state));
  return html`<li class="key-card${isBelow && html` key-replaced`}" id="key-${id}">
<div class="key-card-head"><h3 class="key-name"><bdi>${name}</bdi> ${keyBadge(state, locale)}</h3>
<p class="small muted"><code>${maskedKey(id)}</code> · ${t.created(day(createdAt))}${
    state === 'rotated' &&
    replacedBy !== null &&
    !isBelow &&
    html` · ${t.replacedBy(html`<code>${maskedKey(replacedBy)}</code>`)}`
  }</p></div>
${renderFacts(key, view, locale)}
<div class="key-actions key-forms needs-script">${state === 'active' && html`${renderChange(key, view, locale)}${renderRotation(key, locale)}`}${renderMenu(key, locale)}</div>
<p class="problem" role="alert" id="problem-${id}"></p>
</li>`;
}

function renderFacts(key: KeyDetails, { range }: KeysView, locale: Locale): Html {
  const { texts, day, count } = locale;
  const { facts: t, grants: names } = texts.keys;
  const { id, grants, own, lastUsedAt, used, budgets } = key;
  const bounds = [
    own?.grants && fact(t.grants, grants.map((grant) => names[grant]).join(', ') || '–'),
    own?.models && fact(t.models, renderModels(key, locale)),
    key.expiresAt !== null && fact(t.expires, renderEnd(key.expiresAt, own, locale)),
    own?.rpm !== undefined && key.rpm !== null && fact(t.rpm, renderRpm(key.rpm, key.planRpm, locale)),
  ].filter((bound) => bound instanceof Html);
  const failed = linkTo('/requests', { key: id, from: range.from, to: range.to, outcome: 'failed' });
  const requests = linkTo('/requests', { key: id, from: range.from, to: range.to });
  return html`<dl class="key-facts">
${fact(t.lastUsed, lastUsedAt === null ? t.notYet : day(lastUsedAt))}
${fact(
  t.used,
  html`${used.requests === 0 ? count(0) : html`<a href="${requests}">${count(used.requests)}</a>`}${
    used.failed > 0 && html`, <a href="${failed}">${t.failed(count(used.failed))}</a>`
  }`,
)}
${used.spent !== undefined && fact(t.spent, used.spent)}
</dl>
${(bounds.length > 0 || budgets.length > 0) && html`<div class="key-bounds">${bounds.length > 0 && html`<dl>${bounds}</dl>`}${budgets.map((budget) => renderBudget(budget, locale))}</div>`}`;
}

function fact(name: string, value: Html | string): Html {
  return html`<div><dt>${name}</dt><dd>${value}</dd></div>`;
}

function renderModels({ models, own }: KeyDetails, { texts, count }: Locale): string {
  const { facts: t } = texts.keys;
  if (models === null || !own?.models) return t.all;
  const shown = models.slice(0, SHOWN_MODELS).join(', ');
  const more = models.length - SHOWN_MODELS;
  if (models.length === 0) return '–';
  return more > 0 ? t.andMore(shown, count(more)) : shown;
}

function renderRpm(rpm: number, planRpm: KeyDetails['planRpm'], { texts, count }: Locale): string {
  const { facts: t } = texts.keys;
  if (rpm === planRpm) return t.ofPlan(count(rpm));
  return planRpm === null || planRpm === undefined ? count(rpm) : t.own(count(rpm), count(planRpm));
}

function renderEnd(expiresAt: number, own: KeyDetails['own'], locale: Locale): Html | string {
  const day = lastDay(expiresAt, locale);
  return own?.expiresAt === expiresAt ? day : locale.texts.keys.facts.withPlan(day);
}

/** What is used of a budget of one amount. */
function renderBudget(budget: BudgetState, { texts, count, cost }: Locale): Html {
  const { allowances, plan } = texts.dashboard;
  const { resets, currency, requestLimit, tokenLimit, costLimit } = budget;
  const [label, limit, used, show] =
    costLimit !== null
      ? [allowances.cost[resets](currency ?? ''), costLimit, budget.costUsed + budget.costReserved, cost]
      : tokenLimit !== null
        ? [allowances.tokens[resets], tokenLimit, budget.tokensUsed + budget.tokensReserved, count]
        : [allowances.requests[resets], requestLimit ?? 0, budget.requestsUsed, count];
  return html`<div class="stack-small"><div class="row row-apart small"><span class="muted">${label}</span>
<span class="figures">${plan.used(show(Math.min(used, limit)), show(limit))}</span></div>${bar(limit === 0 ? 0 : 1 - used / limit)}</div>`;
}

function renderChange(key: KeyDetails, { choices }: KeysView, locale: Locale): Html {
  const { id, name } = key;
  const t = locale.texts.keys;
  return html`<details><summary class="button button-quiet button-small">${t.change}<span class="visually-hidden"> <bdi>${name}</bdi></span></summary>
<form class="stack" data-api="POST /api/user/keys/${id}" data-limits data-then="${PATH}?saved={key.id}" data-problem="problem-change-${id}">
<div class="field"><label for="name-${id}">${t.form.name}</label><input class="input" id="name-${id}" name="name" required maxlength="${MAX_KEY_NAME}" value="${name}" autocomplete="off"></div>
${limitFields(choices, locale, key)}
<div class="row">${scriptedButton(html`${t.save}<span class="visually-hidden"> <bdi>${name}</bdi></span>`)}<p class="small muted key-summary" data-summary aria-live="polite"></p></div>
<p class="problem" role="alert" id="problem-change-${id}"></p></form></details>`;
}

function renderRotation({ id, name }: KeyDetails, { texts: { keys: t } }: Locale): Html {
  return html`<details class="key-rotation" id="rotate-${id}"><summary class="button button-quiet button-small">${t.rotate}<span class="visually-hidden"> <bdi>${name}</bdi></span></summary>
<form class="stack" data-api="POST /api/user/rotate" data-show="new-key-text" data-key="apiKey" data-problem="problem-rotate-${id}">
<p class="small muted">${t.rotateWords}</p>
<input type="hidden" name="keyId" value="${id}">
<div class="form-row"><div class="field"><label for="overlap-${id}">${t.overlap}</label>
<select class="input" id="overlap-${id}" name="overlapHours" data-number>${OVERLAPS.map(
    (hours) =>
      html`<option value="${hours}"${hours === DEFAULT_OVERLAP && html` selected`}>${t.overlaps[hours]}</option>`,
  )}</select></div>
${scriptedButton(html`${t.replace}<span class="visually-hidden"> <bdi>${name}</bdi></span>`)}</div>
<p class="problem" role="alert" id="problem-rotate-${id}"></p></form></details>`;
}

/** What ends a key. The script opens the form of the rotation. */
function renderMenu(key: KeyDetails, locale: Locale): Html {
  const { id, name, state } = key;
  const t = locale.texts.keys;
  const what = html`<span class="visually-hidden"> <bdi>${name}</bdi></span>`;
  return html`<details class="menu menu-end"><summary class="button button-quiet button-small"><span aria-hidden="true">⋯</span><span class="visually-hidden">${t.moreActions}${what}</span></summary>
<div class="menu-list">${state === 'active' && html`<button type="button" class="link-button" data-open="rotate-${id}">${t.rotate}${what}</button>`}${renderRevocation(key, locale)}</div></details>`;
}

function renderRevocation({ id, name }: KeyDetails, { texts: { keys: t } }: Locale): Html {
  return html`<form data-api="POST /api/user/keys/${id}/revoke" data-then="${PATH}?revoked={key.id}"
data-confirm="${t.revokeConfirm(isolated(name))}" data-confirm-label="${t.revoke}" data-confirm-bad data-choice="jobs=keep" data-choice-label="${t.keepJobs}" data-problem="problem-${id}">
<button class="link-button menu-bad" disabled>${t.revoke}<span class="visually-hidden"> <bdi>${name}</bdi></span></button></form>`;
}
