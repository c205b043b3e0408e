/*
 * The public status page: the whole in one sentence with the parts that are disturbed, open and planned incidents first,
 * then every part with its state now and a band of its last 24 hours, then incidents that ended. A band is drawn on the
 * server, has equal neighbours as one bar, and its disturbances as words for screen readers. Works without scripts.
 */

import {
  CELL_MS,
  type Incident,
  overallState,
  type PartState,
  type ServiceReport,
  type StatusPart,
  stateOfIncident,
} from '../../status/index.js';
import type { Locale } from '../language/index.js';
import { badge, emptyState, type Html, html, type Page, type Tone } from '../page.js';

export interface StatusView {
  report: ServiceReport;
  /** Whether platforms are shown: not where no plan includes link data. */
  hasLinks: boolean;
}

type Part = ServiceReport['parts'][number];

const GROUPS = ['service', 'model', 'platform'] as const;
const LEGEND = ['ok', 'degraded', 'down', 'none'] as const;
const TONES: Readonly<Record<PartState, Tone>> = { ok: 'good', degraded: 'warn', down: 'bad' };
/** Models of a provider named in its label, and incidents named above all parts. */
const NAMED = 3;

export function statusPage({ report, hasLinks }: StatusView, locale: Locale): Omit<Page, 'viewer'> {
  const { at, incidents, parts } = report;
  const { texts, minute } = locale;
  const t = texts.status;
  const isOpen = ({ endedAt }: Incident) => endedAt === null;
  const open = openFirst(incidents?.filter(isOpen) ?? [], at);
  const ended = incidents?.filter((one) => !isOpen(one)) ?? [];
  const shown = parts.filter(({ group }) => hasLinks || group !== 'platform');
  const isDisturbed = open.some(({ kind, startedAt }) => kind !== 'maintenance' && startedAt <= at);
  const now = overallState(shown);
  const state = now === 'ok' && isDisturbed ? 'degraded' : now;
  const disturbed = shown.filter((part) => part.state !== 'ok');
  const words = state === 'ok' && shown.some(isWorkingMock) ? t.overall.mocks : t.overall[state];
  return {
    title: t.title,
    description: t.description,
    current: '/status',
    styles: ['public.css'],
    content: html`<div class="frame frame-text stack status">
<div class="page-head"><h1>${t.title}</h1></div>
<div class="card status-overall row row-apart status-${state}"><div><strong>${words}</strong>${disturbed.length > 0 && html`<p class="small">${t.affected(locale.allOf(disturbed.map((part) => plainNameOf(part, locale))))}</p>`}${incidentLinks(open, at, locale)}</div><span class="small">${t.asOf} ${minute(at)}</span></div>
${open.length > 0 && html`<h2 class="visually-hidden" id="open-incidents">${t.openIncidents}</h2><ul class="stack" aria-labelledby="open-incidents">${open.map((one) => renderIncident(one, at, locale))}</ul>`}
${GROUPS.map((group) => renderGroup(group, shown, report.since, locale))}
<section class="stack model-kind" aria-labelledby="incidents"><h2 id="incidents">${t.incidents}</h2>
${incidents === undefined ? emptyState(t.unread, '') : ended.length === 0 && open.length === 0 && emptyState(t.noIncidents, t.noIncidentsWords)}
${ended.length > 0 && html`<ul class="stack">${ended.map((one) => renderIncident(one, at, locale))}</ul>`}
</section>
<p class="small muted"><a href="/health">${t.forPrograms}</a></p>
</div>`,
  };
}

/** All that are open by their titles, those that are now before those that come. */
function incidentLinks(open: readonly Incident[], now: number, { texts: { status: t } }: Locale): Html {
  const groups = {
    open: open.filter(({ startedAt }) => startedAt <= now),
    planned: open.filter(({ startedAt }) => startedAt > now),
  };
  return html`${(['open', 'planned'] as const).map((name) => {
    const [more, links] = [groups[name].length - NAMED, groups[name].slice(0, NAMED)];
    return (
      links.length > 0 &&
      html`<p class="small">${t.named[name]} ${links.map(({ id, title }, index) => html`${index > 0 && ', '}<a href="#${id}"><bdi>${title}</bdi></a>`)}${more > 0 && html`, <a href="#open-incidents">${t.moreIncidents(more)}</a>`}</p>`
    );
  })}`;
}

/** What a bar is, and its colours. */
function renderLegend({ texts: { status: t } }: Locale): Html {
  return html`<p class="small muted status-legend"><span>${t.bars}</span>${LEGEND.map((state) => html` <span class="status-key"><svg viewBox="0 0 1 1" width="10" height="10" aria-hidden="true"><rect class="band-${state}" width="1" height="1"/></svg> ${t.states[state]}</span>`)}</p>`;
}

/** The first one explains its bars. */
function renderGroup(group: StatusPart['group'], parts: readonly Part[], since: number, locale: Locale): Html | false {
  const own = parts.filter((part) => part.group === group);
  if (own.length === 0) return false;
  const t = locale.texts.status;
  const hasBand = !own.every(isWorkingMock);
  return html`<section class="card stack" aria-labelledby="group-${group}">
<div class="row row-apart"><h2 id="group-${group}">${t.groups[group]}</h2>${hasBand && (group === GROUPS[0] ? renderLegend(locale) : html`<span class="small muted">${t.lastDay}</span>`)}</div>
${own.some(isWorkingMock) && html`<p class="small muted">${t.mocks}</p>`}
<ul class="status-parts">${own.map((part) => renderPart(part, since, locale))}${hasBand && html`<li class="status-scale" aria-hidden="true">${t.scale.map((words) => html`<span>${words}</span>`)}</li>`}</ul>
</section>`;
}

function renderPart(part: Part, since: number, locale: Locale): Html {
  const { history } = part;
  const t = locale.texts.status;
  const percent =
    history.fine === undefined
      ? t.unknown
      : html`${percentOf(history.fine, locale)}<span class="visually-hidden"> ${t.fine}</span>`;
  const hasBand = !isWorkingMock(part);
  return html`<li class="stack-small"><div class="status-head"><h3>${nameOf(part, locale)}</h3><span class="row">${hasBand && html`<span class="small muted figures">${percent}</span>`}${stateBadge(part, locale)}</span></div>
${hasBand && renderBand(history.states, since, locale)}
${part.group === 'platform' && part.probe && html`<p class="small muted">${renderProbe(part.probe, locale)}</p>`}</li>`;
}

/** A mock that works is no model that works: it has no share and no band. */
function isWorkingMock(part: Part): boolean {
  return part.group === 'model' && part.isMock && part.state === 'ok';
}

function stateBadge(part: Part, { texts: { status: t } }: Locale): Html {
  const { state } = part;
  if (isWorkingMock(part)) return badge(t.mock);
  return badge(t.states[state], TONES[state]);
}

/** Never 100 % if there was any disturbance. */
function percentOf(share: number, { count }: Locale): string {
  return `${count(share === 1 ? 100 : Math.min(99.9, Math.floor(share * 1_000) / 10))}%`;
}

function nameOf(part: Part, locale: Locale): Html {
  const t = locale.texts.status;
  if (part.group === 'service') return html`${t.parts[part.name]}`;
  if (part.group === 'platform') return html`<bdi>${part.name}</bdi>`;
  const { models } = part;
  const names = models.slice(0, NAMED);
  const named = names.map(
    (id, index) =>
      html`${index > 0 && ' '}<span><bdi class="mono">${id}</bdi>${index < names.length - 1 && ','}</span>`,
  );
  const more = models.length > NAMED && html` ${t.andMore(models.length - NAMED)}`;
  return html`${kindOf(part, locale)} <span class="status-models">${named}${more}</span>`;
}

/** What the models are for. Providers of audio differ by what they do. */
function kindOf({ kinds, operations }: Extract<Part, { group: 'model' }>, { texts: { status: t } }: Locale): string {
  const [kind, ...others] = kinds;
  if (kind === undefined || others.length > 0) return t.kinds.several;
  if (kind !== 'audio') return t.kinds[kind];
  const isSpeech = operations.some((one) => one === 'speak');
  const isTranscript = operations.some((one) => one === 'transcribe' || one === 'translate');
  if (isSpeech === isTranscript) return operations.length > 0 && !isSpeech ? t.audio.sounds : t.kinds.audio;
  return isSpeech ? t.audio.speech : t.audio.transcripts;
}

/** In a sentence. */
function plainNameOf(part: Part, locale: Locale): string {
  const t = locale.texts.status;
  if (part.group === 'service') return t.parts[part.name];
  return part.group === 'platform' ? part.name : kindOf(part, locale);
}

function renderProbe({ passed, failed, at }: { passed: number; failed: number; at: number }, locale: Locale): Html {
  const { probe, probeFailed } = locale.texts.status;
  const all = passed + failed;
  return html`${failed === 0 ? probe(all) : probeFailed(failed, all)} ${locale.minute(at)}`;
}

/** Neighbours of the same state are one bar, so that a page with many parts stays small. */
function renderBand(states: readonly (PartState | undefined)[], since: number, locale: Locale): Html {
  const t = locale.texts.status;
  const runs: { from: number; to: number; state: PartState | 'none' }[] = [];
  for (const [index, known = 'none' as const] of states.entries()) {
    const last = runs.at(-1);
    if (last?.state === known) last.to = index + 1;
    else runs.push({ from: index, to: index + 1, state: known });
  }
  const wordsOf = ({ from, to, state }: (typeof runs)[number]) =>
    t.span(timeOf(since + from * CELL_MS), timeOf(since + to * CELL_MS), t.states[state]);
  const disturbed = runs.filter(({ state }) => state === 'degraded' || state === 'down').map(wordsOf);
  const words = disturbed.length === 0 ? t.lastDay : `${t.lastDay}. ${disturbed.join('. ')}`;
  return html`<svg class="band" viewBox="0 0 ${states.length} 1" preserveAspectRatio="none" role="img" aria-label="${words}">${runs.map(
    (run) =>
      html`<rect class="band-${run.state}" x="${run.from}" width="${run.to - run.from}" height="1"><title>${wordsOf(run)}</title></rect>`,
  )}</svg>`;
}

function timeOf(at: number): string {
  return new Date(at).toISOString().slice(11, 16);
}

function renderIncident(incident: Incident, now: number, locale: Locale): Html {
  const { id, kind, title, startedAt, endedAt } = incident;
  const { status: t } = locale.texts;
  const isPlanned = endedAt === null && startedAt > now;
  const state = stateOfIncident(incident);
  const [label, tone]: [string, Tone] =
    endedAt !== null
      ? [t.ended, 'plain']
      : isPlanned
        ? [t.planned, 'plain']
        : [state === null ? t.open : t.incidentStates[state], kind === 'outage' ? 'bad' : 'warn'];
  return html`<li class="card stack-small incident" id="${id}"><div class="row row-apart"><h3 dir="auto">${title}</h3><span class="row">${badge(t.incidentKinds[kind])}${badge(label, tone)}</span></div>
${incidentSteps(incident, now, locale)}</li>`;
}

/** Those that are now before those that come. */
export function openFirst(open: readonly Incident[], now: number): readonly Incident[] {
  return [...open.filter(({ startedAt }) => startedAt <= now), ...open.filter(({ startedAt }) => startedAt > now)];
}

/** What was said, newest first, each with the words of the operator, which may be of any language. */
export function incidentSteps(
  { kind, message, outcome, updates, startedAt, endedAt }: Incident,
  now: number,
  { texts: { status: t }, minute }: Locale,
): Html {
  const isPlanned = endedAt === null && startedAt > now;
  const begin = isPlanned ? t.begins : endedAt === null && updates.length === 0 ? t.since : t.began;
  const first = kind === 'maintenance' || message === null ? begin : t.incidentStates.investigating;
  const last = kind === 'maintenance' ? t.endedAt : t.incidentStates.resolved;
  const steps = [
    ...(endedAt === null ? [] : [{ head: last, at: endedAt, text: outcome }]),
    ...updates.map(({ state, at, text }) => ({ head: state === null ? t.update : t.incidentStates[state], at, text })),
    { head: first, at: startedAt, text: message },
  ];
  return html`<ol class="incident-steps">${steps.map(
    ({ head, at, text }) =>
      html`<li><p class="small muted"><strong>${head}</strong> ${minute(at)}</p>${text !== null && html`<p dir="auto" class="incident-words">${text}</p>`}</li>`,
  )}</ol>`;
}
