/*
 * The public status page: the whole in one sentence, open incidents first, then every part with its state now and a band
 * of its last 24 hours, then incidents that ended. A band is drawn on the server, has equal neighbours as one bar, and
 * its disturbances as words for screen readers. Works without scripts.
 */

import {
  CELL_MS,
  type Incident,
  overallState,
  type PartState,
  type ServiceReport,
  type StatusPart,
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
/** Models of a provider named in its label. */
const NAMED = 3;

export function statusPage({ report, hasLinks }: StatusView, locale: Locale): Omit<Page, 'viewer'> {
  const { at, incidents, parts } = report;
  const { texts, minute } = locale;
  const t = texts.status;
  const open = incidents?.filter(({ endedAt }) => endedAt === null) ?? [];
  const ended = incidents?.filter(({ endedAt }) => endedAt !== null) ?? [];
  const shown = parts.filter(({ group }) => hasLinks || group !== 'platform');
  const isDisturbed = open.some(({ kind, startedAt }) => kind !== 'maintenance' && startedAt <= at);
  const now = overallState(shown);
  const state = now === 'ok' && isDisturbed ? 'degraded' : now;
  return {
    title: t.title,
    description: t.description,
    current: '/status',
    styles: ['public.css'],
    content: html`<div class="frame frame-text stack status">
<div class="page-head"><h1>${t.title}</h1></div>
<div class="card status-overall row row-apart status-${state}"><strong>${t.overall[state]}</strong><span class="small">${t.asOf} ${minute(at)}</span></div>
${open.length > 0 && html`<h2 class="visually-hidden" id="open-incidents">${t.openIncidents}</h2><ul class="stack" aria-labelledby="open-incidents">${open.map((one) => renderIncident(one, at, locale))}</ul>`}
${shown.every(({ history }) => history.fine === undefined) ? html`<p class="small muted">${t.fresh}</p>` : renderLegend(locale)}
${GROUPS.map((group) => renderGroup(group, shown, report.since, locale))}
<section class="stack model-kind" aria-labelledby="incidents"><h2 id="incidents">${t.incidents}</h2>
${incidents === undefined ? emptyState(t.unread, '') : ended.length === 0 && open.length === 0 && emptyState(t.noIncidents, t.noIncidentsWords)}
${ended.length > 0 && html`<ul class="stack">${ended.map((one) => renderIncident(one, at, locale))}</ul>`}
</section>
<p class="small muted"><a href="/health">${t.forPrograms}</a></p>
</div>`,
  };
}

/** What a bar is, and its colours. */
function renderLegend({ texts: { status: t } }: Locale): Html {
  return html`<p class="small muted status-legend"><span>${t.bars}</span>${LEGEND.map((state) => html` <span class="status-key"><svg viewBox="0 0 1 1" width="10" height="10" aria-hidden="true"><rect class="band-${state}" width="1" height="1"/></svg> ${t.states[state]}</span>`)}</p>`;
}

function renderGroup(group: StatusPart['group'], parts: readonly Part[], since: number, locale: Locale): Html | false {
  const own = parts.filter((part) => part.group === group);
  if (own.length === 0) return false;
  const t = locale.texts.status;
  const hasHistory = own.some(({ history }) => history.fine !== undefined);
  const hasBand = !own.every(isWorkingMock);
  return html`<section class="card stack" aria-labelledby="group-${group}">
<div class="row row-apart"><h2 id="group-${group}">${t.groups[group]}</h2>${hasBand && html`<span class="small muted">${t.lastDay}</span>`}</div>
${own.some(isWorkingMock) && html`<p class="small muted">${t.mocks}</p>`}
<ul class="status-parts">${own.map((part) => renderPart(part, { since, hasHistory }, locale))}${hasBand && html`<li class="status-scale" aria-hidden="true">${t.scale.map((words) => html`<span>${words}</span>`)}</li>`}</ul>
</section>`;
}

/** Without a history the band is empty, and no share is shown. */
function renderPart(part: Part, { since, hasHistory }: { since: number; hasHistory: boolean }, locale: Locale): Html {
  const { history } = part;
  const t = locale.texts.status;
  const percent =
    history.fine === undefined
      ? t.unknown
      : html`${percentOf(history.fine, locale)}<span class="visually-hidden"> ${t.fine}</span>`;
  return html`<li class="stack-small"><div class="status-head"><h3>${nameOf(part, locale)}</h3><span class="row">${hasHistory && !isWorkingMock(part) && html`<span class="small muted figures">${percent}</span>`}${stateBadge(part, locale)}</span></div>
${isWorkingMock(part) ? '' : renderBand(history.states, since, locale)}
${part.group === 'platform' && part.probe && html`<p class="small muted">${renderProbe(part.probe, locale)}</p>`}</li>`;
}

/** A mock that works is no model that works: it has no share and no band. */
function isWorkingMock(part: Part): boolean {
  return part.group === 'model' && part.isMock && part.state === 'ok';
}

function stateBadge(part: Part, { texts: { status: t } }: Locale): Html {
  const { state } = part;
  if (isWorkingMock(part)) return badge(t.noModel);
  return badge(t.states[state], TONES[state]);
}

/** Never 100 % if there was any disturbance. */
function percentOf(share: number, { count }: Locale): string {
  return `${count(share === 1 ? 100 : Math.min(99.9, Math.floor(share * 1_000) / 10))}%`;
}

function nameOf(part: Part, { texts: { status: t } }: Locale): Html {
  if (part.group === 'service') return html`${t.parts[part.name]}`;
  if (part.group === 'platform') return html`<bdi>${part.name}</bdi>`;
  const { models } = part;
  const named = models.slice(0, NAMED).map((id, index) => html`${index > 0 && ', '}<bdi class="mono">${id}</bdi>`);
  const more = models.length > NAMED && html` ${t.andMore(models.length - NAMED)}`;
  const kind = part.kinds.length === 1 && part.kinds[0] ? t.kinds[part.kinds[0]] : t.kinds.several;
  return html`${kind} <span class="status-models">${named}${more}</span>`;
}

function renderProbe({ passed, failed, at }: { passed: number; failed: number; at: number }, locale: Locale): Html {
  return html`${locale.texts.status.probe(passed, passed + failed)} ${locale.minute(at)}`;
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

/** The words are the operator's, and may be of any language. */
function renderIncident(incident: Incident, now: number, { texts: { status: t }, minute }: Locale): Html {
  const { kind, title, message, outcome, startedAt, endedAt } = incident;
  const isPlanned = endedAt === null && startedAt > now;
  const [label, tone]: [string, Tone] =
    endedAt !== null
      ? [t.ended, 'plain']
      : isPlanned
        ? [t.planned, 'plain']
        : [t.open, kind === 'outage' ? 'bad' : 'warn'];
  const begin = isPlanned ? t.begins : endedAt === null ? t.since : '';
  return html`<li class="card stack-small incident"><div class="row row-apart"><h3 dir="auto">${title}</h3><span class="row">${badge(t.incidentKinds[kind])}${badge(label, tone)}</span></div>
<p class="small muted">${begin} ${minute(startedAt)}${endedAt !== null && html` ${t.until} ${minute(endedAt)}`}</p>
${message !== null && html`<p dir="auto" class="incident-words">${message}</p>`}
${outcome !== null && html`<p dir="auto" class="incident-words">${outcome}</p>`}</li>`;
}
