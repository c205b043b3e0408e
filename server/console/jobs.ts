/*
 * Background jobs in the console: how many wait and run, the list by kind, state and account, and the page
 * of one job with its worker, error and history. A job that has not ended can be cancelled for all its owners, and one that failed can be retried. What is
 * private to the owner is absent: prompts, links and results.
 */

import { cancelJob, failureOf, listJobs, readQueues, retryJob, showJob, workOf } from '../admin/index.js';
import { JOB_KINDS, JOB_STATES } from '../choices.js';
import type { Route } from '../http/index.js';
import { maskedKey } from '../keys/index.js';
import {
  copyableId,
  dataTable,
  filterCard,
  type Html,
  html,
  inline,
  JOB_TONES,
  jobBadge,
  type Locale,
  linkTo,
} from '../site/index.js';
import { statusOfCode, wordsOfCode } from '../usage/index.js';
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
import { action, actions } from './forms.js';
import { historySection } from './history.js';
import { chooseOwner, readOwner } from './owner-filter.js';
import { backTo, emptyList, facts, ownerLink, ownersOf } from './parts.js';

const PATH = '/admin/jobs';
const ID = { id: { description: 'Id of the job.' } };
const STATES = ['active', ...JOB_STATES] as const;
type JobState = (typeof JOB_STATES)[number];
type ListedJob = Awaited<ReturnType<typeof listJobs>>['items'][number];
type WholeJob = Awaited<ReturnType<typeof showJob>>['job'];

export function jobPages(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => jobPage(services, call);
  return [
    consolePage(services, {
      path: '/jobs',
      summary: 'Jobs in the console',
      description: 'Page of background jobs: counts by kind, and the jobs by kind, state and account.',
      query: {
        kind: 'A kind of jobs.',
        state: 'A state, or `active`: queued and running. Default: all.',
        account: 'Id of an account.',
        after: 'Cursor.',
      },
      show: (call) => jobsPage(services, call),
    }),
    consolePage(services, {
      path: '/jobs/:id',
      params: ID,
      summary: 'A job in the console',
      description: 'Page of a background job: worker, error, history, and what an operator can do.',
      errors: ['job_not_found'],
      show,
    }),
    consoleForm(services, {
      path: '/jobs/:id/cancel',
      params: ID,
      summary: 'Cancel a job in the console',
      description: 'Cancels a queued or running job for all its owners.',
      errors: ['job_not_found', 'job_already_terminal'],
      show,
      async run({ param, by }) {
        const { id } = await cancelJob(services, param('id'), by);
        return `/jobs/${encodeURIComponent(id)}?done=job_cancel`;
      },
    }),
    consoleForm(services, {
      path: '/jobs/:id/retry',
      params: ID,
      summary: 'Retry a job in the console',
      description: 'Does the work of a failed job again, as a new job, at no cost to its owners.',
      errors: ['job_not_found', 'job_not_retryable'],
      show,
      async run({ param, by }) {
        const { id } = await retryJob(services, param('id'), by);
        return `/jobs/${encodeURIComponent(id)}?done=job_retry`;
      },
    }),
  ];
}

async function jobsPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, query } = call;
  const { texts } = locale;
  const { console: t, words } = texts;
  const [kind, state] = [choiceOf(query('kind'), JOB_KINDS), choiceOf(query('state'), STATES)];
  const account = await readOwner(services, query('account'));
  const { accountId: owner } = account;
  const wanted: JobState | 'all' | undefined = state === 'active' ? undefined : (state ?? 'all');
  const filter = {
    ...(kind && { kind }),
    ...(wanted && { state: wanted }),
    ...(owner !== undefined && { owner }),
    withSummary: true,
  };
  const isUnclear = account.several.length > 0;
  const filters = { kind, state, account: query('account') };
  const reset = linkTo(PATH, filters) === PATH ? undefined : PATH;
  const [queues, page] = await Promise.all([
    reset === undefined ? readQueues(services) : undefined,
    isUnclear ? { items: [], at: 0, leaseMs: 0, next: undefined } : listJobs(services, filter, rangeOf(call)),
  ]);
  const owners = await ownersOf(
    services,
    page.items.map((job) => job.owner),
  );
  return {
    title: t.pages.jobs,
    current: 'jobs',
    lead: t.jobs.lead,
    content: html`${queues && renderSums(queues, locale)}
${filterCard(
  {
    path: PATH,
    label: t.pages.jobs,
    reset: page.items.length === 0 && !isUnclear ? undefined : reset,
    fields: [
      {
        kind: 'choice',
        name: 'kind',
        label: t.jobs.kind,
        value: kind,
        all: texts.usage.all,
        choices: JOB_KINDS.map((value) => ({ value, label: words.jobs[value] })),
      },
      {
        kind: 'choice',
        name: 'state',
        label: t.users.state,
        value: state,
        all: texts.usage.all,
        choices: STATES.map((value) => ({ value, label: value === 'active' ? t.jobs.active : words.jobStates[value] })),
      },
      { kind: 'text', name: 'account', label: t.users.user, value: account.text, placeholder: t.ownerHint },
    ],
  },
  locale,
)}
<section class="card stack job-cards">
${dataTable<ListedJob>({
  label: t.pages.jobs,
  isStacked: true,
  rows: page.items,
  empty:
    chooseOwner(account, { path: PATH, query: filters, name: 'account' }, locale) ??
    emptyList({ title: t.jobs.none, words: reset === undefined ? t.jobs.noneYet : t.jobs.noneWords, reset }, locale),
  columns: [
    {
      head: t.jobs.job,
      cell: (job) =>
        html`<a class="row-link" href="${PATH}/${encodeURIComponent(job.id)}">${words.jobs[job.kind]}</a>${renderSubject(job, locale)}<span class="detail small muted job-id">${copyableId(job.id, t.jobs.job, locale)}</span>`,
    },
    { head: t.users.state, inCard: 'end', cell: (job) => renderState(job, locale) },
    { head: t.users.user, inCard: 'plain', cell: (job) => ownerLink(job.owner, owners) },
    {
      head: t.jobs.took,
      isNumber: true,
      inCard: 'plain',
      cell: ({ createdAt, startedAt, finishedAt }) => spent(startedAt ?? createdAt, finishedAt ?? page.at, locale),
    },
    { head: t.users.created, isNumber: true, inCard: 'plain', cell: ({ createdAt }) => locale.second(createdAt) },
  ],
})}
${pagesOf(call, { path: PATH, filters, ...(page.next && { next: page.next }) })}
</section>`,
  };
}

/** How many wait and run, and ended within the last hour, of all kinds: a line of figures that lead to their jobs. */
function renderSums(queues: Awaited<ReturnType<typeof readQueues>>, { texts, count }: Locale): Html | false {
  const { console: t, words } = texts;
  const states = ['queued', 'running', 'completed', 'failed'] as const;
  const figures = states.map((state) => [state, queues.reduce((sum, queue) => sum + queue[state], 0)] as const);
  if (figures.every(([, value]) => value === 0)) return false;
  const oldest = Math.max(0, ...queues.map(({ oldestQueuedMs }) => oldestQueuedMs));
  const link = (state: JobState, value: number) =>
    html`<a${state === 'failed' && html` class="bad-count"`} href="${linkTo(PATH, { state })}">${count(value)}<span class="visually-hidden"> ${t.jobs.show}</span></a>`;
  return html`<section aria-label="${t.jobs.queues}"><dl class="totals totals-line">${figures.map(
    ([state, value]) =>
      html`<div><dt>${words.jobStates[state]}</dt><dd>${value === 0 ? '0' : link(state, value)}</dd></div>`,
  )}${oldest > 0 && html`<div><dt>${t.jobs.oldest}</dt><dd>${t.span(oldest)}</dd></div>`}</dl><p class="small muted">${t.jobs.lastHour}</p></section>`;
}

/** The model, or what it reads: a link of a platform, or how many links. */
function renderSubject({ kind, summary }: ListedJob, { texts }: Locale): Html | false {
  const work: { model?: string; platform?: string; item?: string; links?: number } = workOf({ kind, summary });
  const { model, platform, item, links } = work;
  const parts = [platform, item, model, links !== undefined && texts.console.jobs.linksOf(links)].filter(Boolean);
  return parts.length > 0 && html` <span class="small muted"><bdi>${parts.join(' · ')}</bdi></span>`;
}

function renderState({ state, error }: Pick<ListedJob, 'state' | 'error'>, locale: Locale): Html {
  const { texts } = locale;
  return html`${jobBadge(state, locale)}${error && html`<span class="detail small"><code>${error.code}</code> <span class="muted">${texts.errors.meaningOf(error.code)}</span></span>`}`;
}

/** What happened and what can be done about it. The message is left out where it says what the code means. */
function renderFailure({ code, message }: NonNullable<ReturnType<typeof failureOf>>, { texts }: Locale): Html {
  const meaning = texts.errors.meaningOf(code);
  const action = texts.errors.actionOf(code);
  return html`<div class="notice notice-bad stack-small"><p><strong>${meaning}</strong> <code>${code}</code></p>${message !== meaning && message !== wordsOfCode(code) && html`<p class="small" lang="en"><bdi>${message}</bdi></p>`}${action !== undefined && html`<p class="small">${texts.console.jobs.toClients} ${inline(action)}</p>`}</div>`;
}

/** When it was submitted, began and ended, with how long each took. */
function renderSteps({ state, createdAt, startedAt, finishedAt }: WholeJob, at: number, locale: Locale): Html {
  const { console: own, words } = locale.texts;
  const t = own.jobs.steps;
  const name = words.jobStates[state];
  const before = startedAt ?? createdAt;
  const ended =
    finishedAt === null
      ? { name, at: undefined, took: t.since(spent(before, at, locale)), tone: JOB_TONES[state] }
      : { name, at: finishedAt, took: afterWords(before, finishedAt, locale), tone: JOB_TONES[state] };
  const began = startedAt !== null && {
    name: t.began,
    at: startedAt,
    took: afterWords(createdAt, startedAt, locale),
    tone: 'plain',
  };
  const submitted = { name: t.submitted, at: createdAt, took: undefined, tone: 'plain' };
  return html`<ol class="job-steps">${[submitted, ...(began ? [began] : []), ended].map(
    (step) =>
      html`<li class="step-${step.tone}"><strong>${step.name}</strong>${step.at !== undefined && html`<span class="small">${locale.second(step.at)}</span>`}${step.took !== undefined && html`<span class="small muted">${step.took}</span>`}</li>`,
  )}</ol>`;
}

function afterWords(from: number, to: number, locale: Locale): string {
  const t = locale.texts.console.jobs.steps;
  return to - from < 50 ? t.atOnce : t.after(spent(from, to, locale));
}

function spent(from: number, to: number, { texts, count }: Locale): string {
  const ms = Math.max(0, to - from);
  return ms < 10_000 ? texts.usage.list.seconds(count(Math.round(ms / 100) / 10)) : texts.console.span(ms);
}

function jobLink(id: string | null): Html | false {
  return id !== null && html`<a href="${PATH}/${encodeURIComponent(id)}"><code class="small">${id}</code></a>`;
}

async function jobPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, param } = call;
  const { texts, count } = locale;
  const { console: t, words } = texts;
  const { job, audit } = await showJob(services, param('id'));
  const owners = await ownersOf(services, [job.owner]);
  const { id, state, worker, attempts, crashCount, keyId, charge, queuePosition, requestId } = job;
  const failure = failureOf(job);
  const isOpen = state === 'queued' || state === 'running';
  const path = `/jobs/${encodeURIComponent(id)}`;
  const about = html`${words.jobs[job.kind]} · <code>${id}</code>`;
  // What is wrong with an item fails again.
  const isWorthIt = failure === null || statusOfCode(failure.code) >= 500;
  return {
    title: `${words.jobs[job.kind]}: ${words.jobStates[state]}`,
    current: 'jobs',
    back: backTo(PATH, t.pages.jobs),
    primary: actions([
      job.isRetryable &&
        action(
          {
            path: `${path}/retry`,
            label: t.jobs.retry,
            about,
            words: t.jobs.retryWords,
            button: t.jobs.retryNow,
            isPrimary: isWorthIt,
          },
          locale,
        ),
      isOpen &&
        action(
          {
            path: `${path}/cancel`,
            label: t.jobs.cancel,
            about,
            words: t.jobs.cancelWords,
            button: t.jobs.cancelNow,
            dismiss: t.goBack,
            isBad: true,
          },
          locale,
        ),
    ]),
    content: html`${failure && renderFailure(failure, locale)}<section class="card stack">
${renderSteps(job, services.clock.now(), locale)}
${facts([
  [t.users.user, ownerLink(job.owner, owners)],
  [texts.usage.key, keyId !== null && html`<a href="/admin/keys/${keyId}"><code>${maskedKey(keyId)}</code></a>`],
  [t.jobs.position, queuePosition !== null && count(queuePosition)],
  [t.jobs.runs, attempts > 1 && count(attempts)],
  [t.jobs.crashes, crashCount > 0 && count(crashCount)],
  [t.jobs.worker, worker && html`<code class="small">${worker.host} ${worker.pid}</code>`],
  ...Object.entries(workOf(job)).map(
    ([name, value]) =>
      [
        t.jobs.work[name as keyof typeof t.jobs.work],
        value !== null && html`<bdi class="mono small">${value}</bdi>`,
      ] as const,
  ),
  [t.jobs.job, copyableId(id, t.jobs.job, locale)],
  [t.jobs.retryOf, jobLink(job.retryOf)],
  [t.jobs.retriedAs, jobLink(job.retriedAs)],
  [
    texts.usage.list.requestId,
    requestId !== null &&
      copyableId(requestId, texts.usage.list.requestId, locale, linkTo('/admin/requests', { request_id: requestId })),
  ],
  [
    services.prices ? texts.usage.cost(services.prices.currency) : '',
    charge?.cost != null && services.prices !== undefined && locale.cost(charge.cost),
  ],
])}
</section>
${await historySection(services, audit, { locale })}`,
  };
}
