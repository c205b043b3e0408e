/*
 * Incidents of the status page in the console: the list with open and ended ones, and forms that report one, say what is
 * known now, change its title, and close it with how it ended. All are public at once, and the forms say so. Times in the
 * form are by UTC.
 */

import { GatewayError } from '../../core/runtime/index.js';
import { closeIncident, listIncidents, renameIncident, updateIncident } from '../admin/index.js';
import { INCIDENT_KINDS, INCIDENT_STATES } from '../choices.js';
import { parseIsoTime } from '../format/index.js';
import type { Route } from '../http/index.js';
import { badge, emptyState, type Html, html, incidentSteps, openFirst } from '../site/index.js';
import {
  type Incident,
  MAX_INCIDENT_TITLE as MAX_TITLE,
  MAX_INCIDENT_TEXT as MAX_WORDS,
  stateOfIncident,
} from '../status/index.js';
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
import { action, actionMenu, actions, choiceField, chosen, presetField, textField } from './forms.js';
import { section } from './parts.js';

const PATH = '/admin/incidents';
const PARAMS = { id: { description: 'Id of the incident.' } };

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
      path: '/incidents/:id/updates',
      params: PARAMS,
      summary: 'Update an incident in the console',
      description: 'Says on the status page what is known now. An update with the state `resolved` ends the incident.',
      form: { text: 'What is known now.', state: 'How far the work is. Default: as before.' },
      errors: ['invalid_value'],
      show,
      async run({ param, field, by: { actor } }) {
        const state = choiceOf(field('state'), INCIDENT_STATES) ?? null;
        const { endedAt } = await updateIncident(services, param('id'), { state, text: field('text'), actor });
        return `/incidents?done=${endedAt === null ? 'incident_updated' : 'incident_closed'}`;
      },
    }),
    consoleForm(services, {
      path: '/incidents/:id/rename',
      params: PARAMS,
      summary: 'Rename an incident in the console',
      description: 'Gives an incident another title.',
      form: { new_title: 'What is wrong.' },
      errors: ['invalid_value'],
      show,
      async run({ param, field, by: { actor } }) {
        await renameIncident(services, param('id'), { title: field('new_title'), actor });
        return '/incidents?done=incident_renamed';
      },
    }),
    consoleForm(services, {
      path: '/incidents/:id/close',
      params: PARAMS,
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
  const fields = html`${textField({ name: 'title', label: t.what, isRequired: true, maxLength: MAX_TITLE, placeholder: t.whatExample, value: field('title') })}
${choiceField({ name: 'kind', label: own.jobs.kind, choices: kinds, value: field('kind') || 'degraded' })}${presetField({ name: 'starts', label: t.starts, value: starts, presets, other }, locale)}
<div class="field"><label for="message">${t.message}</label><textarea class="input" id="message" name="message" maxlength="${MAX_WORDS}" placeholder="${t.messageExample}">${field('message')}</textarea></div>
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
    content: html`${items.length === 0 && html`<section class="card" aria-label="${own.pages.incidents}">${emptyState(t.none, t.noneWords)}</section>`}${renderList('open', t.now, openFirst(items.filter(isOpen), now), { now, call })}
${renderList(
  'ended',
  t.past,
  items.filter((one) => !isOpen(one)),
  { now, call },
)}
${pagesOf(call, { path: PATH, ...(next && { next }) })}`,
  };
}

const isOpen = ({ endedAt }: Incident) => endedAt === null;

function renderList(
  id: string,
  title: string,
  incidents: readonly Incident[],
  { now, call }: { now: number; call: ConsoleCall },
): Html | false {
  if (incidents.length === 0) return false;
  return section(
    `incidents-${id}`,
    title,
    html`<ul class="rows">${incidents.map((one) => renderIncident(one, now, call))}</ul>`,
  );
}

/** Its state, its kind and times, and below them what users read, newest first. */
function renderIncident(incident: Incident, now: number, call: ConsoleCall): Html {
  const { locale } = call;
  const { kind, title, startedAt, endedAt } = incident;
  const { texts, minute } = locale;
  const { incidents: t, span } = texts.console;
  const isPlanned = endedAt === null && startedAt > now;
  const tone = endedAt !== null ? 'good' : isPlanned ? 'plain' : kind === 'outage' ? 'bad' : 'warn';
  const known = stateOfIncident(incident);
  const open = known === null ? t.open : texts.status.incidentStates[known];
  const state = isPlanned ? texts.status.planned : endedAt === null ? open : t.closed;
  const took = isPlanned
    ? t.inTime(span(startedAt - now)).toLowerCase()
    : endedAt === null
      ? t.lasting(span(now - startedAt))
      : t.lasted(span(endedAt - startedAt));
  return html`<li class="incident"><div class="stack-small"><span class="row incident-head"><strong><bdi>${title}</bdi></strong>${badge(state, tone)}</span>
<p class="small muted">${texts.status.incidentKinds[kind]} · ${minute(startedAt)}${endedAt !== null && html` – ${minute(endedAt)}`} · ${took}</p>
${incidentSteps(incident, now, locale)}
</div>${renderActions(incident, isPlanned, call)}</li>`;
}

function renderActions(
  incident: Incident,
  isPlanned: boolean,
  { locale, param, field, fields, problem }: ConsoleCall,
): Html | false {
  const { id, kind, title, endedAt } = incident;
  const { console: own, status } = locale.texts;
  const { incidents: t } = own;
  const about = html`<bdi>${title}</bdi>`;
  const isSent = (name: string) => problem !== undefined && param('id') === id && fields.includes(name);
  const area = (name: string, label: string) =>
    html`<div class="field"><label for="${name}-${id}">${label}</label><textarea class="input" id="${name}-${id}" name="${name}" maxlength="${MAX_WORDS}"${name === 'text' && html` required`}>${isSent(name) && field(name)}</textarea></div>
`;
  const rename = {
    path: `/incidents/${id}/rename`,
    label: t.rename,
    about,
    words: t.renameWords,
    button: t.renameNow,
    fields: textField({
      name: 'new_title',
      id: `title-${id}`,
      label: t.what,
      isRequired: true,
      maxLength: MAX_TITLE,
      value: isSent('new_title') ? field('new_title') : title,
    }),
    hasNoReason: true,
    isOpen: isSent('new_title'),
  };
  const renaming = rename.isOpen ? action(rename, locale, problem) : undefined;
  if (endedAt !== null) return actions([renaming ?? actionMenu(title, [rename], locale)]);
  const states = INCIDENT_STATES.map((value) => ({ value, label: status.incidentStates[value] }));
  const close = {
    path: `/incidents/${id}/close`,
    label: isPlanned ? t.callOff : t.close,
    about,
    words: isPlanned ? t.callOffWords : t.closeWords,
    button: isPlanned ? t.callOffNow : t.closeNow,
    fields: area('outcome', isPlanned ? t.callOffWhy : t.outcome),
    hasNoReason: true,
  };
  // Maintenance is announced and done: how far a search for a cause is, says nothing of it.
  const choices =
    kind === 'maintenance'
      ? [{ value: '', label: t.asBefore }, ...states.filter(({ value }) => value === 'resolved')]
      : states;
  const value = isSent('text') ? field('state') : (stateOfIncident(incident) ?? '');
  return actions([
    action(
      {
        path: `/incidents/${id}/updates`,
        label: t.update,
        about,
        words: t.updateWords,
        button: t.updateNow,
        fields: html`${choiceField({ name: 'state', id: `state-${id}`, label: t.state, choices, value })}${area('text', t.known)}`,
        hasNoReason: true,
        isOpen: isSent('text'),
      },
      locale,
      problem,
    ),
    renaming ?? actionMenu(title, [rename, close], locale),
  ]);
}
