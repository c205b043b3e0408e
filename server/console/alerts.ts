/*
 * Alerts in the console: what needs an operator now, or all alerts of the last 90 days. One is acknowledged, which ends
 * its daily message; it closes by itself when its condition is over. Each leads to the page that shows more.
 */

import { acknowledgeAlert, listAlerts } from '../admin/index.js';
import { ALERT_WORDS, type Alert, type AlertKind, titleOf } from '../alerts/index.js';
import type { Route } from '../http/index.js';
import { badge, emptyState, type Html, html, isolated, type Locale, linkRow, linkTo } from '../site/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  consoleForm,
  consolePage,
  pagesOf,
  rangeOf,
} from './console-route.js';
import { action, actions } from './forms.js';
import { actorName, type People, peopleOf } from './parts.js';

const PATH = '/admin/alerts';

/** Pages that show more, below `/admin`. */
const PAGES: Partial<
  Readonly<Record<AlertKind, { path: string; words: 'budgets' | 'models' | 'failures' | 'money' }>>
> = {
  budget_low: { path: 'groups', words: 'budgets' },
  budget_used: { path: 'groups', words: 'budgets' },
  upstream_down: { path: 'models', words: 'models' },
  error_rate: { path: 'requests?outcome=failed', words: 'failures' },
  bank_money: { path: 'transfers', words: 'money' },
};

export function alertPages(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => alertsPage(services, call);
  return [
    consolePage(services, {
      path: '/alerts',
      summary: 'Alerts in the console',
      description: 'Page of what needs an operator.',
      query: { state: '`all` for closed ones as well.', after: 'Cursor.' },
      show,
    }),
    consoleForm(services, {
      path: '/alerts/:id/acknowledge',
      params: { id: { description: 'Id of the alert.' } },
      summary: 'Acknowledge an alert in the console',
      description: 'Ends the daily repetition of an open alert.',
      errors: ['invalid_value'],
      show,
      async run({ param, by }) {
        await acknowledgeAlert(services, param('id'), by);
        return '/alerts?done=alert';
      },
    }),
  ];
}

async function alertsPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query } = call;
  const { console: own, usage } = locale.texts;
  const t = own.alerts;
  const state = query('state') === 'all' ? 'all' : undefined;
  const { items, next } = await listAlerts(services, state === undefined ? { state: 'active' } : {}, rangeOf(call));
  const people = await peopleOf(
    services,
    items.map(({ acknowledgedBy }) => acknowledgedBy),
  );
  const only = (label: string, value: string | undefined) => ({
    label,
    href: linkTo(PATH, { state: value }),
    isCurrent: state === value,
  });
  return {
    title: own.pages.alerts,
    current: 'alerts',
    lead: html`${t.lead} <a href="/docs/operate/alerts">${t.how}</a>`,
    content: html`<section class="card stack" aria-label="${own.pages.alerts}">
${linkRow(t.which, [only(t.now, undefined), only(usage.all, 'all')])}
${items.length === 0 ? emptyState(t.none, t.noneWords) : html`<ul class="rows">${items.map((alert) => renderAlert(alert, people, state === 'all', locale))}</ul>`}
${pagesOf(call, { path: PATH, filters: { state }, ...(next && { next }) })}
</section>`,
  };
}

/** @param isMixed Whether closed ones are among them, so that open ones are named too. */
function renderAlert(alert: Alert, people: People, isMixed: boolean, locale: Locale): Html {
  const { texts, minute } = locale;
  const { id, kind, state, openedAt, endedAt, times, acknowledgedBy } = alert;
  const t = texts.console.alerts;
  const words = ALERT_WORDS[locale.language];
  const page = PAGES[kind];
  const tone = state === 'open' ? 'bad' : state === 'acknowledged' ? 'warn' : 'good';
  return html`<li><div class="stack-small"><span class="row"><strong><bdi>${titleIn(locale, alert)}</bdi></strong>${(isMixed || state !== 'open') && badge(t.states[state], tone)}</span>
<span class="small muted">${words.kinds[kind]} · ${minute(openedAt)}${endedAt !== null && html` – ${minute(endedAt)}`}${times > 1 && html` · ${words.times(times)}`}${acknowledgedBy !== null && html` · ${actorName(acknowledgedBy, people, locale)}`}</span>
${state !== 'closed' && html`<p class="small">${words.advice[kind]}</p>`}
</div>${
    state !== 'closed' &&
    actions([
      page !== undefined && html`<a class="button button-small" href="/admin/${page.path}">${t.open[page.words]}</a>`,
      state === 'open' &&
        action(
          {
            path: `/alerts/${id}/acknowledge`,
            label: t.acknowledge,
            about: html`<bdi>${titleIn(locale, alert)}</bdi>`,
            words: t.acknowledgeWords,
            button: t.acknowledgeNow,
          },
          locale,
        ),
    ])
  }</li>`;
}

/** The title with the name in it set apart: a name may turn the direction of the text that follows it. */
function titleIn({ language }: Locale, alert: Alert): string {
  const { name } = alert.detail;
  const detail = typeof name === 'string' ? { ...alert.detail, name: isolated(name) } : alert.detail;
  return titleOf({ ...alert, detail }, language);
}

/** A row of what waits for an operator, on the first page. */
export function alertRow(alert: Alert, locale: Locale): Html {
  const t = locale.texts.console.alerts;
  return html`<li><div><a href="${PATH}"><bdi>${titleIn(locale, alert)}</bdi></a><span class="small muted">${locale.minute(alert.openedAt)}</span></div>
<div class="rows-end">${badge(t.states[alert.state], alert.state === 'open' ? 'bad' : 'warn')}</div></li>`;
}
