/*
 * Incidents of the status page in the console: the list with open and ended ones, a form that reports one, and one that
 * closes it with how it ended. Both are public at once, and the forms say so. Times in the form are by UTC.
 */

import { GatewayError } from '../../core/runtime/index.js';
import { closeIncident, listIncidents } from '../admin/index.js';
import { parseIsoTime } from '../format/index.js';
import type { Route } from '../http/index.js';
import { badge, emptyState, type Html, html, type Locale } from '../site/index.js';
import { INCIDENT_KINDS, type Incident } from '../status/index.js';
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
import { action, actions, choiceField, chosen, presetField, textField } from './forms.js';
import { section } from './parts.js';

const PATH = '/admin/incidents';
const MAX_TITLE = 200;
const MAX_WORDS = 2_000;

/** As it is written. A browser writes its own field of a time in its language, not in that of the page. */
const EXAMPLE_TIME = '2026-12-24 08:00';
const HOUR_MS = 60 * 60 * 1000;
/** After which a planned one usually begins. */
const SPANS = [HOUR_MS, 24 * HOUR_MS, 7 * 24 * HOUR_MS];

export function incidentPages(services: ConsoleServices): Route[] {
  const { state, clock } = services;
  const show = (call: ConsoleCall) => incidentsPage(services, call);
  return [
    consolePage(services, {
      path: '/incidents',
      summary: 'Incidents in the console',
      description: 'Page of the incidents of the status page.',
      query: { after: 'Cursor.' },
      show,
    }),
    consoleForm(services, {
      path: '/incidents',
      summary: 'Report an incident in the console',
      description: 'Shows an incident on the status page until it is closed.',
      form: {
        title: 'What is wrong.',
        kind: 'Default `degraded`.',
        message: 'What users notice.',
        starts: 'When it begins, by UTC, or `other`. Default: now.',
        starts_other: 'With `other`: when it begins.',
      },
      errors: ['invalid_value'],
      show,
      async run({ field, by: { actor } }) {
        const [title, message] = [field('title'), field('message').slice(0, MAX_WORDS)];
        const starts = chosen(field, 'starts');
        if (title === '' || title.length > MAX_TITLE) throw invalid('title', `1 to ${MAX_TITLE} characters`);
        const startedAt = starts === '' ? clock.now() : parseIsoTime(`${starts.replace(' ', 'T')}:00Z`);
        if (startedAt === undefined) throw invalid('starts', `a time such as ${EXAMPLE_TIME}`);
        const kind = choiceOf(field('kind'), INCIDENT_KINDS) ?? 'degraded';
        await state.incidents.add({ title, kind, message: message === '' ? null : message, startedAt, actor });
        return '/incidents?done=incident';
      },
    }),
    consoleForm(services, {
      path: '/incidents/:id/close',
      params: { id: { description: 'Id of the incident.' } },
      summary: 'Close an incident in the console',
      description: 'Ends an incident. One that was closed before stays as it is.',
      form: { outcome: 'How it ended.' },
      errors: ['invalid_value'],
      show,
      async run({ param, field, by: { actor } }) {
        const outcome = field('outcome').slice(0, MAX_WORDS);
        await closeIncident(services, param('id'), { outcome: outcome === '' ? null : outcome, actor });
        return '/incidents?done=incident_closed';
      },
    }),
  ];
}

function invalid(param: string, accepted: string): GatewayError {
  return new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

async function incidentsPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, field, problem } = call;
  const { console: own, status } = locale.texts;
  const t = own.incidents;
  const { items, next } = await listIncidents(services, rangeOf(call));
  const kinds = INCIDENT_KINDS.map((value) => ({ value, label: status.incidentKinds[value] }));
  const at = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
  const now = services.clock.now();
  const presets = [
    { value: '', label: t.atOnce },
    ...SPANS.map((ms) => ({ value: at(now + ms), label: t.inTime(own.span(ms)) })),
  ];
  const starts = chosen(field, 'starts');
  const other = textField({
    name: 'starts_other',
    label: t.starts,
    hint: t.startsHint,
    placeholder: EXAMPLE_TIME,
    value: presets.some(({ value }) => value === starts) ? '' : starts,
  });
  const fields = html`${textField({ name: 'title', label: t.what, isRequired: true, maxLength: MAX_TITLE, value: field('title') })}
${choiceField({ name: 'kind', label: own.jobs.kind, choices: kinds, value: field('kind') || 'degraded' })}${presetField({ name: 'starts', label: t.starts, value: starts, presets, other }, locale)}
<div class="field"><label for="message">${t.message}</label><textarea class="input" id="message" name="message" maxlength="${MAX_WORDS}">${field('message')}</textarea></div>
`;
  return {
    title: own.pages.incidents,
    current: 'incidents',
    lead: html`${t.lead} <a href="/status">${t.statusPage}</a>`,
    primary: action(
      {
        path: '/incidents',
        label: t.report,
        words: t.reportWords,
        button: t.reportNow,
        fields,
        hasNoReason: true,
        isPrimary: true,
        isOpen: problem !== undefined && field('title') !== '',
      },
      locale,
      problem,
    ),
    content: html`${items.length === 0 && html`<section class="card" aria-label="${own.pages.incidents}">${emptyState(t.none, t.noneWords)}</section>`}${renderList('open', t.now, items.filter(isOpen), { now, locale })}
${renderList(
  'ended',
  t.past,
  items.filter((one) => !isOpen(one)),
  { now, locale },
)}
${pagesOf(call, { path: PATH, ...(next && { next }) })}`,
  };
}

const isOpen = ({ endedAt }: Incident) => endedAt === null;

function renderList(
  id: string,
  title: string,
  incidents: readonly Incident[],
  { now, locale }: { now: number; locale: Locale },
): Html | false {
  if (incidents.length === 0) return false;
  return section(
    `incidents-${id}`,
    title,
    html`<ul class="rows">${incidents.map((one) => renderIncident(one, now, locale))}</ul>`,
  );
}

/** Its state, its kind and times, and below them what users read, by time. */
function renderIncident(incident: Incident, now: number, locale: Locale): Html {
  const { id, kind, title, message, outcome, startedAt, endedAt } = incident;
  const { texts, minute } = locale;
  const { incidents: t, span } = texts.console;
  const isPlanned = endedAt === null && startedAt > now;
  const tone = endedAt !== null ? 'good' : isPlanned ? 'plain' : kind === 'outage' ? 'bad' : 'warn';
  const state = isPlanned ? texts.status.planned : endedAt === null ? t.open : t.closed;
  const took = isPlanned
    ? t.inTime(span(startedAt - now)).toLowerCase()
    : endedAt === null
      ? t.lasting(span(now - startedAt))
      : t.lasted(span(endedAt - startedAt));
  const fields = html`<div class="field"><label for="outcome-${id}">${t.outcome}</label><textarea class="input" id="outcome-${id}" name="outcome" maxlength="${MAX_WORDS}"></textarea></div>
`;
  const close = action(
    {
      path: `/incidents/${id}/close`,
      label: t.close,
      about: html`<bdi>${title}</bdi>`,
      words: t.closeWords,
      button: t.closeNow,
      fields,
      hasNoReason: true,
    },
    locale,
  );
  const log = [
    { name: t.notice, words: message },
    { name: t.outcome, words: outcome },
  ].filter(({ words }) => words !== null);
  return html`<li class="incident"><div class="stack-small"><span class="row incident-head">${badge(state, tone)}<strong><bdi>${title}</bdi></strong></span>
<p class="small muted">${texts.status.incidentKinds[kind]} · ${minute(startedAt)}${endedAt !== null && html` – ${minute(endedAt)}`} · ${took}</p>
${log.length > 0 ? html`<dl class="incident-log">${log.map(({ name, words }) => html`<div><dt class="small muted">${name}</dt><dd>${words}</dd></div>`)}</dl>` : html`<p class="small muted">${t.noMessage}</p>`}
</div>${endedAt === null && actions([close])}</li>`;
}
