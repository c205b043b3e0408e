/*
 * The latest jobs on the dashboard: a small picture of each finished image, a sign of its kind for every other job. The id
 * is the small line, since people who look for a job in their own logs have nothing else.
 */

import type { JobState } from '../../../core/contracts/index.js';
import type { JobKind, JobRecord } from '../../../core/jobs/index.js';
import { type PictureView, thumbnailOf } from '../components/pictures.js';
import type { Locale } from '../language/index.js';
import { badge, emptyState, type Html, html, type Tone } from '../page.js';

/** A job as the dashboard shows it. */
export interface JobView extends Pick<JobRecord, 'id' | 'kind' | 'state' | 'createdAt' | 'startedAt' | 'finishedAt'> {
  /** What an image was asked for with; undefined if the job came from an API client. */
  prompt?: string | undefined;
  /** Undefined without a public file. */
  picture?: PictureView | undefined;
  /** Name of the platform of a link. */
  platform?: string | undefined;
}

/** What marks each state of a job. */
export const JOB_TONES: Readonly<Record<JobState, Tone>> = {
  queued: 'plain',
  running: 'warn',
  completed: 'good',
  failed: 'bad',
  cancelled: 'plain',
};

/** Longer prompts are cut: a line has room for less. */
const SHOWN_PROMPT = 80;

/** On a square of 44. */
const SIGNS: Readonly<Record<JobKind, string>> = {
  image: 'M13 14h18v16H13zm0 13 6-6 4 4 3-3 5 5',
  extraction: 'm20 24 4-4m-6 0-3 3a4 4 0 0 0 6 6l3-3m2-2 3-3a4 4 0 0 0-6-6l-3 3',
  transcript: 'M14 16h16M14 22h16M14 28h10',
  batch: 'M19 16h12m-12 6h12m-12 6h12M13 16h1m-1 6h1m-1 6h1',
};

export function renderJobs(jobs: readonly JobView[], locale: Locale): Html {
  const t = locale.texts.dashboard.jobs;
  return html`<section class="card stack" aria-labelledby="jobs"><h2 id="jobs">${t.title}</h2>
${
  jobs.length === 0
    ? emptyState(t.none, t.noneWords)
    : html`<ul class="rows">${jobs.map((job) => renderJob(job, locale))}</ul>`
}</section>`;
}

export function jobBadge(state: JobState, { texts }: Locale): Html {
  return badge(texts.words.jobStates[state], JOB_TONES[state]);
}

function renderJob(job: JobView, locale: Locale): Html {
  const { id, state, createdAt, picture } = job;
  return html`<li class="job">${signOf(job)}
<span class="job-title">${titleOf(job, locale)}</span>${jobBadge(state, locale)}
<span class="small muted job-facts">${picture && html`<span class="figures">${picture.width} × ${picture.height}</span>`}<code class="clip" title="${id}">${id}</code></span>
<span class="small muted job-time">${locale.minute(createdAt)}${took(job, locale)}</span></li>`;
}

function signOf({ kind, picture }: JobView): Html {
  if (picture)
    return html`<img class="job-picture" src="${thumbnailOf(picture, true)}" alt="" width="44" height="44" loading="lazy" decoding="async">`;
  return html`<svg class="job-picture" viewBox="0 0 44 44" width="44" height="44" aria-hidden="true"><path d="${SIGNS[kind]}"/></svg>`;
}

function titleOf({ id, kind, prompt, platform }: JobView, { texts }: Locale): Html {
  const t = texts.dashboard.jobs;
  if (kind === 'image') {
    const words =
      prompt === undefined ? texts.words.jobs.image : html`<bdi>${[...prompt].slice(0, SHOWN_PROMPT).join('')}</bdi>`;
    return html`<a href="/images/${id}">${words}</a>`;
  }
  if (platform === undefined) return html`${texts.words.jobs[kind]}`;
  return html`${kind === 'transcript' ? t.transcriptOf(platform) : t.linkOf(platform)}`;
}

function took({ state, startedAt, finishedAt }: JobView, { texts, count }: Locale): string | false {
  if (state === 'cancelled' || startedAt === null || finishedAt === null) return false;
  return texts.dashboard.jobs.took(count((finishedAt - startedAt) / 1_000));
}
