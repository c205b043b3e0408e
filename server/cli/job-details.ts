import type { ExtractionJobSummary, ImageJobSummary, JobFailure } from 'mediagate';
import type { AuditEntry } from '../audit/index.js';
import { isoTime, renderTable, shown } from '../format/index.js';
import type { Settings } from '../settings/index.js';
import type { CostedJob, JobCharge } from '../usage/index.js';
import { grouped } from '../usage/index.js';
import { withState } from './command-state.js';
import { renderLease, renderWait } from './job-lease.js';
import { describeJob, renderWorker, unknownJob } from './jobs.js';
import { print, printJson } from './output.js';

/** Audit rows: a job is cancelled once. */
const SHOWN = 20;

interface Shown {
  job: CostedJob;
  audit: readonly AuditEntry[];
}

/** Prints one job, without what is its owner's own. */
export async function showJobCommand(settings: Settings, id: string, { json }: { json?: boolean }): Promise<number> {
  const whole = await withState(settings, async ({ jobs, audit }): Promise<Shown> => {
    const job = await jobs.inspect(id);
    if (!job) throw unknownJob(id);
    return { job, audit: await audit.list({ subject: id, limit: SHOWN }) };
  });
  if (json) printJson(describeWhole(whole));
  else print(renderWhole(whole));
  return 0;
}

function describeWhole({ job, audit }: Shown) {
  const { joinedBy, requestId, expiresAt, queuePosition, quotaDay, idempotentUntil, charge } = job;
  return {
    ...describeJob(job, job),
    ...workOf(job),
    joined_by: joinedBy,
    request: requestId,
    trace: traceOf(job),
    expires_at: isoTime(expiresAt),
    queue_position: queuePosition,
    quota_day: quotaDay,
    idempotent_until: idempotentUntil.map((time) => isoTime(time)),
    charge: charge && { ...charge, at: isoTime(charge.at) },
    failure: failureOf(job),
    audit: audit.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry })),
  };
}

/** What log lines name as well, and nothing else of what was asked for. */
function workOf({ kind, summary }: CostedJob) {
  if (kind === 'image') {
    const { model, delivery } = summary as ImageJobSummary;
    return { model, delivery };
  }
  const { platform, link } = summary as ExtractionJobSummary;
  return { platform, item: link.id };
}

/** Without the words of a model's vendor, who may quote the prompt. A platform's are about what is public. */
function failureOf({ kind, error }: CostedJob): JobFailure | null {
  if (kind !== 'image' || error === null) return error;
  const { reason: _words, ...failure } = error;
  return failure;
}

/** By which traces are found. */
function traceOf({ traceparent }: CostedJob): string | null {
  return traceparent?.split('-')[1] ?? null;
}

function renderWhole({ job, audit }: Shown): string {
  const { attempts, cutOffs, joinedBy, keyId, quotaDay, idempotentUntil, charge, error } = job;
  const runs = cutOffs === 0 ? String(attempts) : `${attempts}, of which ${cutOffs} cut off`;
  const until = idempotentUntil.map((time) => isoTime(time)).join(', ');
  const facts = [
    ['job', job.id],
    ['work', Object.values(workOf(job)).map(shown).join(' ')],
    ['state', job.state],
    ['why', renderWhy(job)],
    ['worker', job.worker ? renderWorker(job.worker) : '-'],
    ['runs', runs],
    ['account', job.owner],
    ['joined by', joinedBy.join(', ') || '-'],
    ['key', keyId ?? '-'],
    ['request', shown(job.requestId ?? '-')],
    ['trace', traceOf(job) ?? '-'],
    ['created', isoTime(job.createdAt)],
    ['started', isoTime(job.startedAt) ?? '-'],
    ['finished', isoTime(job.finishedAt) ?? '-'],
    ['kept to', isoTime(job.expiresAt) ?? '-'],
    ['quota', quotaDay === null ? '-' : renderQuota(quotaDay, job)],
    ['repeats', until === '' ? '-' : `answered with this job by Idempotency-Key, to ${until}`],
    ['charge', charge ? renderCharge(charge) : '-'],
  ].map(([name = '', value = '']) => `${name.padEnd(11)}${value}\n`);
  return [facts.join(''), attemptTable(error), auditTable(audit)].filter((part) => part !== '').join('\n');
}

function renderWhy(job: Shown['job']): string {
  const { state, queuePosition, worker } = job;
  const error = failureOf(job);
  if (state === 'queued')
    return queuePosition === null ? renderWait(job) : `${renderWait(job)}, place ${queuePosition}`;
  if (worker) return renderLease(worker, job);
  if (!error) return '-';
  const { code, message, param, reason } = error;
  const parts = [code, shown(message), ...[param, reason].filter((part) => part !== undefined).map(shown)];
  return parts.join(' · ');
}

function renderQuota(day: string, { state }: CostedJob): string {
  return state === 'failed' || state === 'cancelled' ? `that of ${day}, given back` : `that of ${day}`;
}

function renderCharge({ model, units, usage, at }: JobCharge): string {
  const counts = Object.entries(usage ?? {}).filter(([, count]) => typeof count === 'number');
  const used = counts.map(([name, count]) => `${name} ${grouped(count as number)}`);
  return [`${units} × ${shown(model)}`, ...used, isoTime(at)].join(', ');
}

function attemptTable(error: JobFailure | null): string {
  const attempts = error?.attempts ?? [];
  if (attempts.length === 0) return '';
  const rows = attempts.map(({ rung, outcome, ms }) => [shown(rung), shown(outcome), grouped(ms)]);
  return `${renderTable(['RUNG', 'OUTCOME', 'MS'], rows)}\n`;
}

function auditTable(audit: readonly AuditEntry[]): string {
  if (audit.length === 0) return '';
  const rows = audit.map(({ at, actor, action, from, to, note }) => {
    const states = [from, to].filter((state) => state !== null).join(' → ');
    return [isoTime(at), shown(actor), action, states, shown(note ?? '')];
  });
  return `${renderTable(['AT', 'WHO', 'WHAT', 'STATES', 'NOTE'], rows)}\n`;
}
